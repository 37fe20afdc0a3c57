//! Volumes on block devices of the host, for which loop devices stand: what they hold is not
//! touched, and what they get is gone afterwards, under faults and after sudden death.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use rookery_diagnosis::Diagnosis as _;
use rookery_guest::{
    AccessTimes, CleanOptions, DeviceSource, FileSystem, IoLimits, Kind, MountedBy, Provision,
    RunDirs, VolumeSpec, clean, inventory, open_lab,
};
use rookery_host::{
    FaultyHost, Host, Invocation, RealHost, RunId,
    volume::{
        devices::{DISK_LABEL, TakenDevice, reclaim},
        loops,
    },
};

use crate::{
    dying::Dying,
    storage::{Place, ext4, has, log_on, readings, root_tests, spec, template},
};

/// The cases by name.
pub(crate) const CASES: &[(&str, fn())] = &[
    (
        "a_volume_on_a_device_is_read_back_and_leaves_it_blank",
        a_volume_on_a_device_is_read_back_and_leaves_it_blank,
    ),
    (
        "xfs_and_stripes_are_made_on_devices",
        xfs_and_stripes_are_made_on_devices,
    ),
    (
        "a_device_that_anyone_could_miss_is_refused_and_not_touched",
        a_device_that_anyone_could_miss_is_refused_and_not_touched,
    ),
    (
        "clean_up_takes_from_a_device_what_is_ours_alone",
        clean_up_takes_from_a_device_what_is_ours_alone,
    ),
    (
        "after_a_fault_at_any_step_a_device_is_blank_and_free",
        after_a_fault_at_any_step_a_device_is_blank_and_free,
    ),
    (
        "clean_up_after_sudden_death_makes_devices_blank",
        clean_up_after_sudden_death_makes_devices_blank,
    ),
];

/// A loop device that stands for a disk of the host.
struct Disk {
    /// Where its file is: not below a run's directory.
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Disk {
    fn new(mib: u64) -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let file = directory.path().join("disk");
        fs::File::create(&file)
            .and_then(|file| file.set_len(mib << 20))
            .expect("a file");
        let device = loops::attach(&RealHost, &file, false, Vec::new()).expect("a loop device");
        Self {
            directory,
            path: device.path,
        }
    }

    fn read(&self) -> Vec<u8> {
        fs::read(&self.path).expect("read")
    }

    fn is_blank(&self) -> bool {
        let read = self.read();
        let ends = [&read[..1 << 20], &read[read.len() - (1 << 20)..]];
        ends.iter().all(|end| end.iter().all(|byte| *byte == 0))
    }

    /// Put something on it by a command that is given its name last.
    fn make(&self, words: &[&str]) {
        let command = Invocation::new(words[0])
            .args(words[1..].iter().copied())
            .arg(&self.path);
        RealHost.run(command).expect("made");
    }

    fn wipe(&self) {
        let blank = vec![0; self.read().len()];
        fs::write(&self.path, blank).expect("written");
    }

    /// Whether it can be taken: nothing uses it, and it holds nothing.
    fn is_free(&self) -> bool {
        TakenDevice::take(&RealHost, &self.path, 1 << 20).is_ok()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = loops::detach(&self.directory.path().join("disk"));
    }
}

/// A volume of 32 MiB on these devices.
fn on(disks: &[&Disk]) -> VolumeSpec {
    VolumeSpec {
        devices: u32::try_from(disks.len()).expect("few"),
        source: DeviceSource::BlockDevices(disks.iter().map(|disk| disk.path.clone()).collect()),
        direct: true,
        ..ext4()
    }
}

fn a_volume_on_a_device_is_read_back_and_leaves_it_blank() {
    if !root_tests() {
        return;
    }
    let (disk, other) = (Disk::new(96), Disk::new(64));
    for kind in [Kind::Bare, Kind::Container] {
        let place = Place::new();
        let lab = place.lab(kind);
        let volume = lab.volume("g1", &on(&[&disk])).expect("a volume");
        let log = lab.volume("g1-log", &on(&[&other])).expect("a volume");
        let point = volume.point().expect("mounted").to_owned();
        let space = rustix::fs::statvfs(&point).expect("mounted");
        assert!(
            space.f_blocks * space.f_frsize < 33 << 20,
            "a file system of the size that was asked, not of the device's"
        );
        let limits = match kind {
            Kind::Container => IoLimits {
                write_iops: Some(400),
                ..IoLimits::default()
            },
            _ => IoLimits::default(),
        };
        let provision = Provision {
            volume: Some(volume.name().to_owned()),
            roles: log_on(log.name(), limits),
            ..Provision::default()
        };
        let mut guest = lab
            .create_with(&template(&*lab, "/bin/cat"), &spec(1, &[]), &provision)
            .expect("a guest");
        guest.start().expect("started");
        let read = readings(&*guest);
        let (name, other_name) = (disk.path.display(), other.path.display());
        has(
            &read,
            "storage.block_devices",
            &name.to_string(),
            &name.to_string(),
        );
        has(
            &read,
            "storage.log.block_devices",
            &other_name.to_string(),
            &other_name.to_string(),
        );
        has(&read, "storage.size", "32MiB", "32MiB");
        has(&read, "storage.filesystem", "ext4", "ext4");
        has(&read, "storage.atime", "noatime", "noatime");
        if kind == Kind::Container {
            has(&read, "storage.log.write_iops", "400", "400");
        }
        assert!(!read.iter().any(|(name, ..)| name == "storage.cache"));
        let ours = inventory().expect("inventory").into_iter();
        let ours: Vec<String> = ours
            .filter(|thing| thing.run == place.run && thing.what == "volume")
            .map(|thing| thing.name)
            .collect();
        assert!(
            ours.len() == 2 && ours[0].starts_with("/dev/loop"),
            "{ours:?}"
        );
        assert!(!disk.is_free(), "a run has it");
        drop((volume, log));
        guest.remove().expect("removed");
        assert_eq!(place.left(), [""; 0]);
        assert!(disk.is_blank() && disk.is_free() && other.is_blank());
    }
}

