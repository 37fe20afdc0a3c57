//! MariaDB and PostgreSQL as stacks for order entry and for statements that are data: the
//! distribution's server alone, in containers on a root of its own, in bare guests from the host.

mod template;

use std::{collections::BTreeSet, net::SocketAddr, path::Path, time::Duration};

use rookery_guest::{Guest, Kind, RoleMove, Template};
use rookery_oltp::Target;
use rookery_stats::DatabaseLoad;
use rookery_study::{
    BufferPool, DatabaseUse, GuestShape, OrderentryData, OrderentryUse, Point, PointData, SqlUse,
    StorageRole, Study, WorkloadKind,
};
use rookery_workload::orderentry::Dialect;

use self::template::health;
use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, DatabaseProbe, EffectiveSetting, Found, GuestStack,
    OrderentryStack, Origin, PoolRange, ProbedServer, Service, SqlStack, Stack, StackContext,
    StackError,
    database::{
        Account, Engine, EngineFacts as _, PoolChange, Server, Software, compare, cool,
        guest as database_guest, loading, moved, pool_line, read_back, role_settings, set_pool,
        take, warm,
    },
    root::RootRecipe,
    template::{check_root, has_root, root},
    tuning::{Component, KnownSettings, RequestedSettings, Tuned, TuningError},
    workloads::{
        DATABASE_WORKLOADS, DatabaseContent, DatabaseWorkload, OrderentryContent, SqlContent,
        data_of,
    },
};

/// How long a server may take to write everything out when it is stopped.
const STOP_LIMIT: Duration = Duration::from_secs(120);
/// How long the reading of one table may take while a database is warmed.
const WARM_LIMIT: Duration = Duration::from_secs(3600);

const MIB: u64 = 1 << 20;
/// A page of PostgreSQL, bytes.
const PAGE: u64 = 8 << 10;
/// Pages of its buffers that a terminal's session may hold at once, and those of the server's own
/// sessions.
const SESSION_PAGES: u64 = 8;
const SPARE_PAGES: u64 = 32;

/// A database server as one variant of a study uses it.
#[derive(Clone)]
pub(crate) struct DatabaseStack {
    engine: Engine,
    wanted: DatabaseUse,
    workload: DatabaseWorkload,
    /// Terminals that may be present, where an open load has no users.
    max_in_flight: Option<u32>,
    guest: GuestShape,
    /// What has volumes of its own.
    roles: BTreeSet<StorageRole>,
}

impl DatabaseStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload.
    pub(crate) fn new(study: &Study, wanted: &DatabaseUse) -> Result<Self, StackError> {
        Ok(Self {
            engine: wanted.engine,
            wanted: wanted.clone(),
            workload: DatabaseWorkload::of(wanted.engine.name(), study)?,
            max_in_flight: study.load.max_in_flight(),
            guest: study.guest.clone(),
            roles: study.storage.roles.keys().copied().collect(),
        })
    }

    /// The root of its guests, built or found, and what is in it.
    fn software(
        &self,
        context: &StackContext<'_>,
    ) -> Result<(Option<Template>, Software), StackError> {
        let root = root(
            context,
            &RootRecipe::of_host(self.engine.root()),
            self.name(),
        )?;
        let path = root.as_ref().map_or(Path::new("/"), |root| &root.root);
        let software = Software::find(self.engine, path)
            .map_err(|error| StackError::not_ready(self.name(), error))?;
        Ok((root, software))
    }

    /// The tuning for one guest of a point.
    fn tuned(&self, point: &Point, index: usize) -> Result<Tuned, TuningError> {
        let requested = RequestedSettings {
            family: self.engine.family(),
            profile: self.wanted.tuning,
            settings: &self.wanted.settings,
            max_in_flight: self.max_in_flight,
            callers: 1,
        };
        requested.evaluate(point, index)
    }
}

