//! From what a study says of storage and memory nodes to what guests are given; whether this host
//! can give it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_cast::count_u32;
use rookery_guest::{
    DeviceSource, Guest, GuestError, Lab, MountedBy, Provision, RoleMove, RoleProvision, Volume,
    VolumeSpec, check_storage, check_swap, refuse_tier,
};
use rookery_host::{RealHost, fio};
use rookery_study::{
    FileSystem, GuestKind, Plan, PlannedGuest, Point, RoleUse, StorageRole, StorageUse, Study,
    Tier, Variant, VolumeCache, VolumePlaces, VolumeUse,
};

use rookery_stack::EffectiveSetting;

use crate::{
    disks,
    error::{LabError, TrialError},
};

/// Name of the volume that all guests of a trial share.
const SHARED: &str = "shared";

/// Whether this host can give guests what a study asks for. `runs` is where runs are kept, where
/// that is known.
///
/// # Errors
/// Everything that is missing, each with its help.
pub(crate) fn check(study: &Study, runs: Option<&Path>) -> Result<(), LabError> {
    let StorageUse {
        volume,
        roles,
        limits,
        ceiling,
    } = &study.storage;
    if *ceiling {
        fio::check(&RealHost)?;
    }
    if let Some(Tier::Foreign(tier)) = volume.as_ref().map(|volume| volume.tier) {
        refuse_tier(study.guest.kind(), tier)?;
    }
    for role in roles.values() {
        let spec = of_role(study, role, u64::MAX >> 20, 0);
        check_storage(study.guest.kind(), Some(&spec), &role.limits, None)?;
    }
    // The size was checked by the plan.
    let volume = volume
        .as_ref()
        .map(|volume| spec(volume, u64::MAX >> 20, 0));
    if study.guest.kind() == GuestKind::Container {
        check_swap(study.guest.swap, runs)?;
    }
    let runs = runs.filter(|_| !limits.is_none());
    Ok(check_storage(
        study.guest.kind(),
        volume.as_ref(),
        &study.storage.limits,
        runs,
    )?)
}

/// Whether the directory of runs can be limited where the study asks for it, and all disks have
/// room.
///
/// # Errors
/// See [`check`].
pub(crate) fn check_runs(plan: &Plan, runs: &Path) -> Result<(), LabError> {
    disks::check(&plan.estimate, Some(runs))?;
    plan.variants
        .iter()
        .flat_map(Variant::studies)
        .try_for_each(|study| check(study, Some(runs)))
}

/// What the guests of a point are given.
pub(crate) struct Provisions {
    /// To be held until the guests hold them: a volume goes with the last that has it.
    pub(crate) volumes: Vec<Arc<Volume>>,
    /// For each guest.
    pub(crate) of_guests: Vec<Provision>,
}

/// What each guest of a group is given; the volumes are made. `before` is the number of guests of
/// groups before it, and `moved` what goes to the volume of a role.
///
/// # Errors
/// When a volume cannot be made; those before it are removed.
pub(crate) fn provisions(
    lab: &dyn Lab,
    study: &Study,
    point: &Point,
    before: usize,
    moved: &dyn Fn(StorageRole) -> Vec<RoleMove>,
) -> Result<Provisions, TrialError> {
    let StorageUse {
        volume,
        roles,
        limits,
        ..
    } = &study.storage;
    let mut volumes = Vec::new();
    let mut make = |name: &str, spec: &VolumeSpec| -> Result<String, GuestError> {
        let made = lab.volume(name, spec)?;
        let name = made.name().to_owned();
        volumes.push(made);
        Ok(name)
    };
    let size = |guest: &PlannedGuest<'_>| guest.group.volumes_mib.mib(StorageRole::Data);
    let shared = match volume.as_ref().filter(|volume| volume.shared) {
        Some(volume) => {
            let name = match before {
                0 => SHARED.to_owned(),
                before => format!("{SHARED}{before}"),
            };
            let whole = point.each_guest().map(|guest| size(&guest)).sum();
            Some(make(&name, &spec(volume, whole, before))?)
        }
        None => None,
    };
    let of_guests = point
        .each_guest()
        .map(|guest| {
            let (name, index) = (
                format!("g{}", before + guest.index + 1),
                before + guest.index,
            );
            let data = match (&shared, volume) {
                (Some(shared), _) => Some(shared.clone()),
                (None, Some(volume)) => Some(make(&name, &spec(volume, size(&guest), index))?),
                (None, None) => None,
            };
            let provided = |(role, wanted): (&StorageRole, &RoleUse)| {
                let mib = guest.group.volumes_mib.mib(*role);
                let name = format!("{name}-{}", role.name());
                Ok((
                    *role,
                    RoleProvision {
                        volume: make(&name, &of_role(study, wanted, mib, index))?,
                        moved: moved(*role),
                        limits: wanted.limits,
                    },
                ))
            };
            Ok(Provision {
                nodes: nodes_of(study, guest),
                volume: data,
                roles: roles
                    .iter()
                    .map(provided)
                    .collect::<Result<_, GuestError>>()?,
                limits: *limits,
            })
        })
        .collect::<Result<_, TrialError>>()?;
    Ok(Provisions { volumes, of_guests })
}

