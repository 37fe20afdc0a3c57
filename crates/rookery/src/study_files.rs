//! The files that a study names, by their digests: a run goes on only with the same.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rookery_store::StudyFile;
use rookery_study::{Document, ImageRoot, Plan};
use sha2::{Digest, Sha256};

use crate::{
    exit::{Code, Failure},
    output,
};

/// What an OCI layout directory says of all else in it, by digest.
const INDEX: &str = "index.json";

/// The files of a study that was read from `path`, or is built in (`None`), and the container
/// images of its plan. What cannot be read is left to those who need it.
pub(crate) fn of_study(document: &Document, plan: &Plan, path: Option<&Path>) -> Vec<StudyFile> {
    let directory = path.map(directory_of);
    let secret = secret_files(plan);
    let texts = document.files().filter_map(|(name, text)| {
        let path = directory.as_ref().map(|directory| directory.join(name));
        let is_secret = path
            .as_ref()
            .and_then(|path| path.canonicalize().ok())
            .is_some_and(|path| secret.contains(&path));
        (!is_secret).then(|| StudyFile {
            name: name.to_owned(),
            path: path.and_then(|path| path.to_str().map(str::to_owned)),
            bytes: text.len() as u64,
            sha256: hex(Sha256::digest(text.as_bytes()).as_slice()),
        })
    });
    let mut files: Vec<StudyFile> = texts.collect();
    for archive in archives(plan) {
        if files.iter().all(|file| file.name != archive) {
            files.extend(of_archive(&archive));
        }
    }
    files
}

/// The directory of a study, from the root where that can be told.
fn directory_of(path: &Path) -> PathBuf {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned())
}

/// The files with secret columns of the feeders of a plan. Nothing is kept of them: passwords may
/// be guessed from a digest, and may change.
fn secret_files(plan: &Plan) -> Vec<PathBuf> {
    let studies = plan.variants.iter().flat_map(|variant| variant.studies());
    let feeders = studies.flat_map(|study| study.workload.feeders());
    let secret = feeders.filter_map(|feeder| feeder.secret());
    secret.map(|secret| PathBuf::from(&secret.file)).collect()
}

/// The archives of container images that a plan names.
fn archives(plan: &Plan) -> Vec<String> {
    let studies = plan.variants.iter().flat_map(|variant| variant.studies());
    let roots = studies.filter_map(|study| study.stack.image().map(|image| &image.root));
    let paths = roots.filter_map(|root| match root {
        ImageRoot::Archive(archive) => Some(archive.path.clone()),
        ImageRoot::Packages(_) => None,
    });
    paths.collect()
}

fn of_archive(path: &str) -> io::Result<StudyFile> {
    let (bytes, sha256) = digest(Path::new(path))?;
    Ok(StudyFile {
        name: path.to_owned(),
        path: Some(path.to_owned()),
        bytes,
        sha256,
    })
}

/// Refuse to go on where a file of a run is not what it was. Files that are built in cannot change
/// without the program. A file that is gone is remarked on alone: the run has kept what it says, or
/// the template that was made from it.
///
/// # Errors
/// With the file, when it is another, or cannot be read.
pub(crate) fn refuse_changed(files: &[StudyFile]) -> Result<(), Failure> {
    for file in files {
        let Some(path) = &file.path else {
            continue;
        };
        let message = match same(file, Path::new(path)) {
            Ok(true) => continue,
            Ok(false) => format!("`{}` has changed since the run began", file.name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                output::remark(format!(
                    "`{}`, with which the run began, is gone; the run goes on with what it has kept",
                    file.name
                ));
                continue;
            }
            Err(error) => format!(
                "`{}`, with which the run began, cannot be read: {error}",
                file.name
            ),
        };
        return Err(Failure::new(Code::Study, message)
            .at(path)
            .help("put the file back as it was; or begin a new run with it: `rookery run STUDY`"));
    }
    Ok(())
}

fn same(file: &StudyFile, path: &Path) -> io::Result<bool> {
    let place = summary_of(path)?;
    // Nothing larger is read than what was read at first.
    if place.metadata()?.len() != file.bytes {
        return Ok(false);
    }
    let (bytes, sha256) = digest(path)?;
    Ok(bytes == file.bytes && sha256 == file.sha256)
}

/// The file that stands for `path`: of a layout directory the one that names all others.
fn summary_of(path: &Path) -> io::Result<PathBuf> {
    let metadata = path.metadata()?;
    if metadata.is_dir() {
        return Ok(path.join(INDEX));
    }
    // A pipe would be waited for.
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(path.to_owned())
}

/// Size and digest of a file, read piece by piece: images are large.
fn digest(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(summary_of(path)?)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((bytes, hex(digest.finalize().as_slice()))),
            Ok(count) => {
                digest.update(piece.get(..count).unwrap_or_default());
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_another_or_gone_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("users.csv");
        fs::write(&path, "name\nann\n").expect("written");
        let text = path.to_str().expect("text").to_owned();
        let kept = StudyFile {
            name: "users.csv".to_owned(),
            ..of_archive(&text).expect("readable")
        };
        assert_eq!(kept.bytes, 9);
        assert_eq!(kept.sha256.len(), 64);
        let check = || refuse_changed(std::slice::from_ref(&kept)).map_err(|f| f.to_string());
        assert_eq!(check(), Ok(()));
        // The same size, and another content.
        fs::write(&path, "name\nbob\n").expect("written");
        let refused = check().expect_err("changed");
        assert!(
            refused.contains("`users.csv` has changed since the run began")
                && refused.contains("begin a new run"),
            "{refused}"
        );
        fs::write(&path, "name\nann\nbob\n").expect("written");
        assert!(check().expect_err("longer").contains("has changed"));
        fs::remove_file(&path).expect("there");
        assert_eq!(check(), Ok(()), "what it says is kept");
        let built_in = StudyFile { path: None, ..kept };
        assert!(refuse_changed(&[built_in]).is_ok());
    }

    #[test]
    fn a_layout_directory_is_known_by_its_index() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(INDEX), "{}").expect("written");
        let kept = of_archive(dir.path().to_str().expect("text")).expect("readable");
        assert_eq!(kept.bytes, 2);
        fs::write(dir.path().join("other"), "").expect("written");
        assert!(refuse_changed(std::slice::from_ref(&kept)).is_ok());
        fs::write(dir.path().join(INDEX), "[]").expect("written");
        assert!(refuse_changed(std::slice::from_ref(&kept)).is_err());
    }
}