fn xfs_and_stripes_are_made_on_devices() {
    if !root_tests() {
        return;
    }
    let (one, two) = (Disk::new(320), Disk::new(320));
    let plain = VolumeSpec {
        size_mib: 300,
        block_size: None,
        atime: AccessTimes::Relatime,
        barriers: None,
        journal: None,
        discard: false,
        commit_s: None,
        ..on(&[&one])
    };
    let xfs = VolumeSpec {
        file_system: Some(FileSystem::Xfs),
        ..plain.clone()
    };
    let stripe = VolumeSpec {
        size_mib: 400,
        file_system: Some(FileSystem::Btrfs),
        ..VolumeSpec {
            devices: 2,
            source: on(&[&one, &two]).source,
            ..plain
        }
    };
    for (wanted, name) in [(xfs, "xfs"), (stripe, "btrfs")] {
        let place = Place::new();
        let lab = place.lab(Kind::Bare);
        let volume = lab.volume("g1", &wanted).expect("a volume");
        let in_force = volume.in_force().expect("mounted");
        assert_eq!(in_force.file_system, name);
        drop(volume);
        drop(lab);
        assert_eq!(place.left(), [""; 0]);
        assert!(one.is_blank() && two.is_blank(), "{name}");
    }
}

fn a_device_that_anyone_could_miss_is_refused_and_not_touched() {
    if !root_tests() {
        return;
    }
    let disk = Disk::new(48);
    let place = Place::new();
    let lab = place.lab(Kind::Bare);
    let refused = |said: &str| {
        let before = disk.read();
        let error = lab.volume("g1", &on(&[&disk])).expect_err("refused");
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert!(error.help().is_some(), "{error}");
        assert!(before == disk.read(), "nothing is written: {said}");
        assert_eq!(place.left(), [""; 0]);
    };
    disk.make(&["mkfs.ext4", "-q", "-L", "accounts"]);
    refused("it holds LABEL=accounts, TYPE=ext4");
    let point = place.dir.path().join("mounted");
    fs::create_dir(&point).expect("made");
    let mount = |kind: &str| {
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount(&disk.path, &point, kind, flags, None).expect("mounted");
    };
    mount("ext4");
    let error = lab.volume("g1", &on(&[&disk])).expect_err("mounted");
    rustix::mount::unmount(&point, rustix::mount::UnmountFlags::empty()).expect("unmounted");
    assert!(error.to_string().contains("in use"), "{error}");
    disk.wipe();
    disk.make(&["mkswap"]);
    refused("TYPE=swap");
    disk.wipe();
    // What has no signature, at either end.
    for at in [4096, (48 << 20) - 512] {
        let mut data = vec![0; 48 << 20];
        data[at..at + 8].copy_from_slice(b"precious");
        fs::write(&disk.path, data).expect("written");
        refused("data without a signature");
    }
    disk.wipe();
    // A table of partitions, without any.
    let mut table = vec![0; 512];
    (table[446], table[446 + 4], table[510], table[511]) = (0x80, 0x83, 0x55, 0xaa);
    table[446 + 8..446 + 16].copy_from_slice(&[0, 8, 0, 0, 0, 8, 0, 0]);
    table[440..444].copy_from_slice(&[1, 2, 3, 4]);
    fs::write(&disk.path, &table).expect("written");
    refused("PTTYPE=dos");
    disk.wipe();
    let large = VolumeSpec {
        size_mib: 64,
        ..on(&[&disk])
    };
    let error = lab.volume("g1", &large).expect_err("too small");
    assert!(error.to_string().contains("48 MiB"), "{error}");
    let taken = TakenDevice::take(&RealHost, &disk.path, 1 << 20).expect("free");
    refused("in use by another run");
    drop(taken);
    lab.volume("g1", &on(&[&disk])).expect("it is free again");
    let file = VolumeSpec {
        source: DeviceSource::BlockDevices(vec!["/dev/null".into()]),
        ..ext4()
    };
    let error = lab.volume("g2", &file).expect_err("no block device");
    assert!(error.to_string().contains("is no block device"), "{error}");
}

