//! The settings of one guest: a profile, what the study asks for beyond it, and the guest that their rules are about.

use std::collections::BTreeMap;

use rookery_stack::tuning::{Family, Tuned};
use rookery_study::{Point, SettingValue, TuningProfile, Variables};

/// What a study asks for.
pub(super) struct Asked<'a> {
    pub(super) family: Family,
    pub(super) profile: TuningProfile,
    pub(super) settings: &'a BTreeMap<String, SettingValue>,
    /// Users that may be present, where an open load has none.
    pub(super) max_in_flight: Option<u32>,
}

impl Asked<'_> {
    /// The settings of guest `index` of `point`.
    ///
    /// # Errors
    /// The setting that has no value there, with its mend.
    pub(super) fn of(&self, point: &Point, index: usize) -> Result<Tuned, String> {
        let written = self
            .settings
            .iter()
            .map(|(key, value)| (key.clone(), value.to_string()));
        let settings: Vec<(String, String)> = written.collect();
        let variables = Variables {
            vcpus: point.vcpus.cpus(),
            memory_bytes: point.memory_mib as f64 * 1_048_576.0,
            users: f64::from(self.max_in_flight.unwrap_or(point.users[index])),
            guests: f64::from(point.guests),
        };
        Tuned::of(self.family, self.profile.name(), &settings, &variables)
            .map_err(|error| error.to_string())
    }
}
