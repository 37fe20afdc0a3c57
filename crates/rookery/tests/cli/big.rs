//! A store of very many rows: what is made of it needs no more memory than of a small one.

use std::{fs, process::Command};

use rusqlite::Connection;

use crate::common::{Place, code, text};

/// Rows of resources that are put into a store: each as a value in memory, they would take twice
/// [`MEMORY_KIB`].
const ROWS: u32 = 100_000;
/// Writable memory that a command may have, KiB.
const MEMORY_KIB: u32 = 160 * 1024;
/// Largest page, bytes: half of what these rows alone would take in it.
const LARGEST_PAGE: u64 = 5_000_000;

/// Samples of a host and a thousand guests, in the first trial.
const FILL: &str = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     INSERT INTO resources (trial, position, subject, at_s, cpu_cores, memory_bytes)
     SELECT 1, 1000000 + i, CASE i % 1000 WHEN 0 THEN 'host' ELSE 'g' || (i % 1000) END,
            i / 1000, 0.5, 100000000 FROM n";

fn within(place: &Place, args: &[&str]) -> Command {
    let limited = format!("ulimit -d {MEMORY_KIB} && exec \"$@\"");
    place.rookery_within(&["sh", "-c", &limited, "sh"], args)
}

#[test]
fn many_rows_are_exported_and_reported_in_little_memory() {
    let place = Place::new();
    let ran = place
        .rookery(&["run", "@demo-lab", "--quiet"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&ran), 0, "{}", text(&ran.stderr));
    let run = fs::read_dir(place.runs()).expect("runs").next();
    let run = run.expect("a run").expect("readable").path();
    let store = Connection::open(run.join("run.sqlite")).expect("a store");
    store.execute(FILL, [ROWS - 1]).expect("filled");
    store.close().expect("closed");

    for format in ["json", "csv", "parquet"] {
        let out = place.dir.path().join(format!("export-{format}"));
        let out = out.display().to_string();
        let exported = within(
            &place,
            &["export", "latest", "--format", format, "--out", &out],
        )
        .output()
        .expect("rookery starts");
        assert_eq!(code(&exported), 0, "{format}: {}", text(&exported.stderr));
    }
    let rows = fs::read_to_string(place.dir.path().join("export-csv/resources.csv"));
    assert!(rows.expect("a table").lines().count() > ROWS as usize);

    let reported = within(&place, &["report", "latest", "--quiet"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&reported), 0, "{}", text(&reported.stderr));
    let page = fs::metadata(run.join("report.html")).expect("a page").len();
    assert!(page < LARGEST_PAGE, "{page} bytes");
}
