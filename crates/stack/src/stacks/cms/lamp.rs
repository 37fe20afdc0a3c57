//! Content management on Apache, PHP and MariaDB: the small site in every guest.

use std::path::Path;

use rookery_guest::{Guest, Health, Kind, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{
    BufferPool, CmsUse, LampUse, Point, PointData, Study, WebServer, WorkloadKind,
};
use rookery_workload::cms::{CmsData, LoadMode};

use super::{
    super::lamp::{
        LampSettings, SOCKET, check_software, database, empty, load_in, loaded, read_back,
        software, start,
    },
    answer_front, data_of, wanted_of,
};
use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, EffectiveSetting, Found, GuestStack, Origin, Service,
    Stack, StackContext, StackError, StackPart,
    api::STOP_GRACE,
    lamp::{self, HEALTH_PATH, PORT, Software, cms, sql::Database},
    tuning::SWITCHES,
    workloads::PAGES,
};

/// Its name in errors.
const NAME: &str = "LAMP";

/// Raised when the same data give another template.
const VERSION: u32 = 2;

/// The stack as a study asks for it.
#[derive(Clone)]
pub(crate) struct CmsLampStack {
    wanted: CmsUse,
    lamp: LampUse,
    settings: LampSettings,
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
        Ok(Self {
            wanted: wanted_of(NAME, study)?,
            lamp: lamp.clone(),
            settings: LampSettings::new(study, lamp, part, &SWITCHES),
        })
    }
}

/// Makes the site's database on a server that has none yet.
fn fill(
    context: &StackContext<'_>,
    database: &mut Database,
    data: &CmsData,
    mode: LoadMode,
) -> Result<DatabaseLoad, StackError> {
    let load = cms::load(database, data, mode, &|progress| {
        context.building(
            &data.to_string(),
            &format!("{} {} of {}", progress.step, progress.done, progress.total),
        );
        context.go_on()
    });
    Ok(load?)
}

impl Stack for CmsLampStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        PAGES
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        check_software(kind, templates)
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), StackError> {
        self.settings.check(point, index)
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let data = data_of(NAME, data)?;
        let (root, software) = software(context)?;
        let description = format!("lamp cms {data:?}, schema {VERSION}");
        let template = loaded(
            context,
            root.as_ref(),
            &software,
            &description,
            &data.to_string(),
            &|database| fill(context, database, &data, LoadMode::Fast),
        )?;
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
        let (root, software) = software(context)?;
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
        let health = Health::Http(HEALTH_PATH.to_owned());
        Ok(service.in_guest(PORT, health, vec![SOCKET.to_owned()]))
    }

    fn load(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _cpus: &[u32],
    ) -> Result<DatabaseLoad, StackError> {
        load_in(context, guest, &self.data.to_string(), &|database| {
            fill(context, database, &self.data, self.stack.wanted.load_mode)
        })
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
        let service = cms::service(&self.software, &tuned, self.server());
        Ok(service.in_guest(PORT, health, vec![SOCKET.to_owned()]))
    }
}

impl GuestStack for CmsLampGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn warm(&self, _context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        if self.stack.lamp.buffer_pool == BufferPool::Warm {
            lamp::warm::warm_schema(&mut database(guest)?, cms::DATABASE)?;
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
        let tuned = self.stack.settings.tuned(point, index)?;
        let found = read_back(
            Some((context, guest)),
            Some(variables),
            &tuned,
            self.server(),
        );
        Ok(found.into_iter().map(EffectiveSetting::from).collect())
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        answer_front(context, guest)
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
        let counted =
            database(guest).and_then(|mut database| cms::audit(&mut database, &self.data));
        let _ = guest.stop(STOP_GRACE);
        let counted = counted?;
        Ok(Found {
            rows: counted.rows,
            faults: counted.faults,
            ..Found::default()
        })
    }
}
