//! The load of a content-management site into MariaDB: the fast mode against `LOAD DATA INFILE` of
//! the same rows from prepared files, and the mode of the original, statements of a dump.
//!
//! All make the same tables with their indexes in place, over one connection; the files are in the
//! page cache. Ways take turns in random order, because a machine drifts.

use std::{ops::ControlFlow, path::Path, time::Instant};

use rookery_stack::{
    cms::write_dump,
    lamp::{self, cms::make_database, sql::Database},
};
use rookery_workload::cms::{CmsData, LoadMode};

use crate::bench::lamp::{Place, median, say, shuffle, software};

/// What is loaded.
pub(super) struct Options {
    pub(super) nodes: u32,
    pub(super) accounts: u32,
    pub(super) repeats: usize,
}

#[derive(Clone, Copy)]
enum Way {
    Ours(LoadMode),
    Files,
}

impl Way {
    const ALL: [Self; 3] = [
        Self::Ours(LoadMode::Fast),
        Self::Files,
        Self::Ours(LoadMode::SqlScript),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Ours(mode) => mode.name(),
            Self::Files => "LOAD DATA INFILE",
        }
    }
}

pub(super) fn run(options: &Options) -> Result<(), String> {
    let data = CmsData {
        nodes: options.nodes,
        users: options.accounts,
        authors: 50,
        first_node: 1,
        story_ppm: 500_000,
        promoted_ppm: 500_000,
        seed: 1,
    };
    let place = Place::new()?;
    let files = place.path().join("files");
    let written = write_dump(&files, &data, &|_| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())?;
    say(&format!(
        "{data}: {} rows, {:.1} MB of text, {} repeats in random order",
        data.rows(),
        written.bytes as f64 / 1e6,
        options.repeats
    ))?;
    let service = lamp::builder(&software()?);
    let mut server = place.start(&service, "127.77.200.1:8080", None)?;
    server.wait(|| place.database().ok())?;
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..options.repeats {
        let mut order = [0, 1, 2];
        shuffle(&mut order);
        for way in order {
            seconds[way].push(once(&place, Way::ALL[way], &data, &files)?);
        }
    }
    for (way, seconds) in Way::ALL.iter().zip(&seconds) {
        let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        say(&format!(
            "{:<18} {:8.0} rows/s (median of {:.2} s, best {least:.2} s)",
            way.name(),
            data.rows() as f64 / median(seconds),
            median(seconds)
        ))?;
    }
    say(&format!(
        "ratio              {:8.3} of LOAD DATA INFILE's rate (aim: at least 0.9); sql-script {:.3}",
        median(&seconds[1]) / median(&seconds[0]),
        median(&seconds[1]) / median(&seconds[2]),
    ))
}

/// Load once into a fresh database. Returns the seconds, statistics of the tables included.
fn once(place: &Place, way: Way, data: &CmsData, files: &Path) -> Result<f64, String> {
    let mut database = place.database()?;
    let mut execute = |statement: &str| {
        let done = database.execute(statement);
        done.map(drop).map_err(|error| error.to_string())
    };
    execute("DROP DATABASE IF EXISTS CMS")?;
    // What the last one left to be written must not slow this one.
    execute("FLUSH TABLES")?;
    // SAFETY: sync has no preconditions.
    unsafe { libc::sync() };
    let start = Instant::now();
    match way {
        Way::Ours(mode) => make_database(&mut database, data, mode)
            .map(drop)
            .map_err(|error| error.to_string())?,
        Way::Files => from_files(&mut database, files)?,
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The peer: the same tables by the server's own means, from files.
fn from_files(database: &mut Database, files: &Path) -> Result<(), String> {
    let say_error = |error: lamp::sql::SqlError| error.to_string();
    database
        .execute_script(lamp::cms::TABLES)
        .map_err(say_error)?;
    for table in ["accounts", "nodes"] {
        let statement = format!(
            "LOAD DATA INFILE '{}' INTO TABLE CMS.{table} CHARACTER SET utf8mb4",
            files.join(format!("{table}.tsv")).display()
        );
        database.execute(&statement).map_err(say_error)?;
        database
            .execute(&format!("ANALYZE TABLE CMS.{table}"))
            .map_err(say_error)?;
    }
    Ok(())
}
