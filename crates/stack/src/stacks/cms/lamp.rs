//! Content management on Apache, PHP and MariaDB: a site in every guest, with its own database.
//!
//! What sites have in common is here: the template, the load, the settings, the audit. A
//! [`LampSite`] says what is its own.

mod drupal;
mod small;

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Instant};

use rookery_guest::{Guest, Health, Kind, RoleMove, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{
    BufferPool, CmsUse, Engine, LampUse, Point, PointData, StorageRole, Study, WebServer, Workload,
    WorkloadKind,
};
use rookery_workload::cms::{CmsData, Contract, LoadMode};

use self::{drupal::DrupalSite, small::SmallSite};
use super::{
    super::lamp::{
        LampSettings, Loading, SOCKET, database, empty, load_in, loaded, read_back, start,
    },
    answer_front, data_of,
};
use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, EffectiveSetting, Found, GuestStack, Origin, Service,
    Stack, StackContext, StackError, StackPart, SupervisedService,
    api::STOP_GRACE,
    cms::{SiteNodes, SiteTables, counted},
    database::{moved, role_settings},
    lamp::{
        self, HEALTH_PATH, PORT, Software,
        cms::{SiteLoad, drupal::Generation},
        config::with_roles,
        sql::Database,
    },
    tuning::Tuned,
    workloads::PAGES,
};

/// Its name in errors.
const NAME: &str = "LAMP";

/// Where the database of a guest without data is filled.
struct Filling<'a> {
    context: &'a StackContext<'a>,
    software: &'a Software,
    data: &'a CmsData,
    mode: LoadMode,
}

/// What one site has for itself.
trait LampSite: Send + Sync {
    /// Its pages.
    fn contract(&self) -> Contract;

    /// What its pages can be told.
    fn switches(&self) -> &'static [&'static str];

    /// Its database.
    fn database(&self) -> &'static str;

    /// What of a guest's data is part of the template.
    fn directories(&self) -> &'static [&'static str] {
        &["mysql"]
    }

    /// Where its nodes and accounts are.
    fn nodes(&self) -> &'static SiteNodes;

    /// Whether this host has what its guests need.
    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError>;

    /// What its guests stand on before there are data, built or found, and the programs in it.
    fn base(&self, context: &StackContext<'_>) -> Result<(Option<Template>, Software), StackError>;

    /// What decides its database, the data, what guests stand on and the programs aside.
    fn description(&self) -> Result<String, StackError>;

    /// The service of the guest in which its database is made; `service` is MariaDB alone.
    fn builder(
        &self,
        software: &Software,
        service: SupervisedService,
    ) -> Result<SupervisedService, StackError> {
        let _ = software;
        Ok(service)
    }

    /// The service of a guest that serves it.
    fn service(
        &self,
        software: &Software,
        tuned: &Tuned,
        server: WebServer,
    ) -> Result<SupervisedService, StackError>;

    /// Makes its database on a server that has none yet, in a guest whose service is
    /// [`LampSite::builder`]; gives the tables that are to be loaded.
    fn create(
        &self,
        filling: &Filling<'_>,
        guest: &dyn Guest,
        database: &mut Database,
    ) -> Result<SiteTables, StackError>;
}

/// The site that a study asks for.
///
/// # Errors
/// When the stack has no such site.
fn site_of(wanted: &CmsUse, lamp: &LampUse) -> Result<Arc<dyn LampSite>, StackError> {
    use rookery_study::LampSite as Asked;
    Ok(
        match (&lamp.site, Generation::of_contract(wanted.contract)) {
            (Asked::Own, None) if wanted.contract == Contract::Smallcms => Arc::new(SmallSite),
            (Asked::Tree(path), Some(generation)) => Arc::new(DrupalSite::new(path, generation)),
            (Asked::Own | Asked::Tree(_), _) => {
                return Err(StackError::OtherWorkload {
                    stack: NAME,
                    workload: wanted.contract.name(),
                });
            }
        },
    )
}

/// The stack as a study asks for it.
#[derive(Clone)]
pub(crate) struct CmsLampStack {
    site: Arc<dyn LampSite>,
    wanted: CmsUse,
    lamp: LampUse,
    settings: LampSettings,
    /// What has volumes of its own.
    roles: BTreeSet<StorageRole>,
}

