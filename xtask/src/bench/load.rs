//! The load of a LAMP guest's database against `LOAD DATA INFILE` of the same rows from prepared
//! files.
//!
//! Both use the same server, schema, order of indexes and number of streams; the files are in the
//! page cache. A third way is the original kit's: all indexes and keys before the rows, both checks
//! off. Ways take turns in random order, because a machine drifts.

mod cms;
mod orderentry;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, atomic::AtomicBool},
    thread,
    time::Instant,
};

use rookery_stack::{
    dvdstore_files::{FileKind, FileOptions, write_all},
    lamp::{
        self, load,
        schema::{self, Table},
        sql::Database,
    },
};
use rookery_workload::dvdstore::{CATEGORIES, Size, WordLists};

use super::lamp::{Place, median, say, shuffle, software};

const USAGE: &str = "usage: cargo xtask bench load [--size SIZE] [--repeats N] [--streams N]
       cargo xtask bench load orderentry [--warehouses N] [--repeats N] [--streams N]
       cargo xtask bench load cms [--nodes N] [--accounts N] [--repeats N]";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ours,
    Files,
    Original,
}

impl Way {
    const ALL: [Self; 3] = [Self::Ours, Self::Files, Self::Original];

    fn name(self) -> &'static str {
        match self {
            Self::Ours => "rookery",
            Self::Files => "LOAD DATA INFILE",
            Self::Original => "indexes first",
        }
    }
}

