//! A server of the user as a stack: guests are made from packages and files, run the services that
//! the study names, and are prepared, read and audited by its commands.

mod archive;
mod layers;
mod links;
mod secrets;
mod services;
mod user;

use std::{path::Path, time::Duration};

use rookery_guest::{CommandVariables, Guest, GuestUser, Kind, Template};
use rookery_study::{ImageRoot, ImageUse, Point, PointData, Study, Workload, WorkloadKind};

use super::commands::UserCommands;
use crate::{
    AuditScope, BuiltStack, ClonedGuests, EffectiveSetting, Found, GuestStack, Origin, Service,
    Stack, StackContext, StackError,
    api::STOP_GRACE,
    page::get_with,
    root::RootRecipe,
    template::{check_root, start},
    workloads::serve,
};

/// Its name in errors.
const NAME: &str = "image";

/// How long a guest may take to come up again for its audit.
const START_LIMIT: Duration = Duration::from_secs(600);

/// The stack as a study asks for it.
pub(crate) struct ImageStack {
    image: ImageUse,
    workload: Workload,
}

impl ImageStack {
    /// As a study asks for it.
    pub(crate) fn new(study: &Study, image: &ImageUse) -> Self {
        Self {
            image: image.clone(),
            workload: study.workload.clone(),
        }
    }

    /// The image with what a container image says of itself, and as whom that wants to run.
    fn completed(&self) -> Result<(ImageUse, String), StackError> {
        match archive::description(&self.image)? {
            Some(described) => {
                let image = archive::completed(&self.image, &described)?;
                Ok((image, described.user))
            }
            None => Ok((self.image.clone(), String::new())),
        }
    }
}

impl Stack for ImageStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        &[WorkloadKind::Http, WorkloadKind::Cms]
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        let root = match &self.image.root {
            ImageRoot::Packages(packages) => {
                check_root(kind, &RootRecipe::of_packages(packages), templates)
            }
            ImageRoot::Archive(_) => self.completed().map(drop).and_then(|()| {
                if kind == Kind::Vm && self.image.install.is_some() {
                    // It runs in one.
                    rookery_guest::check_host(Kind::Container)?;
                }
                Ok(())
            }),
        };
        root.and_then(|()| secrets::values(&self.image.secrets).map(drop))
            .map_err(|error| StackError::not_ready(NAME, error))
    }

    /// Its settings are its own.
    fn check_settings(&self, _point: &Point, _index: usize) -> Result<(), StackError> {
        Ok(())
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let (image, user) = self.completed()?;
        let (template, user) = layers::template(context, &image, &user)?;
        let guests = ImageGuests {
            template,
            image,
            user,
        };
        serve(NAME, Box::new(guests), &self.workload, data)
    }
}

/// Guests of an image.
struct ImageGuests {
    image: ImageUse,
    template: Template,
    user: GuestUser,
}

impl ImageGuests {
    /// The user's commands, as they run in a guest.
    fn commands(&self) -> Result<UserCommands<'_>, StackError> {
        let secrets = secrets::values(&self.image.secrets)?;
        let hidden = secrets.iter().map(|(_, value)| value.clone()).collect();
        let plain = self.image.environment.clone().into_iter();
        let variables = CommandVariables(plain.chain(secrets).collect());
        let commands = &self.image.commands;
        Ok(UserCommands::with(commands, variables, hidden))
    }

    /// Whether a guest answers as one that is ready.
    fn is_healthy(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        let (path, status) = (&self.image.health, self.image.health_status);
        get_with(context.lab.network(), guest.address(), path, status).map(drop)
    }
}

impl ClonedGuests for ImageGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, _point: &Point, _index: usize) -> Result<Service, StackError> {
        services::of_guest(&self.image, self.user)
    }
}

impl GuestStack for ImageGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn warm(&self, _context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        let commands = self.commands()?;
        commands.reset(guest)?;
        commands.prepare(guest)
    }

    fn settings(
        &self,
        _context: &StackContext<'_>,
        guest: &dyn Guest,
        _point: &Point,
        _index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        self.commands()?.settings(guest)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        self.is_healthy(context, guest)
    }

    fn audit_scope(&self) -> AuditScope {
        UserCommands::new(&self.image.commands).audit_scope()
    }

    fn audit(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        if self.audit_scope() == AuditScope::Nothing {
            let _ = guest.stop(STOP_GRACE);
            return Ok(Found::default());
        }
        if died {
            // Started again, its servers recover what was committed: that is what users were told.
            guest.kill()?;
            start(context, guest, &NAME, START_LIMIT, |guest| {
                self.is_healthy(context, guest)
            })?;
        }
        let found = self.commands()?.audit(guest);
        let _ = guest.stop(STOP_GRACE);
        found
    }
}
