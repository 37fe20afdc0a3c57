//! The load of order-entry databases against the database's own bulk road on prepared files:
//! `COPY ... FROM 'file'`, `LOAD DATA INFILE`.
//!
//! Both make the same tables with the same session settings over the same number of connections,
//! one table of one warehouse at a time. Files hold the same bytes, are read by the server itself
//! and lie in the page cache. Rates are those of the rows; what follows the rows is the same.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

use rookery_oltp::{Database, LoadOptions, OltpError, load};
use rookery_workload::orderentry::{
    Dialect, Population, Scale, SchemaOptions, create_tables, drop_tables,
    population::{Part, TextFormat},
};

use crate::bench::{
    lamp::{median, say, shuffle},
    servers::{Kind, Server, execute},
};

/// What is compared.
pub(super) struct Options {
    pub(super) warehouses: u32,
    pub(super) repeats: usize,
    pub(super) streams: usize,
}

/// A table of one warehouse, in a file.
struct Prepared {
    part: Part,
    path: PathBuf,
}

pub(super) fn run(options: &Options) -> Result<(), String> {
    let scale = Scale::new(options.warehouses, 1).map_err(|error| error.to_string())?;
    let population = Population::new(scale, 42);
    say(&format!(
        "order entry, {} warehouses, {} streams, {} repeats in random order",
        options.warehouses, options.streams, options.repeats
    ))?;
    compare(Kind::MariaDb, &population, options)?;
    compare(Kind::Postgres, &population, options)
}

fn compare(kind: Kind, population: &Population, options: &Options) -> Result<(), String> {
    let server = Server::start(kind, None)?;
    let (files, bytes, rows) = prepare(&server, population)?;
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..options.repeats {
        let mut order = [0, 1];
        shuffle(&mut order);
        for way in order {
            // What the last one left to be written must not slow this one.
            // SAFETY: sync has no preconditions.
            unsafe { libc::sync() };
            let took = match way {
                0 => ours(&server, population, options)?,
                _ => from_files(&server, &files, options)?,
            };
            seconds[way].push(took.as_secs_f64());
        }
    }
    let peer = if kind == Kind::MariaDb {
        "LOAD DATA INFILE"
    } else {
        "COPY FROM file"
    };
    for (way, seconds) in ["rookery", peer].iter().zip(&seconds) {
        let middle = median(seconds);
        say(&format!(
            "{way:<18} {:7.1} MB/s, {:8.0} rows/s (median of {middle:.2} s, {:.2} to {:.2} s)",
            bytes as f64 / 1e6 / middle,
            rows as f64 / middle,
            seconds.iter().copied().fold(f64::INFINITY, f64::min),
            seconds.iter().copied().fold(0.0, f64::max),
        ))?;
    }
    say(&format!(
        "ratio              {:7.3} of {peer}'s rate (aim: at least 0.9)",
        median(&seconds[1]) / median(&seconds[0])
    ))
}

fn ours(server: &Server, population: &Population, options: &Options) -> Result<Duration, String> {
    let options = LoadOptions {
        overwrite: true,
        check: false,
        ..LoadOptions::new(*population, options.streams)
    };
    let loaded = load(
        &server.target("bench")?,
        &options,
        &AtomicBool::new(false),
        &|_| {},
    );
    Ok(loaded.map_err(|error| error.to_string())?.streaming)
}

/// Writes the same rows into files that the server may read. Gives their bytes and rows.
fn prepare(server: &Server, population: &Population) -> Result<(Vec<Prepared>, u64, u64), String> {
    let explain = |error: std::io::Error| format!("cannot write the files: {error}");
    let directory = server.directory().join("files");
    fs::create_dir(&directory).map_err(explain)?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).map_err(explain)?;
    let format = match server.kind {
        Kind::MariaDb => TextFormat::LoadData,
        Kind::Postgres => TextFormat::Copy,
    };
    let (mut files, mut bytes, mut rows) = (Vec::new(), 0, 0);
    for part in Part::all(population) {
        let path = directory.join(format!("{}-{}", part.table.name(), part.warehouse));
        let mut file = BufWriter::new(File::create(&path).map_err(explain)?);
        let mut source = part.rows(population);
        let (mut text, mut more) = (Vec::new(), true);
        while more {
            text.clear();
            let (count, others) = source.fill_text(&mut text, format, 256 * 1024);
            file.write_all(&text).map_err(explain)?;
            bytes += text.len() as u64;
            rows += count;
            more = others;
        }
        file.flush().map_err(explain)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).map_err(explain)?;
        files.push(Prepared { part, path });
    }
    Ok((files, bytes, rows))
}

fn from_files(server: &Server, files: &[Prepared], options: &Options) -> Result<Duration, String> {
    let dialect = match server.kind {
        Kind::MariaDb => Dialect::Mariadb,
        Kind::Postgres => Dialect::Postgresql,
    };
    let tables: Vec<String> = drop_tables(dialect)
        .into_iter()
        .chain(create_tables(dialect, SchemaOptions::default()))
        .collect();
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    execute(&server.target("bench")?, &tables)?;
    let waiting = Mutex::new(files.iter());
    let began = Instant::now();
    thread::scope(|scope| {
        let streams: Vec<_> = (0..options.streams)
            .map(|_| scope.spawn(|| stream(server, &waiting)))
            .collect();
        streams
            .into_iter()
            .try_for_each(|stream| stream.join().map_err(|_| "a stream panicked".to_owned())?)
    })?;
    Ok(began.elapsed())
}

fn stream<'a>(
    server: &Server,
    waiting: &Mutex<impl Iterator<Item = &'a Prepared>>,
) -> Result<(), String> {
    let target = server.target("bench")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let done = runtime.block_on(async {
        let mut database = Database::connect(&target).await?;
        let settings = match server.kind {
            Kind::MariaDb => "SET SESSION foreign_key_checks = 0, innodb_lock_wait_timeout = 86400",
            Kind::Postgres => "SET synchronous_commit = off",
        };
        database.execute(settings).await?;
        loop {
            let next = waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next();
            let Some(Prepared { part, path }) = next else {
                return Ok(());
            };
            let names: Vec<&str> = part
                .table
                .loaded_columns()
                .iter()
                .map(|column| column.name)
                .collect();
            let (table, names, path) = (part.table.name(), names.join(", "), path.display());
            let statement = match server.kind {
                Kind::MariaDb => format!("LOAD DATA INFILE '{path}' INTO TABLE {table} ({names})"),
                Kind::Postgres => format!("COPY {table} ({names}) FROM '{path}'"),
            };
            database.execute(&statement).await?;
        }
    });
    done.map_err(|error: OltpError| error.to_string())
}