fn clean_up_takes_from_a_device_what_is_ours_alone() {
    if !root_tests() {
        return;
    }
    let disk = Disk::new(48);
    let reclaimed = |untouched: bool| {
        let before = disk.read();
        reclaim(&RealHost, &disk.path, untouched).expect("looked at");
        before != disk.read()
    };
    assert!(!reclaimed(true), "it is blank");
    disk.make(&["mkfs.ext4", "-q", "-L", "accounts"]);
    assert!(!reclaimed(true), "somebody has used it since");
    disk.wipe();
    disk.make(&["mkfs.ext4", "-q", "-L", DISK_LABEL]);
    let living = TakenDevice::take(&RealHost, &disk.path, 1 << 20).expect("ours");
    assert!(!reclaimed(true), "another run has it");
    drop(living);
    assert!(reclaimed(false) && disk.is_blank());
    let mut data = vec![0; 48 << 20];
    data[5000] = 7;
    fs::write(&disk.path, data).expect("written");
    assert!(!reclaimed(false), "it may be another disk of that name");
    assert!(reclaimed(true) && disk.is_blank(), "mkfs was under way");
}

fn after_a_fault_at_any_step_a_device_is_blank_and_free() {
    if !root_tests() {
        return;
    }
    let (disk, other) = (Disk::new(48), Disk::new(48));
    let of_guest = VolumeSpec {
        mounted_by: MountedBy::Guest,
        ..on(&[&disk])
    };
    for (make, after) in [
        (FaultyHost::failing_at as fn(u64) -> FaultyHost, false),
        (FaultyHost::failing_after, true),
    ] {
        // The step, blkid, mkfs and the mount, where the host mounts it.
        for (wanted, steps) in [(on(&[&other]), 5), (of_guest.clone(), 4)] {
            for n in 1.. {
                let place = Place::new();
                let host = Arc::new(make(n));
                let lab = open_lab(
                    &Kind::Bare.into(),
                    place.site(),
                    Arc::clone(&host) as Arc<dyn Host>,
                )
                .expect("a lab");
                let made = lab.volume("g1", &wanted);
                let failed = host.has_failed();
                // A probe that finds nothing says so by how it ends, whatever would come after.
                let probed = after && n == 2;
                assert_eq!(made.is_err(), failed && !probed, "{made:?}");
                drop(made);
                assert!(failed || n == steps, "{n}");
                assert_eq!(place.left(), [""; 0], "after fault {n}");
                assert!(disk.is_blank() && other.is_blank(), "after fault {n}");
                assert!(disk.is_free() && other.is_free(), "after fault {n}");
                if !failed {
                    break;
                }
            }
        }
    }
}

/// The child of the case below: makes a guest on a volume on one device, with a log on another, and
/// dies on the way or when all is done.
pub(crate) fn run_child_that_dies(words: &[String]) {
    let [dir, run, at, after, data, log] = words else {
        panic!("an order of six words")
    };
    let site = RunDirs {
        run: RunId::try_from(run.clone()).expect("a run id"),
        dir: Path::new(dir).join("guests"),
        templates: Path::new(dir).join("templates"),
    };
    let host = Dying::new(at, after);
    let lab = open_lab(&Kind::Container.into(), site, Arc::new(host)).expect("a lab");
    let template = template(&*lab, "/bin/cat");
    let of = |device: &String| VolumeSpec {
        source: DeviceSource::BlockDevices(vec![device.into()]),
        ..ext4()
    };
    let volume = lab.volume("g1", &of(data)).expect("a volume");
    let log = lab.volume("g1-log", &of(log)).expect("a volume");
    let provision = Provision {
        volume: Some(volume.name().to_owned()),
        roles: log_on(log.name(), IoLimits::default()),
        ..Provision::default()
    };
    let _guest = lab
        .create_with(&template, &spec(1, &[]), &provision)
        .expect("a guest");
    std::process::abort();
}

fn clean_up_after_sudden_death_makes_devices_blank() {
    if !root_tests() {
        return;
    }
    let (data, log) = (Disk::new(48), Disk::new(48));
    let mut had_devices = 0;
    // Lab network (2), template (7), both volumes (8), guest (4): beyond them the child dies when
    // all is done.
    for (at, after) in (9..=22).flat_map(|at| [(at, "before"), (at, "after")]) {
        let place = Place::new();
        let status = Command::new(env::current_exe().expect("this test"))
            .arg("device-user-that-dies")
            .arg(place.dir.path())
            .args([place.run.to_string(), at.to_string(), after.to_owned()])
            .args([&data.path, &log.path])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("started");
        assert!(!status.success(), "it was to die at step {at}");
        had_devices += usize::from(!data.is_blank() || !log.is_blank());
        let report = clean(&CleanOptions {
            labels: Some(vec![place.run.clone()]),
        })
        .expect("cleaned");
        assert!(report.failed.is_empty(), "{at} {after}: {report:?}");
        assert_eq!(place.left(), [""; 0], "{at} {after}: {report:?}");
        assert!(
            data.is_blank() && log.is_blank() && data.is_free() && log.is_free(),
            "{at} {after}: {report:?}"
        );
    }
    assert!(
        had_devices >= 8,
        "it died {had_devices} times over a device that had to be made blank"
    );
}
