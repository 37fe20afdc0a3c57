//! The loaded template: a server is started once in a guest of its own, filled, stopped, and its files become a layer.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{Fill, Guest, GuestFile, Template};
use rookery_oltp::{LoadOptions, Loaded, OltpError, Progress, load};
use rookery_stack::database::{self, Account, Engine, Server, Software};
use rookery_study::{OrderentryData, PointData};

use super::health;
use crate::{
    LabError,
    stack::{
        Place, Service,
        builder::{self, build, stop_and_copy},
        layers::{USER, layer, own},
    },
};

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// How long a server may take until it answers: making its system tables, or its recovery, on a busy host included.
const START_LIMIT: Duration = Duration::from_secs(300);
/// How long a load may stand still: nothing is told while indexes are made and conditions are checked. More for every warehouse.
const STILL_LIMIT: Duration = Duration::from_secs(600);
const STILL_LIMIT_PER_WAREHOUSE: Duration = Duration::from_secs(30);
/// How often it is looked whether the load goes on.
const LOOK: Duration = Duration::from_millis(50);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(500);

/// The template of a database of `data`, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(super) fn loaded(
    place: &Place<'_>,
    root: Option<&Template>,
    software: &Software,
    data: OrderentryData,
) -> Result<Template, LabError> {
    let owned = |directory: &Path| own(root, directory);
    let empty = layer(
        place,
        root,
        format!("{} without data {VERSION}", software.engine.key()),
        Fill::DataOnly(&owned),
    )?;
    let fill = |directory: &Path| {
        own(root, directory)?;
        fill(place, &empty, software, data, directory)
    };
    layer(
        place,
        root,
        description(software, data),
        Fill::DataOnly(&fill),
    )
}

/// Everything that decides the content.
fn description(software: &Software, data: OrderentryData) -> String {
    format!(
        "orderentry {}, {} warehouses of 1/{}, seed {}, foreign keys {}, history key {}, schema {VERSION}, {} {}",
        env!("CARGO_PKG_VERSION"),
        data.scale.warehouses(),
        data.scale.divisor(),
        data.seed,
        data.foreign_keys,
        data.history_pk,
        software.engine.key(),
        software.version,
    )
}

/// Make the database in `directory`.
fn fill(
    place: &Place<'_>,
    empty: &Template,
    software: &Software,
    data: OrderentryData,
    directory: &Path,
) -> Result<(), String> {
    let service = database::builder(software);
    let service = Service {
        args: service.args,
        files: service
            .files
            .into_iter()
            .map(|(path, text)| GuestFile { path, text })
            .collect(),
        user: Some(USER),
        port: software.engine.port(),
        health: health(software.engine),
        sockets: Vec::new(),
    };
    build(place, empty, service, |guest| {
        make(place, guest, software, data, directory)
    })
}

fn make(
    place: &Place<'_>,
    guest: &mut dyn Guest,
    software: &Software,
    data: OrderentryData,
    directory: &Path,
) -> Result<(), String> {
    let engine = software.engine;
    let what = format!("database of {}", PointData::Orderentry(data));
    place.building(&what, format!("starting {engine}"));
    let mut server = start(place, guest, engine, Account::Administrator)?;
    database::prepare(&mut server, software).map_err(|error| error.to_string())?;
    drop(server);
    watched_load(place, guest, engine, data, &what)?;
    let mut server = Server::connect(engine, guest.sockets_dir(), Account::Owner)
        .map_err(|error| error.to_string())?;
    database::settle(&mut server).map_err(|error| error.to_string())?;
    drop(server);
    place.building(&what, format!("stopping {engine}"));
    stop_and_copy(place, guest, &engine, engine.directory(), directory)
}

/// How far a load is, for the one who watches it.
struct Course {
    rows: AtomicU64,
    moved: Mutex<Instant>,
}

