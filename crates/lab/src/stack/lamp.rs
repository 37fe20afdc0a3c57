//! The LAMP stack: the distribution's Apache, PHP and MariaDB, in containers on a root of their own, in bare guests from the host.

mod builder;

use std::{collections::BTreeMap, path::Path, sync::OnceLock, time::Instant};

use rookery_guest::{Guest, GuestFile, Health, Kind, Template};
use rookery_stack::{
    embedded::Behaviour,
    lamp::{
        self, Options, ReadBack, Server, Software,
        sql::{Account, Database},
    },
    root::RootKind,
    tuning::{Family, Tuned},
};
use rookery_study::{BufferPool, LampUse, Pages, Point, PointData, Study, WebServer};

use super::{
    Found, PURCHASE, Place, Reading, STOP_GRACE, Service, Stack, dvdstore,
    layers::{USER, check_root, has_root, root},
    tuned::Asked,
};
use crate::{Event, LabError, ask::ask, rehearsal::page};

/// MariaDB's socket in the data directory.
const SOCKET: &str = "mysql.sock";

/// The LAMP stack as one variant of a study uses it.
pub(super) struct Lamp {
    wanted: LampUse,
    /// Visitors that may be present, where an open load has no users.
    max_in_flight: Option<u32>,
    options: Options,
    /// What the template holds; known once there is one.
    software: OnceLock<Software>,
}

impl Lamp {
    pub(super) fn of(study: &Study, wanted: &LampUse) -> Self {
        Self {
            wanted: wanted.clone(),
            max_in_flight: study.load.open.as_ref().map(|open| open.max_in_flight),
            options: Options {
                server: match wanted.server {
                    WebServer::Prefork => Server::Prefork,
                    WebServer::Event => Server::Event,
                },
                faithful: study.stack.pages == Pages::Faithful,
                database: true,
            },
            software: OnceLock::new(),
        }
    }

    /// Apache and PHP alone.
    pub(super) fn without_database(study: &Study, wanted: &LampUse) -> Self {
        let mut lamp = Self::of(study, wanted);
        lamp.options.database = false;
        lamp
    }

    fn behaviour(&self) -> Behaviour {
        if self.options.faithful {
            Behaviour::Faithful
        } else {
            Behaviour::Corrected
        }
    }

    fn software(&self, root: &Path) -> Result<&Software, LabError> {
        if let Some(found) = self.software.get() {
            return Ok(found);
        }
        let found =
            Software::find(root).map_err(|error| LabError::HostNotReady(error.to_string()))?;
        Ok(self.software.get_or_init(|| found))
    }

    /// The tuning for one guest of a point.
    fn tuned(&self, point: &Point, index: usize) -> Result<Tuned, String> {
        let asked = Asked {
            family: Family::Lamp,
            profile: self.wanted.tuning,
            settings: &self.wanted.settings,
            max_in_flight: self.max_in_flight,
        };
        asked.of(point, index)
    }
}

impl Stack for Lamp {
    fn directory(&self) -> &'static str {
        lamp::DIRECTORY
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), LabError> {
        let not_ready = |error: String| {
            LabError::HostNotReady(format!("this host cannot run LAMP guests: {error}"))
        };
        if !has_root(kind) {
            return Software::find(Path::new("/"))
                .map(drop)
                .map_err(|error| not_ready(error.to_string()));
        }
        check_root(kind, RootKind::Lamp, templates)?.map_err(not_ready)
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), String> {
        self.tuned(point, index).map(drop)
    }

    fn template(&self, place: &Place<'_>, data: PointData) -> Result<Template, LabError> {
        let size = dvdstore(data).map_err(LabError::Internal)?;
        let began = Instant::now();
        let root = root(place, RootKind::Lamp, "LAMP")?;
        let software = self.software(
            root.as_ref()
                .map_or(Path::new("/"), |root| root.root.as_path()),
        )?;
        if !self.options.database {
            return builder::empty(place, root.as_ref());
        }
        let template = builder::loaded(place, root.as_ref(), software, size)?;
        (place.listener)(&Event::Template {
            database: size.to_string(),
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
        let tuned = self.tuned(point, index)?;
        let service = lamp::guest(software, &tuned, &self.options);
        Ok(Service {
            args: service.args,
            files: service
                .files
                .into_iter()
                .map(|(path, text)| GuestFile { path, text })
                .collect(),
            user: Some(USER),
            port: lamp::PORT,
            health: Health::Http(lamp::HEALTH_PATH.to_owned()),
            sockets: vec![SOCKET.to_owned()],
        })
    }

    fn warm(&self, guest: &dyn Guest) -> Result<(), String> {
        match self.wanted.buffer_pool {
            BufferPool::Cold => Ok(()),
            BufferPool::Warm => lamp::warm(&mut database(guest)?)
                .map(|_| ())
                .map_err(|error| error.to_string()),
        }
    }

    fn settings(
        &self,
        place: &Place<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<Reading>, String> {
        let variables = database(guest)?
            .variables()
            .map_err(|error| error.to_string())?;
        // What is not answered is told as not known.
        let bodies: BTreeMap<String, String> = lamp::READ_BACK_PATHS
            .into_iter()
            .filter_map(|path| {
                Some((
                    path.to_owned(),
                    ask(place.lab.network(), guest.address(), path).ok()?,
                ))
            })
            .collect();
        let tuned = self.tuned(point, index)?;
        let found = ReadBack::of(Some(variables), &bodies).compare(&tuned, self.options.server);
        Ok(found.into_iter().map(Reading::from).collect())
    }

    fn answers(&self, place: &Place<'_>, guest: &dyn Guest) -> Result<(), String> {
        if self.options.database {
            return page(
                place,
                guest,
                &format!("/{}/{PURCHASE}", lamp::DIRECTORY),
                "ORDER NUMBER",
            );
        }
        page(
            place,
            guest,
            &format!("/{}/dslogin.php", lamp::DIRECTORY),
            "DVD Store",
        )
    }

    fn audit(
        &self,
        place: &Place<'_>,
        guest: &mut dyn Guest,
        data: PointData,
        dead: bool,
    ) -> Result<Found, String> {
        let size = dvdstore(data)?;
        if dead {
            // Started again, MariaDB recovers what was committed: that is what the users were told of.
            guest.kill().map_err(|error| error.to_string())?;
            builder::start(place, guest)?;
        }
        let found = database(guest).and_then(|mut database| {
            lamp::audit(&mut database, size).map_err(|error| error.to_string())
        });
        let _ = guest.stop(STOP_GRACE);
        let found = found?;
        Ok(Found {
            orders: found.orders,
            ledger: None,
            faults: found.faults(self.behaviour()),
        })
    }
}

/// The database of a living guest.
fn database(guest: &dyn Guest) -> Result<Database, String> {
    Database::connect(&guest.sockets_dir().join(SOCKET), Account::Root)
        .map_err(|error| error.to_string())
}
