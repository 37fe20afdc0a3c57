//! Stacks that serve the database of order entry.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

use rookery_guest::Guest;
use rookery_oltp::{LoadOptions, Loaded, OltpError, Progress, Target, Verification, load, sqlite};
use rookery_stats::DatabaseLoad;
use rookery_study::{OrderentryData, OrderentryUse, PointData};
use rookery_workload::{
    FoundRow,
    orderentry::{
        Dialect, Isolation, Ledger,
        counters::{DELIVERED_ORDERS, NEW_ORDERS, PAYMENTS},
    },
};
use serde::{Deserialize, Serialize};

use super::DatabaseContent;
use crate::{
    EffectiveSetting, Found, GuestStack, StackError,
    api::STOP_GRACE,
    database::{self, Account, BufferCounters, Engine, EngineFacts as _, Server},
};

/// Offenders of a condition that are reported.
const REPORTED: usize = 3;

/// A stack that serves the database of order entry.
pub trait OrderentryStack: GuestStack {
    /// Its name as its makers write it.
    fn name(&self) -> &'static str;

    /// What the study asks of the workload.
    fn wanted(&self) -> &OrderentryUse;

    /// The database that was loaded.
    fn data(&self) -> OrderentryData;

    /// The way of the terminals, over TCP from inside the lab's network.
    fn clients(&self, address: SocketAddr) -> Target;

    /// How the database of a living guest is asked about itself, outside the load.
    fn probe(&self, guest: &dyn Guest) -> DatabaseProbe;

    /// What buffer pools the server works with; nothing where it has none whose size is chosen.
    fn pool_range(&self) -> Option<PoolRange>;

    /// Let every guest have a buffer pool of about `bytes` from now on. It overrules the setting of
    /// the tuning.
    fn hold_pool(&mut self, bytes: u64);
}

/// The rows of an order-entry database.
#[derive(Clone)]
pub(crate) struct OrderentryContent {
    pub(crate) wanted: OrderentryUse,
    pub(crate) data: OrderentryData,
}

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// How long a load may stand still: nothing is told while indexes are made and conditions are
/// checked. More for every warehouse.
const STILL_LIMIT: Duration = Duration::from_secs(600);
const STILL_LIMIT_PER_WAREHOUSE: Duration = Duration::from_secs(30);

impl DatabaseContent for OrderentryContent {
    fn description(&self) -> String {
        let data = self.data;
        format!(
            "orderentry {}, {} warehouses of 1/{}, seed {}, foreign keys {}, history key {}, \
             schema {VERSION}",
            env!("CARGO_PKG_VERSION"),
            data.scale.warehouses(),
            data.scale.divisor(),
            data.seed,
            data.foreign_keys,
            data.history_pk,
        )
    }

    fn what(&self) -> String {
        format!("database of {}", PointData::Orderentry(self.data))
    }

    fn collation(&self) -> &'static str {
        "CHARACTER SET latin1 COLLATE latin1_bin"
    }

    fn steps(&self) -> (u64, &'static str) {
        (self.data.scale.all_rows(), "rows")
    }

    fn still_limit(&self) -> Duration {
        STILL_LIMIT + STILL_LIMIT_PER_WAREHOUSE * self.data.scale.warehouses()
    }

    fn load(
        &self,
        target: &Target,
        connections: usize,
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<DatabaseLoad, StackError> {
        let mut options = LoadOptions::new(self.data.population(), connections);
        options.schema = self.data.schema();
        let loaded = load(target, &options, stop, progress)?;
        check_load(&loaded)?;
        Ok(parts_of_load(&loaded, 0))
    }

    fn settings(&self, target: &Target) -> Result<Vec<EffectiveSetting>, StackError> {
        session_settings(target, &self.wanted)
    }

    fn answer(&self, target: &Target) -> Result<(), StackError> {
        answer_rows(target)
    }

    fn audit(&self, target: &Target, guest: &mut dyn Guest) -> Result<Found, StackError> {
        audit(target, guest, self.data, self.wanted.verify)
    }

    fn sizes_pool(&self) -> bool {
        self.wanted.hit_target.is_some()
    }
}

/// Sizes of a buffer pool, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolRange {
    /// Whose pool it is.
    pub dialect: Dialect,
    /// The least with which a server without sessions works.
    pub least: u64,
    /// What each session needs on top of it.
    pub per_session: u64,
    /// Sizes are whole multiples of this.
    pub step: u64,
}

/// A database server that counts the use of its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbedServer {
    /// MariaDB.
    Mariadb,
    /// PostgreSQL.
    Postgresql,
    /// SQLite behind Rookery's own server.
    Sqlite,
}

/// Where and how the database of a guest is asked about itself: plain data, so that whoever
/// samples it may be another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseProbe {
    /// Which server it is.
    pub server: ProbedServer,
    /// Directory in which the guest's sockets are.
    pub sockets: PathBuf,
}

impl DatabaseProbe {
    /// The way from the host into the database.
    #[must_use]
    pub fn target(&self) -> Target {
        match self.server {
            ProbedServer::Mariadb => Engine::Mariadb.inside(&self.sockets),
            ProbedServer::Postgresql => Engine::Postgresql.inside(&self.sockets),
            ProbedServer::Sqlite => sqlite::local_target(&self.sockets),
        }
    }

