//! Random `[storage]` sections: volumes, limits, and roles beside the data.

use std::{collections::BTreeMap, time::Duration};

use proptest::{collection::vec, option, prelude::*, sample::select};
use rookery_study::{
    AccessTimes, Amount, BlockSize, FileSystem, ForeignTier, GuestKind, IoLimits, JournalMode,
    RoleUse, StackUse, StorageRole, StorageUse, Study, Tier, VolumeCache, VolumePlaces, VolumeUse,
};

/// Where devices come from; block devices are enough for the volumes of some studies.
fn places() -> impl Strategy<Value = Option<VolumePlaces>> {
    let directories = vec("/mnt/[a-z]{1,8}", 0..3).prop_map(VolumePlaces::Directories);
    let devices = vec("/dev/[a-z]{1,8}", 0..40).prop_map(VolumePlaces::BlockDevices);
    let places = prop_oneof![3 => directories, 1 => devices];
    places.prop_map(|places| Some(places).filter(|places| !places.paths().is_empty()))
}

prop_compose! {
    fn volume(size: BoxedStrategy<Amount>)(shared in any::<bool>(), xfs in any::<bool>(), size in option::of(size),
        block_size in select(vec![BlockSize::One, BlockSize::Two, BlockSize::Four]),
        atime in select(vec![AccessTimes::Relatime, AccessTimes::Noatime, AccessTimes::Strictatime]), barriers in option::of(any::<bool>()),
        journal in option::of(select(vec![JournalMode::Ordered, JournalMode::Writeback, JournalMode::Journal])), discard in any::<bool>(),
        commit in option::of(1_u64..9999), host_cache in any::<bool>(),
        tier in select(vec![Tier::Single, Tier::Foreign(ForeignTier::Bcache), Tier::Foreign(ForeignTier::Zfs)]),
        places in places(),
    ) -> VolumeUse {
        VolumeUse {
            raw: false,
            shared,
            filesystem: if xfs { FileSystem::Xfs } else { FileSystem::Ext4 },
            size,
            block_size,
            atime,
            barriers: barriers.filter(|on| *on || !xfs),
            journal: journal.filter(|_| !xfs),
            discard,
            commit: commit.filter(|_| !xfs).map(Duration::from_secs),
            cache: match places {
                Some(VolumePlaces::BlockDevices(_)) => VolumeCache::None,
                _ if host_cache => VolumeCache::Host,
                _ => VolumeCache::None,
            },
            tier,
            places,
        }
    }
}

/// Limits are for containers and machines.
fn io_limits(kind: GuestKind) -> impl Strategy<Value = IoLimits> {
    let count = || option::of(1_u64..100_000);
    let bytes = || option::of((1_u64..4096).prop_map(|mib| mib << 20));
    (count(), count(), bytes(), bytes()).prop_map(
        move |(read_iops, write_iops, read_bps, write_bps)| match kind {
            GuestKind::Container | GuestKind::Vm => IoLimits {
                read_iops,
                write_iops,
                read_bps,
                write_bps,
            },
            _ => IoLimits::default(),
        },
    )
}

/// The storage of a role: a volume on one device in each guest, whose size is said.
fn role(kind: GuestKind, size: BoxedStrategy<Amount>) -> impl Strategy<Value = RoleUse> {
    let parts = (volume(size.clone()), size, io_limits(kind));
    parts.prop_map(|(volume, size, limits)| RoleUse {
        volume: VolumeUse {
            shared: false,
            size: Some(size),
            tier: Tier::Single,
            ..volume
        },
        limits,
    })
}

/// Volumes of their own for what a server keeps beside its data.
fn roles(
    kind: GuestKind,
    size: &BoxedStrategy<Amount>,
) -> impl Strategy<Value = BTreeMap<StorageRole, RoleUse>> + use<> {
    let [log, temporary] = StorageRole::BESIDE_DATA.map(|name| {
        let role = option::weighted(0.3, role(kind, size.clone()));
        role.prop_map(move |role| role.map(|role| (name, role)))
    });
    (log, temporary).prop_map(|(log, temporary)| log.into_iter().chain(temporary).collect())
}

/// Volumes of such sizes are for guests that keep data.
pub(crate) fn storage(
    kind: GuestKind,
    size: BoxedStrategy<Amount>,
) -> impl Strategy<Value = StorageUse> {
    let parts = (
        option::of(volume(size.clone())),
        roles(kind, &size).boxed(),
        io_limits(kind),
        any::<bool>(),
    );
    parts.prop_map(move |(volume, roles, limits, ceiling)| StorageUse {
        volume: volume.filter(|_| !matches!(kind, GuestKind::Fake | GuestKind::Vm)),
        roles,
        limits,
        ceiling: ceiling && kind != GuestKind::Fake,
    })
}

/// Roles are for guests that are made and whose stack has a database server.
pub(crate) fn with_server_or_without_roles(mut study: Study) -> Study {
    let has_server = matches!(study.stack, StackUse::Lamp(_) | StackUse::Database(_));
    if !has_server || study.guest.kind() == GuestKind::Fake {
        study.storage.roles.clear();
    }
    study
}
