//! SQLite behind Rookery's own small server, for order entry: this very program serves the database.

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rookery_guest::{Fill, Guest, Health, Kind, Recipe, Template};
use rookery_oltp::{
    LoadOptions, Target, load,
    sqlite::{self, Durability, HEALTH_PATH, PORT, ServeConfig, local_target, with_server},
};
use rookery_stack::database::BufferCounters;
use rookery_study::{OrderentryData, Point, PointData, StackKind, Study};
use rookery_workload::orderentry::{Population, SchemaOptions};

use super::{OrderEntry, Place, Reading, Service, Stack};
use crate::{Event, LabError};

/// How long a server that was started again may take until it answers: it reads what the killed one left in the log.
const REVIVE_LIMIT: Duration = Duration::from_secs(60);

/// How often progress of a load is told, in rows.
const TELL_ROWS: u64 = 1_000_000;

/// The stack.
pub(super) struct Sqlite;

impl Sqlite {
    /// The stack of a study that asks for it; nothing for others.
    pub(super) fn of(study: &Study) -> Option<Self> {
        (study.stack.kind == StackKind::Sqlite).then_some(Self)
    }
}

impl Stack for Sqlite {
    fn directory(&self) -> &'static str {
        "orderentry"
    }

    /// It brings all it needs.
    fn check_host(&self, _kind: Kind, _templates: &Path) -> Result<(), LabError> {
        Ok(())
    }

    /// It has no settings beyond those of the study.
    fn check_settings(&self, _point: &Point, _index: usize) -> Result<(), String> {
        Ok(())
    }

    fn template(&self, place: &Place<'_>, data: PointData) -> Result<Template, LabError> {
        let Some(rows) = data.orderentry() else {
            return Err(LabError::Internal(format!(
                "SQLite behind its server carries no DVD Store ({data})"
            )));
        };
        let began = Instant::now();
        let recipe = Recipe {
            description: description(rows),
            program: place.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| fill(place, directory, rows, data)),
        };
        let template = place.template(&recipe)?;
        (place.listener)(&Event::Template {
            database: data.to_string(),
            seconds: began.elapsed().as_secs_f64(),
        });
        Ok(template)
    }

    fn service(
        &self,
        _template: &Template,
        _point: &Point,
        _index: usize,
    ) -> Result<Service, String> {
        Ok(Service {
            args: sqlite::guest_args(sqlite::DEFAULT_CACHE_KIB, Durability::Full),
            files: Vec::new(),
            user: None,
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: vec![sqlite::SOCKET_FILE.to_owned()],
        })
    }

    /// Its caches belong to sessions, and begin with them.
    fn warm(&self, _guest: &dyn Guest) -> Result<(), String> {
        Ok(())
    }

    fn settings(
        &self,
        _place: &Place<'_>,
        _guest: &dyn Guest,
        _point: &Point,
        _index: usize,
    ) -> Result<Vec<Reading>, String> {
        Ok(Vec::new())
    }

    fn answers(&self, _place: &Place<'_>, guest: &dyn Guest) -> Result<(), String> {
        let loaded = rookery_oltp::loaded(&local_target(guest.sockets_dir()));
        loaded.map(drop).map_err(|error| error.to_string())
    }

    fn order_entry(&self) -> Option<&dyn OrderEntry> {
        Some(self)
    }
}

impl OrderEntry for Sqlite {
    fn clients(&self, address: SocketAddr) -> Target {
        sqlite::target(address)
    }

    fn inside(&self, data: &Path) -> Target {
        local_target(data)
    }

    fn counters(&self, data: &Path) -> Result<BufferCounters, String> {
        let found = sqlite::counters(&local_target(data)).map_err(|error| error.to_string())?;
        Ok(BufferCounters {
            logical: found.hits + found.misses,
            misses: found.misses,
            database_bytes: std::fs::metadata(data.join(sqlite::DATABASE_FILE))
                .map(|file| file.len())
                .ok(),
            ..BufferCounters::default()
        })
    }

    fn set_pool(
        &self,
        _place: &Place<'_>,
        _guest: &mut dyn Guest,
        _bytes: u64,
    ) -> Result<u64, String> {
        Err("SQLite has a cache for each session and no pool; leave hit_target out".to_owned())
    }

    fn revive(&self, _place: &Place<'_>, guest: &mut dyn Guest) -> Result<(), String> {
        guest.kill().map_err(|error| error.to_string())?;
        guest.start().map_err(|error| error.to_string())?;
        let began = Instant::now();
        loop {
            match rookery_oltp::loaded(&local_target(guest.sockets_dir())) {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > REVIVE_LIMIT => return Err(error.to_string()),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// Everything that decides the content.
fn description(data: OrderentryData) -> String {
    format!(
        "orderentry {}, {} warehouses of 1/{}, seed {}, foreign keys {}, history key {}, SQLite {}",
        env!("CARGO_PKG_VERSION"),
        data.scale.warehouses(),
        data.scale.divisor(),
        data.seed,
        data.foreign_keys,
        data.history_pk,
        sqlite::version(),
    )
}

/// Makes the database in `directory`, by a server in this process.
fn fill(
    place: &Place<'_>,
    directory: &Path,
    rows: OrderentryData,
    data: PointData,
) -> Result<(), String> {
    let options = LoadOptions {
        schema: SchemaOptions {
            foreign_keys: rows.foreign_keys,
            history_key: rows.history_pk,
        },
        ..LoadOptions::new(Population::new(rows.scale, rows.seed), 1)
    };
    let what = format!("database of {data}");
    let sent = AtomicU64::new(0);
    let progress = |step: rookery_oltp::Progress| {
        let before = sent.fetch_add(step.rows, Ordering::Relaxed);
        if before / TELL_ROWS != (before + step.rows) / TELL_ROWS {
            place.building(&what, format!("{} rows", before + step.rows));
        }
    };
    let config = ServeConfig {
        durability: Durability::Relaxed,
        ..ServeConfig::new(directory)
    };
    let loaded = with_server(&config, |target| {
        load(target, &options, place.stop, &progress)
    })
    .map_err(|error| error.to_string())?;
    let loaded = loaded.map_err(|error| error.to_string())?;
    match loaded.broken.first() {
        None => Ok(()),
        Some(check) => Err(format!(
            "the database is not consistent right after its load: {}",
            check.condition.text()
        )),
    }
}