impl Stack for DatabaseStack {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        DATABASE_WORKLOADS
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        let found = if has_root(kind) {
            check_root(kind, &RootRecipe::of_host(self.engine.root()), templates)
        } else {
            Software::find(self.engine, Path::new("/"))
                .map(drop)
                .map_err(StackError::from)
        };
        found.map_err(|error| StackError::not_ready(self.name(), error))
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), StackError> {
        let tuned = self.tuned(point, index)?;
        let component = match self.engine {
            Engine::Mariadb => Component::Mariadb,
            Engine::Postgresql => Component::Postgresql,
        };
        let server = Software::find(self.engine, Path::new("/")).map(|found| found.server);
        let known = KnownSettings::new(component, &server.unwrap_or_default(), &self.guest);
        known.check(&self.wanted.settings, &tuned, point, index)?;
        Ok(())
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        Ok(match &self.workload {
            DatabaseWorkload::Orderentry(wanted) => {
                let data = data_of(self.name(), data)?;
                let wanted = wanted.clone();
                let content = OrderentryContent { wanted, data };
                BuiltStack::Orderentry(Box::new(self.guests(context, content)?))
            }
            DatabaseWorkload::Sql(wanted) => {
                let wanted = wanted.as_ref().clone();
                BuiltStack::Sql(Box::new(self.guests(context, SqlContent { wanted })?))
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
                let data = data_of(self.name(), data)?;
                let wanted = wanted.clone();
                self.loader_of(context, OrderentryContent { wanted, data })
            }
            DatabaseWorkload::Sql(wanted) => {
                let wanted = wanted.as_ref().clone();
                self.loader_of(context, SqlContent { wanted })
            }
        }
    }
}

impl DatabaseStack {
    fn guests<C: DatabaseContent>(
        &self,
        context: &StackContext<'_>,
        content: C,
    ) -> Result<DatabaseGuests<C>, StackError> {
        let (root, software) = self.software(context)?;
        let template = template::loaded(context, root.as_ref(), &software, &content)?;
        Ok(DatabaseGuests {
            stack: self.clone(),
            software,
            content,
            template,
            pool: None,
        })
    }

    fn loader_of(
        &self,
        context: &StackContext<'_>,
        content: impl DatabaseContent,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let (root, software) = self.software(context)?;
        Ok(Box::new(ServerLoader {
            template: template::empty(context, root.as_ref(), &software)?,
            stack: self.clone(),
            software,
            content,
        }))
    }
}

/// Guests whose server is loaded under the clock.
struct ServerLoader<C> {
    stack: DatabaseStack,
    software: Software,
    content: C,
    template: Template,
}

impl<C: DatabaseContent> DatabaseLoader for ServerLoader<C> {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        let tuned = self.stack.tuned(point, index)?;
        let service = loading(&self.software, &tuned, &self.stack.roles);
        let engine = self.stack.engine;
        Ok(service.in_guest(engine.port(), health(engine), vec![engine.socket()]))
    }

    fn load(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _cpus: &[u32],
    ) -> Result<DatabaseLoad, StackError> {
        template::load_in(context, guest, &self.software, &self.content)
    }
}

/// Guests of a database server.
struct DatabaseGuests<C> {
    stack: DatabaseStack,
    /// What the template holds.
    software: Software,
    content: C,
    template: Template,
    /// Size of the buffer pool that guests hold instead of the tuning's, bytes.
    pool: Option<u64>,
}

impl<C: DatabaseContent> DatabaseGuests<C> {
    fn engine(&self) -> Engine {
        self.stack.engine
    }

    fn target(&self, guest: &dyn Guest) -> Target {
        self.engine().inside(guest.sockets_dir())
    }

    /// The administrator's connection to a living guest.
    fn server(&self, guest: &dyn Guest) -> Result<Server, StackError> {
        Ok(Server::connect(
            self.engine(),
            guest.sockets_dir(),
            Account::Owner,
        )?)
    }

    /// Give a living guest a buffer pool of about `bytes`, if it has another.
    fn resize(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        bytes: u64,
    ) -> Result<(), StackError> {
        match set_pool(&mut self.server(guest)?, bytes)? {
            PoolChange::InForce(_) => Ok(()),
            PoolChange::AfterRestart(_) => {
                guest.stop(STOP_LIMIT)?;
                template::start(context, guest, self.engine(), Account::Owner).map(drop)
            }
        }
    }
}

