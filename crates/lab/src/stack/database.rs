//! MariaDB and PostgreSQL as stacks for order entry: the distribution's server alone, in containers on a root of its own, in bare guests from the
//! host.

mod builder;

use std::{
    net::SocketAddr,
    path::Path,
    sync::OnceLock,
    time::{Duration, Instant},
};

use rookery_guest::{Guest, GuestFile, Health, Kind, Template};
use rookery_oltp::Target;
use rookery_stack::{
    database::{self, Account, BufferCounters, Engine, PoolChange, Server, Software},
    tuning::Tuned,
};
use rookery_study::{BufferPool, DatabaseUse, Point, PointData, StackKind, Study};

use super::{
    OrderEntry, Place, Reading, Service, Stack,
    layers::{USER, check_root, has_root, root},
    tuned::Asked,
};
use crate::{Event, LabError};

/// How long a server may take to write everything out when it is stopped.
const STOP_LIMIT: Duration = Duration::from_secs(120);
/// How long the reading of one table may take while a database is warmed.
const WARM_LIMIT: Duration = Duration::from_secs(3600);

/// A database server as one variant of a study uses it.
pub(super) struct Database {
    engine: Engine,
    wanted: DatabaseUse,
    /// Terminals that may be present, where an open load has no users.
    max_in_flight: Option<u32>,
    /// Whether the buffer pool is sized while the guest runs.
    resizable: bool,
    /// What the template holds; known once there is one.
    software: OnceLock<Software>,
}

impl Database {
    /// The stack of a study that asks for a database server; nothing for others.
    pub(super) fn of(study: &Study) -> Option<Self> {
        let engine = match study.stack.kind {
            StackKind::Mariadb => Engine::Mariadb,
            StackKind::Postgresql => Engine::Postgresql,
            StackKind::Embedded | StackKind::Lamp | StackKind::Sqlite | StackKind::Simulated => {
                return None;
            }
        };
        Some(Self {
            engine,
            wanted: study.stack.database.clone()?,
            max_in_flight: study.load.open.as_ref().map(|open| open.max_in_flight),
            resizable: study
                .workload
                .orderentry
                .as_ref()
                .is_some_and(|wanted| wanted.hit_target.is_some()),
            software: OnceLock::new(),
        })
    }

    fn software(&self, root: &Path) -> Result<&Software, LabError> {
        if let Some(found) = self.software.get() {
            return Ok(found);
        }
        let found = Software::find(self.engine, root)
            .map_err(|error| LabError::HostNotReady(error.to_string()))?;
        Ok(self.software.get_or_init(|| found))
    }

    /// The tuning for one guest of a point.
    fn tuned(&self, point: &Point, index: usize) -> Result<Tuned, String> {
        let asked = Asked {
            family: self.engine.family(),
            profile: self.wanted.tuning,
            settings: &self.wanted.settings,
            max_in_flight: self.max_in_flight,
        };
        asked.of(point, index)
    }

    /// The administrator's connection to a living guest.
    fn server(&self, data: &Path) -> Result<Server, String> {
        Server::connect(self.engine, data, Account::Owner).map_err(|error| error.to_string())
    }
}

