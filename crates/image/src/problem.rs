//! What is wrong with an entry of a layer, without where it is.

use std::io;

use rookery_diagnosis::outside_text;

/// A bound of [`Limits`](crate::Limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Bytes of all layers.
    UnpackedBytes,
    /// Entries of all layers, or members of an archive.
    Entries,
    /// Layers.
    Layers,
    /// Bytes of a document.
    DocumentBytes,
    /// Bytes of a path.
    PathBytes,
    /// Bytes of a name in a directory.
    NameBytes,
    /// Directories on the way to a file.
    Depth,
    /// Bytes of paths that are kept in memory.
    KeptPathBytes,
    /// What a compressed byte gives.
    Ratio,
}

impl LimitKind {
    /// What there is too much of.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnpackedBytes => "unpacked bytes",
            Self::Entries => "entries",
            Self::Layers => "layers",
            Self::DocumentBytes => "bytes in a document",
            Self::PathBytes => "bytes in a path",
            Self::NameBytes => "bytes in a name",
            Self::Depth => "directories inside each other",
            Self::KeptPathBytes => "bytes of paths that layers remove or directories have",
            Self::Ratio => "bytes out of each compressed byte",
        }
    }
}

/// An image asks for more than its limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {most} {}", .kind.name())]
pub struct Exceeded {
    /// What there is too much of.
    pub kind: LimitKind,
    /// How much there may be.
    pub most: u64,
}

impl Exceeded {
    pub(crate) fn new(kind: LimitKind, most: usize) -> Self {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        Self { kind, most }
    }
}

/// The caller's flag was raised.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
pub(crate) struct Stopped;

/// What is wrong with an archive of the format tar.
#[derive(Debug, thiserror::Error)]
pub enum TarProblem {
    /// It is shorter than it says.
    #[error("the archive ends in the middle of an entry")]
    Truncated,
    /// A header is damaged.
    #[error("the checksum of a header is wrong")]
    Checksum,
    /// A field of a header is malformed.
    #[error("the {0} in a header is no number, or none that can be")]
    Number(&'static str),
    /// A single block of zeros, where the end has two.
    #[error("something follows the end of the archive's entries")]
    End,
    /// A pax header is malformed.
    #[error("an extended header is malformed")]
    Extension,
    /// A long name or a pax header is too long.
    #[error("an extended header has more than {0} bytes")]
    LongExtension(u64),
    /// A pax header for all entries says what only one can have.
    #[error("a header for all entries says `{0}`")]
    Global(String),
    /// A kind of entry that images do not have.
    #[error("an entry is of the type `{}`, which images do not have", outside_text(&.0.to_string()))]
    Type(char),
    /// A file with holes in a special format.
    #[error("a file is stored as a sparse file")]
    Sparse,
    /// Something that is no file has bytes.
    #[error("a {0} has content")]
    Content(&'static str),
    /// A compressed stream is damaged, or the disk is.
    #[error("the archive cannot be read")]
    Read(#[source] io::Error),
    /// A bound.
    #[error(transparent)]
    Limit(#[from] Exceeded),
    /// The caller wants no more.
    #[error("stopped")]
    Stopped,
}

impl From<io::Error> for TarProblem {
    /// Readers below hand a bound that was reached, and the caller's flag, through as an error of
    /// the system.
    fn from(error: io::Error) -> Self {
        let inner = error.get_ref();
        if let Some(exceeded) = inner.and_then(|inner| inner.downcast_ref::<Exceeded>()) {
            return Self::Limit(*exceeded);
        }
        if inner.is_some_and(|inner| inner.is::<Stopped>()) {
            return Self::Stopped;
        }
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::Truncated;
        }
        Self::Read(error)
    }
}

/// What is wrong with an entry of a layer, or with where it would go.
#[derive(Debug, thiserror::Error)]
pub enum LayerProblem {
    /// The archive.
    #[error(transparent)]
    Tar(#[from] TarProblem),
    /// A bound.
    #[error(transparent)]
    Limit(#[from] Exceeded),
    /// A path with `..`, or a whiteout of `.` or `..`.
    #[error("a path leads out of the image")]
    Outside,
    /// A name with a zero byte, or an empty link.
    #[error("a name is empty or has a zero byte")]
    Name,
    /// A name that is reserved for whiteouts, in the place of a directory.
    #[error("a directory has a name that is reserved for removals, `.wh.`")]
    Reserved,
    /// The root of the image is no directory.
    #[error("the root of the image is no directory")]
    Root,
    /// An owner that the system cannot have.
    #[error("the owner {0} does not exist on any system")]
    Owner(i64),
    /// What should be a directory is something else.
    #[error("its directory is no directory")]
    NotADirectory,
    /// Symbolic links that lead round in circles.
    #[error("too many symbolic links on the way")]
    TooManyLinks,
    /// The target of a hard link is not there, or a directory.
    #[error("it is a hard link to something that is not there or is no file")]
    LinkTarget,
    /// The disk refuses.
    #[error("it cannot be written")]
    Write(#[source] io::Error),
}

impl From<rustix::io::Errno> for LayerProblem {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Write(error.into())
    }
}