impl Course {
    fn add(&self, step: Progress) {
        self.rows.fetch_add(step.rows, Ordering::Relaxed);
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn still_for(&self) -> Duration {
        self.moved
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

/// Load, and end the guest under a load that stands still or that nobody wants any more: a database that hangs answers nothing else.
fn watched_load(
    place: &Place<'_>,
    guest: &mut dyn Guest,
    engine: Engine,
    data: OrderentryData,
    what: &str,
) -> Result<(), String> {
    let target = engine.inside(guest.sockets_dir());
    let mut options = LoadOptions::new(
        data.population(),
        thread::available_parallelism().map_or(1, usize::from),
    );
    options.schema = data.schema();
    let total = data.scale.all_rows();
    let limit = STILL_LIMIT + STILL_LIMIT_PER_WAREHOUSE * data.scale.warehouses();
    let course = Course {
        rows: AtomicU64::new(0),
        moved: Mutex::new(Instant::now()),
    };
    let stop = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        let loading = thread::Builder::new()
            .name("load".to_owned())
            .spawn_scoped(scope, || {
                load(&target, &options, &stop, &|step| course.add(step))
            })
            .map_err(|error| format!("cannot start a thread for the load: {error}"))?;
        let mut late = None;
        let mut told = Instant::now();
        while !loading.is_finished() {
            if told.elapsed() > TELL {
                let rows = course.rows.load(Ordering::Relaxed);
                place.building(what, format!("rows {rows} of about {total}"));
                told = Instant::now();
            }
            let unwanted = place.go_on().is_break();
            if late.is_none() && (unwanted || course.still_for() > limit) {
                late = Some(if unwanted {
                    "stopped, as asked".to_owned()
                } else {
                    format!("the load stood still for {} s", limit.as_secs())
                });
                stop.store(true, Ordering::Relaxed);
                guest.kill().map_err(|error| error.to_string())?;
            }
            thread::sleep(LOOK);
        }
        let loaded = loading
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match late {
            Some(late) => Err(late),
            None => Ok(loaded),
        }
    })?;
    sound(ended)
}

/// A load of which every condition holds.
fn sound(loaded: Result<Loaded, OltpError>) -> Result<(), String> {
    let loaded = loaded.map_err(|error| error.to_string())?;
    match loaded.broken.first() {
        None => Ok(()),
        Some(check) => Err(format!(
            "{} conditions are broken after the load; the first has the offenders {}\n  mend: load again; if it happens again, report a defect",
            loaded.broken.len(),
            check.offenders.join("; ")
        )),
    }
}

/// Start a guest and wait until its server lets `account` in.
///
/// # Errors
/// When it ends or does not answer in time.
pub(super) fn start(
    place: &Place<'_>,
    guest: &mut dyn Guest,
    engine: Engine,
    account: Account,
) -> Result<Server, String> {
    builder::start(place, guest, &engine, START_LIMIT, |guest| {
        Server::connect(engine, guest.sockets_dir(), account)
    })
}

#[cfg(test)]
mod tests {
    use rookery_workload::orderentry::{Dialect, Scale};

    use super::*;

    #[test]
    fn a_template_is_known_by_all_that_decides_its_content() {
        let software = Software {
            engine: Engine::Postgresql,
            server: "/usr/lib/postgresql/15/bin/postgres".into(),
            initial: "/usr/lib/postgresql/15/bin/initdb".into(),
            prewarm: true,
            version: "15.18-0".to_owned(),
        };
        let data = OrderentryData {
            scale: Scale::new(2, 100).expect("a scale"),
            seed: 7,
            dialect: Dialect::Postgresql,
            foreign_keys: false,
            history_pk: true,
        };
        let words = description(&software, data);
        for word in [
            "2 warehouses of 1/100",
            "seed 7",
            "postgresql 15.18-0",
            "history key true",
        ] {
            assert!(words.contains(word), "{word} in {words}");
        }
        let other = OrderentryData {
            foreign_keys: true,
            ..data
        };
        assert_ne!(words, description(&software, other));
    }
}
