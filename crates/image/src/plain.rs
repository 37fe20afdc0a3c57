//! Archives that are no images: trees of files, taken over with the care of a layer.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::atomic::AtomicBool,
};

use crate::{
    change::Change,
    digest::Digest,
    error::ImageError,
    files::open_regular,
    layer::{Allowance, visit_archive},
    limits::{Limits, Options},
    problem::{LayerProblem, TarProblem},
    tar::{Kind, shown},
    tree::Tree,
    unpack::Target,
};

/// Takes the path of a file, and its content.
pub type VisitFile<'a> = &'a mut dyn FnMut(&[u8], &mut dyn Read) -> io::Result<()>;

/// Hands every file of an archive to `visit`, by its path within the archive; nothing is written.
/// The archive is plain, or compressed by gzip or zstd. Gives the digest of the archive as it is
/// stored.
///
/// # Errors
/// When it is damaged, hostile or larger than the limits, `visit` fails, or `stop` is raised.
pub fn survey_archive(
    archive: &Path,
    limits: &Limits,
    stop: &AtomicBool,
    visit: VisitFile<'_>,
) -> Result<Digest, ImageError> {
    pass(archive, limits, stop, &mut |change, content| match change {
        Change::Put(node) if node.kind == Kind::File => {
            visit(&node.path, content).map_err(|error| TarProblem::from(error).into())
        }
        _ => Ok(()),
    })
}

/// Unpacks an archive into the directory `root`, which is made, or is there and empty. Gives the
/// digest of the archive as it is stored.
///
/// # Errors
/// As [`survey_archive`], and when the disk refuses. `root` is then as it was before.
pub fn unpack_archive(
    archive: &Path,
    root: &Path,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Digest, ImageError> {
    let target = Target::make(root)?;
    let mut tree = Tree::new(target.directory()?, options);
    let put = &mut |change, content: &mut dyn Read| match change {
        Change::Put(node) => tree.put(&node, content),
        // Names that mean a removal in layers mean nothing here.
        Change::Remove(_) | Change::Nothing => Ok(()),
    };
    let digest = pass(archive, &options.limits, stop, put)?;
    let finished = tree.finish();
    finished.map_err(|problem| ImageError::root(root, io::Error::other(problem)))?;
    target.keep();
    Ok(digest)
}

fn pass(
    archive: &Path,
    limits: &Limits,
    stop: &AtomicBool,
    visit: &mut dyn FnMut(Change, &mut dyn Read) -> Result<(), LayerProblem>,
) -> Result<Digest, ImageError> {
    let (file, _): (File, u64) =
        open_regular(archive).map_err(|error| ImageError::read(archive, error))?;
    let mut path = None;
    let passed = visit_archive(
        file,
        &mut Allowance::new(limits),
        limits,
        stop,
        &mut path,
        visit,
    );
    passed.map_err(|problem| ImageError::Layer {
        place: archive.display().to_string(),
        entry: path.as_deref().map(shown),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::atomic::Ordering};

    use super::*;

    fn archive(at: &Path, files: &[(&str, &str)]) {
        let mut builder = tar::Builder::new(File::create(at).expect("made"));
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            // A path that leads upwards is written as it is: the builder would refuse it.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, text.as_bytes()).expect("added");
        }
        builder.finish().expect("finished");
    }

    #[test]
    fn a_tree_is_surveyed_and_unpacked_and_both_say_which_it_was() {
        let place = tempfile::tempdir().expect("a directory");
        let (from, to) = (place.path().join("a.tar"), place.path().join("tree"));
        archive(&from, &[("site/index.php", "<?php"), ("site/.wh.x", "")]);
        let mut seen = Vec::new();
        let never = AtomicBool::new(false);
        let surveyed = survey_archive(&from, &Limits::default(), &never, &mut |path, content| {
            let mut text = String::new();
            content.read_to_string(&mut text)?;
            seen.push((String::from_utf8_lossy(path).into_owned(), text));
            Ok(())
        });
        let unpacked = unpack_archive(&from, &to, &Options::default(), &never);
        assert_eq!(surveyed.expect("read"), unpacked.expect("unpacked"));
        assert_eq!(seen, [("site/index.php".to_owned(), "<?php".to_owned())]);
        assert_eq!(
            fs::read_to_string(to.join("site/index.php")).expect("there"),
            "<?php"
        );
        assert!(!to.join("site/.wh.x").exists());
        let stopped = AtomicBool::new(false);
        stopped.store(true, Ordering::Relaxed);
        let other = place.path().join("other");
        let ended = unpack_archive(&from, &other, &Options::default(), &stopped);
        assert!(ended.is_err_and(|error| error.is_stopped()) && !other.exists());
    }

    #[test]
    fn what_leads_out_is_refused_and_leaves_nothing() {
        let place = tempfile::tempdir().expect("a directory");
        let (from, to) = (place.path().join("a.tar"), place.path().join("tree"));
        archive(&from, &[("site/a", "1"), ("../../etc/evil", "2")]);
        let refused = unpack_archive(&from, &to, &Options::default(), &AtomicBool::new(false));
        assert!(
            matches!(refused, Err(ImageError::Layer { .. })),
            "{refused:?}"
        );
        assert!(!to.exists());
        fs::write(&from, "no archive").expect("written");
        let refused = survey_archive(
            &from,
            &Limits::default(),
            &AtomicBool::new(false),
            &mut |_, _| Ok(()),
        );
        assert!(refused.is_err());
    }
}
