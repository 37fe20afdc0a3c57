//! The embedded stack of content management: this very program serves the pages from one SQLite
//! file.

mod lamp;

use std::{path::Path, time::Duration};

use rookery_guest::{Fill, FillError, Guest, Health, Recipe, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{CmsUse, Point, PointData, Study, Workload, WorkloadKind};
use rookery_workload::cms::{CmsAnswer, CmsData, CmsTalk, CmsWork, Contract};

use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, Found, GuestStack, Origin, Service, Stack,
    StackContext, StackError,
    api::STOP_GRACE,
    cms::{DATABASE_FILE, HEALTH_PATH, PORT, count, guest_args, load},
    page::get,
    service::{GUEST, USER},
    template::{FileLoader, give_to_guests},
    workloads::PAGES,
};

pub(crate) use lamp::CmsLampStack;

/// Its name in errors.
const NAME: &str = "the embedded stack";

/// The stack as a study asks for it.
#[derive(Clone)]
pub(crate) struct CmsStack {
    wanted: CmsUse,
    extra_cpu: Duration,
}

impl CmsStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload, or pages of another kind of site.
    pub(crate) fn new(study: &Study, extra_cpu: Duration) -> Result<Self, StackError> {
        Ok(Self {
            wanted: wanted_of(NAME, study)?,
            extra_cpu,
        })
    }
}

/// What a study asks of this workload on a site that comes with Rookery.
fn wanted_of(stack: &'static str, study: &Study) -> Result<CmsUse, StackError> {
    match &study.workload {
        Workload::Cms(wanted) if wanted.contract == Contract::Smallcms => Ok(wanted.clone()),
        other => Err(StackError::OtherWorkload {
            stack,
            workload: other.kind().name(),
        }),
    }
}

/// What a site holds, from the numbers of its point.
fn data_of(stack: &'static str, data: PointData) -> Result<CmsData, StackError> {
    data.cms()
        .ok_or_else(|| StackError::other_data(stack, data))
}

/// Lets a guest whose site keeps this contract answer with the front page.
fn answer_front(
    context: &StackContext<'_>,
    guest: &dyn Guest,
    contract: Contract,
) -> Result<(), StackError> {
    let (mut talk, asked) = CmsTalk::begin(contract, CmsWork::Front);
    let body = get(context.lab.network(), guest.address(), &asked.target)?;
    let answer = CmsAnswer {
        status: 200,
        location: None,
        body: body.as_bytes(),
    };
    match talk.answered(&answer) {
        Ok(_) => Ok(()),
        Err(_) => Err(StackError::Page {
            url: format!("http://{}{}", guest.address(), asked.target),
            what: "the answer is not the front page".to_owned(),
        }),
    }
}

impl Stack for CmsStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        PAGES
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let data = data_of(NAME, data)?;
        let recipe = Recipe {
            description: format!("cms {data:?}, of user {USER}"),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| {
                let load = fill(context, &data, directory).map_err(FillError::from)?;
                give_to_guests(directory).map_err(FillError::from)?;
                Ok(Some(load))
            }),
        };
        let guests = CmsGuests {
            extra_cpu: self.extra_cpu,
            template: context.template(&recipe)?,
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
        let load =
            move |context: &StackContext<'_>, directory: &Path| fill(context, &data, directory);
        Ok(Box::new(FileLoader::new(context, load)?))
    }
}

/// Makes the database in a guest's data directory.
fn fill(
    context: &StackContext<'_>,
    data: &CmsData,
    directory: &Path,
) -> Result<DatabaseLoad, StackError> {
    load(&directory.join(DATABASE_FILE), data, &|progress| {
        context.building(
            &data.to_string(),
            &format!("{} {} of {}", progress.step, progress.done, progress.total),
        );
        context.go_on()
    })
    .map_err(StackError::bundled)
}

/// Guests of the stack.
struct CmsGuests {
    extra_cpu: Duration,
    template: Template,
}

impl ClonedGuests for CmsGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: guest_args(
                point.only_group().vcpus.whole_cpus() as usize,
                self.extra_cpu,
            ),
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        })
    }
}

impl GuestStack for CmsGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        answer_front(context, guest, Contract::Smallcms)
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        // A guest that does not end is killed with its removal; its nodes are counted all the same.
        let _ = guest.stop(STOP_GRACE);
        let counted = count(&guest.data_dir().join(DATABASE_FILE)).map_err(StackError::bundled)?;
        Ok(Found {
            rows: counted.rows,
            faults: counted.faults,
            ..Found::default()
        })
    }
}
