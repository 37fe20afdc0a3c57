//! The LAMP stack: the distribution's Apache, PHP and MariaDB, in containers on a root of their
//! own, in bare guests from the host.

mod settings;
mod template;

use std::{collections::BTreeSet, path::Path, thread};

use rookery_guest::{Guest, Health, Kind, RoleMove, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{
    BufferPool, Engine, LampUse, Pages, Point, PointData, StorageRole, Study, WorkloadKind,
};
use rookery_workload::dvdstore::{Size, WordLists};

pub(super) use self::{
    settings::{LampSettings, OF_DATABASE, OF_PAGES, PERSISTENT, read_back},
    template::{Loading, SOCKET, database, empty, load_in, loaded, start},
};
use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, DvdstoreStack, EffectiveSetting, Found, GuestStack,
    Origin, Service, Stack, StackContext, StackError, StackPart,
    api::STOP_GRACE,
    database::{moved, role_settings},
    lamp::{
        self, DIRECTORY, HEALTH_PATH, Options, PORT, Servers, Software, config::with_roles,
        sql::Database,
    },
    root::{RootKind, RootRecipe},
    template::{check_root, has_root, root},
    tier::{Password, TierAccess},
    tuning::{Effective, Tuned, TuningError},
    workloads::{PAGES, ShopWorkload, answer_page, answer_purchase, found, shop_of, size_of},
};

/// Its name in errors.
const NAME: &str = "LAMP";

/// Raised when a size gives another template.
const VERSION: u32 = 1;

/// Port of the database in guests of its own.
const DATABASE_PORT: u16 = 3306;

/// The LAMP stack as one variant of a study uses it.
#[derive(Clone)]
pub(crate) struct LampStack {
    shop: ShopWorkload,
    wanted: LampUse,
    settings: LampSettings,
    options: Options,
    /// What has volumes of its own.
    roles: BTreeSet<StorageRole>,
}

impl LampStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload.
    pub(crate) fn new(
        study: &Study,
        wanted: &LampUse,
        part: StackPart,
    ) -> Result<Self, StackError> {
        Ok(Self {
            shop: shop_of(NAME, study)?,
            wanted: wanted.clone(),
            settings: LampSettings::new(study, wanted, part, &[PERSISTENT]),
            options: Options {
                server: wanted.server,
                faithful: wanted.pages == Pages::Faithful,
                servers: match part {
                    StackPart::Whole => Servers::All,
                    StackPart::Front => Servers::Web,
                    StackPart::Tier { .. } => Servers::Database,
                },
            },
            roles: study.storage.roles.keys().copied().collect(),
        })
    }

    /// Apache and PHP alone.
    ///
    /// # Errors
    /// As [`LampStack::new`].
    pub(crate) fn without_database(study: &Study, wanted: &LampUse) -> Result<Self, StackError> {
        let mut lamp = Self::new(study, wanted, StackPart::Whole)?;
        lamp.options.servers = Servers::WithoutDatabase;
        Ok(lamp)
    }

    /// The tuning for one guest of a point.
    fn tuned(&self, point: &Point, index: usize) -> Result<Tuned, TuningError> {
        self.settings.tuned(point, index)
    }
}

impl Stack for LampStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        PAGES
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        check_software(RootKind::Lamp, kind, templates)
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), StackError> {
        self.settings.check(point, index)
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let size = size_of(NAME, data)?;
        let (root, software) = software(context, RootKind::Lamp)?;
        let template = if self.options.servers.has_database() {
            let description = format!("lamp dvdstore {size}, own words, schema {VERSION}");
            let fill = |_: &dyn Guest, database: &mut Database| fill(context, database, size);
            let loading = Loading::of_mariadb(description, database_of(size), &software, &fill);
            loaded(context, root.as_ref(), &software, &loading)?
        } else {
            empty(context, root.as_ref())?
        };
        let guests = LampGuests {
            stack: self.clone(),
            software,
            size,
            template,
            password: Password::new(),
        };
        Ok(self.shop.served_by(Box::new(guests)))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let size = size_of(NAME, data)?;
        let (root, software) = software(context, RootKind::Lamp)?;
        Ok(Box::new(LampLoader {
            stack: self.clone(),
            software,
            size,
            template: empty(context, root.as_ref())?,
        }))
    }
}

/// A database of this size, in words.
fn database_of(size: Size) -> String {
    format!("database of {size}")
}

/// Makes the shop's database on a server that has none yet.
fn fill(
    context: &StackContext<'_>,
    database: &mut Database,
    size: Size,
) -> Result<DatabaseLoad, StackError> {
    let streams = thread::available_parallelism().map_or(1, usize::from);
    let summary = lamp::load(database, size, WordLists::own(), streams, &|progress| {
        context.building(
            &database_of(size),
            &format!("{} {} of {}", progress.step, progress.done, progress.total),
        );
        context.go_on()
    })?;
    Ok(summary.parts)
}

/// Whether this host has the servers, or can build a root of this kind with them.
pub(super) fn check_software(
    root: RootKind,
    kind: Kind,
    templates: &Path,
) -> Result<(), StackError> {
    let found = if has_root(kind) {
        check_root(kind, &RootRecipe::of_host(root), templates)
    } else {
        Software::find(Path::new("/"))
            .map(drop)
            .map_err(StackError::from)
    };
    found.map_err(|error| StackError::not_ready(NAME, error))
}

