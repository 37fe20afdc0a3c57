//! The audit: every knob with its present value, what profiles recommend, where it lives, and
//! whether it can be turned here.

use serde::Serialize;

use super::{
    catalogue::KNOBS,
    files::{Instance, Root},
    knob::{Knob, Place, Scope},
    profile::{Profile, Setting},
    tuned::{Tuned, tuned},
};

/// The settings of this host beside recommendations.
#[derive(Debug, Serialize)]
pub struct Audit {
    /// What `tuned` has active, where it is installed.
    pub tuned: Option<Tuned>,
    /// Every knob on every device, in the order of [`KNOBS`].
    pub rows: Vec<AuditRow>,
}

/// One knob on one device.
#[derive(Debug, Serialize)]
pub struct AuditRow {
    /// The knob.
    pub knob: &'static str,
    /// Its device; empty when it has none.
    pub device: String,
    /// Where it lives.
    pub path: String,
    /// What it does.
    pub what: &'static str,
    /// Whose setting it is.
    pub scope: Scope,
    /// The present value; `None` when there is no such knob here or it cannot be read.
    pub present: Option<String>,
    /// Why it cannot be turned here; `None` when it can.
    pub fixed: Option<String>,
    /// The damage that turning it can do.
    pub danger: Option<&'static str>,
    /// What the profiles say of it.
    pub advice: Vec<Advice>,
}

/// What one profile says of a knob.
#[derive(Debug, Serialize)]
pub struct Advice {
    /// The profile.
    pub profile: String,
    /// What it should hold, in words.
    pub wanted: String,
    /// Whether it does.
    pub holds: bool,
    /// Why.
    pub reason: String,
    /// Who says so.
    pub source: String,
}

/// Look at every knob; changes nothing.
#[must_use]
pub fn audit(root: &Root, profiles: &[Profile]) -> Audit {
    let mut rows = Vec::new();
    for knob in KNOBS {
        let instances = instances(root, knob, profiles);
        if instances.is_empty() {
            rows.push(absent(knob, profiles));
        }
        rows.extend(
            instances
                .iter()
                .map(|instance| row(root, knob, instance, profiles)),
        );
    }
    Audit {
        tuned: tuned(root),
        rows,
    }
}

/// Those of real disks, and those that a profile names.
fn instances(root: &Root, knob: &Knob, profiles: &[Profile]) -> Vec<Instance> {
    let mut found = root.instances(knob, &[]);
    for setting in advice_on(knob, profiles).map(|(_, setting)| setting) {
        for instance in root.instances(knob, &setting.devices) {
            if !found.contains(&instance) {
                found.push(instance);
            }
        }
    }
    found
}

fn advice_on<'p>(
    knob: &Knob,
    profiles: &'p [Profile],
) -> impl Iterator<Item = (&'p Profile, &'p Setting)> {
    let key = knob.key;
    let settings = profiles.iter().flat_map(|profile| {
        profile
            .settings
            .iter()
            .map(move |setting| (profile, setting))
    });
    settings.filter(move |(_, setting)| setting.knob.key == key)
}

fn absent(knob: &'static Knob, profiles: &[Profile]) -> AuditRow {
    let path = match knob.place {
        Place::File(path) => format!("/{path}"),
        Place::EachDisk(file) => format!("/sys/block/*/{file}"),
        Place::EachPolicy(file) => format!("/sys/devices/system/cpu/cpufreq/policy*/{file}"),
        Place::EachIdleState(file) => {
            format!("/sys/devices/system/cpu/cpu*/cpuidle/state*/{file}")
        }
        Place::ProcessLimit(_) => "/proc/self/limits".to_owned(),
        Place::EachService => "/sys/fs/cgroup/system.slice".to_owned(),
        Place::Swaps => "/proc/swaps".to_owned(),
    };
    AuditRow {
        knob: knob.key,
        device: String::new(),
        path,
        what: knob.what,
        scope: knob.scope,
        present: None,
        fixed: Some("this kernel or machine has no such setting".to_owned()),
        danger: knob.danger,
        advice: advice_on(knob, profiles)
            .map(|(profile, setting)| advice(profile, setting, None))
            .collect(),
    }
}

fn row(root: &Root, knob: &'static Knob, instance: &Instance, profiles: &[Profile]) -> AuditRow {
    let (present, unreadable) = match root.present(knob, instance) {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let meant = |setting: &Setting| root.instances(knob, &setting.devices).contains(instance);
    let advice_here = advice_on(knob, profiles).filter(|(_, setting)| meant(setting));
    AuditRow {
        knob: knob.key,
        device: instance.name.clone(),
        path: format!("/{}", instance.path),
        what: knob.what,
        scope: knob.scope,
        fixed: unreadable
            .or_else(|| root.fixed(knob, instance, present.as_deref().unwrap_or_default())),
        danger: knob.danger,
        advice: advice_here
            .map(|(profile, setting)| advice(profile, setting, present.as_deref()))
            .collect(),
        present,
    }
}

fn advice(profile: &Profile, setting: &Setting, present: Option<&str>) -> Advice {
    Advice {
        profile: profile.name.clone(),
        wanted: setting.wanted.to_string(),
        holds: present.is_some_and(|present| setting.wanted.holds(present)),
        reason: setting.reason.clone(),
        source: setting.source.clone(),
    }
}
