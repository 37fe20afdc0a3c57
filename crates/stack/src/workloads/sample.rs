//! The stack that comes with the sample workload.

use std::path::Path;

use rookery_guest::{Fill, FillError, Guest, Health, Kind, Recipe, Template};
use rookery_study::{Point, PointData, SampleUse, Study, Workload, WorkloadKind};
use rookery_workload::{
    FoundRow,
    sample::{HEALTH_PATH, NEW_BYTES, NEW_RECORDS, SampleData, WRITE_PATH},
};

use super::BuiltStack;
use crate::{
    Found, GuestStack, Service, Stack, StackContext, StackError,
    api::STOP_GRACE,
    page::get,
    sample::{PORT, RECORDS_FILE, count_in, guest_args, load},
};

/// Its name in errors.
const NAME: &str = "the server of the sample workload";

/// The stack as a study asks for it.
#[derive(Clone)]
struct SampleStack {
    wanted: SampleUse,
}

/// The stack of a study of this workload.
///
/// # Errors
/// When the study has another workload.
pub(super) fn open(study: &Study) -> Result<Box<dyn Stack>, StackError> {
    match &study.workload {
        Workload::Sample(wanted) => Ok(Box::new(SampleStack {
            wanted: wanted.clone(),
        })),
        other => Err(StackError::OtherWorkload {
            stack: NAME,
            workload: other.kind().name(),
        }),
    }
}

impl Stack for SampleStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        &[WorkloadKind::Sample]
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
        let data = data
            .sample()
            .ok_or_else(|| StackError::other_data(NAME, data))?;
        let recipe = Recipe {
            description: format!("sample {data}"),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| {
                load(&directory.join(RECORDS_FILE), data).map_err(FillError::from)
            }),
        };
        Ok(BuiltStack::Sample(Box::new(SampleGuests {
            wanted: self.wanted.clone(),
            data,
            template: context.template(&recipe)?,
        })))
    }
}

/// Guests that serve records.
pub struct SampleGuests {
    wanted: SampleUse,
    data: SampleData,
    template: Template,
}

impl SampleGuests {
    /// What the study asks of the workload.
    #[must_use]
    pub fn wanted(&self) -> &SampleUse {
        &self.wanted
    }

    /// What each guest holds before the load.
    #[must_use]
    pub fn data(&self) -> SampleData {
        self.data
    }
}

impl GuestStack for SampleGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: guest_args(point.only_group().vcpus.whole_cpus() as usize),
            files: Vec::new(),
            user: None,
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
        })
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        let path = format!("{WRITE_PATH}?text=rehearsal");
        let body = get(context.lab.network(), guest.address(), &path)?;
        if body.starts_with("written ") {
            return Ok(());
        }
        Err(StackError::Page {
            url: format!("http://{}{path}", guest.address()),
            what: "the answer does not acknowledge the record".to_owned(),
        })
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        // A guest that does not end is killed with its removal; its records are counted all the
        // same.
        let _ = guest.stop(STOP_GRACE);
        let counted = count_in(guest.data_dir(), self.data).map_err(StackError::bundled)?;
        Ok(Found {
            rows: vec![
                FoundRow::new(NEW_RECORDS, counted.new_records),
                FoundRow::new(NEW_BYTES, counted.new_bytes),
            ],
            faults: counted.faults,
        })
    }
}
