//! What was asked of a guest's storage and memory nodes, beside what is in force.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rookery_host::{
    Cgroups,
    io::{Device, IoLimits, limits_in_force},
    volume::{DeviceSource, VolumeSpec, loops},
};
use rookery_study::StorageRole;

use super::{fault::bytes_of, provision::Store, volume::Volume};

/// One setting of a guest's surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Its name: `storage.barriers`.
    pub name: String,
    /// What was asked for; empty where nobody asked.
    pub asked: String,
    /// What is; empty where it cannot be read.
    pub effective: String,
}

impl InForce {
    pub(crate) fn new(name: &str, asked: impl Into<String>, effective: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            asked: asked.into(),
            effective: effective.into(),
        }
    }

    /// The same of the volume of a role: `storage.log.barriers`.
    fn of_role(self, role: StorageRole) -> Self {
        let key = self.name.strip_prefix("storage.").unwrap_or(&self.name);
        Self {
            name: format!("storage.{}.{key}", role.name()),
            ..self
        }
    }
}

/// The readings of a guest's storage: its volumes, and the limits of its control group.
pub(crate) fn io_readings(store: &Store, cgroups: Option<(&Cgroups, &str)>) -> Vec<InForce> {
    let mut readings: Vec<InForce> = store
        .volume
        .iter()
        .flat_map(|volume| volume_readings(volume, volume.in_force().as_ref()))
        .collect();
    if let Some(device) = store.device {
        readings.extend(limit_readings(&store.limits, device, cgroups));
    }
    for (role, of_role) in &store.roles {
        let limits = limit_readings(&of_role.limits, of_role.device(), cgroups);
        let mounted = of_role.volume.in_force();
        readings.extend(role_readings(
            *role,
            &of_role.volume,
            mounted.as_ref(),
            limits,
        ));
    }
    readings
}

/// The readings of the volume of a role, mounted so, and of its limits.
pub(crate) fn role_readings(
    role: StorageRole,
    volume: &Volume,
    mounted: Option<&rookery_host::volume::InForce>,
    limits: Vec<InForce>,
) -> Vec<InForce> {
    let found = volume_readings(volume, mounted).into_iter().chain(limits);
    found.map(|reading| reading.of_role(role)).collect()
}

/// The limits of a control group on one device.
fn limit_readings(
    limits: &IoLimits,
    device: Device,
    cgroups: Option<(&Cgroups, &str)>,
) -> Vec<InForce> {
    let mut readings = Vec::new();
    let Some((cgroups, group)) = cgroups else {
        return readings;
    };
    let in_force = limits_in_force(cgroups, group, device).map(|limits| limits.named());
    for (index, (name, asked)) in limits.named().into_iter().enumerate() {
        let Some(asked) = asked else { continue };
        let effective = match &in_force {
            Some(limits) => limits[index]
                .1
                .map_or_else(|| "none".to_owned(), |value| value.to_string()),
            None => String::new(),
        };
        readings.push(InForce::new(
            &format!("storage.{name}"),
            asked.to_string(),
            effective,
        ));
    }
    readings
}

/// The memory nodes that a guest's control group may use, where it was bound to some.
pub(crate) fn node_reading(store: &Store, cgroups: &Cgroups, group: &str) -> Option<InForce> {
    if store.nodes.is_empty() {
        return None;
    }
    let asked = rookery_host::format_cpu_list(store.nodes.iter().copied());
    let directory = cgroups.directory("cpuset", group)?;
    let files = ["cpuset.mems", "cpuset.mems.effective"];
    let read = files
        .iter()
        .find_map(|file| fs::read_to_string(directory.join(file)).ok());
    Some(InForce::new(
        "placement.nodes",
        asked,
        read.unwrap_or_default().trim(),
    ))
}

