//! The files that an image consists of, in a directory or in an archive.

mod archive;

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use archive::Archive;
use rookery_diagnosis::outside_text;
use rustix::fs::OFlags;

use crate::{
    digest::Digest,
    error::ImageError,
    limits::Limits,
    problem::{Exceeded, LimitKind},
    tar::image_path,
};

/// How many names an error lists.
const LISTED: usize = 8;

/// The files of an image.
#[derive(Debug)]
pub(crate) enum Files {
    /// In a directory.
    Directory(PathBuf),
    /// In an archive.
    Archive(Archive),
}

/// One of them, open.
pub(crate) struct Blob {
    pub(crate) reader: Section,
    /// Its size.
    pub(crate) bytes: u64,
}

impl Files {
    /// # Errors
    /// When there is nothing, or an archive that cannot be read.
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Self, ImageError> {
        let metadata = fs::metadata(path).map_err(|error| ImageError::read(path, error))?;
        if metadata.is_dir() {
            Ok(Self::Directory(path.to_owned()))
        } else {
            Ok(Self::Archive(Archive::open(path, limits)?))
        }
    }

    /// The directory or the archive.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Archive(archive) => archive.path(),
        }
    }

    /// Whether there is a file of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Directory(path) => path.join(name).is_file(),
            Self::Archive(archive) => archive.find(name.as_bytes()).is_some(),
        }
    }

    /// Names of what is there, for an error.
    pub(crate) fn some_names(&self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Directory(path) => {
                let entries = fs::read_dir(path).into_iter().flatten().flatten();
                let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
                names.take(LISTED).collect()
            }
            Self::Archive(archive) => archive.names().take(LISTED).collect(),
        };
        names.sort();
        names
            .iter()
            .map(|name| format!("`{}`", outside_text(name)))
            .collect()
    }

    /// A file in words, for an error.
    pub(crate) fn place(&self, name: &str) -> String {
        format!("{}: {}", self.path().display(), outside_text(name))
    }

    /// A document as a whole.
    ///
    /// # Errors
    /// When it is missing, too large, or cannot be read.
    pub(crate) fn read(&self, name: &str, limits: &Limits) -> Result<Vec<u8>, ImageError> {
        let blob = self.open_blob(name)?;
        if blob.bytes > limits.document_bytes {
            let exceeded = Exceeded {
                kind: LimitKind::DocumentBytes,
                most: limits.document_bytes,
            };
            return Err(ImageError::limit(self.place(name), exceeded));
        }
        let mut bytes = Vec::new();
        let mut reader = blob.reader;
        let read = reader.read_to_end(&mut bytes);
        read.map_err(|error| ImageError::read(self.path(), error))?;
        Ok(bytes)
    }

    /// A document as a whole, which must have that digest.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when it has another.
    pub(crate) fn read_checked(
        &self,
        name: &str,
        wanted: Digest,
        limits: &Limits,
    ) -> Result<Vec<u8>, ImageError> {
        let bytes = self.read(name, limits)?;
        let found = Digest::of(&bytes);
        if found == wanted {
            return Ok(bytes);
        }
        Err(ImageError::Digest {
            place: self.place(name),
            wanted,
            found,
        })
    }

    /// A file, to read it.
    ///
    /// # Errors
    /// When it is missing, or no file.
    pub(crate) fn open_blob(&self, name: &str) -> Result<Blob, ImageError> {
        let missing = || ImageError::Missing {
            path: self.path().to_owned(),
            blob: outside_text(name),
        };
        match self {
            Self::Directory(directory) => {
                // A document of `docker save` names files itself.
                let inside = image_path(name.as_bytes(), &Limits::default());
                let inside = inside.ok().and_then(|path| String::from_utf8(path).ok());
                let path = directory.join(inside.ok_or_else(missing)?);
                match open_regular(&path) {
                    Ok((file, bytes)) => Ok(Blob::new(Arc::new(file), 0, bytes)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
                    Err(error) => Err(ImageError::read(&path, error)),
                }
            }
            Self::Archive(archive) => archive.find(name.as_bytes()).ok_or_else(missing),
        }
    }
}

impl Blob {
    fn new(file: Arc<File>, offset: u64, bytes: u64) -> Self {
        Self {
            reader: Section {
                file,
                offset,
                left: bytes,
            },
            bytes,
        }
    }
}

/// A part of a file.
pub(crate) struct Section {
    file: Arc<File>,
    offset: u64,
    left: u64,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.file.read_at(&mut buffer[..most], self.offset)?;
        if read == 0 && most > 0 {
            // It was longer when it was opened.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.offset += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// A file and its size. A pipe in its place does not make us wait.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, u64)> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok((file, metadata.len()))
}