impl<C: DatabaseContent> ClonedGuests for DatabaseGuests<C> {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        let tuned = self.stack.tuned(point, index)?;
        let resizable = self.content.sizes_pool();
        let mut service = database_guest(&self.software, &tuned, resizable, &self.stack.roles);
        // A server that cannot change the size while it runs starts with it.
        if let Some((path, line)) = self.pool.and_then(|bytes| pool_line(self.engine(), bytes))
            && let Some((_, text)) = service.files.iter_mut().find(|(name, _)| name == path)
        {
            *text += &line;
        }
        let engine = self.engine();
        Ok(service.in_guest(engine.port(), health(engine), vec![engine.socket()]))
    }

    fn moved(&self, role: StorageRole) -> Vec<RoleMove> {
        moved(self.engine(), role)
    }

    fn prepare_clone(&self, kind: Kind, guest: &dyn Guest) -> Result<(), StackError> {
        // The data of a machine lie on its own disk, and bare guests write the files of their own.
        if kind == Kind::Container {
            take(guest.data_dir())?;
        }
        Ok(())
    }
}

impl<C: DatabaseContent> GuestStack for DatabaseGuests<C> {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn warm(&self, context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        if let Some(bytes) = self.pool {
            self.resize(context, guest, bytes)?;
        }
        match self.stack.wanted.buffer_pool {
            // The pages of a machine are its own kernel's, and it has just booted.
            BufferPool::Cold if !guest.data_dir().exists() => {}
            BufferPool::Cold => {
                cool(guest.data_dir())?;
                let directories = guest.role_directories().into_iter();
                for outside in directories.filter_map(|directory| directory.outside) {
                    cool(&outside)?;
                }
            }
            BufferPool::Warm => {
                let mut server = self.server(guest)?;
                server.set_patience(WARM_LIMIT);
                warm(&mut server)?;
            }
        }
        Ok(())
    }

    fn settings(
        &self,
        _context: &StackContext<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        let readings = read_back(&mut self.server(guest)?)?;
        let found = compare(self.engine(), &readings, &self.stack.tuned(point, index)?);
        let mut settings: Vec<_> = found.into_iter().map(EffectiveSetting::from).collect();
        if self.content.sizes_pool() {
            // The hit ratio decides the size of the pool, whatever the tuning asked for.
            settings
                .iter_mut()
                .filter(|setting| setting.name == self.engine().pool_key())
                .for_each(|setting| setting.asked.clear());
        }
        let roles = role_settings(self.engine(), &readings, guest).into_iter();
        settings.extend(roles.map(EffectiveSetting::from));
        settings.extend(self.content.settings(&self.target(guest))?);
        Ok(settings)
    }

    fn answer(&self, _context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        self.content.answer(&self.target(guest))
    }

    fn audit(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        if died {
            guest.kill()?;
            template::start(context, guest, self.engine(), Account::Owner)?;
        }
        let target = self.target(guest);
        self.content.audit(&target, guest)
    }
}

impl OrderentryStack for DatabaseGuests<OrderentryContent> {
    fn name(&self) -> &'static str {
        self.engine().name()
    }

    fn wanted(&self) -> &OrderentryUse {
        &self.content.wanted
    }

    fn data(&self) -> OrderentryData {
        self.content.data
    }

    fn clients(&self, address: SocketAddr) -> Target {
        self.engine().clients(address)
    }

    fn probe(&self, guest: &dyn Guest) -> DatabaseProbe {
        DatabaseProbe {
            server: match self.engine() {
                Engine::Mariadb => ProbedServer::Mariadb,
                Engine::Postgresql => ProbedServer::Postgresql,
            },
            sockets: guest.sockets_dir().to_owned(),
        }
    }

    /// InnoDB takes no less than 5 MiB, and steps of 1 MiB. PostgreSQL takes 128 KiB, but each
    /// session must be able to hold some pages at once.
    fn pool_range(&self) -> Option<PoolRange> {
        Some(match self.engine() {
            Engine::Mariadb => PoolRange {
                dialect: Dialect::Mariadb,
                least: 6 * MIB,
                per_session: 0,
                step: MIB,
            },
            Engine::Postgresql => PoolRange {
                dialect: Dialect::Postgresql,
                least: PAGE * SPARE_PAGES,
                per_session: PAGE * SESSION_PAGES,
                step: PAGE,
            },
        })
    }

    fn hold_pool(&mut self, bytes: u64) {
        self.pool = Some(bytes);
    }
}

impl SqlStack for DatabaseGuests<SqlContent> {
    fn wanted(&self) -> &SqlUse {
        &self.content.wanted
    }

    fn clients(&self, address: SocketAddr) -> Target {
        self.engine().clients(address)
    }
}
