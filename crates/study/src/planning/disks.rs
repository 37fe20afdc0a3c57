//! On which disks the guests of a point lie.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{VolumePlaces, VolumeUse};

/// Disk that is taken where runs are kept, and in each other directory that a study names, MiB.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Disks {
    pub(super) here_mib: u64,
    pub(super) elsewhere_mib: BTreeMap<String, u64>,
    /// What is asked of each block device.
    pub(super) devices_mib: BTreeMap<String, u64>,
    /// Those of each host.
    taken: BTreeSet<(Option<String>, String)>,
    /// Block devices that several volumes of a point would take.
    pub(super) shared_devices: BTreeSet<String>,
}

/// Guests of one group.
pub(super) struct GroupPlaces<'g> {
    /// Their host, where the study names one.
    pub(super) host: Option<&'g str>,
    /// Their places in their trial.
    pub(super) guests: Range<u32>,
}

impl Disks {
    /// Adds the volumes of guests, `each_mib` large. A volume takes all of its blocks when it is
    /// made, however much of it is filled. They are dealt over directories and devices as those of
    /// a trial are.
    pub(super) fn add_volumes(
        &mut self,
        volume: &VolumeUse,
        each_mib: u64,
        group: &GroupPlaces<'_>,
    ) {
        if each_mib == 0 {
            return;
        }
        let GroupPlaces { host, guests } = group;
        let all_mib = u64::from(guests.end - guests.start) * each_mib;
        if volume.places.is_none() {
            self.here_mib += all_mib;
        } else if volume.shared {
            self.add_volume(volume, all_mib, (*host, guests.start));
        } else {
            for place in guests.clone() {
                self.add_volume(volume, each_mib, (*host, place));
            }
        }
    }

    fn add_volume(&mut self, volume: &VolumeUse, mib: u64, (host, place): (Option<&str>, u32)) {
        let each_mib = mib.div_ceil(u64::from(volume.tier.devices()));
        for path in volume.dealt(place) {
            if !matches!(volume.places, Some(VolumePlaces::BlockDevices(_))) {
                *self.elsewhere_mib.entry(path.to_owned()).or_default() += each_mib;
                continue;
            }
            let most = self.devices_mib.entry(path.to_owned()).or_default();
            *most = each_mib.max(*most);
            let device = (host.map(str::to_owned), path.to_owned());
            if !self.taken.insert(device) {
                self.shared_devices.insert(path.to_owned());
            }
        }
    }

    /// On each disk what the larger of the two takes: points come one after the other.
    pub(super) fn larger(mut self, other: Self) -> Self {
        self.here_mib = self.here_mib.max(other.here_mib);
        let larger = |all: &mut BTreeMap<String, u64>, others: BTreeMap<String, u64>| {
            for (path, mib) in others {
                let most = all.entry(path).or_default();
                *most = mib.max(*most);
            }
        };
        larger(&mut self.elsewhere_mib, other.elsewhere_mib);
        larger(&mut self.devices_mib, other.devices_mib);
        self.shared_devices.extend(other.shared_devices);
        self
    }
}
