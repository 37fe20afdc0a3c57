//! Tests of writing the load files.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, sync::atomic::Ordering};

use rookery_diagnosis::Diagnosis;
use rookery_workload::dvdstore::{
    Customers, Inventory, Orders, Products,
    data::{count_month, csv},
};

use super::*;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn options() -> FileOptions<'static> {
    FileOptions::new(&GO_ON)
}

fn write(dir: &Path, options: &FileOptions<'_>) -> Result<Written, FilesError> {
    write_all(dir, Size::Mb(1), options, &|_| ())
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir)
        .expect("the directory exists")
        .map(|entry| entry.expect("a readable entry"));
    entries
        .map(|entry| {
            (
                entry.file_name().into_string().expect("ASCII names"),
                fs::read(entry.path()).expect("a file"),
            )
        })
        .collect()
}

#[test]
fn the_set_is_complete_and_does_not_depend_on_threads() {
    let (one, many) = (
        tempfile::tempdir().expect("a directory"),
        tempfile::tempdir().expect("a directory"),
    );
    let written = write(
        one.path(),
        &FileOptions {
            threads: 0,
            ..options()
        },
    )
    .expect("written");
    write(
        &many.path().join("new/dir"),
        &FileOptions {
            threads: 5,
            ..options()
        },
    )
    .expect("written");
    let files = contents(one.path());
    assert_eq!(files, contents(&many.path().join("new/dir")));
    let mut names: Vec<String> = FileKind::ALL
        .iter()
        .flat_map(|kind| kind.file_names())
        .collect();
    names.sort();
    assert_eq!(names.len(), 40);
    assert!(names.iter().eq(files.keys()));
    assert_eq!(written.files, 40);
    assert_eq!(
        written.bytes,
        files.values().map(|bytes| bytes.len() as u64).sum::<u64>()
    );
    assert_eq!(
        written.rows,
        files
            .values()
            .map(|bytes| bytes.iter().filter(|&&byte| byte == b'\n').count() as u64)
            .sum::<u64>()
    );
}

#[test]
fn every_file_is_what_the_generators_give() {
    let dir = tempfile::tempdir().expect("a directory");
    write(
        dir.path(),
        &FileOptions {
            line_end: LineEnd::Windows,
            customers: CustomerRandom::Gnu,
            ..options()
        },
    )
    .expect("written");
    let files = contents(dir.path());
    let rows = Size::Mb(1).rows();
    let end = LineEnd::Windows;
    let mut expected = Vec::new();
    Customers::new(rows, CustomerHalf::RestOfWorld, CustomerRandom::Gnu)
        .for_each(|row| csv::write_customer(&row, end, &mut expected));
    assert_eq!(files["row_cust.csv"], expected);
    expected.clear();
    Products::new(rows, WordLists::own())
        .for_each(|row| csv::write_product(&row, end, &mut expected));
    assert_eq!(files["prod.csv"], expected);
    expected.clear();
    Orders::new(rows, 12).for_each(|order| csv::write_history(&order, end, &mut expected));
    assert_eq!(files["dec_cust_hist.csv"], expected);
    let mut sold = vec![0; rows.products as usize];
    (1..=12).for_each(|month| count_month(rows, month, &mut sold));
    expected.clear();
    Inventory::new(&sold).for_each(|row| csv::write_stock(&row, end, &mut expected));
    assert_eq!(files["inv.csv"], expected);
}

#[test]
fn files_of_many_blocks_are_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = Size::Mb(30);
    let only = BTreeSet::from([FileKind::Customers]);
    let written = write_all(
        dir.path(),
        size,
        &FileOptions { only, ..options() },
        &|_| (),
    )
    .expect("written");
    let files = contents(dir.path());
    for half in CustomerHalf::ALL {
        let mut expected = Vec::new();
        Customers::new(size.rows(), half, CustomerRandom::Newlib)
            .for_each(|row| csv::write_customer(&row, LineEnd::Unix, &mut expected));
        assert!(expected.len() > 4 << 20, "several writes");
        assert!(files[customer_file(half)] == expected, "{half:?}");
    }
    assert_eq!(
        written.bytes,
        files.values().map(|bytes| bytes.len() as u64).sum::<u64>()
    );
    assert_eq!(written.rows, size.rows().customers);
}

