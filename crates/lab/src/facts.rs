//! This host as plans and reports know it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use rookery_guest::content_digest;
use rookery_host::{
    Host, Invocation, RealHost, Topology,
    settings::{Root, irqbalance},
};
use rookery_store::HostDescription;
use rookery_study::{HostFacts, Plan, Variant};

use crate::{disks, error::LabError, host_settings::check_profile, storage, tiers::part_of};

/// Whether this host can run what is planned, with `templates` as far as they are built, and
/// whether the settings that are asked of the guests make sense. Changes nothing.
///
/// # Errors
/// What is missing, with its help; a profile or a setting that is unknown or has no value for one
/// of the guests.
pub fn check_plan(plan: &Plan, templates: &Path) -> Result<(), LabError> {
    for study in plan.variants.iter().flat_map(Variant::studies) {
        let Some(stack) = rookery_stack::open(study)?.guests() else {
            continue;
        };
        check_profile(study)?;
        let kind = study.guest.kind();
        rookery_guest::check_host(kind)?;
        stack.check_host(kind, templates)?;
        storage::check(study, None)?;
        let packet_cpus = study.guest.packets_on(&plan.guest_cpus, &plan.guest_cpus);
        rookery_guest::check_network(&study.guest.lab, &packet_cpus)?;
    }
    disks::check(&plan.estimate, None)?;
    for point in &plan.points {
        for (index, (part, study)) in plan.parts(point).into_iter().enumerate() {
            let of_stack = part_of(point, index);
            let Some(stack) = rookery_stack::open_part(study, of_stack)?.guests() else {
                continue;
            };
            let asked = (0..part.guests() as usize)
                .try_for_each(|index| stack.check_settings(&part, index));
            asked.map_err(|source| LabError::Setting {
                point: point.label(),
                source,
            })?;
        }
    }
    Ok(())
}

/// What a plan must know of this host; `place` is where runs are kept (it need not exist yet).
///
/// # Errors
/// When the host cannot be read.
pub fn host_facts(place: &Path) -> Result<HostFacts, LabError> {
    Ok(facts(&topology(place)?))
}

/// This host as it is shown in a report.
///
/// # Errors
/// When the host cannot be read.
pub fn describe_host(place: &Path) -> Result<HostDescription, LabError> {
    let topology = topology(place)?;
    let hostname = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let mut versions = vec![
        ("rookery".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        (
            "sqlite".to_owned(),
            rookery_stack::embedded::sqlite_version().to_owned(),
        ),
    ];
    versions.extend(build().map(|build| ("rookery build".to_owned(), build)));
    versions.extend(version_of("runc").map(|version| ("runc".to_owned(), version)));
    let balance = irqbalance(&Root::machine());
    versions.extend(balance.map(|found| ("irqbalance".to_owned(), found.state().to_owned())));
    Ok(HostDescription {
        hostname,
        kernel: topology.kernel.clone(),
        cpu_model: topology.cpu_model.clone(),
        facts: facts(&topology),
        versions,
    })
}

/// What tells this build from others of the same version: the digest of the running program, as far
/// as people can compare it. Read through `/proc`, because the file may have been replaced since.
fn build() -> Option<String> {
    let digest = content_digest(Path::new("/proc/self/exe")).ok()?;
    Some(digest.chars().take(BUILD_DIGITS).collect())
}

/// Digits of a build's digest that are kept.
const BUILD_DIGITS: usize = 12;

/// What has changed between the begin of a run and its resumption, in words.
pub(crate) fn differences(then: &HostDescription, now: &HostDescription) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, then: String, now: String| {
        if then != now {
            found.push(format!("{what} was {then}, is {now}"));
        }
    };
    compare("host name", then.hostname.clone(), now.hostname.clone());
    compare("kernel", then.kernel.clone(), now.kernel.clone());
    compare("CPU model", then.cpu_model.clone(), now.cpu_model.clone());
    compare(
        "CPUs",
        format!("{:?}", then.facts.cpus),
        format!("{:?}", now.facts.cpus),
    );
    for name in software(then, now) {
        compare(name, version(then, name), version(now, name));
    }
    found
}

/// Names of all software of either description, each once.
fn software<'a>(then: &'a HostDescription, now: &'a HostDescription) -> BTreeSet<&'a str> {
    let versions = then.versions.iter().chain(&now.versions);
    versions.map(|(name, _)| name.as_str()).collect()
}

/// The version of one; earlier releases did not note all.
fn version(host: &HostDescription, wanted: &str) -> String {
    let found = host.versions.iter().find(|(name, _)| name == wanted);
    found.map_or_else(|| "not known".to_owned(), |(_, version)| version.clone())
}

fn facts(topology: &Topology) -> HostFacts {
    HostFacts {
        cpus: topology.usable_cpus.iter().copied().collect(),
        memory_mib: topology.memory.total / (1 << 20),
        disk_free_mib: topology.disk_free / (1 << 20),
        root: topology.root,
        places: topology.places.clone(),
    }
}

fn topology(place: &Path) -> Result<Topology, LabError> {
    let existing: PathBuf = place
        .ancestors()
        .find(|path| path.exists())
        .map_or_else(|| PathBuf::from("."), Path::to_owned);
    Ok(Topology::read(&existing)?)
}

/// The first line of `PROGRAM --version`, if the program is there.
fn version_of(program: &str) -> Option<String> {
    let output = RealHost
        .run(Invocation::new(program).arg("--version"))
        .ok()?;
    output.lines().next().map(|line| {
        line.trim_start_matches(program)
            .trim_start_matches(" version")
            .trim()
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_host_is_said() {
        let then = describe_host(Path::new("/")).expect("a host");
        assert!(differences(&then, &then).is_empty());
        let mut now = then.clone();
        now.kernel = "1.0".to_owned();
        assert_eq!(
            differences(&then, &now),
            [format!("kernel was {}, is 1.0", then.kernel)]
        );
        let mut other = then.clone();
        let build = other
            .versions
            .iter_mut()
            .find(|(name, _)| name == "rookery build");
        build.expect("a build").1 = "0".repeat(BUILD_DIGITS);
        let told = differences(&then, &other);
        assert!(
            told.len() == 1 && told[0].ends_with("is 000000000000"),
            "{told:?}"
        );
        other.versions.retain(|(name, _)| name != "rookery build");
        assert!(differences(&other, &then)[0].starts_with("rookery build was not known"));
    }
}
