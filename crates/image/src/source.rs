//! Where an image is.

use std::path::PathBuf;

/// A file or directory with images, and which one of them is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSource {
    /// An OCI layout directory, or an archive of one, of `docker save` or of `podman save`.
    pub path: PathBuf,
    /// Which image, where the source holds several: its name (`app:1.0`), the tag alone (`1.0`)
    /// where the source gives tags, or the digest of its manifest.
    pub reference: Option<String>,
}

impl ImageSource {
    /// The only image of `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            reference: None,
        }
    }

    /// The image of that name.
    #[must_use]
    pub fn with_reference(self, reference: impl Into<String>) -> Self {
        Self {
            reference: Some(reference.into()),
            ..self
        }
    }
}
