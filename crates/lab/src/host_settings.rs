//! Host settings that a study asks for: held while a trial runs, then put back.

use std::sync::atomic::AtomicBool;

use rookery_host::{
    RunId,
    settings::{Audit, Consent, Effect, Held, Keeper, Outcome, Profile, Root, audit},
};
use rookery_store::Tuning;
use rookery_study::Study;

use crate::error::LabError;

/// Whether the profile of host settings that a study names is known.
///
/// # Errors
/// When it is not; the error names those that are.
pub fn check_profile(study: &Study) -> Result<(), LabError> {
    study
        .host
        .settings
        .as_deref()
        .map_or(Ok(()), |name| profile(name).map(drop))
}

fn profile(name: &str) -> Result<Profile, LabError> {
    let profile = Profile::embedded(name).ok_or_else(|| LabError::UnknownProfile {
        name: name.to_owned(),
        known: Profile::embedded_names().collect::<Vec<_>>().join(", "),
    })?;
    Ok(profile?)
}

/// The profile that a trial holds, if its study names one.
pub(crate) struct HostSettings(Option<Holding>);

struct Holding {
    profile: Profile,
    held: Held,
}

impl HostSettings {
    /// No settings.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Apply the profile `name`; settings that can cost data stay as they are.
    ///
    /// # Errors
    /// When the profile cannot be applied as a whole; then nothing is changed.
    pub(crate) fn hold(
        name: Option<&str>,
        run: &RunId,
        stop: &AtomicBool,
    ) -> Result<Self, LabError> {
        let Some(name) = name else {
            return Ok(Self(None));
        };
        let profile = profile(name)?;
        let held =
            Keeper::for_machine()?.hold(&profile, Some(run.clone()), &Consent::default(), stop)?;
        Ok(Self(Some(Holding { profile, held })))
    }

    /// What became of each setting, and what it is now, as the store keeps it.
    pub(crate) fn tunings(&self) -> Vec<Tuning> {
        let Some(Holding { profile, held }) = &self.0 else {
            return Vec::new();
        };
        let now = audit(&Root::machine(), std::slice::from_ref(profile));
        held.outcomes()
            .iter()
            .map(|outcome| tuning(outcome, &now))
            .collect()
    }

    /// Put everything back.
    ///
    /// # Errors
    /// When something cannot be put back; the journal then still knows of it.
    pub(crate) fn put_back(self) -> Result<(), LabError> {
        match self.0 {
            Some(holding) => {
                holding.held.put_back()?;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

fn tuning(outcome: &Outcome, now: &Audit) -> Tuning {
    let (effective, in_force) = match &outcome.effect {
        Effect::AsWanted { present } => (present.clone(), true),
        Effect::Set { effective, .. } => (effective.clone(), true),
        Effect::Withheld { danger } => (format!("left alone: {danger}"), false),
        Effect::Refused { reason } => (format!("cannot be set here: {reason}"), false),
    };
    let mut rows = now.rows.iter();
    let present = rows
        .find(|row| (row.knob, &row.device) == (outcome.knob, &outcome.device))
        .and_then(|row| row.present.clone());
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
        at_end: present.filter(|_| in_force).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use rookery_diagnosis::Diagnosis;
    use rookery_host::settings::{AuditRow, Scope};

    use super::*;

    fn row(knob: &'static str, device: &str, present: &str) -> AuditRow {
        AuditRow {
            knob,
            device: device.to_owned(),
            path: String::new(),
            what: "",
            scope: Scope::Host,
            present: Some(present.to_owned()),
            fixed: None,
            danger: None,
            advice: Vec::new(),
        }
    }

    #[test]
    fn a_setting_is_told_with_what_it_is_at_the_end() {
        let now = Audit {
            tuned: None,
            rows: vec![row("k", "vda", "1"), row("k", "vdb", "2")],
        };
        let outcome = |effect| Outcome {
            knob: "k",
            device: "vdb".to_owned(),
            wanted: "3".to_owned(),
            effect,
        };
        let set = Effect::Set {
            before: "1".to_owned(),
            effective: "3".to_owned(),
            adjusted: false,
        };
        let told = tuning(&outcome(set), &now);
        assert_eq!(
            (
                told.name.as_str(),
                told.effective.as_str(),
                told.at_end.as_str()
            ),
            ("k vdb", "3", "2")
        );
        let refused = tuning(
            &outcome(Effect::Refused {
                reason: "no".to_owned(),
            }),
            &now,
        );
        assert_eq!(
            (refused.effective.as_str(), refused.at_end.as_str()),
            ("cannot be set here: no", "")
        );
    }

    #[test]
    fn an_unknown_profile_is_refused_with_those_that_are_known() {
        let text = profile("throughputt").map(drop).expect_err("unknown");
        let text = format!("{text} {}", text.help().unwrap_or_default());
        assert!(
            text.contains("throughputt")
                && text.contains("enterprise-storage, few-services, many-connections"),
            "{text}"
        );
        profile("throughput").map(drop).expect("known");
    }
}
