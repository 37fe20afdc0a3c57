//! The documents of an image: which layers it has, and what it says about itself.
//!
//! [`find`] is the entry: it finds the image that is meant in an OCI layout ([`layout`]) or in what
//! `docker save` and `podman save` write (`saved`). No document is parsed before its digest holds.

mod config;
mod layout;
mod saved;

use std::collections::BTreeMap;

use config::Config;
use serde::de::DeserializeOwned;

use crate::{
    description::ImageDescription,
    digest::Digest,
    error::{DocumentProblem, ImageError},
    files::Files,
    layer::{Layer, Stored},
    limits::Limits,
    platform::Platform,
    problem::{Exceeded, LimitKind},
};

/// What is written into the directory of a layout.
const LAYOUT: &str = "oci-layout";
const INDEX: &str = "index.json";
/// What `docker save` and `podman save` write.
const SAVED: &str = "manifest.json";

/// An image that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) description: ImageDescription,
    /// The lowest first.
    pub(crate) layers: Vec<Layer>,
}

/// Where images are looked for, and for which host.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) files: &'a Files,
    pub(crate) limits: &'a Limits,
    pub(crate) platform: &'a Platform,
    /// Which image is meant.
    pub(crate) reference: Option<&'a str>,
}

/// The image that is meant.
///
/// # Errors
/// When there is none, more than one, or none for this host.
pub(crate) fn find(search: Search<'_>) -> Result<Found, ImageError> {
    let files = search.files;
    if files.has(LAYOUT) && files.has(INDEX) {
        layout::find(search)
    } else if files.has(SAVED) {
        saved::find(search)
    } else {
        Err(ImageError::NotAnImage {
            path: files.path().to_owned(),
            found: files.some_names(),
        })
    }
}

/// A layer as a manifest names it.
struct LayerFile {
    member: String,
    stored: Option<Stored>,
}

/// An image, from its configuration and the files of its layers.
fn image(
    search: Search<'_>,
    config: Config,
    (id, manifest): (Digest, Option<Digest>),
    names: Vec<String>,
    files: Vec<LayerFile>,
) -> Result<Found, ImageError> {
    let place = search.files.place(&id.to_string());
    let of_host = search.platform.runs(&config.os, &config.architecture);
    if !of_host {
        return Err(ImageError::Platform {
            path: search.files.path().to_owned(),
            host: search.platform.to_string(),
            known: vec![format!("{}/{}", config.os, config.architecture)],
        });
    }
    let most = search.limits.layers;
    if files.len() > most {
        let exceeded = Exceeded::new(LimitKind::Layers, most);
        return Err(ImageError::limit(place, exceeded));
    }
    let diff_ids = &config.rootfs.diff_ids;
    if files.len() != diff_ids.len() {
        let source = DocumentProblem::Content("it has another number of layers than its manifest");
        return Err(ImageError::Document { place, source });
    }
    let layers = files
        .into_iter()
        .zip(diff_ids)
        .map(|(file, &diff_id)| Layer {
            member: file.member,
            stored: file.stored,
            diff_id,
        });
    let layers = layers.collect();
    let description = config.description(id, manifest, names);
    let description = description.map_err(|source| ImageError::Document { place, source })?;
    Ok(Found {
        description,
        layers,
    })
}

/// A document of JSON.
fn parse<T: DeserializeOwned>(files: &Files, name: &str, bytes: &[u8]) -> Result<T, ImageError> {
    serde_json::from_slice(bytes).map_err(|error| ImageError::Document {
        place: files.place(name),
        source: error.into(),
    })
}

/// Labels and annotations.
type Texts = BTreeMap<String, String>;

/// What fuzzing tries.
pub(crate) fn parse_all(bytes: &[u8]) {
    layout::parse_all(bytes);
    saved::parse_all(bytes);
    if let Ok(config) = serde_json::from_slice::<Config>(bytes) {
        let _ = config.description(Digest::of(bytes), None, Vec::new());
    }
}