impl CmsLampStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload, or the stack is divided into tiers.
    pub(crate) fn new(study: &Study, lamp: &LampUse, part: StackPart) -> Result<Self, StackError> {
        if part != StackPart::Whole {
            return Err(StackError::NoTiersOfWorkload {
                workload: study.workload.kind().name(),
            });
        }
        let Workload::Cms(wanted) = &study.workload else {
            return Err(StackError::OtherWorkload {
                stack: NAME,
                workload: study.workload.kind().name(),
            });
        };
        let site = site_of(wanted, lamp)?;
        Ok(Self {
            wanted: wanted.clone(),
            lamp: lamp.clone(),
            settings: LampSettings::new(study, lamp, part, site.switches()),
            roles: study.storage.roles.keys().copied().collect(),
            site,
        })
    }

    /// Makes the site's database in a guest that has none yet.
    fn fill(
        &self,
        filling: &Filling<'_>,
        guest: &dyn Guest,
        database: &mut Database,
    ) -> Result<DatabaseLoad, StackError> {
        let began = Instant::now();
        let tables = self.site.create(filling, guest, database)?;
        let load = SiteLoad {
            schema: self.site.database(),
            tables: &tables,
            data: filling.data,
            mode: filling.mode,
        };
        let loaded = load.load(database, began.elapsed(), &|progress| {
            filling.context.building(
                &filling.data.to_string(),
                &format!("{} {} of {}", progress.step, progress.done, progress.total),
            );
            filling.context.go_on()
        });
        Ok(loaded?)
    }
}

impl Stack for CmsLampStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        PAGES
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        self.site.check_host(kind, templates)
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), StackError> {
        self.settings.check(point, index)
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let data = data_of(NAME, data)?;
        let (root, software) = self.site.base(context)?;
        let filling = Filling {
            context,
            software: &software,
            data: &data,
            mode: LoadMode::Fast,
        };
        let loading = Loading {
            description: format!("{}, {data:?}", self.site.description()?),
            what: data.to_string(),
            service: self.site.builder(&software, lamp::builder(&software))?,
            directories: self.site.directories(),
            fill: &|guest, database| self.fill(&filling, guest, database),
        };
        let template = loaded(context, root.as_ref(), &software, &loading)?;
        let guests = CmsLampGuests {
            stack: self.clone(),
            software,
            data,
            template,
        };
        Ok(BuiltStack::Cms(
            Box::new(guests),
            Box::new(self.wanted.clone()),
            data,
        ))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let data = data_of(NAME, data)?;
        let (root, software) = self.site.base(context)?;
        Ok(Box::new(CmsLoader {
            stack: self.clone(),
            software,
            data,
            template: empty(context, root.as_ref())?,
        }))
    }
}

/// Guests whose MariaDB is loaded under the clock.
struct CmsLoader {
    stack: CmsLampStack,
    software: Software,
    data: CmsData,
    template: Template,
}

impl DatabaseLoader for CmsLoader {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        let tuned = self.stack.settings.tuned(point, index)?;
        let service = lamp::loading(&self.software, &tuned, self.stack.lamp.server);
        let service = self.stack.site.builder(&self.software, service)?;
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
        let filling = Filling {
            context,
            software: &self.software,
            data: &self.data,
            mode: self.stack.wanted.load_mode,
        };
        load_in(
            context,
            guest,
            &self.data.to_string(),
            &|guest, database| self.stack.fill(&filling, guest, database),
        )
    }
}

/// Guests of the stack.
struct CmsLampGuests {
    stack: CmsLampStack,
    software: Software,
    data: CmsData,
    template: Template,
}

impl CmsLampGuests {
    fn server(&self) -> WebServer {
        self.stack.lamp.server
    }
}

impl ClonedGuests for CmsLampGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        let tuned = self.stack.settings.tuned(point, index)?;
        let health = Health::Http(HEALTH_PATH.to_owned());
        let site = &self.stack.site;
        let service = site.service(&self.software, &tuned, self.server())?;
        let service = with_roles(service, &self.stack.roles);
        Ok(service.in_guest(PORT, health, vec![SOCKET.to_owned()]))
    }

    fn moved(&self, role: StorageRole) -> Vec<RoleMove> {
        moved(Engine::Mariadb, role)
    }
}

impl GuestStack for CmsLampGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn warm(&self, _context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        if self.stack.lamp.buffer_pool == BufferPool::Warm {
            lamp::warm::warm_schema(&mut database(guest)?, self.stack.site.database())?;
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
        let variables = database(guest)?.variables()?;
        let roles = role_settings(Engine::Mariadb, &variables, guest);
        let tuned = self.stack.settings.tuned(point, index)?;
        let found = read_back(
            Some((context, guest)),
            Some(variables),
            &tuned,
            self.server(),
        );
        let found = found.into_iter().chain(roles);
        Ok(found.map(EffectiveSetting::from).collect())
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        answer_front(context, guest, self.stack.site.contract())
    }

    fn audit(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        if died {
            // Started again, MariaDB recovers what was committed: that is what users were told.
            guest.kill()?;
            start(context, guest)?;
        }
        let counted = database(guest).and_then(|mut database| {
            counted(self.stack.site.nodes(), &self.data, |query| {
                database.number(query).map(i64::unsigned_abs)
            })
        });
        let _ = guest.stop(STOP_GRACE);
        let counted = counted?;
        Ok(Found {
            rows: counted.rows,
            faults: counted.faults,
            ..Found::default()
        })
    }
}
