//! How much an image may ask of the host, and what of it is taken over.

/// Bounds on an image. Time needs none of its own: work is proportional to the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of all layers together, as they are after decompression; headers and padding
    /// count as well.
    pub unpacked_bytes: u64,
    /// Most entries of all layers together, and most members of an archive.
    pub entries: u64,
    /// Most layers.
    pub layers: usize,
    /// Most bytes of one document: an index, a manifest, a configuration.
    pub document_bytes: u64,
    /// Longest path in the image, bytes.
    pub path_bytes: usize,
    /// Most directories on the way to a file.
    pub depth: usize,
    /// Most bytes that a compressed layer may give per byte that it takes, once it gave
    /// [`Limits::UNRATED_BYTES`].
    pub ratio: u64,
}

impl Limits {
    /// So much a layer may give whatever its ratio: small files of zeros are ordinary.
    pub const UNRATED_BYTES: u64 = 64 << 20;
    /// Most bytes of paths that are kept in memory for one purpose, such as the paths that a
    /// layer removes.
    pub(crate) const KEPT_PATH_BYTES: usize = 64 << 20;
}

impl Default for Limits {
    /// Enough for every ordinary image of a server: 16 GiB, a million entries, 256 layers.
    fn default() -> Self {
        Self {
            unpacked_bytes: 16 << 30,
            entries: 1_000_000,
            layers: 256,
            document_bytes: 4 << 20,
            path_bytes: 4_095,
            depth: 128,
            ratio: 200,
        }
    }
}

/// Whose the unpacked files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// As the image says. Only root can.
    Image,
    /// The calling user's.
    Caller,
}

impl Ownership {
    /// As the image says where this process may, as root does; else the caller's.
    #[must_use]
    pub fn of_caller() -> Self {
        if rustix::process::geteuid().is_root() {
            Self::Image
        } else {
            Self::Caller
        }
    }
}

/// How an image is unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bounds.
    pub limits: Limits,
    /// Whose the files are.
    pub ownership: Ownership,
    /// Names in the root of the image that are directories in the end, whatever the image says:
    /// those that the host mounts on, or changes by their paths. A link in such a place would lead
    /// the host to a directory of its own.
    pub directories: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            ownership: Ownership::of_caller(),
            directories: Vec::new(),
        }
    }
}
