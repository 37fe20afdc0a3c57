//! OCI layouts: `index.json`, which names manifests and further indexes by their digests; a
//! manifest names a configuration and layers.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Found, INDEX, LAYOUT, LayerFile, Search, Texts, config::Config, image, parse};
use crate::{
    digest::Digest,
    error::{DocumentProblem, ImageError},
    files::Files,
    layer::Stored,
    reference::{Names, means},
};

/// Indexes inside indexes; builders write two.
const MOST_INDEXES: usize = 4;
/// The name, or the tag alone.
const NAME: &str = "org.opencontainers.image.ref.name";
/// The whole name, as Docker and containerd write it.
const FULL_NAME: &str = "io.containerd.image.name";
/// On what is no image but was made along with one.
const ATTESTATION: &str = "vnd.docker.reference.type";
const INDEX_TYPES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
const MANIFEST_TYPES: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];
const CONFIG_TYPES: [&str; 2] = [
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
];
/// What layers may be; how they are compressed, their first bytes say.
const LAYER_TYPES: [&str; 10] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutFile {
    image_layout_version: String,
}

#[derive(Debug, Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u32,
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: Digest,
    size: u64,
    #[serde(default)]
    platform: Option<DescribedPlatform>,
    #[serde(default)]
    annotations: Option<Texts>,
}

#[derive(Clone, Debug, Deserialize)]
struct DescribedPlatform {
    architecture: String,
    os: String,
    #[serde(default)]
    variant: Option<String>,
}

impl Descriptor {
    fn annotation(&self, key: &str) -> Option<&String> {
        self.annotations.as_ref()?.get(key)
    }

    fn names(&self) -> Names {
        // The tag is the end of the whole name.
        let names = [FULL_NAME, NAME].map(|key| self.annotation(key).cloned());
        let mut names: Vec<String> = names.into_iter().flatten().collect();
        if names.len() == 2 && names[0].ends_with(&format!(":{}", names[1])) {
            names.truncate(1);
        }
        Names {
            names,
            digest: Some(self.digest),
        }
    }

    fn member(&self) -> String {
        format!("blobs/sha256/{}", self.digest.hex())
    }

    fn is_index(&self) -> bool {
        INDEX_TYPES.contains(&&*self.media_type)
    }

    /// Its document, whole and checked.
    fn read(&self, search: Search<'_>) -> Result<Vec<u8>, ImageError> {
        let bytes = search
            .files
            .read_checked(&self.member(), self.digest, search.limits)?;
        if bytes.len() as u64 == self.size {
            return Ok(bytes);
        }
        Err(ImageError::Size {
            place: search.files.place(&self.member()),
            wanted: self.size,
            found: bytes.len() as u64,
        })
    }
}

/// The image that is meant.
///
/// # Errors
/// As [`find`](super::find).
pub(super) fn find(search: Search<'_>) -> Result<Found, ImageError> {
    let files = search.files;
    let layout: LayoutFile = parse(files, LAYOUT, &files.read(LAYOUT, search.limits)?)?;
    if !layout.image_layout_version.starts_with("1.") {
        return Err(ImageError::Unsupported {
            place: files.place(LAYOUT),
            what: format!("a layout of version {}", layout.image_layout_version),
        });
    }
    let index: Index = parse(files, INDEX, &files.read(INDEX, search.limits)?)?;
    let mut meant = index.manifests;
    if let Some(wanted) = search.reference {
        let known: Vec<String> = shown(&meant);
        meant.retain(|descriptor| means(wanted, &descriptor.names()));
        if meant.is_empty() {
            let wanted = wanted.to_owned();
            let path = files.path().to_owned();
            return Err(ImageError::NoSuchImage {
                path,
                wanted,
                known,
            });
        }
    }
    let (descriptor, names) = choose(search, meant, Vec::new(), 0)?;
    let manifest: Manifest = parse(files, &descriptor.member(), &descriptor.read(search)?)?;
    from_manifest(search, &descriptor, manifest, names)
}

