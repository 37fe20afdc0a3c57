//! Layers: archives of what each changes in the image below it.
//!
//! [`Layer`] is the principal type. A layer is read twice. [`Layer::survey`] reads all of it,
//! checks digests, entries and limits, and finds what the layer removes; nothing is written.
//! [`Layer::apply`] then writes, and checks the same again, for the file may have changed. So what
//! is refused for what it says was never on the disk, and removals come before what the same layer
//! puts there, as the format wants it, wherever they stand in the archive.

mod stream;
mod zstd;

use std::{io::Read, sync::atomic::AtomicBool};

pub(crate) use stream::Allowance;
use stream::{LayerDigests, LayerStream};

use crate::{
    change::{Change, Whiteout},
    digest::Digest,
    error::ImageError,
    files::Files,
    limits::Limits,
    problem::{LayerProblem, TarProblem},
    tar::{Reader, shown},
    tree::Tree,
};

/// A layer of an image.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// What its file is called.
    pub(crate) member: String,
    /// What the manifest says of the file; archives of `docker save` say nothing.
    pub(crate) stored: Option<Stored>,
    /// The digest of the decompressed archive, as the configuration says it.
    pub(crate) diff_id: Digest,
}

/// What a manifest says of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

/// What layers are read with.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) files: &'a Files,
    pub(crate) limits: &'a Limits,
    pub(crate) stop: &'a AtomicBool,
}

/// Takes what an entry changes, and its content.
type Visit<'a> = &'a mut dyn FnMut(Change, &mut dyn Read) -> Result<(), LayerProblem>;

impl Layer {
    /// Checks the layer; what it removes from those below.
    ///
    /// # Errors
    /// When it is damaged, hostile, or larger than what is left of the allowance.
    pub(crate) fn survey(
        &self,
        reading: Reading<'_>,
        allowance: &mut Allowance,
    ) -> Result<Vec<Whiteout>, ImageError> {
        let mut whiteouts = Vec::new();
        self.visit(reading, allowance, &mut |change, _| {
            if let Change::Remove(whiteout) = change {
                whiteouts.push(whiteout);
            }
            Ok(())
        })?;
        Ok(whiteouts)
    }

    /// Removes from the tree what the survey found, and puts there what the layer brings.
    ///
    /// # Errors
    /// As for a survey, and when the disk refuses.
    pub(crate) fn apply(
        &self,
        reading: Reading<'_>,
        allowance: &mut Allowance,
        whiteouts: &[Whiteout],
        tree: &mut Tree,
    ) -> Result<(), ImageError> {
        for whiteout in whiteouts {
            tree.remove(whiteout).map_err(|problem| {
                let (Whiteout::Path(path) | Whiteout::Content(path)) = whiteout;
                self.error(reading, problem, Some(path))
            })?;
        }
        self.visit(reading, allowance, &mut |change, content| match change {
            Change::Put(node) => tree.put(&node, content),
            Change::Remove(_) | Change::Nothing => Ok(()),
        })
    }

    fn visit(
        &self,
        reading: Reading<'_>,
        allowance: &mut Allowance,
        visit: Visit<'_>,
    ) -> Result<(), ImageError> {
        let place = || reading.files.place(&self.member);
        let blob = reading.files.open_blob(&self.member)?;
        if let Some(stored) = self.stored
            && stored.bytes != blob.bytes
        {
            return Err(ImageError::Size {
                place: place(),
                wanted: stored.bytes,
                found: blob.bytes,
            });
        }
        let stream = LayerStream::new(blob.reader, allowance, reading.stop);
        let stream =
            stream.map_err(|error| self.error(reading, TarProblem::from(error).into(), None))?;
        let mut archive = Reader::new(stream);
        let mut path = None;
        let visited = visit_entries(&mut archive, reading.limits, &mut path, visit);
        let mut stream = archive.into_inner();
        let drained = visited.and_then(|()| Ok(stream.drain().map_err(TarProblem::from)?));
        match drained {
            Ok(()) => {
                let digests = stream.finish();
                let failed = |error| self.error(reading, TarProblem::from(error).into(), None);
                self.check(reading, &digests.map_err(failed)?)
            }
            Err(problem) => Err(self.explained(reading, problem, path.as_deref(), stream)),
        }
    }

