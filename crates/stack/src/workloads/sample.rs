//! Guests that serve the records of the sample workload.

use rookery_guest::{Guest, Health, Template};
use rookery_study::{Point, SampleUse};
use rookery_workload::{
    FoundRow,
    sample::{HEALTH_PATH, NEW_BYTES, NEW_RECORDS, SampleData, WRITE_PATH},
};

use crate::{
    ClonedGuests, Found, GuestStack, Origin, Service, StackContext, StackError,
    api::STOP_GRACE,
    page::get,
    sample::{PORT, count_in, guest_args},
    service::GUEST,
};

/// Guests of the server that comes with the workload.
pub(crate) struct SampleGuests {
    pub(crate) wanted: SampleUse,
    pub(crate) data: SampleData,
    pub(crate) template: Template,
}

/// A stack that serves records.
pub trait SampleStack: GuestStack {
    /// What the study asks of the workload.
    fn wanted(&self) -> &SampleUse;

    /// What each guest holds before the load.
    fn data(&self) -> SampleData;
}

impl SampleStack for SampleGuests {
    fn wanted(&self) -> &SampleUse {
        &self.wanted
    }

    fn data(&self) -> SampleData {
        self.data
    }
}

impl ClonedGuests for SampleGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: guest_args(
                point.only_group().vcpus.whole_cpus() as usize,
                self.wanted.working_set_mib,
            ),
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        })
    }
}

impl GuestStack for SampleGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
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
            ..Found::default()
        })
    }
}
