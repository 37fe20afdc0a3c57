//! Host settings that a study asks for: held while a trial runs, then put back.

use std::sync::atomic::AtomicBool;

use rookery_host::{
    RunId,
    settings::{Consent, Effect, Held, Keeper, Profile, SettingsError},
};
use rookery_store::Tuning;

use crate::LabError;

/// The profile that a trial holds, if its study names one.
pub(crate) struct HostSettings(Option<Held>);

impl HostSettings {
    /// Apply the profile `name`; settings that can cost data stay as they are.
    ///
    /// # Errors
    /// When the profile cannot be applied as a whole; then nothing is changed.
    pub(crate) fn hold(name: Option<&str>, run: &RunId, stop: &AtomicBool) -> Result<Self, LabError> {
        let Some(name) = name else { return Ok(Self(None)) };
        let profile =
            Profile::embedded(name).ok_or_else(|| LabError::HostNotReady(format!("there is no profile {name} of host settings")))?;
        let profile = profile.map_err(|error| LabError::Internal(error.to_string()))?;
        let keeper = Keeper::of_machine().map_err(refused)?;
        let held = keeper.hold(&profile, Some(run.clone()), &Consent::default(), stop);
        Ok(Self(Some(held.map_err(refused)?)))
    }

    /// What became of each setting, as the store keeps it.
    pub(crate) fn tunings(&self) -> Vec<Tuning> {
        let outcomes = self.0.iter().flat_map(Held::outcomes);
        outcomes
            .map(|outcome| {
                let effective = match &outcome.effect {
                    Effect::AsWanted { present } => present.clone(),
                    Effect::Set { effective, .. } => effective.clone(),
                    Effect::Withheld { danger } => format!("left alone: {danger}"),
                    Effect::Refused { reason } => format!("cannot be set here: {reason}"),
                };
                let device = if outcome.device.is_empty() {
                    String::new()
                } else {
                    format!(" {}", outcome.device)
                };
                Tuning {
                    guest: "host".to_owned(),
                    name: format!("{}{device}", outcome.knob),
                    asked: outcome.wanted.clone(),
                    effective,
                    // Not read again: the profile is held, and `put_back` tells of strangers who changed it.
                    at_end: String::new(),
                }
            })
            .collect()
    }

    /// Put everything back.
    ///
    /// # Errors
    /// When something cannot be put back; the journal then still knows of it.
    pub(crate) fn put_back(self) -> Result<(), LabError> {
        match self.0 {
            Some(held) => held.put_back().map(|_| ()).map_err(refused),
            None => Ok(()),
        }
    }
}

fn refused(error: SettingsError) -> LabError {
    LabError::HostNotReady(error.to_string())
}