    /// The counters of the server's buffers since its start.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn counters(&self) -> Result<BufferCounters, StackError> {
        match self.server {
            ProbedServer::Mariadb => server_counters(Engine::Mariadb, &self.sockets),
            ProbedServer::Postgresql => server_counters(Engine::Postgresql, &self.sockets),
            ProbedServer::Sqlite => sqlite_counters(&self.sockets),
        }
    }

    /// How many orders the districts have given numbers to.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn next_orders(&self) -> Result<u64, OltpError> {
        rookery_oltp::next_orders(&self.target())
    }
}

fn server_counters(engine: Engine, sockets: &Path) -> Result<BufferCounters, StackError> {
    let mut server = Server::connect(engine, sockets, Account::Owner)?;
    Ok(database::counters(&mut server)?)
}

fn sqlite_counters(sockets: &Path) -> Result<BufferCounters, StackError> {
    let found = sqlite::counters(&sqlite::local_target(sockets))?;
    Ok(BufferCounters {
        logical: found.hits + found.misses,
        misses: found.misses,
        database_bytes: std::fs::metadata(sockets.join(sqlite::DATABASE_FILE))
            .map(|file| file.len())
            .ok(),
        ..BufferCounters::default()
    })
}

/// The rows of the order-entry database that a point asks for.
///
/// # Errors
/// When the point has the data of another workload.
pub(crate) fn data_of(stack: &'static str, data: PointData) -> Result<OrderentryData, StackError> {
    data.orderentry()
        .ok_or_else(|| StackError::other_data(stack, data))
}

/// How the database is spoken to, as it answers.
///
/// # Errors
/// When it does not.
fn session_settings(
    target: &Target,
    wanted: &OrderentryUse,
) -> Result<Vec<EffectiveSetting>, StackError> {
    let server = rookery_oltp::server(target, wanted.isolation)?;
    let isolation = match wanted.isolation {
        Isolation::Default => String::new(),
        level => level.name().to_owned(),
    };
    let style = wanted.statements.name().to_owned();
    Ok([
        ("server", String::new(), server.version),
        ("isolation", isolation, server.isolation.unwrap_or_default()),
        ("statements", style.clone(), style),
    ]
    .into_iter()
    .map(|(name, asked, in_force)| EffectiveSetting {
        name: format!("orderentry.{name}"),
        asked,
        in_force,
    })
    .collect())
}

/// Let a database count the rows that were loaded.
///
/// # Errors
/// When it does not answer.
fn answer_rows(target: &Target) -> Result<(), StackError> {
    Ok(rookery_oltp::loaded(target).map(drop)?)
}

/// Look into the database of a guest, and end the guest.
///
/// # Errors
/// When the database cannot be read.
fn audit(
    target: &Target,
    guest: &mut dyn Guest,
    data: OrderentryData,
    verify: bool,
) -> Result<Found, StackError> {
    let found = look(target, verify, limit(data));
    // A guest that does not end is killed with its removal.
    let _ = guest.stop(STOP_GRACE);
    found
}

/// How long a look may take: a minute for each warehouse, beside two for a host that is busy with
/// many guests.
fn limit(data: OrderentryData) -> Duration {
    Duration::from_secs(120 + 60 * u64::from(data.scale.warehouses()))
}

fn look(target: &Target, verify: bool, limit: Duration) -> Result<Found, StackError> {
    let (ledger, faults) = if verify {
        let found = rookery_oltp::verify_within(target, limit)?;
        (found.ledger, broken(&found))
    } else {
        (rookery_oltp::ledger(target, limit)?, Vec::new())
    };
    Ok(Found {
        rows: rows(ledger),
        faults,
        ..Found::default()
    })
}

fn broken(found: &Verification) -> Vec<String> {
    found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty())
        .map(|check| {
            let offenders: Vec<&str> = check
                .offenders
                .iter()
                .take(REPORTED)
                .map(String::as_str)
                .collect();
            format!(
                "condition {} does not hold: {}",
                check.condition.number(),
                offenders.join("; ")
            )
        })
        .collect()
}

/// A database never holds less than was loaded; if it does all the same, the conditions say so.
fn rows(ledger: Ledger) -> Vec<FoundRow> {
    [
        (NEW_ORDERS, ledger.new_orders),
        (PAYMENTS, ledger.payments),
        (DELIVERED_ORDERS, ledger.delivered),
    ]
    .into_iter()
    .map(|(name, number)| FoundRow::new(name, u64::try_from(number).unwrap_or(0)))
    .collect()
}

/// The parts of a load that left so many bytes.
fn parts_of_load(loaded: &Loaded, bytes: u64) -> DatabaseLoad {
    DatabaseLoad {
        create_s: loaded.preparing.as_secs_f64(),
        rows_s: loaded.streaming.as_secs_f64(),
        index_s: loaded.indexing.as_secs_f64(),
        check_s: loaded.checking.unwrap_or_default().as_secs_f64(),
        close_s: 0.0,
        rows: loaded.rows,
        bytes,
    }
}

/// Whether every condition holds right after a load.
///
/// # Errors
/// The conditions that do not.
fn check_load(loaded: &Loaded) -> Result<(), StackError> {
    match loaded.broken.first() {
        None => Ok(()),
        Some(check) => Err(StackError::LoadBroken {
            count: loaded.broken.len(),
            condition: check.condition.text(),
            offenders: check.offenders.join("; "),
        }),
    }
}
