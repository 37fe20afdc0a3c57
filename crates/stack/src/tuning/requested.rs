//! The settings of one guest: a profile, what the study asks for beyond it, and the guest that
//! their rules are about.

use std::collections::BTreeMap;

use rookery_study::{Point, SettingValue, TuningProfile, Variables};

use super::{Family, Tuned, TuningError};

/// What a study asks for.
pub(crate) struct RequestedSettings<'a> {
    pub(crate) family: Family,
    pub(crate) profile: TuningProfile,
    pub(crate) settings: &'a BTreeMap<String, SettingValue>,
    /// Users that may be present, where an open load has none.
    pub(crate) max_in_flight: Option<u32>,
    /// Guests that call one, at least 1.
    pub(crate) callers: u32,
}

impl RequestedSettings<'_> {
    /// The settings of guest `index` of `point`.
    ///
    /// # Errors
    /// The setting that has no value there.
    pub(crate) fn evaluate(&self, point: &Point, index: usize) -> Result<Tuned, TuningError> {
        let written = self
            .settings
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string()));
        let settings: Vec<(String, String)> = written.collect();
        let guest = point.guest_at(index);
        let group = guest.map_or_else(|| point.only_group(), |guest| guest.group);
        let users = guest.map_or(0, |guest| guest.users());
        let variables = Variables {
            vcpus: group.vcpus.cpus(),
            memory_bytes: group.memory_mib as f64 * 1_048_576.0,
            // Guests that are only loaded have none; rules are written for some.
            users: f64::from(self.max_in_flight.unwrap_or(users).max(1)),
            guests: f64::from(group.guests),
            callers: f64::from(self.callers),
        };
        Tuned::evaluate(self.family, self.profile.name(), &settings, &variables)
    }
}