impl Stack for Database {
    fn directory(&self) -> &'static str {
        database::DATABASE
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), LabError> {
        let not_ready = |error: String| {
            LabError::HostNotReady(format!(
                "this host cannot run {} guests: {error}",
                self.engine
            ))
        };
        if !has_root(kind) {
            let found = Software::find(self.engine, Path::new("/"));
            return found
                .map(drop)
                .map_err(|error| not_ready(error.to_string()));
        }
        check_root(kind, self.engine.root(), templates)?.map_err(not_ready)
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), String> {
        self.tuned(point, index).map(drop)
    }

    fn template(&self, place: &Place<'_>, data: PointData) -> Result<Template, LabError> {
        let Some(rows) = data.orderentry() else {
            return Err(LabError::Internal(format!(
                "{} carries no DVD Store ({data})",
                self.engine
            )));
        };
        let began = Instant::now();
        let root = root(place, self.engine.root(), self.engine.name())?;
        let software = self.software(
            root.as_ref()
                .map_or(Path::new("/"), |root| root.root.as_path()),
        )?;
        let template = builder::loaded(place, root.as_ref(), software, rows)?;
        (place.listener)(&Event::Template {
            database: data.to_string(),
            seconds: began.elapsed().as_secs_f64(),
        });
        Ok(template)
    }

    fn service(
        &self,
        _template: &Template,
        point: &Point,
        index: usize,
    ) -> Result<Service, String> {
        let software = self
            .software
            .get()
            .ok_or("the guest was asked for before its template")?;
        let service = database::guest(software, &self.tuned(point, index)?, self.resizable);
        Ok(Service {
            args: service.args,
            files: service
                .files
                .into_iter()
                .map(|(path, text)| GuestFile { path, text })
                .collect(),
            user: Some(USER),
            port: self.engine.port(),
            health: health(self.engine),
            sockets: vec![self.engine.socket()],
        })
    }

    fn warm(&self, guest: &dyn Guest) -> Result<(), String> {
        let done = match self.wanted.buffer_pool {
            // The pages of a machine are its own kernel's, and it has just booted.
            BufferPool::Cold if !guest.data_dir().exists() => Ok(()),
            BufferPool::Cold => database::cool(guest.data_dir()),
            BufferPool::Warm => {
                let mut server = self.server(guest.sockets_dir())?;
                server.set_patience(WARM_LIMIT);
                database::warm(&mut server)
            }
        };
        done.map_err(|error| error.to_string())
    }

    fn settings(
        &self,
        _place: &Place<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<Reading>, String> {
        let mut server = self.server(guest.sockets_dir())?;
        let readings = database::read_back(&mut server).map_err(|error| error.to_string())?;
        let found = database::compare(self.engine, &readings, &self.tuned(point, index)?);
        Ok(found.into_iter().map(Reading::from).collect())
    }

    fn answers(&self, _place: &Place<'_>, guest: &dyn Guest) -> Result<(), String> {
        let loaded = rookery_oltp::loaded(&self.inside(guest.sockets_dir()));
        loaded.map(drop).map_err(|error| error.to_string())
    }

    fn order_entry(&self) -> Option<&dyn OrderEntry> {
        Some(self)
    }
}

impl OrderEntry for Database {
    fn clients(&self, address: SocketAddr) -> Target {
        self.engine.clients(address)
    }

    fn inside(&self, data: &Path) -> Target {
        self.engine.inside(data)
    }

    fn counters(&self, data: &Path) -> Result<BufferCounters, String> {
        database::counters(&mut self.server(data)?).map_err(|error| error.to_string())
    }

    fn prepare_clone(&self, data: &Path) -> Result<(), String> {
        database::take(data).map_err(|error| error.to_string())
    }

    fn hold_pool(&self, service: &mut Service, bytes: u64) {
        let Some((path, line)) = database::pool_line(self.engine, bytes) else {
            return;
        };
        let file = service.files.iter_mut().find(|file| file.path == path);
        file.into_iter().for_each(|file| file.text += &line);
    }

    fn set_pool(
        &self,
        place: &Place<'_>,
        guest: &mut dyn Guest,
        bytes: u64,
    ) -> Result<u64, String> {
        let changed = database::set_pool(&mut self.server(guest.sockets_dir())?, bytes)
            .map_err(|error| error.to_string())?;
        match changed {
            PoolChange::InForce(bytes) => Ok(bytes),
            PoolChange::AfterRestart(bytes) => {
                guest.stop(STOP_LIMIT).map_err(|error| error.to_string())?;
                builder::start(place, guest, self.engine, Account::Owner)?;
                let pool = self.counters(guest.sockets_dir())?.pool_bytes;
                Ok(pool.unwrap_or(bytes))
            }
        }
    }

    fn pool_key(&self) -> Option<&'static str> {
        Some(self.engine.pool_key())
    }

    fn revive(&self, place: &Place<'_>, guest: &mut dyn Guest) -> Result<(), String> {
        guest.kill().map_err(|error| error.to_string())?;
        builder::start(place, guest, self.engine, Account::Owner).map(drop)
    }
}

/// How a guest is seen to serve.
fn health(engine: Engine) -> Health {
    match engine {
        Engine::Mariadb => Health::Mysql,
        Engine::Postgresql => Health::Postgresql {
            user: database::USER.to_owned(),
            database: database::DATABASE.to_owned(),
        },
    }
}
