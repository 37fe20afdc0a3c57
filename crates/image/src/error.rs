//! Why an image cannot be read or unpacked.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;

use crate::{
    digest::Digest,
    problem::{Exceeded, LayerProblem, TarProblem},
};

/// Why an image cannot be read or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file cannot be read.
    #[error("the image cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It is something else.
    #[error("this is no container image; {}", contents(.found))]
    NotAnImage {
        /// The file or directory.
        path: PathBuf,
        /// Names of what is in it, the first ones.
        found: Vec<String>,
    },
    /// The archive as a whole is compressed.
    #[error("the archive is compressed as a whole, and cannot be read where it is")]
    Compressed {
        /// The archive.
        path: PathBuf,
        /// The program that decompresses it.
        program: &'static str,
    },
    /// The archive is damaged.
    #[error("the archive is damaged: {problem}")]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        #[source]
        problem: TarProblem,
    },
    /// A document is not what it should be.
    #[error("a document of the image is malformed")]
    Document {
        /// The document.
        place: String,
        /// What is wrong.
        #[source]
        source: DocumentProblem,
    },
    /// Something that a document names is not there.
    #[error("`{blob}` is missing from the image")]
    Missing {
        /// The file or directory.
        path: PathBuf,
        /// What is missing.
        blob: String,
    },
    /// The bytes are others than were meant.
    #[error("the image is damaged: {wanted} was expected, {found} is there")]
    Digest {
        /// The blob.
        place: String,
        /// As it should be.
        wanted: Digest,
        /// As it is.
        found: Digest,
    },
    /// There are more or fewer bytes than were meant.
    #[error("the image is damaged: {wanted} bytes were expected, {found} are there")]
    Size {
        /// The blob.
        place: String,
        /// As it should be.
        wanted: u64,
        /// As it is.
        found: u64,
    },
    /// No image of that name.
    #[error("there is no image `{wanted}` here")]
    NoSuchImage {
        /// The file or directory.
        path: PathBuf,
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Several images, and none was named.
    #[error("there are several images here")]
    Ambiguous {
        /// The file or directory.
        path: PathBuf,
        /// What there is.
        known: Vec<String>,
    },
    /// No image for this host.
    #[error("the image is not for {host}, but for {}", .known.join(", "))]
    Platform {
        /// The file or directory.
        path: PathBuf,
        /// What this host is.
        host: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Something that this release cannot read.
    #[error("{what} cannot be read")]
    Unsupported {
        /// Where it is.
        place: String,
        /// What it is.
        what: String,
    },
    /// A bound that is no layer's.
    #[error("{exceeded}")]
    Limit {
        /// Where there is too much.
        place: String,
        /// Of what.
        exceeded: Exceeded,
    },
    /// A layer cannot be taken over.
    #[error("{}{problem}", entry_words(.entry.as_deref()))]
    Layer {
        /// The layer.
        place: String,
        /// Path of the entry, if it is one's fault.
        entry: Option<String>,
        /// What is wrong.
        #[source]
        problem: LayerProblem,
    },
    /// The directory cannot be made or written to.
    #[error("the image cannot be unpacked there")]
    Root {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// There is something where the image should go.
    #[error("the directory for the image is not empty")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentProblem {
    /// It is no JSON, or lacks something.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It says something that cannot be.
    #[error("{0}")]
    Content(&'static str),
    /// It has a value that cannot be.
    #[error("{what}: `{value}`")]
    Value {
        /// What is wrong with it.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// It is an index inside too many others.
    #[error("it lies in more than {0} indexes")]
    Nested(usize),
}

impl ImageError {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn limit(place: String, exceeded: Exceeded) -> Self {
        Self::Limit { place, exceeded }
    }

    pub(crate) fn root(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Root {
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// Whether it is because the caller's flag was raised.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(
            self,
            Self::Layer {
                problem: LayerProblem::Tar(TarProblem::Stopped),
                ..
            }
        )
    }
}

fn contents(names: &[String]) -> String {
    if names.is_empty() {
        "it is empty".to_owned()
    } else {
        format!("it holds {}", names.join(", "))
    }
}

fn entry_words(entry: Option<&str>) -> String {
    entry.map_or_else(String::new, |entry| format!("`{entry}` of the image: "))
}

/// How to make an image that can be read.
const SAVE: &str = "`docker save app:1.0 -o app.tar`, `podman save --format oci-archive -o \
                    app.tar app:1.0` and `skopeo copy docker://app:1.0 oci:app:1.0` make one";

impl Diagnosis for ImageError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "image::read",
            Self::NotAnImage { .. } => "image::not-an-image",
            Self::Compressed { .. } => "image::compressed",
            Self::Archive { .. } => "image::archive",
            Self::Document { .. } => "image::document",
            Self::Missing { .. } => "image::missing",
            Self::Digest { .. } | Self::Size { .. } => "image::damaged",
            Self::NoSuchImage { .. } => "image::no-such-image",
            Self::Ambiguous { .. } => "image::ambiguous",
            Self::Platform { .. } => "image::platform",
            Self::Unsupported { .. } => "image::unsupported",
            Self::Limit { .. } => "image::limit",
            Self::Layer { problem, .. } => match problem {
                LayerProblem::Tar(TarProblem::Stopped) => "image::stopped",
                LayerProblem::Tar(TarProblem::Limit(_)) | LayerProblem::Limit(_) => "image::limit",
                LayerProblem::Tar(_) => "image::layer",
                LayerProblem::Write(_) => "image::write",
                _ => "image::entry",
            },
            Self::Root { .. } | Self::NotEmpty { .. } => "image::root",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Read { path, .. }
            | Self::NotAnImage { path, .. }
            | Self::Compressed { path, .. }
            | Self::Archive { path, .. }
            | Self::Missing { path, .. }
            | Self::NoSuchImage { path, .. }
            | Self::Ambiguous { path, .. }
            | Self::Platform { path, .. }
            | Self::Root { path, .. }
            | Self::NotEmpty { path } => Some(path.display().to_string()),
            Self::Document { place, .. }
            | Self::Digest { place, .. }
            | Self::Size { place, .. }
            | Self::Unsupported { place, .. }
            | Self::Limit { place, .. }
            | Self::Layer { place, .. } => Some(place.clone()),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Read { .. } => "name a file or directory that can be read".to_owned(),
            Self::NotAnImage { .. } | Self::Unsupported { .. } => SAVE.to_owned(),
            Self::Compressed { path, program } => {
                format!("decompress it first: {program} {}", path.display())
            }
            Self::Archive { .. }
            | Self::Document { .. }
            | Self::Missing { .. }
            | Self::Digest { .. }
            | Self::Size { .. } => format!("save or copy the image again; {SAVE}"),
            Self::NoSuchImage { known, .. } | Self::Ambiguous { known, .. } => {
                format!("name one of {}", known.join(", "))
            }
            Self::Platform { host, .. } => {
                format!("build or pull the image for {host}, as `--platform {host}` does")
            }
            Self::Limit { .. } => LARGE.to_owned(),
            Self::Layer { problem, .. } => return layer_help(problem),
            Self::Root { .. } => "choose a place that you may write to".to_owned(),
            Self::NotEmpty { .. } => "name a new or an empty directory".to_owned(),
        })
    }
}

const LARGE: &str = "a smaller image is needed: what is larger is refused, so that no image fills \
                     the disk or the memory of the host";

fn layer_help(problem: &LayerProblem) -> Option<String> {
    let help = match problem {
        LayerProblem::Tar(TarProblem::Stopped) => return None,
        LayerProblem::Tar(TarProblem::Limit(_)) | LayerProblem::Limit(_) => LARGE,
        LayerProblem::Tar(TarProblem::Sparse) => {
            "build the layer without `tar --sparse`: images have plain files"
        }
        LayerProblem::Write(_) => "see whether the disk is full",
        _ => {
            "the image was not made by a usual builder, or is meant to do harm; nothing of it was \
             kept"
        }
    };
    Some(help.to_owned())
}
