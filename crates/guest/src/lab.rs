//! What the guests of one run share, of whatever kind they are.

use std::{path::Path, sync::Arc};

use rookery_host::volume::VolumeSpec;
use rookery_study::SwapKind;

use crate::{
    error::{GuestError, StepError},
    external::RunningSystem,
    guest::Guest,
    kind::Kind,
    spec::GuestSpec,
    storage::{Provision, Volume},
    swap::SwapDevice,
    template::{Patience, Recipe, Template},
};

/// Hears what is being built and how far it is, as in `system of machines` and
/// `fetching packages, 12 s`.
pub type Progress<'a> = &'a (dyn Fn(&str, &str) + Sync);

/// What the guests of one run share: network, addresses, directories; and the maker of guests.
///
/// Dropping a lab removes what the guests shared.
pub trait Lab: Send + Sync {
    /// Kind of its guests.
    fn kind(&self) -> Kind;
    /// The network namespace (a path such as `/run/rookery/netns/NAME`) that the driver's threads
    /// must enter; `None` = the host's own loopback.
    fn network(&self) -> Option<&Path>;
    /// Build the template of `recipe`, or find it built. One builder is at work in a directory at a
    /// time; the others have `patience`.
    ///
    /// # Errors
    /// When the recipe's own fill fails, or the disk does; [`GuestError::Stopped`] when the
    /// patience ends.
    fn template(&self, recipe: &Recipe<'_>, patience: Patience<'_>)
    -> Result<Template, GuestError>;
    /// Build what guests on `template` need besides it, or find it built: for virtual machines the
    /// system that they boot and the image of their disks, which take minutes once. Where nobody
    /// has asked for it, the first guest's creation does it without a word.
    ///
    /// # Errors
    /// When it cannot be built, or the patience ends.
    fn prepare(
        &self,
        template: &Template,
        told: Progress<'_>,
        patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        let _ = (template, told, patience);
        Ok(())
    }
    /// Make a volume for the data of one guest or several, named with 1 to 40 characters of `a-z`,
    /// `0-9` and `-`. It is removed with the last guest that has it.
    ///
    /// # Errors
    /// When it cannot be made; nothing is left behind.
    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError>;
    /// Make a device of so many MiB to which the host swaps, named as a volume is. Guests have as
    /// much of it as their [`GuestSpec::swap`] says. To be kept until they are gone.
    ///
    /// # Errors
    /// When the host swaps elsewhere already, or it cannot be made; nothing is left behind.
    fn swap(&self, name: &str, kind: SwapKind, size_mib: u64) -> Result<SwapDevice, GuestError> {
        let _ = (name, kind, size_mib);
        let why = format!("memory of {} guests is not limited here", self.kind());
        Err(GuestError::in_lab(
            "making its swap device",
            StepError::Refused(why),
        ))
    }
    /// Clone a template into a new guest, not yet started, its data in the run's directory.
    ///
    /// # Errors
    /// When the clone cannot be made; nothing is left behind.
    fn create(&self, template: &Template, spec: &GuestSpec) -> Result<Box<dyn Guest>, GuestError> {
        self.create_with(template, spec, &Provision::default())
    }
    /// Clone a template into a new guest, not yet started, with what `provision` gives it.
    ///
    /// # Errors
    /// When the clone cannot be made, or this kind of guest cannot have what it is given; nothing
    /// is left behind.
    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError>;
    /// Take a system that runs already as the guest of this name. It is neither started nor ended
    /// nor removed with it.
    ///
    /// # Errors
    /// When the guests of this lab are made.
    fn attach(&self, name: &str, system: &RunningSystem) -> Result<Box<dyn Guest>, GuestError> {
        let why = format!(
            "{} guests are made, and {} runs already",
            self.kind(),
            system.address
        );
        Err(GuestError::in_guest(
            name,
            "taking it as a guest",
            StepError::Refused(why),
        ))
    }
    /// Remove what the guests shared.
    ///
    /// # Errors
    /// When something remains.
    fn close(&mut self) -> Result<(), GuestError>;
}