/// What a volume is that is mounted so.
fn volume_readings(
    volume: &Volume,
    mounted: Option<&rookery_host::volume::InForce>,
) -> Vec<InForce> {
    let spec = volume.spec();
    let mut readings = match spec.source {
        DeviceSource::BlockDevices(_) => block_readings(volume),
        DeviceSource::RunDirectory | DeviceSource::Directories(_) => file_readings(volume),
    };
    if spec.devices > 1 {
        let stripe = volume
            .point()
            .and_then(|_| stripe_of(volume, Path::new("/sys/fs/btrfs")));
        let asked = format!("stripe of {}", spec.devices);
        readings.push(InForce::new(
            "storage.tier",
            asked,
            stripe.unwrap_or_default(),
        ));
    }
    if spec.file_system.is_some() {
        readings.extend(mount_readings(spec, mounted));
    }
    readings
}

/// What the files behind the devices of a volume are.
fn file_readings(volume: &Volume) -> Vec<InForce> {
    let spec = volume.spec();
    // As the kernel has them now, not as they were when the volume was made.
    let devices: Option<Vec<loops::LoopDevice>> = volume
        .devices()
        .map(|device| loops::loop_of(device.file.as_deref()?))
        .collect();
    let read = |of: &dyn Fn(&[loops::LoopDevice]) -> String| {
        devices.as_deref().map(of).unwrap_or_default()
    };
    let size = |devices: &[loops::LoopDevice]| {
        let bytes: u64 = devices.iter().map(|device| device.bytes).sum();
        format!("{}MiB", bytes >> 20)
    };
    let of_all = |devices: &[loops::LoopDevice]| {
        let first = devices.first().is_some_and(|device| device.direct);
        let same = devices.iter().all(|device| device.direct == first);
        if same { cache(first) } else { "mixed" }.to_owned()
    };
    let mut readings = vec![
        InForce::new("storage.size", asked_size(spec), read(&size)),
        InForce::new("storage.cache", cache(spec.direct), read(&of_all)),
    ];
    if let DeviceSource::Directories(places) = &spec.source {
        let asked = listed(places);
        readings.push(InForce::new(
            "storage.directories",
            asked,
            read(&directories),
        ));
    }
    readings
}

/// What the block devices of the host are on which a volume lies. A file system takes no more of
/// them than was asked; without one the guest has all of them.
fn block_readings(volume: &Volume) -> Vec<InForce> {
    let spec = volume.spec();
    let sys = Path::new("/sys");
    let sizes = volume.devices().map(|device| bytes_of(sys, device.device));
    let most = match spec.file_system {
        Some(_) => spec.device_bytes(),
        None => u64::MAX,
    };
    let bytes: Option<u64> = sizes.map(|bytes| Some(bytes?.min(most))).sum();
    let size = bytes.map_or_else(String::new, |bytes| format!("{}MiB", bytes >> 20));
    let asked = match spec.file_system {
        Some(_) => asked_size(spec),
        None => String::new(),
    };
    let names: Option<Vec<PathBuf>> = volume
        .devices()
        .map(|device| name_of(sys, device.device))
        .collect();
    vec![
        InForce::new("storage.size", asked, size),
        InForce::new(
            "storage.block_devices",
            listed(spec.source.paths()),
            names.map(|names| listed(&names)).unwrap_or_default(),
        ),
    ]
}

/// The size of all devices of a volume together, as it was asked for.
fn asked_size(spec: &VolumeSpec) -> String {
    let mib = (spec.device_bytes() >> 20) * u64::from(spec.devices);
    format!("{mib}MiB")
}

