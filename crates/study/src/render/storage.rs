//! The storage of guests in a plan.

use std::collections::BTreeSet;

use crate::{
    IoLimits, Plan, StorageRole, Study, VolumeCache, VolumePlaces, VolumeUse, time_text::plain_time,
};

/// A line for the data and one for each role beside them, but for what is a factor; none where all
/// is as usual.
pub(super) fn lines(study: &Study, plan: &Plan) -> Vec<String> {
    let mut data = match study.storage.volume.as_ref() {
        Some(volume) if !plan.varies("storage", "pool") => {
            volume_words(volume, StorageRole::Data, plan)
        }
        _ => Vec::new(),
    };
    data.extend(limit_words(&study.storage.limits, StorageRole::Data, plan));
    if study.storage.ceiling {
        data.push("its ceiling measured before the first trial".to_owned());
    }
    let data = (!data.is_empty()).then(|| format!("storage: {}", data.join(", ")));
    let beside = study.storage.roles.iter().map(|(role, role_use)| {
        let mut words = volume_words(&role_use.volume, *role, plan);
        words.extend(limit_words(&role_use.limits, *role, plan));
        format!("storage of the {}: {}", held(*role), words.join(", "))
    });
    data.into_iter().chain(beside).collect()
}

/// What a volume of a role holds.
fn held(role: StorageRole) -> &'static str {
    match role {
        StorageRole::Data => "data",
        StorageRole::Log => "log",
        StorageRole::Temporary => "temporary files",
    }
}

/// Whether the plan compares levels of a key of the role.
fn varies(role: StorageRole, key: &str, plan: &Plan) -> bool {
    match role {
        StorageRole::Data => plan.varies("storage", key),
        beside => plan.varies("storage", &format!("{}.{key}", beside.name())),
    }
}

fn volume_words(volume: &VolumeUse, role: StorageRole, plan: &Plan) -> Vec<String> {
    let for_whom = if volume.shared {
        "one volume for all guests"
    } else {
        "a volume for each guest"
    };
    let on = |on: bool| if on { "on" } else { "off" };
    let words = [
        ("per", Some(for_whom.to_owned())),
        ("size", sizes(role, plan)),
        ("filesystem", Some(volume.filesystem.name().to_owned())),
        ("tier", striped(volume)),
        (places_key(volume), places(volume)),
        ("atime", Some(volume.atime.name().to_owned())),
        (
            "barriers",
            volume
                .barriers
                .map(|barriers| format!("barriers {}", on(barriers))),
        ),
        (
            "journal",
            volume
                .journal
                .map(|journal| format!("journal {}", journal.name())),
        ),
        ("discard", volume.discard.then(|| "discard".to_owned())),
        (
            "commit",
            volume
                .commit
                .map(|commit| format!("commit {}", plain_time(commit))),
        ),
        (
            "cache",
            (places_key(volume) == "directories")
                .then(|| format!("host cache {}", on(volume.cache == VolumeCache::Host))),
        ),
    ];
    chosen(words, role, plan)
}

/// The key that says where volumes lie.
fn places_key(volume: &VolumeUse) -> &'static str {
    match volume.places {
        Some(VolumePlaces::BlockDevices(_)) => "block_devices",
        Some(VolumePlaces::Directories(_)) | None => "directories",
    }
}

/// Those that are there and no factor.
fn chosen<const N: usize>(
    words: [(&str, Option<String>); N],
    role: StorageRole,
    plan: &Plan,
) -> Vec<String> {
    words
        .into_iter()
        .filter(|(key, _)| !varies(role, key, plan))
        .filter_map(|(_, text)| text)
        .collect()
}

/// How large the volumes of a role are.
fn sizes(role: StorageRole, plan: &Plan) -> Option<String> {
    let sizes: BTreeSet<u64> = plan
        .points
        .iter()
        .flat_map(|point| &point.groups)
        .map(|group| group.volumes_mib.mib(role))
        .filter(|size| *size > 0)
        .collect();
    match (sizes.first(), sizes.last()) {
        (Some(least), Some(most)) if least != most => Some(format!("{least} to {most} MiB each")),
        (Some(one), _) => Some(format!("{one} MiB each")),
        (None, _) => None,
    }
}

/// Over how many devices a volume goes, where it is more than one.
fn striped(volume: &VolumeUse) -> Option<String> {
    let devices = volume.tier.devices();
    (devices > 1).then(|| format!("striped over {devices} devices"))
}

/// Where volumes lie, where that is not the run's directory.
fn places(volume: &VolumeUse) -> Option<String> {
    match volume.places.as_ref()? {
        VolumePlaces::Directories(all) => match all.as_slice() {
            [one] => Some(format!("in {one}")),
            all => Some(format!("dealt over {} directories", all.len())),
        },
        VolumePlaces::BlockDevices(all) => match all.as_slice() {
            [one] => Some(format!("on {one}")),
            all => Some(format!("dealt over {} block devices", all.len())),
        },
    }
}

fn limit_words(limits: &IoLimits, role: StorageRole, plan: &Plan) -> Vec<String> {
    let count = |limit: Option<u64>, what: &str| {
        limit.map(|limit| format!("at most {limit} {what}/s each"))
    };
    let bytes = |limit: Option<u64>, what: &str| {
        limit.map(|limit| format!("at most {} MiB/s {what} each", limit >> 20))
    };
    let words = [
        ("read_iops", count(limits.read_iops, "reads")),
        ("write_iops", count(limits.write_iops, "writes")),
        ("read_bps", bytes(limits.read_bps, "read")),
        ("write_bps", bytes(limits.write_bps, "written")),
    ];
    chosen(words, role, plan)
}
