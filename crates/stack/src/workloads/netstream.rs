//! Guests that answer the exchanges of the netstream workload.

use rookery_guest::{Guest, Health, Template};
use rookery_study::{NetstreamUse, Point};
use rookery_workload::{
    FoundRow,
    netstream::{ANSWER_BYTES, ANSWERS, EXCHANGE_PATH, HEALTH_PATH},
};

use crate::{
    ClonedGuests, Found, GuestStack, Origin, Service, StackContext, StackError,
    api::STOP_GRACE,
    netstream::{COUNTS_FILE, PORT, guest_args, read_counts},
    page::get,
    service::GUEST,
};

/// Guests of the server that comes with the workload.
pub(crate) struct NetstreamGuests {
    pub(crate) wanted: NetstreamUse,
    pub(crate) template: Template,
}

/// A stack that answers exchanges.
pub trait NetstreamStack: GuestStack {
    /// What the study asks of the workload.
    fn wanted(&self) -> &NetstreamUse;
}

impl NetstreamStack for NetstreamGuests {
    fn wanted(&self) -> &NetstreamUse {
        &self.wanted
    }
}

impl ClonedGuests for NetstreamGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: guest_args(point.only_group().vcpus.whole_cpus() as usize),
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        })
    }
}

impl GuestStack for NetstreamGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        let path = format!("{EXCHANGE_PATH}?answer=10");
        let body = get(context.lab.network(), guest.address(), &path)?;
        if body.len() == 10 {
            return Ok(());
        }
        Err(StackError::Page {
            url: format!("http://{}{path}", guest.address()),
            what: format!("the answer has {} bytes, and not 10", body.len()),
        })
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        // The server writes its counts when it ends.
        guest.stop(STOP_GRACE)?;
        let sent = read_counts(&guest.data_dir().join(COUNTS_FILE)).map_err(StackError::bundled)?;
        Ok(Found {
            rows: vec![
                FoundRow::new(ANSWERS, sent.answers),
                FoundRow::new(ANSWER_BYTES, sent.bytes),
            ],
            ..Found::default()
        })
    }
}
