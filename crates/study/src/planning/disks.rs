//! On which disks the guests of a point lie.

use std::{collections::BTreeMap, ops::Range};

use crate::VolumeUse;

/// Disk that is taken where runs are kept, and in each other directory that a study names, MiB.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Disks {
    pub(super) here_mib: u64,
    pub(super) elsewhere_mib: BTreeMap<String, u64>,
}

impl Disks {
    /// Adds the volumes of guests, `each_mib` large, that have these places in their trial. A volume
    /// takes all of its blocks when it is made, however much of it is filled. They are dealt over
    /// the directories as those of a trial are.
    pub(super) fn add_volumes(&mut self, volume: &VolumeUse, each_mib: u64, guests: Range<u32>) {
        if volume.directories.is_empty() {
            self.here_mib += u64::from(guests.end - guests.start) * each_mib;
            return;
        }
        if volume.shared {
            let whole = u64::from(guests.end - guests.start) * each_mib;
            self.add_volume(volume, whole, guests.start);
            return;
        }
        for place in guests {
            self.add_volume(volume, each_mib, place);
        }
    }

    fn add_volume(&mut self, volume: &VolumeUse, mib: u64, place: u32) {
        let devices = volume.tier.devices();
        let first = u64::from(place) * u64::from(devices);
        for device in first..first + u64::from(devices) {
            let index = device % volume.directories.len() as u64;
            // The remainder is below the number of directories, whatever the width of addresses.
            let directory = &volume.directories[rookery_cast::index(index)];
            *self.elsewhere_mib.entry(directory.clone()).or_default() +=
                mib.div_ceil(u64::from(devices));
        }
    }

    /// On each disk what the larger of the two takes: points come one after the other.
    pub(super) fn larger(mut self, other: Self) -> Self {
        self.here_mib = self.here_mib.max(other.here_mib);
        for (directory, mib) in other.elsewhere_mib {
            let most = self.elsewhere_mib.entry(directory).or_default();
            *most = mib.max(*most);
        }
        self
    }
}
