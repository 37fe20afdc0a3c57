//! From a source to a directory.

use std::{
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::fs::DirBuilderExt},
    path::Path,
    sync::atomic::AtomicBool,
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};

use crate::{
    description::{ImageDescription, UnpackedImage},
    documents::{Found, Search, find},
    error::ImageError,
    files::Files,
    layer::{Allowance, Reading},
    limits::{Limits, Options},
    platform::Platform,
    problem::LayerProblem,
    source::ImageSource,
    tree::{Tree, clear},
};

/// Reads what an image says about itself; its layers are not looked into.
///
/// # Errors
/// When there is no image for this host, its documents are damaged, or a layer is missing.
pub fn describe(source: &ImageSource, limits: &Limits) -> Result<ImageDescription, ImageError> {
    let (files, found) = search(source, limits)?;
    for layer in &found.layers {
        files.open_blob(&layer.member)?;
    }
    Ok(found.description)
}

/// Unpacks an image into the directory `root`, which is made, or is there and empty.
///
/// All layers are checked as a whole before the first byte is written. What the image has and the
/// directory has not is in [`UnpackedImage::dropped`]. The directory then holds symbolic links as
/// the image has them: they mean something inside it, and are not to be followed from outside.
///
/// # Errors
/// When the image is damaged, hostile, not for this host, or larger than its limits; when the disk
/// refuses; when `stop` is raised. `root` is then as it was before: not there, or empty.
pub fn unpack(
    source: &ImageSource,
    root: &Path,
    options: &Options,
    stop: &AtomicBool,
) -> Result<UnpackedImage, ImageError> {
    let limits = &options.limits;
    let (files, found) = search(source, limits)?;
    let reading = Reading {
        files: &files,
        limits,
        stop,
    };
    let mut allowance = Allowance::new(limits);
    let mut whiteouts = Vec::new();
    for layer in &found.layers {
        whiteouts.push(layer.survey(reading, &mut allowance)?);
    }
    let target = Target::make(root)?;
    let mut tree = Tree::new(target.directory()?, options);
    let mut allowance = Allowance::new(limits);
    for (layer, whiteouts) in found.layers.iter().zip(&whiteouts) {
        layer.apply(reading, &mut allowance, whiteouts, &mut tree)?;
    }
    let names = options.directories.iter();
    let needed: Result<(), LayerProblem> = names
        .map(String::as_bytes)
        .try_for_each(|name| tree.need_directory(name));
    let dropped = needed.and_then(|()| tree.finish());
    let dropped = dropped.map_err(|problem| match problem {
        LayerProblem::Write(error) => ImageError::root(root, error),
        other => ImageError::root(root, io::Error::other(other)),
    })?;
    target.keep();
    Ok(UnpackedImage {
        image: found.description,
        layer_bytes: allowance.taken_bytes(),
        entries: allowance.taken_entries(),
        dropped,
    })
}

fn search(source: &ImageSource, limits: &Limits) -> Result<(Files, Found), ImageError> {
    let files = Files::open(&source.path, limits)?;
    let found = find(Search {
        files: &files,
        limits,
        platform: &Platform::of_host(),
        reference: source.reference.as_deref(),
    })?;
    Ok((files, found))
}

/// The directory for an image. Dropped, it leaves what was there before.
pub(crate) struct Target<'a> {
    path: &'a Path,
    directory: File,
    made: bool,
    kept: bool,
}

impl<'a> Target<'a> {
    /// # Errors
    /// When it cannot be made, or is not empty.
    pub(crate) fn make(path: &'a Path) -> Result<Self, ImageError> {
        let failed = |error| ImageError::root(path, error);
        let made = match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(failed(error)),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = open(path, flags, Mode::empty());
        let directory = opened.map_err(|error: Errno| failed(error.into()))?;
        if !made && fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(ImageError::NotEmpty {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path,
            directory: directory.into(),
            made,
            kept: false,
        })
    }

    /// # Errors
    /// When the system has no more descriptors.
    pub(crate) fn directory(&self) -> Result<OwnedFd, ImageError> {
        let directory = self.directory.try_clone();
        let directory = directory.map_err(|error| ImageError::root(self.path, error))?;
        Ok(directory.into())
    }

    /// All went well: what is in it stays.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // There is no one left to report to; what cannot be removed is found by who looks.
        if let Ok(directory) = self.directory() {
            let _ = clear(&directory);
        }
        if self.made {
            let _ = fs::remove_dir(self.path);
        }
    }
}