/// The only manifest for this host among `descriptors`, and what it is called.
fn choose(
    search: Search<'_>,
    mut descriptors: Vec<Descriptor>,
    mut names: Vec<String>,
    depth: usize,
) -> Result<(Descriptor, Vec<String>), ImageError> {
    let path = search.files.path().to_owned();
    descriptors.retain(|descriptor| {
        let attestation = descriptor.annotation(ATTESTATION).is_some();
        !attestation && (descriptor.is_index() || is_manifest(descriptor))
    });
    let all = descriptors.clone();
    descriptors.retain(|descriptor| {
        let platform = descriptor.platform.as_ref();
        platform.is_none_or(|of| search.platform.runs(&of.os, &of.architecture))
    });
    let plain = |descriptor: &Descriptor| {
        let platform = descriptor.platform.as_ref();
        platform.is_none_or(|platform| platform.variant.is_none())
    };
    // A variant may need a processor that this is not.
    if descriptors.len() > 1 && descriptors.iter().any(plain) {
        descriptors.retain(plain);
    }
    let Some(first) = descriptors.first().cloned() else {
        return Err(if all.is_empty() {
            ImageError::Document {
                place: search.files.place(INDEX),
                source: DocumentProblem::Content("it lists no image"),
            }
        } else {
            ImageError::Platform {
                path,
                host: search.platform.to_string(),
                known: platforms(&all),
            }
        });
    };
    if descriptors.iter().any(|other| other.digest != first.digest) {
        let known = shown(&descriptors);
        return Err(ImageError::Ambiguous { path, known });
    }
    for descriptor in &descriptors {
        names.extend(descriptor.names().names);
    }
    if !first.is_index() {
        return Ok((first, names));
    }
    if depth == MOST_INDEXES {
        return Err(ImageError::Document {
            place: search.files.place(&first.member()),
            source: DocumentProblem::Nested(MOST_INDEXES),
        });
    }
    let inner: Index = parse(search.files, &first.member(), &first.read(search)?)?;
    choose(search, inner.manifests, names, depth + 1)
}

/// Old writers left the type away.
fn is_manifest(descriptor: &Descriptor) -> bool {
    descriptor.media_type.is_empty() || MANIFEST_TYPES.contains(&&*descriptor.media_type)
}

fn shown(descriptors: &[Descriptor]) -> Vec<String> {
    let names = descriptors
        .iter()
        .map(|descriptor| descriptor.names().shown());
    names.collect()
}

fn platforms(descriptors: &[Descriptor]) -> Vec<String> {
    let unknown = "an unknown platform".to_owned();
    let named: BTreeMap<String, ()> = descriptors
        .iter()
        .map(|descriptor| match &descriptor.platform {
            Some(of) => {
                let variant = of.variant.iter().map(|variant| format!("/{variant}"));
                let variant: String = variant.collect();
                (format!("{}/{}{variant}", of.os, of.architecture), ())
            }
            None => (unknown.clone(), ()),
        })
        .collect();
    let outside = |name: String| rookery_diagnosis::outside_text(&name);
    named.into_keys().map(outside).collect()
}

fn from_manifest(
    search: Search<'_>,
    descriptor: &Descriptor,
    manifest: Manifest,
    names: Vec<String>,
) -> Result<Found, ImageError> {
    let files = search.files;
    if manifest.schema_version != 2 {
        return Err(unsupported(
            files,
            descriptor,
            "a manifest of another version",
        ));
    }
    // What is no image is stored in the same manner: charts, signatures, modules.
    if !CONFIG_TYPES.contains(&&*manifest.config.media_type) {
        let what = format!("`{}` in place of an image", manifest.config.media_type);
        return Err(unsupported(files, descriptor, &what));
    }
    let mut layers = Vec::new();
    for layer in &manifest.layers {
        if !LAYER_TYPES.contains(&&*layer.media_type) {
            let what = format!("a layer of the type `{}`", layer.media_type);
            return Err(unsupported(files, layer, &what));
        }
        layers.push(LayerFile {
            member: layer.member(),
            stored: Some(Stored {
                digest: layer.digest,
                bytes: layer.size,
            }),
        });
    }
    let bytes = manifest.config.read(search)?;
    let config: Config = parse(files, &manifest.config.member(), &bytes)?;
    let digests = (manifest.config.digest, Some(descriptor.digest));
    image(search, config, digests, names, layers)
}

fn unsupported(files: &Files, descriptor: &Descriptor, what: &str) -> ImageError {
    ImageError::Unsupported {
        place: files.place(&descriptor.member()),
        what: rookery_diagnosis::outside_text(what),
    }
}

/// What fuzzing tries.
pub(super) fn parse_all(bytes: &[u8]) {
    let _ = serde_json::from_slice::<LayoutFile>(bytes);
    let _ = serde_json::from_slice::<Manifest>(bytes);
    if let Ok(index) = serde_json::from_slice::<Index>(bytes) {
        let _ = (shown(&index.manifests), platforms(&index.manifests));
    }
}
