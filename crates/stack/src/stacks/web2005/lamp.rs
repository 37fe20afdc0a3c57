//! Banking, e-commerce and support on Apache and PHP: pages, files and the back-end in one guest,
//! or the back-end in guests of its own.

use std::path::Path;

use rookery_guest::{Guest, Health, Kind, Template};
use rookery_study::{LampUse, Point, PointData, Study, Web2005Use, WebServer, WorkloadKind};
use rookery_workload::web2005::{Day, WebDataset, besim::RESET_TIME_S, files::Shape};

use super::{
    super::lamp::{
        LampSettings, OF_DATABASE, OF_PAGES, PERSISTENT, check_software, empty, read_back, software,
    },
    answer_init, audit_ledger, dataset_of, description, fill, scale, wanted_of,
};
use crate::{
    BuiltStack, ClonedGuests, EffectiveSetting, Found, GuestStack, Origin, Service, Stack,
    StackContext, StackError, StackPart,
    api::STOP_GRACE,
    http_server::own_files,
    lamp::{
        EncryptedPort, PORT, Software,
        web2005::{Settings, service},
    },
    page::get,
    root::RootKind,
    service::GUEST,
    template::data_layer,
    tier::{Password, TierAccess},
    tuning::Effective,
    web2005::{BESIM_PORT, HEALTH_PATH, TLS_PORT, Web2005Error, besim_args},
    workloads::PAGES,
};

/// Its name in errors.
const NAME: &str = "LAMP";

/// Answers with 200 while a back-end runs.
const BESIM_HEALTH_PATH: &str = "/health";

/// How long after its last request a session is forgotten, seconds.
const SESSION_EXPIRY_S: u32 = 600;

/// Raised when the same file set gives another template.
const VERSION: u32 = 3;

/// The stack as a study asks for it.
#[derive(Clone)]
pub(crate) struct WebLampStack {
    wanted: Web2005Use,
    server: WebServer,
    settings: LampSettings,
    part: StackPart,
}

impl WebLampStack {
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
            wanted: wanted_of(NAME, study)?,
            server: wanted.server,
            settings: LampSettings::new(study, wanted, part, &[PERSISTENT]),
            part,
        })
    }

    /// Whether its guests are the back-end of others.
    fn is_tier(&self) -> bool {
        matches!(self.part, StackPart::Tier { .. })
    }
}

impl Stack for WebLampStack {
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
        let (dataset, shape) = dataset_of(NAME, data)?;
        let (root, software) = software(context, RootKind::Lamp)?;
        let template = if self.is_tier() {
            empty(context, root.as_ref())?
        } else {
            let description = format!("{}, for Apache {VERSION}", description(&dataset));
            data_layer(context, root.as_ref(), description, |data| {
                fill(context, &shape, data).map(Some)
            })?
        };
        let guests = WebLampGuests {
            stack: self.clone(),
            software,
            dataset,
            shape,
            template,
        };
        Ok(BuiltStack::Web2005(
            Box::new(guests),
            Box::new(self.wanted.clone()),
            dataset,
        ))
    }
}

/// The port at which the same pages are encrypted, with a certificate of the guest's own.
///
/// # Errors
/// When no key can be made.
fn encrypted_port() -> Result<EncryptedPort, StackError> {
    let certificate = own_files()
        .map_err(Web2005Error::Tls)
        .map_err(StackError::bundled)?;
    Ok(EncryptedPort {
        port: TLS_PORT,
        certificate,
    })
}

/// Guests of the stack.
struct WebLampGuests {
    stack: WebLampStack,
    software: Software,
    dataset: WebDataset,
    shape: Shape,
    template: Template,
}

impl WebLampGuests {
    /// Apache and PHP before a back-end, which this guest runs itself with such arguments.
    fn pages(
        &self,
        point: &Point,
        index: usize,
        backend: &str,
        args: Option<&[String]>,
    ) -> Result<Service, StackError> {
        let tuned = self.stack.settings.tuned(point, index)?;
        let settings = Settings {
            model: self.dataset.model,
            files: "{shared}",
            backend,
            today: Day::of_time(RESET_TIME_S),
            session_expiry_s: SESSION_EXPIRY_S,
        };
        let encrypted = self
            .stack
            .wanted
            .encrypted
            .then(encrypted_port)
            .transpose()?;
        let server = self.stack.server;
        let service = service(&self.software, &tuned, server, &settings, encrypted, args);
        let health = Health::Http(HEALTH_PATH.to_owned());
        Ok(service.in_guest(PORT, health, Vec::new()))
    }

    /// The back-end alone.
    fn backend(&self, point: &Point) -> Service {
        let workers = point.only_group().vcpus.whole_cpus() as usize;
        Service {
            args: besim_args(&self.shape, scale(&self.dataset), "{listen}", workers),
            files: Vec::new(),
            port: BESIM_PORT,
            health: Health::Http(BESIM_HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        }
    }
}

impl ClonedGuests for WebLampGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, index: usize) -> Result<Service, StackError> {
        match self.stack.part {
            StackPart::Tier { .. } => Ok(self.backend(point)),
            // A front is told where its back-end is.
            StackPart::Front => Err(StackError::NoTiers),
            StackPart::Whole => {
                let listen = format!("{{address}}:{BESIM_PORT}");
                let args = besim_args(&self.shape, scale(&self.dataset), &listen, 1);
                self.pages(point, index, &listen, Some(&args))
            }
        }
    }

    fn front_service(
        &self,
        point: &Point,
        index: usize,
        tier: &TierAccess,
    ) -> Result<Service, StackError> {
        self.pages(point, index, &tier.address.to_string(), None)
    }

    /// Whoever reaches the lab's network may ask the back-end: there is no password.
    fn access(&self, guest: &dyn Guest) -> Option<TierAccess> {
        let is_tier = self.stack.is_tier();
        is_tier.then(|| TierAccess::new(guest.address(), Password::new()))
    }
}

impl GuestStack for WebLampGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn settings(
        &self,
        context: &StackContext<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        if self.stack.is_tier() {
            return Ok(Vec::new());
        }
        let tuned = self.stack.settings.tuned(point, index)?;
        let found = read_back(Some((context, guest)), None, &tuned, self.stack.server);
        // There is no database, and no connection to one that pages could keep.
        let has = |found: &Effective| {
            [OF_DATABASE, OF_PAGES]
                .iter()
                .all(|of| !found.name.starts_with(of))
        };
        let found = found.into_iter().filter(has);
        Ok(found.map(EffectiveSetting::from).collect())
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        if self.stack.is_tier() {
            return get(context.lab.network(), guest.address(), BESIM_HEALTH_PATH).map(drop);
        }
        answer_init(context, guest, self.dataset.model)
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        if self.stack.part == StackPart::Front {
            // What its users were told is in the ledger of the tier.
            let _ = guest.stop(STOP_GRACE);
            return Ok(Found::default());
        }
        audit_ledger(guest, self.dataset.model)
    }
}
