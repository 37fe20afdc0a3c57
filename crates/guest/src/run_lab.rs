//! The lab of a registered run, whatever the kind of its guests.

use std::{path::Path, sync::Arc};

use rookery_host::volume::VolumeSpec;
use rookery_study::SwapKind;
use tracing::instrument;

use crate::{
    error::GuestError,
    guest::Guest,
    kind::Kind,
    lab::{Lab, Progress},
    lab_core::LabCore,
    spec::{GuestSpec, check_spec},
    storage::{ProvidedVolumes, Provision, Volume},
    swap::SwapDevice,
    template::{self, Patience, Recipe, Template},
};

/// What makes the guests of one kind in a lab.
pub(crate) trait GuestMaker: Send + Sync {
    /// The kind.
    const KIND: Kind;

    /// The network namespace of its guests; `None` = the host's own loopback.
    fn network(&self) -> Option<&Path> {
        None
    }

    /// See [`Lab::prepare`].
    ///
    /// # Errors
    /// When it cannot be built, or the patience ends.
    fn prepare(
        &self,
        _core: &LabCore,
        _template: &Template,
        _told: Progress<'_>,
        _patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        Ok(())
    }

    /// Show a new volume to who makes the guests, where that is another process.
    ///
    /// # Errors
    /// When it cannot be shown.
    fn show_volume(&self, _core: &LabCore, _volume: &Volume) -> Result<(), GuestError> {
        Ok(())
    }

    /// Clone a template into a new guest. Specification and template are checked already; `volumes`
    /// are those that the provision names.
    ///
    /// # Errors
    /// See [`Lab::create_with`].
    fn make(
        &self,
        core: &LabCore,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
        volumes: ProvidedVolumes,
    ) -> Result<Box<dyn Guest>, GuestError>;

    /// End what serves the guests, before what they left is swept.
    fn close(&mut self) {}
}

/// A lab of one kind of guests.
pub(crate) struct RunLab<M> {
    // Fields go in their order: the maker ends before the run is swept.
    maker: M,
    core: LabCore,
}

impl<M: GuestMaker> RunLab<M> {
    /// The lab of a registered run, with its maker.
    pub(crate) fn new(core: LabCore, maker: M) -> Self {
        Self { maker, core }
    }
}

impl<M: GuestMaker> Lab for RunLab<M> {
    fn kind(&self) -> Kind {
        M::KIND
    }

    fn network(&self) -> Option<&Path> {
        self.maker.network()
    }

    fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        self.core.template(recipe, patience)
    }

    fn prepare(
        &self,
        template: &Template,
        told: Progress<'_>,
        patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        self.maker.prepare(&self.core, template, told, patience)
    }

    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        let volume = self.core.volume(name, spec)?;
        self.maker.show_volume(&self.core, &volume)?;
        Ok(volume)
    }

    fn swap(&self, name: &str, kind: SwapKind, size_mib: u64) -> Result<SwapDevice, GuestError> {
        self.core.swap(name, kind, size_mib)
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %spec.name))]
    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        check_spec(spec)?;
        template::check_top(template, &spec.name)?;
        let volumes = self.core.provided_volumes(spec, provision)?;
        self.maker
            .make(&self.core, template, spec, provision, volumes)
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"))]
    fn close(&mut self) -> Result<(), GuestError> {
        self.maker.close();
        self.core.close()
    }
}
