//! Sets on a real disk: every byte, once, whole or not at all.

use std::{os::unix::fs::MetadataExt as _, sync::atomic::AtomicBool};

use rookery_workload::web2005::{Model, files::Content};

use super::*;

fn written(shape: &Shape, threads: usize) -> (tempfile::TempDir, WrittenFileset) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let set = write(dir.path(), shape, threads).expect("written");
    (dir, set)
}

fn write(dir: &Path, shape: &Shape, threads: usize) -> Result<WrittenFileset, FilesetError> {
    let stop = AtomicBool::new(false);
    let options = FilesetOptions {
        threads,
        max_bytes: None,
        stop: &stop,
    };
    write_fileset(dir, shape, &options, &|_| {})
}

fn bank() -> Shape {
    Shape::new(Model::Banking, 2, 0.04, 7).expect("a shape")
}

#[test]
fn every_file_has_its_bytes_and_its_time() {
    for shape in [
        bank(),
        Shape::new(Model::Ecommerce, 1, 0.2, 7).expect("a shape"),
    ] {
        let (dir, set) = written(&shape, 3);
        assert!(set.seconds.is_some());
        assert_eq!(set.manifest.files, shape.total_files());
        let units = (1..=shape.units()).flat_map(|unit| shape.unit_files(unit));
        for file in shape.fixed_files().chain(units) {
            let path = dir.path().join(&file.path);
            let bytes = fs::read(&path).expect("the file");
            assert_eq!(bytes.len() as u64, file.size, "{}", file.path);
            assert!(file.content.is_at(0, &bytes) && Content::has_markers_at(0, &bytes));
            let status = fs::metadata(&path).expect("the file");
            assert_eq!(u64::try_from(status.mtime()), Ok(modified_s(7)));
            assert_eq!(status.mode() & 0o222, 0, "no one may change it");
        }
        let listed = fs::read_to_string(dir.path().join(manifest_name(shape.model())))
            .expect("the manifest");
        assert_eq!(listed.lines().count() as u64, 4 + shape.total_files());
    }
}

#[test]
fn the_same_set_is_made_once_and_no_other_in_its_place() {
    let shape = bank();
    let (dir, first) = written(&shape, 1);
    let again = write(dir.path(), &shape, 1).expect("there already");
    assert_eq!((again.seconds, &again.manifest), (None, &first.manifest));
    assert!(has_fileset(dir.path(), &shape).expect("readable"));
    let other = Shape::new(Model::Banking, 3, 0.04, 7).expect("a shape");
    assert!(matches!(
        write(dir.path(), &other, 1),
        Err(FilesetError::Exists { .. })
    ));
    assert!(!has_fileset(dir.path(), &other).expect("readable"));
    // Another workload has another manifest.
    let support = Shape::new(Model::Support, 1, 1.0, 7).expect("a shape");
    assert!(!has_fileset(dir.path(), &support).expect("readable"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let shape = bank();
    let (_one, first) = written(&shape, 1);
    let (_other, second) = written(&shape, 4);
    assert_eq!(first.manifest, second.manifest);
}

#[test]
fn an_interrupted_set_has_no_manifest_and_can_be_begun_again() {
    let shape = bank();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let stop = AtomicBool::new(true);
    let options = FilesetOptions {
        threads: 2,
        max_bytes: None,
        stop: &stop,
    };
    let stopped = write_fileset(dir.path(), &shape, &options, &|_| {});
    assert!(matches!(stopped, Err(FilesetError::Stopped)), "{stopped:?}");
    assert!(!has_fileset(dir.path(), &shape).expect("readable"));
    assert!(write(dir.path(), &shape, 2).is_ok());
}

#[test]
fn what_an_interrupted_writing_left_is_replaced_and_links_are_not_followed() {
    let shape = bank();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "mine").expect("written");
    let files: Vec<FileEntry> = shape.unit_files(1).take(2).collect();
    let path = |file: &FileEntry| dir.path().join("set").join(&file.path);
    fs::create_dir_all(path(&files[0]).parent().expect("a directory")).expect("made");
    fs::write(path(&files[0]), "half of a check").expect("written");
    std::os::unix::fs::symlink(&elsewhere, path(&files[1])).expect("linked");
    write(&dir.path().join("set"), &shape, 2).expect("written");
    for file in &files {
        let bytes = fs::read(path(file)).expect("the file");
        assert!(bytes.len() as u64 == file.size && file.content.is_at(0, &bytes));
    }
    assert_eq!(fs::read_to_string(&elsewhere).expect("there"), "mine");
}

#[test]
fn a_directory_that_is_a_file_is_named() {
    let shape = bank();
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir_all(dir.path().join("bank/images")).expect("made");
    let wrong = dir.path().join(shape.unit_directory(1));
    fs::write(&wrong, "").expect("written");
    match write(dir.path(), &shape, 1) {
        Err(FilesetError::Write { path, .. }) => assert_eq!(path, wrong),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_set_that_is_too_large_is_refused_before_a_byte() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let stop = AtomicBool::new(false);
    let options = FilesetOptions {
        threads: 1,
        max_bytes: Some(1_000_000),
        stop: &stop,
    };
    let shape = Shape::new(Model::Support, 1, 1.0, 7).expect("a shape");
    let refused = write_fileset(&dir.path().join("set"), &shape, &options, &|_| {});
    assert!(matches!(refused, Err(FilesetError::TooLarge { .. })));
    assert!(!dir.path().join("set").exists());
}
