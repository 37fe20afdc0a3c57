//! SQLite behind Rookery's own small server, for order entry and for statements that are data: this
//! very program serves the database.

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{Fill, FillError, Guest, Health, Recipe, Template};
use rookery_oltp::{
    Target,
    sqlite::{self, Durability, HEALTH_PATH, PORT, ServeConfig, local_target, with_server},
};
use rookery_stats::DatabaseLoad;
use rookery_study::{OrderentryData, OrderentryUse, Point, PointData, SqlUse, Study, WorkloadKind};

use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, DatabaseProbe, EffectiveSetting, Found, GuestStack,
    OrderentryStack, Origin, PoolRange, ProbedServer, Service, SqlStack, Stack, StackContext,
    StackError,
    service::{GUEST, USER},
    template::{FileLoader, give_to_guests},
    workloads::{
        DATABASE_WORKLOADS, DatabaseContent, DatabaseWorkload, OrderentryContent, SqlContent,
        data_of,
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
    workload: DatabaseWorkload,
}

impl SqliteStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload.
    pub(crate) fn new(study: &Study) -> Result<Self, StackError> {
        Ok(Self {
            workload: DatabaseWorkload::of(NAME, study)?,
        })
    }
}

impl Stack for SqliteStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        DATABASE_WORKLOADS
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        Ok(match &self.workload {
            DatabaseWorkload::Orderentry(wanted) => {
                let data = data_of(NAME, data)?;
                let wanted = wanted.clone();
                let content = OrderentryContent { wanted, data };
                BuiltStack::Orderentry(Box::new(guests(context, content)?))
            }
            DatabaseWorkload::Sql(wanted) => {
                let wanted = wanted.as_ref().clone();
                BuiltStack::Sql(Box::new(guests(context, SqlContent { wanted })?))
            }
        })
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        match &self.workload {
            DatabaseWorkload::Orderentry(wanted) => {
                let data = data_of(NAME, data)?;
                let wanted = wanted.clone();
                loader(context, OrderentryContent { wanted, data })
            }
            DatabaseWorkload::Sql(wanted) => {
                let wanted = wanted.as_ref().clone();
                loader(context, SqlContent { wanted })
            }
        }
    }
}

fn loader(
    context: &StackContext<'_>,
    content: impl DatabaseContent,
) -> Result<Box<dyn DatabaseLoader>, StackError> {
    let load = move |context: &StackContext<'_>, data: &Path| fill(context, data, &content);
    Ok(Box::new(FileLoader::new(context, load)?))
}

/// Guests on the template of this content, built or found.
fn guests<C: DatabaseContent>(
    context: &StackContext<'_>,
    content: C,
) -> Result<SqliteGuests<C>, StackError> {
    let recipe = Recipe {
        description: format!(
            "{}, SQLite {}, data of user {USER}",
            content.description(),
            sqlite::version()
        ),
        program: context.program.to_owned(),
        base: None,
        fill: Fill::Data(&|directory| {
            let load = fill(context, directory, &content).map_err(FillError::from)?;
            give_to_guests(directory).map_err(FillError::from)?;
            Ok(Some(load))
        }),
    };
    let template = context.template(&recipe)?;
    Ok(SqliteGuests { content, template })
}

/// Guests whose program serves the database.
struct SqliteGuests<C> {
    content: C,
    template: Template,
}

impl<C: DatabaseContent> ClonedGuests for SqliteGuests<C> {
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
            user: GUEST,
        })
    }
}

impl<C: DatabaseContent> GuestStack for SqliteGuests<C> {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn settings(
        &self,
        _context: &StackContext<'_>,
        guest: &dyn Guest,
        _point: &Point,
        _index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        self.content.settings(&local_target(guest.sockets_dir()))
    }

    fn answer(&self, _context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        self.content.answer(&local_target(guest.sockets_dir()))
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        if died {
            revive(guest, &self.content)?;
        }
        let target = local_target(guest.sockets_dir());
        self.content.audit(&target, guest)
    }
}

impl OrderentryStack for SqliteGuests<OrderentryContent> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn wanted(&self) -> &OrderentryUse {
        &self.content.wanted
    }

    fn data(&self) -> OrderentryData {
        self.content.data
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

impl SqlStack for SqliteGuests<SqlContent> {
    fn wanted(&self) -> &SqlUse {
        &self.content.wanted
    }

    fn clients(&self, address: SocketAddr) -> Target {
        sqlite::target(address)
    }
}

/// Start a guest again whose server has died, and wait until it has recovered.
fn revive(guest: &mut dyn Guest, content: &impl DatabaseContent) -> Result<(), StackError> {
    guest.kill()?;
    guest.start()?;
    let began = Instant::now();
    loop {
        match content.answer(&local_target(guest.sockets_dir())) {
            Err(_) if began.elapsed() < REVIVE_LIMIT => thread::sleep(REVIVE_PAUSE),
            ended => return ended,
        }
    }
}

/// Makes the database in `directory`, by a server in this process.
fn fill(
    context: &StackContext<'_>,
    directory: &Path,
    content: &impl DatabaseContent,
) -> Result<DatabaseLoad, StackError> {
    let began = Instant::now();
    let (what, (_, steps)) = (content.what(), content.steps());
    let sent = AtomicU64::new(0);
    let progress = |step: rookery_oltp::Progress| {
        let before = sent.fetch_add(step.rows, Ordering::Relaxed);
        if before / REPORT_ROWS != (before + step.rows) / REPORT_ROWS {
            context.building(&what, &format!("{} {steps}", before + step.rows));
        }
    };
    let config = ServeConfig {
        durability: Durability::Relaxed,
        ..ServeConfig::new(directory)
    };
    let parts = with_server(&config, |target| {
        content.load(target, 1, context.stop, &progress)
    })??;
    let bytes =
        std::fs::metadata(directory.join(sqlite::DATABASE_FILE)).map_or(0, |file| file.len());
    Ok(DatabaseLoad {
        bytes,
        close_s: (began.elapsed().as_secs_f64() - parts.total_s() - parts.check_s).max(0.0),
        ..parts
    })
}
