//! SQLite behind Rookery's own small server, for order entry: this very program serves the
//! database.

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{Fill, FillError, Guest, Health, Kind, Recipe, Template};
use rookery_oltp::{
    LoadOptions, Target, load,
    sqlite::{self, Durability, HEALTH_PATH, PORT, ServeConfig, local_target, with_server},
};
use rookery_stats::DatabaseLoad;
use rookery_study::{OrderentryData, OrderentryUse, Point, PointData, Study, WorkloadKind};

use crate::{
    BuiltStack, DatabaseLoader, DatabaseProbe, EffectiveSetting, Found, GuestStack,
    OrderentryStack, PoolRange, ProbedServer, Service, Stack, StackContext, StackError,
    service::USER,
    template::{FileLoader, give_to_guests},
    workloads::{
        answer_rows, audit, check_load, data_of, parts_of_load, session_settings, wanted_of,
    },
};

/// Its name in errors.
const NAME: &str = "SQLite behind its server";

/// How long a server that was started again may take until it answers: it reads what the killed one
/// left in the log.
const REVIVE_LIMIT: Duration = Duration::from_secs(60);
/// How often it is asked meanwhile.
const REVIVE_PAUSE: Duration = Duration::from_millis(50);

/// How often progress of a load is reported, in rows.
const REPORT_ROWS: u64 = 1_000_000;

/// The stack.
#[derive(Clone)]
pub(crate) struct SqliteStack {
    orderentry: OrderentryUse,
}

impl SqliteStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload.
    pub(crate) fn new(study: &Study) -> Result<Self, StackError> {
        Ok(Self {
            orderentry: wanted_of(NAME, study)?,
        })
    }
}

impl Stack for SqliteStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        &[WorkloadKind::Orderentry]
    }

    /// It brings all it needs.
    fn check_host(&self, _kind: Kind, _templates: &Path) -> Result<(), StackError> {
        Ok(())
    }

    /// It has no settings beyond those of the study.
    fn check_settings(&self, _point: &Point, _index: usize) -> Result<(), StackError> {
        Ok(())
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let rows = data_of(NAME, data)?;
        let recipe = Recipe {
            description: description(rows),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| {
                let load = fill(context, directory, rows).map_err(FillError::from)?;
                give_to_guests(directory).map_err(FillError::from)?;
                Ok(Some(load))
            }),
        };
        Ok(BuiltStack::Orderentry(Box::new(SqliteGuests {
            stack: self.clone(),
            data: rows,
            template: context.template(&recipe)?,
        })))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let rows = data_of(NAME, data)?;
        let load = move |context: &StackContext<'_>, data: &Path| fill(context, data, rows);
        Ok(Box::new(FileLoader::new(context, load)?))
    }
}

/// Guests whose program serves the database.
struct SqliteGuests {
    stack: SqliteStack,
    data: OrderentryData,
    template: Template,
}

impl GuestStack for SqliteGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, _point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: sqlite::guest_args(sqlite::DEFAULT_CACHE_KIB, Durability::Full),
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: vec![sqlite::SOCKET_FILE.to_owned()],
        })
    }

    fn settings(
        &self,
        _context: &StackContext<'_>,
        guest: &dyn Guest,
        _point: &Point,
        _index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        session_settings(&local_target(guest.sockets_dir()), &self.stack.orderentry)
    }

    fn answer(&self, _context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        answer_rows(&local_target(guest.sockets_dir()))
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        if died {
            revive(guest)?;
        }
        let target = local_target(guest.sockets_dir());
        audit(&target, guest, self.data, self.stack.orderentry.verify)
    }
}

impl OrderentryStack for SqliteGuests {
    fn name(&self) -> &'static str {
        NAME
    }

    fn wanted(&self) -> &OrderentryUse {
        &self.stack.orderentry
    }

    fn data(&self) -> OrderentryData {
        self.data
    }

    fn clients(&self, address: SocketAddr) -> Target {
        sqlite::target(address)
    }

    fn probe(&self, guest: &dyn Guest) -> DatabaseProbe {
        DatabaseProbe {
            server: ProbedServer::Sqlite,
            sockets: guest.sockets_dir().to_owned(),
        }
    }

    /// Its caches belong to sessions, and begin with them.
    fn pool_range(&self) -> Option<PoolRange> {
        None
    }

    fn hold_pool(&mut self, _bytes: u64) {}
}

/// Start a guest again whose server has died, and wait until it has recovered.
fn revive(guest: &mut dyn Guest) -> Result<(), StackError> {
    guest.kill()?;
    guest.start()?;
    let began = Instant::now();
    loop {
        match answer_rows(&local_target(guest.sockets_dir())) {
            Err(_) if began.elapsed() < REVIVE_LIMIT => thread::sleep(REVIVE_PAUSE),
            ended => return ended,
        }
    }
}

/// Everything that decides the content.
fn description(data: OrderentryData) -> String {
    format!(
        "orderentry {}, {} warehouses of 1/{}, seed {}, foreign keys {}, history key {}, SQLite {}, \
         data of user {USER}",
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
    context: &StackContext<'_>,
    directory: &Path,
    data: OrderentryData,
) -> Result<DatabaseLoad, StackError> {
    let began = Instant::now();
    let mut options = LoadOptions::new(data.population(), 1);
    options.schema = data.schema();
    let what = format!("database of {}", PointData::Orderentry(data));
    let sent = AtomicU64::new(0);
    let progress = |step: rookery_oltp::Progress| {
        let before = sent.fetch_add(step.rows, Ordering::Relaxed);
        if before / REPORT_ROWS != (before + step.rows) / REPORT_ROWS {
            context.building(&what, &format!("{} rows", before + step.rows));
        }
    };
    let config = ServeConfig {
        durability: Durability::Relaxed,
        ..ServeConfig::new(directory)
    };
    let loaded = with_server(&config, |target| {
        load(target, &options, context.stop, &progress)
    })??;
    check_load(&loaded)?;
    let bytes =
        std::fs::metadata(directory.join(sqlite::DATABASE_FILE)).map_or(0, |file| file.len());
    let parts = parts_of_load(&loaded, bytes);
    Ok(DatabaseLoad {
        close_s: (began.elapsed().as_secs_f64() - parts.total_s() - parts.check_s).max(0.0),
        ..parts
    })
}
