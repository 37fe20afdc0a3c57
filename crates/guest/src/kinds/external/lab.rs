//! The lab of systems that run already: a registered run, and nothing else.

use std::{path::Path, sync::Arc};

use rookery_host::volume::VolumeSpec;

use super::guest::ExternalGuest;
use crate::{
    error::{GuestError, StepError},
    external::RunningSystem,
    guest::Guest,
    kind::Kind,
    lab::Lab,
    lab_core::LabCore,
    spec::GuestSpec,
    storage::{Provision, Volume},
    template::{Patience, Recipe, Template},
};

/// A lab that makes nothing.
pub(crate) struct ExternalLab {
    core: LabCore,
}

impl ExternalLab {
    /// The lab of a registered run.
    pub(crate) fn new(core: LabCore) -> Self {
        Self { core }
    }
}

/// Why nothing is made.
fn refused() -> StepError {
    StepError::Refused("a system that runs already is not made".to_owned())
}

impl Lab for ExternalLab {
    fn kind(&self) -> Kind {
        Kind::External
    }

    fn network(&self) -> Option<&Path> {
        None
    }

    fn template(
        &self,
        _recipe: &Recipe<'_>,
        _patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        Err(GuestError::in_template("building it", refused()))
    }

    fn volume(&self, name: &str, _spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        Err(GuestError::in_guest(name, "making its volume", refused()))
    }

    fn create_with(
        &self,
        _template: &Template,
        spec: &GuestSpec,
        _provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        Err(GuestError::in_guest(&spec.name, "making it", refused()))
    }

    fn attach(&self, name: &str, system: &RunningSystem) -> Result<Box<dyn Guest>, GuestError> {
        Ok(Box::new(ExternalGuest::new(
            name,
            system,
            self.core.cgroups.clone(),
        )))
    }

    fn close(&mut self) -> Result<(), GuestError> {
        self.core.close()
    }
}
