//! What is interrupted: a small study of each kind of guest, storage and setting.

use std::time::Duration;

/// One kind of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunKind {
    /// Containers of the embedded stack, which may swap to compressed memory.
    Containers,
    /// The same with a loop device and a file system for each guest.
    Volumes,
    /// PostgreSQL as a process.
    Database,
    /// A profile of host settings held while each trial lasts.
    Settings,
    /// LAMP containers on a root and a database that are there.
    Lamp,
    /// A content-management site on volumes, held to so many writes per second.
    CmsStorage,
    /// The building of that root and database.
    LampBuild,
    /// Virtual machines whose system is there.
    Machines,
    /// The building of that system.
    MachinesBuild,
    /// Trials on other machines, and users from them, with messages over NATS.
    Fleet,
}

/// All of them, with their share of the kills and their names.
const KINDS: [(RunKind, u32, &str); 10] = [
    (RunKind::Containers, 10, "containers"),
    (RunKind::Volumes, 6, "volumes"),
    (RunKind::Database, 6, "database"),
    (RunKind::Settings, 6, "settings"),
    (RunKind::Lamp, 6, "lamp"),
    (RunKind::CmsStorage, 4, "cms-storage"),
    (RunKind::LampBuild, 2, "lamp-build"),
    (RunKind::Machines, 2, "machines"),
    (RunKind::MachinesBuild, 2, "machines-build"),
    (RunKind::Fleet, 4, "fleet"),
];

impl RunKind {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let found = KINDS.iter().find(|(.., known)| *known == name);
        found.map(|(kind, ..)| *kind)
    }

    pub(super) fn name(self) -> &'static str {
        KINDS
            .iter()
            .find(|(kind, ..)| *kind == self)
            .map_or("?", |(.., name)| name)
    }

    fn weight(self) -> u32 {
        KINDS
            .iter()
            .find(|(kind, ..)| *kind == self)
            .map_or(0, |(_, weight, _)| *weight)
    }

    /// Whether the kills are to hit the building of templates: they are built anew, and the run
    /// need not come to its end.
    pub(super) fn builds(self) -> bool {
        matches!(self, Self::LampBuild | Self::MachinesBuild)
    }

    /// The longest time between the start of a controller and its interruption.
    pub(super) fn within(self) -> Duration {
        Duration::from_millis(match self {
            Self::Containers | Self::Volumes | Self::Settings => 4_000,
            Self::Database => 6_000,
            Self::Fleet => 9_000,
            Self::Lamp | Self::CmsStorage => 12_000,
            Self::LampBuild => 30_000,
            Self::Machines => 45_000,
            Self::MachinesBuild => 60_000,
        })
    }

    /// The study; every trial of it takes a few seconds. What a busy machine makes void stays so.
    pub(super) fn study(self) -> String {
        let embedded = "[workload]\nkind = \"dvdstore\"\ndatabase = \"1MB per guest\"\n\
                        think_time = \"20ms\"\n\n[stack]\nkind = \"embedded\"\n";
        let lamp = "[workload]\nkind = \"dvdstore\"\ndatabase = \"1MB per guest\"\n\
                    think_time = \"50ms\"\n\n[stack]\nkind = \"lamp\"\nbuffer_pool = \"warm\"\n";
        let database = "[workload]\nkind = \"orderentry\"\nprofile = \"mini\"\nwarehouses = 2\n\n\
                        [stack]\nkind = \"postgresql\"\n";
        let cms = "[workload]\nkind = \"cms\"\nnodes = \"200 per guest\"\n\
                   accounts = \"50 per guest\"\nthink_time = \"100ms\"\n\n[stack]\nkind = \"lamp\"\n\
                   settings = { \"pages.anonymous_sessions\" = \"on\" }\n";
        let sample = "[workload]\nkind = \"sample\"\nrecords = 50\nthink_time = \"30ms\"\n\n\
                      [stack]\nkind = \"bundled\"\n";
        let limited = "\n[storage]\npool = \"volume\"\nwrite_iops = [\"none\", 400]\n";
        let volumes = "\n[storage]\npool = \"volume\"\nbarriers = [\"on\", \"off\"]\n";
        let (system, guest, extra, settings) = match self {
            Self::Containers => (
                embedded,
                "container\"\nswap = \"zram\"\nmemory = \"128MiB per guest",
                "",
                "",
            ),
            Self::Volumes => (
                embedded,
                "container\"\nmemory = \"128MiB per guest",
                volumes,
                "",
            ),
            Self::Settings => (
                embedded,
                "container\"\ncpu_weight = 300\nmemory = \"128MiB per guest",
                "\n[network]\nirq = \"guest\"\n",
                "settings = \"throughput\"\n",
            ),
            Self::Database => (database, "bare", "", ""),
            Self::Fleet => (sample, "bare", "", ""),
            Self::Lamp | Self::LampBuild => {
                (lamp, "container\"\nmemory = \"512MiB per guest", "", "")
            }
            Self::CmsStorage => (cms, "container\"\nmemory = \"512MiB per guest", limited, ""),
            Self::Machines | Self::MachinesBuild => (
                embedded,
                "vm\"\nready_within = \"5min\"\nmemory = \"256MiB per guest",
                "",
                "",
            ),
        };
        let (vcpus, guests, repeats) = match self {
            Self::Containers | Self::Volumes | Self::Settings => ("0.25", "[1, 2]", 3),
            Self::Database | Self::Fleet => ("1", "[1]", 4),
            Self::Lamp | Self::LampBuild => ("0.5", "[1]", 3),
            Self::CmsStorage => ("0.5", "[1]", 2),
            Self::Machines | Self::MachinesBuild => ("1", "[1]", 1),
        };
        format!(
            "title = \"chaos: {name}\"\nseed = 7\n\n{system}\n[load]\nusers = \"3 per guest\"\n\
             ramp_up = \"100ms\"\nsettle = \"200ms\"\nsteady = \"1s\"\ndrain = \"5s\"\n\
             timeout = \"20s\"\nrepeats = {repeats}\nretry_void = 0\n\n[guest]\nkind = \"{guest}\"\n{extra}\n\
             [host]\novercommit = 2\nother_work = 1\n{settings}\n[[layout]]\nname = \"all\"\nguests = {guests}\n\
             vcpus = {vcpus}\n",
            name = self.name(),
        )
    }
}

