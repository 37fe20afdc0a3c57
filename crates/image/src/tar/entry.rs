//! What an archive says of one file.

/// A time as files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// Since 1970.
    pub(crate) seconds: i64,
    /// Below a second.
    pub(crate) nanoseconds: i64,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// Its target, as it stands there.
    Symlink(Vec<u8>),
    /// The path of another entry.
    HardLink(Vec<u8>),
    Device,
    Fifo,
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink(_) => "symbolic link",
            Self::HardLink(_) => "hard link",
            Self::Device => "device",
            Self::Fifo => "pipe",
        }
    }
}

/// An entry, as it stands in the archive: nothing of it is to be believed.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) mode: i64,
    pub(crate) uid: i64,
    pub(crate) gid: i64,
    pub(crate) mtime: Time,
    /// Bytes of content; only a file has any.
    pub(crate) size: u64,
    /// Names of extended attributes.
    pub(crate) attributes: Vec<Vec<u8>>,
}