/// The root of LAMP guests of this kind, built or found, and what is in it.
pub(super) fn software(
    context: &StackContext<'_>,
    kind: RootKind,
) -> Result<(Option<Template>, Software), StackError> {
    let root = root(context, &RootRecipe::of_host(kind), NAME)?;
    let path = root.as_ref().map_or(Path::new("/"), |root| &root.root);
    let software = Software::find(path).map_err(|error| StackError::not_ready(NAME, error))?;
    Ok((root, software))
}

/// Guests whose MariaDB is loaded under the clock.
struct LampLoader {
    stack: LampStack,
    software: Software,
    size: Size,
    template: Template,
}

impl DatabaseLoader for LampLoader {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        let tuned = self.stack.tuned(point, index)?;
        let service = lamp::loading(&self.software, &tuned, self.stack.options.server);
        let service = with_roles(service, &self.stack.roles);
        let health = Health::Http(HEALTH_PATH.to_owned());
        Ok(service.in_guest(PORT, health, vec![SOCKET.to_owned()]))
    }

    fn load(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _cpus: &[u32],
    ) -> Result<DatabaseLoad, StackError> {
        load_in(context, guest, &database_of(self.size), &|_, database| {
            fill(context, database, self.size)
        })
    }
}

/// Guests of the LAMP stack.
struct LampGuests {
    stack: LampStack,
    /// What the template holds.
    software: Software,
    size: Size,
    template: Template,
    /// What lets others in where the guests are a tier.
    password: Password,
}

impl ClonedGuests for LampGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        let tuned = self.stack.tuned(point, index)?;
        let options = &self.stack.options;
        let (service, port, health) = match options.servers {
            Servers::Database => {
                let password = self.password.text();
                let service = lamp::config::database(&self.software, &tuned, options, password);
                (service, DATABASE_PORT, Health::Mysql)
            }
            // A front is told where its database is.
            Servers::Web => return Err(StackError::NoTiers),
            Servers::All | Servers::WithoutDatabase => {
                let health = Health::Http(HEALTH_PATH.to_owned());
                (lamp::guest(&self.software, &tuned, options), PORT, health)
            }
        };
        let service = with_roles(service, &self.stack.roles);
        Ok(service.in_guest(port, health, vec![SOCKET.to_owned()]))
    }

    fn moved(&self, role: StorageRole) -> Vec<RoleMove> {
        match self.stack.options.servers.has_database() {
            true => moved(Engine::Mariadb, role),
            false => Vec::new(),
        }
    }

    fn front_service(
        &self,
        point: &Point,
        index: usize,
        tier: &TierAccess,
    ) -> Result<Service, StackError> {
        let tuned = self.stack.tuned(point, index)?;
        let service = lamp::config::web(&self.software, &tuned, &self.stack.options, tier);
        let health = Health::Http(HEALTH_PATH.to_owned());
        Ok(service.in_guest(PORT, health, Vec::new()))
    }

    fn access(&self, guest: &dyn Guest) -> Option<TierAccess> {
        (self.stack.options.servers == Servers::Database)
            .then(|| TierAccess::new(guest.address(), self.password.clone()))
    }
}

impl GuestStack for LampGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn warm(&self, _context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        let has_database = self.stack.options.servers.has_database();
        if has_database && self.stack.wanted.buffer_pool == BufferPool::Warm {
            lamp::warm(&mut database(guest)?)?;
        }
        Ok(())
    }

    fn settings(
        &self,
        context: &StackContext<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        let servers = self.stack.options.servers;
        let variables = match servers.has_database() {
            true => Some(database(guest)?.variables()?),
            false => None,
        };
        let roles = variables
            .as_ref()
            .map(|readings| role_settings(Engine::Mariadb, readings, guest));
        let tuned = self.stack.tuned(point, index)?;
        let asked = servers.has_pages().then_some((context, guest));
        let found = read_back(asked, variables, &tuned, self.stack.options.server);
        // Settings of servers that run elsewhere are read there.
        let here = |found: &Effective| match found.name.starts_with(OF_DATABASE) {
            true => servers.has_database(),
            false => servers.has_pages(),
        };
        let found = found.into_iter().filter(here);
        let found = found.chain(roles.into_iter().flatten());
        Ok(found.map(EffectiveSetting::from).collect())
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        match self.stack.options.servers {
            Servers::All | Servers::Web => answer_purchase(context, guest, DIRECTORY),
            Servers::WithoutDatabase => answer_page(
                context,
                guest,
                &format!("/{DIRECTORY}/dslogin.php"),
                "DVD Store",
            ),
            Servers::Database => {
                database(guest)?.variables()?;
                Ok(())
            }
        }
    }

    fn audit(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        if !self.stack.options.servers.has_database() {
            // What its users were told is in the database of the tier.
            let _ = guest.stop(STOP_GRACE);
            return Ok(Found::default());
        }
        if died {
            // Started again, MariaDB recovers what was committed: that is what users were told.
            guest.kill()?;
            start(context, guest)?;
        }
        let audit = database(guest)
            .map_err(StackError::from)
            .and_then(|mut database| Ok(lamp::audit(&mut database, self.size)?));
        let _ = guest.stop(STOP_GRACE);
        Ok(found(&audit?, self.stack.wanted.pages))
    }
}

impl DvdstoreStack for LampGuests {
    fn directory(&self) -> &'static str {
        DIRECTORY
    }

    fn size(&self) -> Size {
        self.size
    }
}