#[test]
fn kinds_can_be_written_alone_with_the_same_bytes() {
    let (all, some) = (
        tempfile::tempdir().expect("a directory"),
        tempfile::tempdir().expect("a directory"),
    );
    write(all.path(), &options()).expect("written");
    let only = BTreeSet::from([FileKind::Inventory, FileKind::OrderLines]);
    write(some.path(), &FileOptions { only, ..options() }).expect("written");
    let (all, some) = (contents(all.path()), contents(some.path()));
    assert_eq!(some.len(), 13);
    assert!(some.iter().all(|(name, bytes)| all[name] == *bytes));
    let inventory = tempfile::tempdir().expect("a directory");
    write(
        inventory.path(),
        &FileOptions {
            only: BTreeSet::from([FileKind::Inventory]),
            ..options()
        },
    )
    .expect("written");
    assert_eq!(
        contents(inventory.path()),
        BTreeMap::from([("inv.csv".to_owned(), all["inv.csv"].clone())])
    );
}

#[test]
fn existing_files_are_replaced_only_on_request() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("prod.csv"), "mine").expect("written");
    let error = write(dir.path(), &options()).expect_err("a file exists");
    assert!(
        error.to_string().ends_with("prod.csv exists already")
            && error
                .help()
                .is_some_and(|help| help.contains("--overwrite")),
        "{error}"
    );
    assert_eq!(contents(dir.path()).len(), 1, "nothing was written");
    write(
        dir.path(),
        &FileOptions {
            overwrite: true,
            ..options()
        },
    )
    .expect("replaced");
    assert!(contents(dir.path())["prod.csv"].starts_with(b"1,"));
}

#[test]
fn a_stop_leaves_complete_files_only() {
    let (dir, complete) = (
        tempfile::tempdir().expect("a directory"),
        tempfile::tempdir().expect("a directory"),
    );
    write(complete.path(), &options()).expect("written");
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress| stop.store(progress.files >= 7, Ordering::Relaxed);
    let error = write_all(dir.path(), Size::Mb(1), &FileOptions::new(&stop), &progress)
        .expect_err("stopped");
    assert!(matches!(error, FilesError::Stopped { .. }), "{error}");
    let (left, complete) = (contents(dir.path()), contents(complete.path()));
    assert!((7..40).contains(&left.len()), "{} files", left.len());
    assert!(left.iter().all(|(name, bytes)| complete[name] == *bytes));
}

#[test]
fn a_full_disk_and_a_refused_file_say_what_to_do_and_leave_no_partial_file() {
    let dir = tempfile::tempdir().expect("a directory");
    symlink("/dev/full", dir.path().join("jun_orders.csv.part"))
        .expect("a link to the full device");
    let error = write(dir.path(), &options()).expect_err("the device is full");
    let message = error.to_string();
    assert!(
        message.starts_with("the disk is full while writing ")
            && message.ends_with("jun_orders.csv.part")
            && error
                .help()
                .is_some_and(|help| help.starts_with("make room")),
        "{error}"
    );
    assert!(
        contents(dir.path())
            .keys()
            .all(|name| name.ends_with(".csv"))
    );

    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("us_cust.csv.part")).expect("a directory in the way");
    let error = write(dir.path(), &options())
        .expect_err("not a file")
        .to_string();
    assert!(
        error.starts_with("cannot write ") && error.contains("us_cust.csv.part"),
        "{error}"
    );

    let file = dir.path().join("file");
    fs::write(&file, "").expect("written");
    let error = write(&file, &options())
        .expect_err("not a directory")
        .to_string();
    assert!(error.starts_with("cannot make the directory "), "{error}");
}

#[test]
fn a_set_that_cannot_fit_is_refused_before_it_is_begun() {
    let dir = tempfile::tempdir().expect("a directory");
    let error = write_all(dir.path(), Size::Gb(1023), &options(), &|_| ());
    let Err(FilesError::NoRoom { needed, free, .. }) = error else {
        panic!("the disk is not that large: {error:?}")
    };
    assert!(needed > free && needed > 600_000_000_000);
    assert!(contents(dir.path()).is_empty());
}

#[test]
fn the_expected_size_is_a_little_too_high() {
    let dir = tempfile::tempdir().expect("a directory");
    for megabytes in [1, 7, 20] {
        let options = FileOptions {
            overwrite: true,
            ..options()
        };
        let written =
            write_all(dir.path(), Size::Mb(megabytes), &options, &|_| ()).expect("written");
        let excess = expected_bytes(Size::Mb(megabytes), &options) as f64 / written.bytes as f64;
        assert!((1.0..1.06).contains(&excess), "{megabytes} MB: {excess}");
    }
}
