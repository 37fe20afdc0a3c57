//! Guests that answer the exchanges of the netstream workload.

use rookery_guest::{Guest, Health, Template};
use rookery_study::{NetstreamUse, Point};
use rookery_workload::{
    FoundRow,
    netstream::{
        ANSWER_BYTES, ANSWERS, EXCHANGE_PATH, FETCH_PATH, HEALTH_PATH, Receiver, StreamProgram,
        receipt,
    },
};

use crate::{
    ClonedGuests, Found, GuestStack, Origin, Service, StackContext, StackError, StackPart,
    TierAccess,
    api::STOP_GRACE,
    netstream::{COUNTS_FILE, IPERF3_DIRECTORY, PORT, Partner, guest_args, read_counts},
    page::get,
    service::GUEST,
    tier::Password,
};

/// Guests of the server that comes with the workload.
pub(crate) struct NetstreamGuests {
    pub(crate) wanted: NetstreamUse,
    pub(crate) part: StackPart,
    pub(crate) template: Template,
}

impl NetstreamGuests {
    /// The server with these arguments.
    fn server(args: Vec<String>) -> Service {
        Service {
            args,
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        }
    }
}

/// A stack that answers exchanges.
pub trait NetstreamStack: GuestStack {
    /// What the study asks of the workload.
    fn wanted(&self) -> &NetstreamUse;
    /// Who receives what is asked of its guests.
    fn receiver(&self) -> Receiver;
}

impl NetstreamStack for NetstreamGuests {
    fn wanted(&self) -> &NetstreamUse {
        &self.wanted
    }

    fn receiver(&self) -> Receiver {
        match self.part {
            StackPart::Front => Receiver::Guest,
            StackPart::Whole | StackPart::Tier { .. } => Receiver::Driver,
        }
    }
}

impl ClonedGuests for NetstreamGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, _point: &Point, _index: usize) -> Result<Service, StackError> {
        let mut args = guest_args(None);
        if self.wanted.program == StreamProgram::Iperf3 {
            args.extend([
                "--iperf3".to_owned(),
                format!("{{data}}/{IPERF3_DIRECTORY}"),
            ]);
        }
        Ok(Self::server(args))
    }

    fn front_service(
        &self,
        _point: &Point,
        _index: usize,
        tier: &TierAccess,
    ) -> Result<Service, StackError> {
        let partner = Partner {
            address: tier.address,
            size: self.wanted.size,
            connection: self.wanted.connection,
        };
        Ok(Self::server(guest_args(Some(&partner))))
    }

    /// Whoever reaches the lab's network may ask: there is no password.
    fn access(&self, guest: &dyn Guest) -> Option<TierAccess> {
        let is_tier = matches!(self.part, StackPart::Tier { .. });
        is_tier.then(|| TierAccess::new(guest.address(), Password::new()))
    }
}

impl GuestStack for NetstreamGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        let (path, length) = match self.receiver() {
            Receiver::Driver => (format!("{EXCHANGE_PATH}?answer=10"), 10),
            Receiver::Guest => {
                let told = receipt(self.wanted.size.answer_bytes);
                (FETCH_PATH.to_owned(), told.len())
            }
        };
        let body = get(context.lab.network(), guest.address(), &path)?;
        if body.len() == length {
            return Ok(());
        }
        Err(StackError::Page {
            url: format!("http://{}{path}", guest.address()),
            what: format!("the answer has {} bytes, and not {length}", body.len()),
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
        let answers = match self.wanted.program {
            StreamProgram::Rookery => sent.answers,
            // Nobody counts its blocks.
            StreamProgram::Iperf3 => sent.bytes / u64::from(self.wanted.size.answer_bytes),
        };
        Ok(Found {
            rows: vec![
                FoundRow::new(ANSWERS, answers),
                FoundRow::new(ANSWER_BYTES, sent.bytes),
            ],
            ..Found::default()
        })
    }
}