/// The kills of each kind, by their weights; every kind gets one at least.
pub(super) fn shares(kinds: &[RunKind], kills: u32) -> Vec<(RunKind, u32)> {
    let total: u32 = kinds.iter().map(|kind| kind.weight()).sum();
    let mut left = kills;
    let mut shares = Vec::new();
    for (place, kind) in kinds.iter().enumerate() {
        let share = if place + 1 == kinds.len() {
            left
        } else {
            (kills * kind.weight() / total.max(1)).min(left)
        };
        let share = share.max(1);
        left = left.saturating_sub(share);
        shares.push((*kind, share));
    }
    shares
}

#[cfg(test)]
mod tests {
    use rookery_study::Study;

    use super::*;

    #[test]
    fn every_study_is_valid_and_every_name_leads_back() {
        for kind in RunKind::all() {
            let text = kind.study();
            assert!(Study::parse("chaos.toml", &text).is_ok(), "{text}");
            assert_eq!(RunKind::from_name(kind.name()), Some(kind));
        }
    }

    #[test]
    fn all_kills_are_given_out_and_every_kind_gets_one() {
        let all: Vec<RunKind> = RunKind::all().collect();
        for kills in [40, 400, 1000] {
            let shares = shares(&all, kills);
            assert_eq!(shares.iter().map(|(_, share)| share).sum::<u32>(), kills);
        }
        assert!(shares(&all, 3).iter().all(|(_, share)| *share >= 1));
    }
}