/// The volume of a role, the one `index` of its trial: machines mount theirs themselves.
fn of_role(study: &Study, wanted: &RoleUse, size_mib: u64, index: usize) -> VolumeSpec {
    VolumeSpec {
        mounted_by: match study.guest.kind() {
            GuestKind::Vm => MountedBy::Guest,
            _ => MountedBy::Host,
        },
        ..spec(&wanted.volume, size_mib, index)
    }
}

/// The memory nodes that a guest is bound to: bare guests are not.
fn nodes_of(study: &Study, guest: PlannedGuest<'_>) -> Vec<u32> {
    if matches!(study.guest.kind(), GuestKind::Container | GuestKind::Vm) {
        guest.nodes().to_vec()
    } else {
        Vec::new()
    }
}

/// A volume of `size_mib` in the words of the guest crate: the one `index` of its trial, from 0, by
/// which the directories are dealt out.
pub(crate) fn spec(volume: &VolumeUse, size_mib: u64, index: usize) -> VolumeSpec {
    let places = volume.dealt(count_u32(index));
    let places = places.into_iter().map(PathBuf::from).collect();
    VolumeSpec {
        size_mib,
        file_system: (!volume.raw).then_some(volume.filesystem),
        mounted_by: MountedBy::Host,
        block_size: (volume.filesystem != FileSystem::Btrfs).then(|| volume.block_size.bytes()),
        atime: volume.atime,
        barriers: volume.barriers,
        journal: volume.journal,
        discard: volume.discard,
        commit_s: volume
            .commit
            .map(|commit| u32::try_from(commit.as_secs()).unwrap_or(u32::MAX)),
        direct: volume.cache == VolumeCache::None,
        devices: volume.tier.devices(),
        source: match volume.places {
            None => DeviceSource::RunDirectory,
            Some(VolumePlaces::Directories(_)) => DeviceSource::Directories(places),
            Some(VolumePlaces::BlockDevices(_)) => DeviceSource::BlockDevices(places),
        },
    }
}

/// What is in force of a guest's storage and memory nodes, in the shape of all other settings.
pub(crate) fn readings(guest: &dyn Guest) -> impl Iterator<Item = EffectiveSetting> {
    guest.in_force().into_iter().map(|found| EffectiveSetting {
        name: found.name,
        asked: found.asked,
        in_force: found.effective,
    })
}

#[cfg(test)]
mod tests {
    use rookery_guest::{AccessTimes, FileSystem, JournalMode};

    use super::*;

    #[test]
    fn every_word_of_the_study_reaches_the_volume() {
        let text = "title = \"t\"\nworkload = { kind = \"dvdstore\" }\nload = { users = 1 }\nguest \
                    = { kind = \"container\" }\nlayout = [{ name = \"a\" }]\n\
                    [storage]\npool = \"volume\"\natime = \"noatime\"\nbarriers = \"off\"\njournal \
                    = \"writeback\"\ndiscard = \"on\"\ncommit = \"30s\"\n\
                    cache = \"host\"\nblock_size = \"1KiB\"\nwrite_iops = 7\n";
        let study = Study::parse("s.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
        let expected = VolumeSpec {
            size_mib: 64,
            file_system: Some(FileSystem::Ext4),
            mounted_by: MountedBy::Host,
            block_size: Some(1024),
            atime: AccessTimes::Noatime,
            barriers: Some(false),
            journal: Some(JournalMode::Writeback),
            discard: true,
            commit_s: Some(30),
            direct: false,
            devices: 1,
            source: DeviceSource::RunDirectory,
        };
        assert_eq!(
            spec(study.storage.volume.as_ref().expect("a volume"), 64, 0),
            expected
        );
        assert_eq!(study.storage.limits.write_iops, Some(7));
    }

    fn study(storage: &str) -> Study {
        let text = format!(
            "title = \"t\"\nworkload = {{ kind = \"dvdstore\" }}\nload = {{ users = 1 }}\nguest = \
             {{ kind = \"container\" }}\nlayout = [{{ name = \"a\" }}]\n[storage]\npool = \
             \"volume\"\n{storage}"
        );
        Study::parse("s.toml", &text).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn guests_and_the_devices_of_a_stripe_are_dealt_over_the_directories() {
        let places = |storage: &str, index: usize| {
            let study = study(&format!(
                "directories = [\"/a\", \"/b\", \"/c\"]\n{storage}"
            ));
            let volume = study.storage.volume.as_ref().expect("a volume");
            let spec = spec(volume, 1024, index);
            let names: Vec<String> = spec
                .source
                .paths()
                .iter()
                .map(|at| at.display().to_string())
                .collect();
            (spec.devices, names.concat())
        };
        let single: Vec<_> = (0..4).map(|index| places("", index)).collect();
        assert_eq!(
            single,
            ["/a", "/b", "/c", "/a"].map(|place| (1, place.to_owned()))
        );
        let stripe = "tier = \"stripe\"\ndevices = 2\n";
        assert_eq!(places(stripe, 0), (2, "/a/b".to_owned()));
        assert_eq!(places(stripe, 1), (2, "/c/a".to_owned()));
        let wide = "tier = \"stripe\"\ndevices = 4\n";
        assert_eq!(
            places(wide, 1),
            (4, "/b/c/a/b".to_owned()),
            "the fourth is the first again"
        );
    }

    #[test]
    fn a_tier_that_is_not_made_here_is_refused_by_check() {
        let refused = check(&study("tier = \"zfs\"\n"), None).expect_err("refused");
        assert!(refused.to_string().contains("ZFS"), "{refused}");
    }
}
