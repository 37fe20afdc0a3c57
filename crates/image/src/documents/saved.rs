//! What `docker save` and `podman save` write: `manifest.json`, which lists images, each with the
//! names of its configuration and its layers. No size and no digest is given but in names, so the
//! digests that the configuration has of the decompressed layers must do.

use serde::Deserialize;

use super::{Found, LayerFile, SAVED, Search, config::Config, image, parse};
use crate::{
    digest::Digest,
    error::{DocumentProblem, ImageError},
    layer::Stored,
    reference::{Names, means},
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// The image that is meant.
///
/// # Errors
/// As [`find`](super::find).
pub(super) fn find(search: Search<'_>) -> Result<Found, ImageError> {
    let files = search.files;
    let bytes = files.read(SAVED, search.limits)?;
    let images: Vec<SavedImage> = parse(files, SAVED, &bytes)?;
    let named: Vec<(Names, SavedImage)> = images
        .into_iter()
        .map(|image| (names(&image), image))
        .collect();
    let meant: Vec<usize> = (0..named.len())
        .filter(|&place| {
            search
                .reference
                .is_none_or(|wanted| means(wanted, &named[place].0))
        })
        .collect();
    let known = || named.iter().map(|(names, _)| names.shown()).collect();
    let path = files.path().to_owned();
    let (names, saved) = match (&meant[..], search.reference) {
        (&[only], _) => &named[only],
        ([], Some(wanted)) => {
            let wanted = wanted.to_owned();
            return Err(ImageError::NoSuchImage {
                path,
                wanted,
                known: known(),
            });
        }
        ([], None) => {
            let source = DocumentProblem::Content("it lists no image");
            let place = files.place(SAVED);
            return Err(ImageError::Document { place, source });
        }
        _ => {
            return Err(ImageError::Ambiguous {
                path,
                known: known(),
            });
        }
    };
    let bytes = files.read(&saved.config, search.limits)?;
    let id = Digest::of(&bytes);
    if let Some(wanted) = digest_in(&saved.config)
        && wanted != id
    {
        return Err(ImageError::Digest {
            place: files.place(&saved.config),
            wanted,
            found: id,
        });
    }
    let config: Config = parse(files, &saved.config, &bytes)?;
    let layers = saved.layers.iter().map(|member| LayerFile {
        member: member.clone(),
        stored: None::<Stored>,
    });
    let layers = layers.collect();
    image(search, config, (id, None), names.names.clone(), layers)
}

fn names(image: &SavedImage) -> Names {
    Names {
        names: image.repo_tags.clone().unwrap_or_default(),
        digest: digest_in(&image.config),
    }
}

/// `<digest>.json` and `blobs/sha256/<digest>` are named after what they hold.
fn digest_in(name: &str) -> Option<Digest> {
    let base = name.rsplit('/').next().unwrap_or(name);
    Digest::from_hex(base.strip_suffix(".json").unwrap_or(base))
}

/// What fuzzing tries.
pub(super) fn parse_all(bytes: &[u8]) {
    for image in serde_json::from_slice::<Vec<SavedImage>>(bytes)
        .into_iter()
        .flatten()
    {
        let _ = names(&image).shown();
    }
}