    fn check(&self, reading: Reading<'_>, digests: &LayerDigests) -> Result<(), ImageError> {
        let stored = self
            .stored
            .map(|stored| (stored.digest, digests.stored, ""));
        let unpacked = (self.diff_id, digests.unpacked, ", decompressed");
        for (wanted, found, which) in stored.into_iter().chain([unpacked]) {
            if wanted != found {
                let place = format!("{}{which}", reading.files.place(&self.member));
                return Err(ImageError::Digest {
                    place,
                    wanted,
                    found,
                });
            }
        }
        Ok(())
    }

    /// The error of a problem. Where the file is damaged, that is the error: nothing that it seems
    /// to say is to be believed then.
    fn explained<R: Read>(
        &self,
        reading: Reading<'_>,
        problem: LayerProblem,
        path: Option<&[u8]>,
        stream: LayerStream<'_, R>,
    ) -> ImageError {
        let of_content = !matches!(
            problem,
            LayerProblem::Write(_) | LayerProblem::Tar(TarProblem::Stopped)
        );
        if let Some(stored) = self.stored.filter(|_| of_content)
            && let Ok(found) = stream.stored_digest()
            && found != stored.digest
        {
            return ImageError::Digest {
                place: reading.files.place(&self.member),
                wanted: stored.digest,
                found,
            };
        }
        self.error(reading, problem, path)
    }

    fn error(
        &self,
        reading: Reading<'_>,
        problem: LayerProblem,
        path: Option<&[u8]>,
    ) -> ImageError {
        ImageError::Layer {
            place: reading.files.place(&self.member),
            entry: path.map(shown),
            problem,
        }
    }
}

/// Hands every entry to `visit`; `path` is that of the present one.
fn visit_entries<R: Read>(
    archive: &mut Reader<LayerStream<'_, R>>,
    limits: &Limits,
    path: &mut Option<Vec<u8>>,
    visit: Visit<'_>,
) -> Result<(), LayerProblem> {
    while let Some(entry) = archive.next()? {
        *path = Some(entry.path.clone());
        archive.get_mut().allowance().take_entry()?;
        let change = Change::new(entry, limits)?;
        if let Change::Remove(Whiteout::Path(removed) | Whiteout::Content(removed)) = &change {
            archive.get_mut().allowance().take_path(removed)?;
        }
        visit(change, &mut archive.content())?;
    }
    *path = None;
    Ok(())
}

/// Hands every entry of an archive that is no layer to `visit`; `path` is that of the present one.
/// Gives the digest of the archive as it is stored.
///
/// # Errors
/// When it is damaged, hostile or larger than what is left of the allowance, or `visit` fails.
pub(crate) fn visit_archive<R: Read>(
    stored: R,
    allowance: &mut Allowance,
    limits: &Limits,
    stop: &AtomicBool,
    path: &mut Option<Vec<u8>>,
    visit: Visit<'_>,
) -> Result<Digest, LayerProblem> {
    let stream = LayerStream::new(stored, allowance, stop).map_err(TarProblem::from)?;
    let mut archive = Reader::new(stream);
    visit_entries(&mut archive, limits, path, visit)?;
    let mut stream = archive.into_inner();
    stream.drain().map_err(TarProblem::from)?;
    Ok(stream.finish().map_err(TarProblem::from)?.stored)
}

/// Applies an archive that nobody vouches for; for fuzzing.
pub(crate) fn apply_unchecked(
    bytes: &[u8],
    limits: &Limits,
    tree: &mut Tree,
) -> Result<(), LayerProblem> {
    let stop = AtomicBool::new(false);
    let mut whiteouts = Vec::new();
    let mut collect = |change, _: &mut dyn Read| {
        if let Change::Remove(whiteout) = change {
            whiteouts.push(whiteout);
        }
        Ok(())
    };
    pass_unchecked(bytes, limits, &stop, &mut collect)?;
    for whiteout in &whiteouts {
        tree.remove(whiteout)?;
    }
    pass_unchecked(bytes, limits, &stop, &mut |change, content| match change {
        Change::Put(node) => tree.put(&node, content),
        Change::Remove(_) | Change::Nothing => Ok(()),
    })
}

fn pass_unchecked(
    bytes: &[u8],
    limits: &Limits,
    stop: &AtomicBool,
    visit: Visit<'_>,
) -> Result<(), LayerProblem> {
    let mut allowance = Allowance::new(limits);
    let stream = LayerStream::new(bytes, &mut allowance, stop).map_err(TarProblem::from)?;
    visit_entries(&mut Reader::new(stream), limits, &mut None, visit)
}