/// Run `bench load`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some((name, options)) = args.split_first()
        && name == "orderentry"
    {
        return orderentry::run(&orderentry_options(options)?);
    }
    if let Some((name, options)) = args.split_first()
        && name == "cms"
    {
        return cms::run(&cms_options(options)?);
    }
    let (mut size, mut repeats) = (Size::Mb(100), 5);
    let mut streams = thread::available_parallelism().map_or(1, usize::from);
    for option in args.chunks(2) {
        match option {
            [name, value] if name == "--size" => {
                size = value.parse().map_err(|error| format!("{error}"))?
            }
            [name, value] if name == "--repeats" => repeats = number(value)?,
            [name, value] if name == "--streams" => streams = number(value)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let place = Place::new()?;
    let files = place.path().join("files");
    let written = write_all(
        &files,
        size,
        &FileOptions::new(&AtomicBool::new(false)),
        &|_| {},
    )
    .map_err(|error| error.to_string())?;
    say(&format!(
        "{size}: {} rows, {:.1} MB of files, {streams} streams, {repeats} repeats in random order",
        written.rows,
        written.bytes as f64 / 1e6
    ))?;
    let service = lamp::builder(&software()?);
    let mut server = place.start(&service, "127.77.200.1:8080", None)?;
    server.wait(|| place.database().ok())?;
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..repeats {
        let mut order = [0, 1, 2];
        shuffle(&mut order);
        for way in order {
            let took = once(&place, Way::ALL[way], size, &files, streams)?;
            seconds[way].push(took);
        }
    }
    for (way, seconds) in Way::ALL.iter().zip(&seconds) {
        let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        say(&format!(
            "{:<18} {:8.0} rows/s (median of {:.2} s, best {least:.2} s)",
            way.name(),
            written.rows as f64 / median(seconds),
            median(seconds)
        ))?;
    }
    let ratio = |peer: usize| median(&seconds[peer]) / median(&seconds[0]);
    say(&format!(
        "ratio              {:8.3} of LOAD DATA INFILE's rate (must be at least 0.9); {:.3} of the \
         original order's",
        ratio(1),
        ratio(2)
    ))
}

fn orderentry_options(args: &[String]) -> Result<orderentry::Options, String> {
    let mut options = orderentry::Options {
        warehouses: 2,
        repeats: 5,
        streams: thread::available_parallelism().map_or(1, usize::from),
    };
    for option in args.chunks(2) {
        match option {
            [name, value] if name == "--warehouses" => {
                options.warehouses = value.parse().map_err(|_| USAGE.to_owned())?
            }
            [name, value] if name == "--repeats" => options.repeats = number(value)?,
            [name, value] if name == "--streams" => options.streams = number(value)?.max(1),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

fn cms_options(args: &[String]) -> Result<cms::Options, String> {
    let mut options = cms::Options {
        nodes: 100_000,
        accounts: 10_000,
        repeats: 3,
    };
    let count = |value: &String| value.parse().map_err(|_| USAGE.to_owned());
    for option in args.chunks(2) {
        match option {
            [name, value] if name == "--nodes" => options.nodes = count(value)?,
            [name, value] if name == "--accounts" => options.accounts = count(value)?,
            [name, value] if name == "--repeats" => options.repeats = number(value)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a whole number\n{USAGE}"))
}

/// Load once into a fresh database. Returns the seconds.
fn once(place: &Place, way: Way, size: Size, files: &Path, streams: usize) -> Result<f64, String> {
    let mut database = place.database()?;
    database
        .execute("DROP DATABASE IF EXISTS DS2")
        .map_err(|error| error.to_string())?;
    // What the last one left to be written must not slow this one.
    database
        .execute("FLUSH TABLES")
        .map_err(|error| error.to_string())?;
    // SAFETY: sync has no preconditions.
    unsafe { libc::sync() };
    let start = Instant::now();
    match way {
        Way::Ours => load(&mut database, size, WordLists::own(), streams, &|_| {
            ControlFlow::Continue(())
        })
        .map(drop)
        .map_err(|error| error.to_string())?,
        Way::Files | Way::Original => from_files(&mut database, way, files, streams)?,
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The peer: the same steps by the server's own means, from files.
fn from_files(
    database: &mut Database,
    way: Way,
    files: &Path,
    streams: usize,
) -> Result<(), String> {
    let say_error = |error: lamp::sql::SqlError| error.to_string();
    database.execute_script(schema::TABLES).map_err(say_error)?;
    let categories: Vec<String> = (1..)
        .zip(CATEGORIES)
        .map(|(id, name)| format!("({id}, '{name}')"))
        .collect();
    database
        .execute(&format!(
            "INSERT INTO DS2.CATEGORIES VALUES {}",
            categories.join(", ")
        ))
        .map_err(say_error)?;
    database
        .execute("SET foreign_key_checks = 0")
        .map_err(say_error)?;
    if way == Way::Original {
        for index in Table::ALL.iter().flat_map(|table| table.indexes()) {
            database.execute(index).map_err(say_error)?;
        }
        database.execute_script(schema::KEYS).map_err(say_error)?;
    }
    let waiting = Mutex::new(Table::ALL.into_iter().rev().collect::<Vec<_>>());
    thread::scope(|scope| {
        let streams: Vec<_> = (0..streams)
            .map(|_| scope.spawn(|| stream(database, way, files, &waiting)))
            .collect();
        streams
            .into_iter()
            .try_for_each(|stream| stream.join().map_err(|_| "a stream panicked".to_owned())?)
    })?;
    if way == Way::Files {
        database.execute_script(schema::KEYS).map_err(say_error)?;
    }
    Ok(())
}

fn stream(
    database: &Database,
    way: Way,
    files: &Path,
    waiting: &Mutex<Vec<Table>>,
) -> Result<(), String> {
    let say_error = |error: lamp::sql::SqlError| error.to_string();
    let mut connection = database.another().map_err(say_error)?;
    let unique = u8::from(way == Way::Files);
    connection
        .execute(&format!(
            "SET foreign_key_checks = 0, unique_checks = {unique}"
        ))
        .map_err(say_error)?;
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(table) = next else { return Ok(()) };
        for file in paths(table, files) {
            let statement = format!(
                "LOAD DATA INFILE '{}' INTO TABLE DS2.{} CHARACTER SET ascii FIELDS TERMINATED BY \
                 ','",
                file.display(),
                table.name()
            );
            connection.execute(&statement).map_err(say_error)?;
        }
        if way == Way::Files {
            for index in table.indexes() {
                connection.execute(index).map_err(say_error)?;
            }
        }
        connection
            .execute(&format!("ANALYZE TABLE DS2.{}", table.name()))
            .map_err(say_error)?;
    }
}

/// The files of a table, in the order of their keys.
fn paths(table: Table, files: &Path) -> Vec<PathBuf> {
    let kind = match table {
        Table::Customers => FileKind::Customers,
        Table::CustHist => FileKind::History,
        Table::Orders => FileKind::Orders,
        Table::OrderLines => FileKind::OrderLines,
        Table::Products => FileKind::Products,
        Table::Inventory => FileKind::Inventory,
    };
    kind.file_names()
        .iter()
        .map(|name| files.join(name))
        .collect()
}
