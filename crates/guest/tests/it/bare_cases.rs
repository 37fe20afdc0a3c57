//! What bare guests of root are held to by control groups.

use std::fs;

use rookery_guest::{GuestSpec, Kind};
use rookery_host::Cgroups;

use crate::{
    Case,
    container_cases::memory_limit_is_in_force,
    fixture::{Fixture, get, healthy, spec},
};

/// Those that need root.
pub(crate) const CASES: &[Case] = &[
    ("memory_limit_is_in_force", memory_limit_is_in_force),
    ("whole_cpus_are_in_force", whole_cpus_are_in_force),
];

/// The control group is what holds: a guest that gives itself more CPUs does not get them.
fn whole_cpus_are_in_force(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(
        &*lab,
        &GuestSpec {
            cpus: vec![0],
            memory_mib: Some(256),
            ..spec(1, &[])
        },
    );
    assert_eq!(get(&*lab, guest.address(), "/cpus").as_deref(), Some("0"));
    let cgroups = Cgroups::detect().expect("control groups");
    let group = format!("rookery/{}/g1", fixture.run);
    let directory = cgroups.directory("cpuset", &group).expect("mounted");
    let cpus = fs::read_to_string(directory.join("cpuset.cpus")).expect("a group");
    assert_eq!(cpus.trim(), "0");
    assert!(!cgroups.processes(&group).is_empty(), "it is in its group");
    let readings = guest.in_force();
    let memory = readings
        .iter()
        .find(|reading| reading.name == "guest.memory");
    let said = memory.map(|reading| (reading.asked.as_str(), reading.effective.as_str()));
    assert_eq!(said, Some(("256MiB", "256MiB")));
    guest.remove().expect("removed");
    assert!(!cgroups.exists(&group), "its group goes with it");
}