/// The name that the kernel has for a block device.
fn name_of(sys: &Path, (major, minor): Device) -> Option<PathBuf> {
    let link = fs::canonicalize(sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
    Some(Path::new("/dev").join(link.file_name()?))
}

/// How btrfs deals the data of a volume over its devices: `stripe of 2`.
fn stripe_of(volume: &Volume, btrfs: &Path) -> Option<String> {
    let name = volume.device().path.file_name()?.to_owned();
    let mut all = fs::read_dir(btrfs)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let own = all.find(|path| path.join("devices").join(&name).exists())?;
    let devices = fs::read_dir(own.join("devices")).ok()?.count();
    let data = own.join("allocation/data");
    let profiles = ["raid0", "single", "raid1", "dup"];
    let profile = profiles
        .into_iter()
        .find(|profile| data.join(profile).is_dir())?;
    Some(match profile {
        "raid0" => format!("stripe of {devices}"),
        other => format!("{other} of {devices}"),
    })
}

/// Directories or devices, in turn.
fn listed(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(" ")
}

/// The directories of the files behind the devices of a volume, as the kernel has them.
fn directories(devices: &[loops::LoopDevice]) -> String {
    let place = |device: &loops::LoopDevice| {
        let place = device.file.parent().and_then(Path::parent);
        place
            .map(|place| place.display().to_string())
            .unwrap_or_default()
    };
    devices.iter().map(place).collect::<Vec<_>>().join(" ")
}

fn mount_readings(spec: &VolumeSpec, read: Option<&rookery_host::volume::InForce>) -> Vec<InForce> {
    let of = |value: &dyn Fn(&rookery_host::volume::InForce) -> String| {
        read.map_or_else(String::new, value)
    };
    let asked = |value: Option<String>| value.unwrap_or_default();
    vec![
        InForce::new(
            "storage.filesystem",
            asked(
                spec.file_system
                    .map(|file_system| file_system.name().to_owned()),
            ),
            of(&|read| read.file_system.clone()),
        ),
        InForce::new(
            "storage.atime",
            spec.atime.name(),
            of(&|read| read.atime.clone()),
        ),
        InForce::new(
            "storage.barriers",
            asked(spec.barriers.map(|on| on_off(on).to_owned())),
            of(&|read| on_off(read.barriers).to_owned()),
        ),
        InForce::new(
            "storage.journal",
            asked(spec.journal.map(|journal| journal.name().to_owned())),
            of(&|read| read.journal.clone()),
        ),
        InForce::new(
            "storage.discard",
            on_off(spec.discard),
            of(&|read| on_off(read.discard).to_owned()),
        ),
        InForce::new(
            "storage.commit",
            asked(spec.commit_s.map(|seconds| format!("{seconds}s"))),
            of(&|read| {
                read.commit_s
                    .map_or_else(String::new, |seconds| format!("{seconds}s"))
            }),
        ),
        InForce::new(
            "storage.block_size",
            asked(spec.block_size.map(|bytes| bytes.to_string())),
            of(&|read| read.block_size.to_string()),
        ),
    ]
}

fn cache(direct: bool) -> &'static str {
    if direct { "none" } else { "host" }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use rookery_host::volume::{AccessTimes, FileSystem, JournalMode, MountedBy};

    use super::*;

    #[test]
    fn what_is_asked_stands_beside_what_is() {
        let spec = VolumeSpec {
            size_mib: 64,
            file_system: Some(FileSystem::Ext4),
            mounted_by: MountedBy::Host,
            block_size: None,
            atime: AccessTimes::Noatime,
            barriers: Some(false),
            journal: Some(JournalMode::Writeback),
            discard: false,
            commit_s: None,
            direct: true,
            devices: 1,
            source: DeviceSource::RunDirectory,
        };
        let read = rookery_host::volume::InForce {
            file_system: "ext4".to_owned(),
            atime: "noatime".to_owned(),
            barriers: true,
            journal: "writeback".to_owned(),
            discard: false,
            commit_s: Some(5),
            block_size: 4096,
        };
        let readings = mount_readings(&spec, Some(&read));
        let of = |name: &str| {
            let reading = readings
                .iter()
                .find(|reading| reading.name == name)
                .expect("read");
            (reading.asked.as_str(), reading.effective.as_str())
        };
        assert_eq!(
            of("storage.barriers"),
            ("off", "on"),
            "a kernel that does otherwise is seen"
        );
        assert_eq!(of("storage.journal"), ("writeback", "writeback"));
        assert_eq!(of("storage.commit"), ("", "5s"), "nobody asked");
        let gone = mount_readings(&spec, None);
        assert!(gone.iter().all(|reading| reading.effective.is_empty()));
    }
}
