//! Volumes, limits on I/O and memory nodes with real loop devices, mounts and containers; under
//! faults, and after sudden death.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use rookery_diagnosis::Diagnosis;
use rookery_guest::{
    AccessTimes, CalledBy, CleanOptions, DeviceSource, FileSystem, Fill, Guest, GuestSpec,
    GuestState, GuestUser, Health, IoLimits, JournalMode, Kind, Lab, MountedBy, Provision, Recipe,
    RoleProvision, RunDirs, StorageRole, Template, VolumeSpec, open_lab, patient,
};
use rookery_host::{FaultyHost, Host, RealHost, RunId, volume::loops::loops};

use crate::dying::Dying;

/// The cases by name, each with labs of its own.
pub(crate) const CASES: &[(&str, fn())] = &[
    (
        "data_of_a_container_lie_on_its_volume_and_all_is_read_back",
        data_of_a_container_lie_on_its_volume_and_all_is_read_back,
    ),
    (
        "xfs_and_direct_access_are_made_and_read_back",
        xfs_and_direct_access_are_made_and_read_back,
    ),
    (
        "a_stripe_lies_on_devices_in_several_directories_and_is_read_back",
        a_stripe_lies_on_devices_in_several_directories_and_is_read_back,
    ),
    (
        "a_shared_volume_goes_with_its_last_guest",
        a_shared_volume_goes_with_its_last_guest,
    ),
    (
        "a_volume_is_removed_although_a_namespace_was_copied_while_it_was_mounted",
        a_volume_is_removed_although_a_namespace_was_copied_while_it_was_mounted,
    ),
    (
        "the_log_of_a_guest_lies_on_a_volume_of_its_own_and_is_limited",
        the_log_of_a_guest_lies_on_a_volume_of_its_own_and_is_limited,
    ),
    (
        "a_container_takes_a_raw_device_and_a_bare_guest_refuses_it",
        a_container_takes_a_raw_device_and_a_bare_guest_refuses_it,
    ),
    (
        "after_a_fault_at_any_step_nothing_is_left",
        after_a_fault_at_any_step_nothing_is_left,
    ),
    (
        "a_mount_that_the_kernel_refuses_is_reported_with_help",
        a_mount_that_the_kernel_refuses_is_reported_with_help,
    ),
    (
        "clean_up_after_sudden_death_at_any_step_leaves_nothing",
        clean_up_after_sudden_death_at_any_step_leaves_nothing,
    ),
];

/// Whether root's tests run; they must not be skipped silently.
pub(crate) fn root_tests() -> bool {
    if env::var_os("ROOKERY_SKIP_ROOT_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_ROOT_TESTS=1");
        return false;
    }
    true
}

pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) run: RunId,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = format!(
            "s{}x{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        Self {
            dir: tempfile::tempdir().expect("temporary directory"),
            run: RunId::try_from(id).expect("a run id"),
        }
    }

    pub(crate) fn site(&self) -> RunDirs {
        RunDirs {
            run: self.run.clone(),
            dir: self.dir.path().join("guests"),
            templates: self.dir.path().join("templates"),
        }
    }

    pub(crate) fn lab(&self, kind: Kind) -> Box<dyn Lab> {
        open_lab(&kind.into(), self.site(), Arc::new(RealHost)).expect("a lab")
    }

    /// What of the run is on this host: devices, mounts, files of volumes.
    pub(crate) fn left(&self) -> Vec<String> {
        let directory = self.dir.path().canonicalize().expect("there");
        let devices = loops()
            .into_iter()
            .filter(|device| device.file.starts_with(&directory));
        let mut left: Vec<String> = devices.map(|device| format!("{device:?}")).collect();
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        left.extend(
            mounts
                .lines()
                .filter(|line| line.contains(directory.to_str().expect("utf-8")))
                .map(str::to_owned),
        );
        for volumes in ["guests/volumes", "one/volumes", "two/volumes"] {
            let files = fs::read_dir(self.dir.path().join(volumes));
            let files = files.into_iter().flatten().flatten();
            left.extend(files.map(|file| file.path().display().to_string()));
        }
        left
    }
}

pub(crate) fn ext4() -> VolumeSpec {
    VolumeSpec {
        size_mib: 32,
        file_system: Some(FileSystem::Ext4),
        mounted_by: MountedBy::Host,
        block_size: Some(1024),
        atime: AccessTimes::Noatime,
        barriers: Some(false),
        journal: Some(JournalMode::Writeback),
        discard: true,
        commit_s: Some(11),
        direct: false,
        devices: 1,
        source: DeviceSource::RunDirectory,
    }
}

pub(crate) fn spec(number: u16, args: &[&str]) -> GuestSpec {
    GuestSpec {
        number,
        name: format!("g{number}"),
        cpus: vec![],
        cpu_time: rookery_guest::CpuTime::Unlimited,
        cpu_weight: None,
        packet_cpus: Vec::new(),
        called_by: CalledBy::Users,
        memory_mib: None,
        swap: rookery_study::Swap::None,
        pids: None,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        port: 80,
        health: Health::Http("/".to_owned()),
        files: vec![],
        user: None,
        sockets: Vec::new(),
    }
}

/// A template with one MiB of data, whose program is `program`.
pub(crate) fn template(lab: &dyn Lab, program: &str) -> Template {
    let fill = |data: &Path| {
        fs::write(data.join("rows"), vec![7; 1 << 20])
            .map(|()| None)
            .map_err(rookery_guest::FillError::from)
    };
    let recipe = Recipe {
        description: "storage".to_owned(),
        program: PathBuf::from(program),
        base: None,
        fill: Fill::Data(&fill),
    };
    lab.template(&recipe, &patient).expect("a template")
}

fn end_of(guest: &mut dyn Guest) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let GuestState::Ended(reason) = guest.state() {
            return reason;
        }
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Name, asked, effective.
pub(crate) fn readings(guest: &dyn Guest) -> BTreeSet<(String, String, String)> {
    let readings = guest.in_force().into_iter();
    readings
        .map(|reading| (reading.name, reading.asked, reading.effective))
        .collect()
}

pub(crate) fn has(
    readings: &BTreeSet<(String, String, String)>,
    name: &str,
    asked: &str,
    effective: &str,
) {
    let wanted = (name.to_owned(), asked.to_owned(), effective.to_owned());
    assert!(
        readings.contains(&wanted),
        "{wanted:?} is not in {readings:#?}"
    );
}

fn data_of_a_container_lie_on_its_volume_and_all_is_read_back() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let lab = place.lab(Kind::Container);
    let template = template(&*lab, "/bin/dd");
    let volume = lab.volume("g1", &ext4()).expect("a volume");
    let provision = Provision {
        nodes: vec![0],
        volume: Some(volume.name().to_owned()),
        roles: BTreeMap::new(),
        limits: IoLimits {
            read_iops: Some(100),
            write_bps: Some(4 << 20),
            ..IoLimits::default()
        },
    };
    // 256 reads of 4 KiB, each from the device.
    let args = ["if=/data/rows", "of=/data/copy", "iflag=direct", "bs=4096"];
    let mut guest = lab
        .create_with(&template, &spec(1, &args), &provision)
        .expect("a guest");
    let point = volume.point().expect("mounted").to_owned();
    drop(volume);
    assert_eq!(
        fs::metadata(point.join("g1/upper/data/rows"))
            .expect("a whole copy")
            .len(),
        1 << 20
    );
    let began = Instant::now();
    guest.start().expect("started");
    let readings = readings(&*guest);
    assert_eq!(
        end_of(&mut *guest),
        "exit code 0",
        "{}",
        guest.log_tail(2000)
    );
    // A limit cannot be exceeded, however idle the machine is: 256 reads at 100 a second.
    assert!(
        began.elapsed() > Duration::from_secs(1),
        "{:?} for 256 reads",
        began.elapsed()
    );
    for (name, asked, effective) in [
        ("storage.filesystem", "ext4", "ext4"),
        ("storage.size", "32MiB", "32MiB"),
        ("storage.atime", "noatime", "noatime"),
        ("storage.barriers", "off", "off"),
        ("storage.journal", "writeback", "writeback"),
        ("storage.discard", "on", "on"),
        ("storage.commit", "11s", "11s"),
        ("storage.block_size", "1024", "1024"),
        ("storage.cache", "host", "host"),
        ("storage.read_iops", "100", "100"),
        ("storage.write_bps", "4194304", "4194304"),
        ("placement.nodes", "0", "0"),
    ] {
        has(&readings, name, asked, effective);
    }
    guest.remove().expect("removed");
    assert_eq!(place.left(), [""; 0]);
}

fn xfs_and_direct_access_are_made_and_read_back() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let lab = place.lab(Kind::Bare);
    let wanted = VolumeSpec {
        size_mib: 300,
        file_system: Some(FileSystem::Xfs),
        mounted_by: MountedBy::Host,
        block_size: None,
        atime: AccessTimes::Relatime,
        barriers: None,
        journal: None,
        discard: false,
        commit_s: None,
        direct: true,
        devices: 1,
        source: DeviceSource::RunDirectory,
    };
    let volume = lab.volume("all", &wanted).expect("a volume");
    let provision = Provision {
        volume: Some(volume.name().to_owned()),
        ..Provision::default()
    };
    let mut guest = lab
        .create_with(
            &template(&*lab, "/bin/cat"),
            &spec(1, &["{data}/rows"]),
            &provision,
        )
        .expect("a guest");
    assert!(
        guest
            .data_dir()
            .starts_with(volume.point().expect("mounted"))
    );
    assert_eq!(
        fs::metadata(guest.data_dir().join("rows"))
            .expect("a copy")
            .len(),
        1 << 20
    );
    let readings = readings(&*guest);
    has(&readings, "storage.filesystem", "xfs", "xfs");
    has(&readings, "storage.cache", "none", "none");
    has(&readings, "storage.journal", "", "metadata");
    guest.start().expect("started");
    assert_eq!(end_of(&mut *guest), "exit code 0");
    drop(volume);
    guest.remove().expect("removed");
    assert_eq!(place.left(), [""; 0]);
}

/// A stripe over two devices, in two directories of this place.
fn stripe(dir: &Path) -> VolumeSpec {
    let places = ["one", "two"].map(|name| dir.join(name));
    for place in &places {
        fs::create_dir_all(place).expect("made");
    }
    VolumeSpec {
        size_mib: 256,
        file_system: Some(FileSystem::Btrfs),
        mounted_by: MountedBy::Host,
        block_size: None,
        atime: AccessTimes::Noatime,
        barriers: Some(false),
        journal: None,
        discard: false,
        commit_s: None,
        direct: true,
        devices: 2,
        source: DeviceSource::Directories(places.to_vec()),
    }
}

fn a_stripe_lies_on_devices_in_several_directories_and_is_read_back() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let lab = place.lab(Kind::Container);
    let wanted = stripe(place.dir.path());
    let volume = lab.volume("g1", &wanted).expect("a volume");
    let files: Vec<PathBuf> = volume
        .devices()
        .filter_map(|device| device.file.clone())
        .collect();
    let base = place.dir.path().canonicalize().expect("there");
    let names = ["one/volumes", "two/volumes"].map(|name| base.join(name));
    assert_eq!(
        files
            .iter()
            .map(|file| file.parent().expect("a parent"))
            .collect::<Vec<_>>(),
        names.iter().map(PathBuf::as_path).collect::<Vec<_>>()
    );
    let provision = Provision {
        volume: Some(volume.name().to_owned()),
        ..Provision::default()
    };
    let mut guest = lab
        .create_with(
            &template(&*lab, "/bin/cat"),
            &spec(1, &["/data/rows"]),
            &provision,
        )
        .expect("a guest");
    let read = readings(&*guest);
    has(&read, "storage.filesystem", "btrfs", "btrfs");
    has(&read, "storage.tier", "stripe of 2", "stripe of 2");
    has(&read, "storage.size", "256MiB", "256MiB");
    has(&read, "storage.barriers", "off", "off");
    has(&read, "storage.cache", "none", "none");
    let asked = ["one", "two"]
        .map(|name| base.join(name).display().to_string())
        .join(" ");
    has(&read, "storage.directories", &asked, &asked);
    guest.start().expect("started");
    assert_eq!(
        end_of(&mut *guest),
        "exit code 0",
        "{}",
        guest.log_tail(2000)
    );
    let limited = Provision {
        limits: IoLimits {
            read_iops: Some(100),
            ..IoLimits::default()
        },
        ..provision
    };
    let refused = lab.create_with(&template(&*lab, "/bin/cat"), &spec(2, &[]), &limited);
    assert!(refused.is_err_and(|error| error.to_string().contains("one device")));
    drop(volume);
    guest.remove().expect("removed");
    assert_eq!(place.left(), [""; 0]);
    assert!(
        names.iter().all(|name| !name.exists()),
        "nothing stays beside what a user has there"
    );
}

fn a_shared_volume_goes_with_its_last_guest() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let lab = place.lab(Kind::Container);
    let template = template(&*lab, "/bin/cat");
    let shared = lab.volume("shared", &ext4()).expect("a volume");
    let point = shared.point().expect("mounted").to_owned();
    let provision = || Provision {
        volume: Some(shared.name().to_owned()),
        ..Provision::default()
    };
    let mut guests: Vec<_> = (1..=2)
        .map(|number| {
            lab.create_with(&template, &spec(number, &[]), &provision())
                .expect("a guest")
        })
        .collect();
    drop(shared);
    guests[0].remove().expect("removed");
    assert!(!point.join("g1").exists() && point.join("g2/upper/data/rows").exists());
    let things = rookery_guest::inventory().expect("inventory");
    let ours: Vec<_> = things
        .iter()
        .filter(|thing| thing.run == place.run && thing.what == "volume")
        .collect();
    assert!(
        ours.len() == 1 && ours[0].name.ends_with("-shared.img"),
        "{ours:?}"
    );
    guests[1].remove().expect("removed");
    assert_eq!(place.left(), [""; 0]);
}

/// A mount namespace of another program of the host, with a copy of each mount.
struct Copied(std::process::Child);

impl Copied {
    fn new() -> Self {
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .args(["sh", "-c", "echo copied; exec sleep 600"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        let mut line = String::new();
        let said = child.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut line).expect("it says");
        assert_eq!(line, "copied\n");
        Self(child)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_volume_is_removed_although_a_namespace_was_copied_while_it_was_mounted() {
    if !root_tests() {
        return;
    }
    for kind in [Kind::Container, Kind::Bare] {
        let place = Place::new();
        let lab = place.lab(kind);
        let volume = lab.volume("g1", &ext4()).expect("a volume");
        let provision = Provision {
            volume: Some(volume.name().to_owned()),
            ..Provision::default()
        };
        let mut guest = lab
            .create_with(&template(&*lab, "/bin/cat"), &spec(1, &[]), &provision)
            .expect("a guest");
        drop(volume);
        let copied = Copied::new();
        let began = Instant::now();
        guest.remove().expect("removed");
        assert!(began.elapsed() < Duration::from_secs(20));
        assert_eq!(place.left(), [""; 0]);
        drop(copied);
    }
}

/// A log on this volume.
pub(crate) fn log_on(volume: &str, limits: IoLimits) -> BTreeMap<StorageRole, RoleProvision> {
    let volume = volume.to_owned();
    BTreeMap::from([(
        StorageRole::Log,
        RoleProvision {
            volume,
            moved: Vec::new(),
            limits,
        },
    )])
}

fn the_log_of_a_guest_lies_on_a_volume_of_its_own_and_is_limited() {
    if !root_tests() {
        return;
    }
    for kind in [Kind::Container, Kind::Bare] {
        let place = Place::new();
        let lab = place.lab(kind);
        let template = template(&*lab, "/bin/dd");
        let volume = lab.volume("g1-log", &ext4()).expect("a volume");
        let limits = match kind {
            Kind::Container => IoLimits {
                write_iops: Some(100),
                ..IoLimits::default()
            },
            _ => IoLimits::default(),
        };
        let provision = Provision {
            roles: log_on(volume.name(), limits),
            ..Provision::default()
        };
        // 128 writes of 4 KiB, each to the device of the log.
        let args = [
            "if=/dev/zero",
            "of={log}/file",
            "oflag=direct",
            "bs=4096",
            "count=128",
        ];
        let mut guest = lab
            .create_with(&template, &spec(1, &args), &provision)
            .expect("a guest");
        drop(volume);
        let [log] = &guest.role_directories()[..] else {
            panic!("one role")
        };
        let outside = log.outside.clone().expect("on a volume of the host");
        let began = Instant::now();
        guest.start().expect("started");
        let readings = readings(&*guest);
        assert_eq!(
            end_of(&mut *guest),
            "exit code 0",
            "{}",
            guest.log_tail(2000)
        );
        let written = fs::metadata(outside.join("file"))
            .expect("on the volume")
            .len();
        assert_eq!(written, 128 * 4096);
        has(&readings, "storage.log.atime", "noatime", "noatime");
        if kind == Kind::Container {
            has(&readings, "storage.log.write_iops", "100", "100");
            assert!(
                began.elapsed() > Duration::from_secs(1),
                "{:?} for 128 writes",
                began.elapsed()
            );
        }
        guest.remove().expect("removed");
        assert_eq!(place.left(), [""; 0]);
    }
}

fn a_container_takes_a_raw_device_and_a_bare_guest_refuses_it() {
    if !root_tests() {
        return;
    }
    let raw = VolumeSpec {
        size_mib: 4,
        file_system: None,
        ..ext4()
    };
    let place = Place::new();
    let lab = place.lab(Kind::Container);
    let volume = lab.volume("raw", &raw).expect("a volume");
    let provision = Provision {
        volume: Some(volume.name().to_owned()),
        ..Provision::default()
    };
    let args = [
        "if=/data/rows",
        "of=/dev/rookery-data",
        "oflag=direct",
        "bs=65536",
    ];
    let plain = GuestSpec {
        user: Some(GuestUser::same(33)),
        ..spec(1, &args)
    };
    let mut guest = lab
        .create_with(&template(&*lab, "/bin/dd"), &plain, &provision)
        .expect("a guest");
    guest.start().expect("started");
    assert_eq!(
        end_of(&mut *guest),
        "exit code 0",
        "{}",
        guest.log_tail(2000)
    );
    let written = fs::read(&volume.device().path).expect("read");
    assert_eq!(
        (
            written.len(),
            written[..1 << 20].iter().all(|byte| *byte == 7)
        ),
        (4 << 20, true)
    );
    drop(volume);
    guest.remove().expect("removed");
    drop(lab);

    let lab = place.lab(Kind::Bare);
    let volume = lab.volume("raw", &raw).expect("a volume");
    let provision = Provision {
        volume: Some(volume.name().to_owned()),
        ..Provision::default()
    };
    let refused = lab.create_with(&template(&*lab, "/bin/dd"), &spec(1, &[]), &provision);
    assert!(
        refused
            .err()
            .is_some_and(|error| error.to_string().contains("take no raw device"))
    );
    drop((provision, lab));
    assert_eq!(place.left(), [""; 0]);
}

fn after_a_fault_at_any_step_nothing_is_left() {
    if !root_tests() {
        return;
    }
    for (make, striped) in [
        (FaultyHost::failing_at as fn(u64) -> FaultyHost, false),
        (FaultyHost::failing_after, false),
        (FaultyHost::failing_at, true),
        (FaultyHost::failing_after, true),
    ] {
        for n in 1.. {
            let place = Place::new();
            let wanted = if striped {
                stripe(place.dir.path())
            } else {
                ext4()
            };
            let host = Arc::new(make(n));
            let lab = open_lab(
                &Kind::Bare.into(),
                place.site(),
                Arc::clone(&host) as Arc<dyn Host>,
            )
            .expect("a lab");
            let made = lab.volume("g1", &wanted);
            if !host.has_failed() {
                made.expect("no fault, no failure");
                assert_eq!(
                    n,
                    if striped { 6 } else { 5 },
                    "the files, each device, the file system and the mount can fail"
                );
                break;
            }
            let error = made.expect_err("a fault").to_string();
            assert!(
                error.starts_with("guest g1: making its volume failed: "),
                "{error}"
            );
            assert_eq!(place.left(), [""; 0], "after fault {n}");
        }
    }
}

fn a_mount_that_the_kernel_refuses_is_reported_with_help() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let lab = place.lab(Kind::Bare);
    // A commit interval beyond what the kernel can count in jiffies.
    let odd = VolumeSpec {
        commit_s: Some(u32::MAX),
        ..ext4()
    };
    let error = lab.volume("g1", &odd).expect_err("refused");
    let help = error.help().expect("there is help");
    assert!(
        error.to_string().contains("commit=4294967295") && help.contains("leave out the option"),
        "{error} {help}"
    );
    let full = VolumeSpec {
        size_mib: 1 << 30,
        ..ext4()
    };
    let error = lab.volume("g2", &full).expect_err("a PiB");
    let help = error.help().expect("there is help");
    assert!(help.contains("free disk space"), "{error} {help}");
    assert_eq!(place.left(), [""; 0]);
}

/// The child of the case below: makes a volume and a container on it, and dies on the way or when
/// all is done.
pub(crate) fn run_child_that_dies(words: &[String]) {
    let [dir, run, at, after] = words else {
        panic!("an order of four words")
    };
    let site = RunDirs {
        run: RunId::try_from(run.clone()).expect("a run id"),
        dir: Path::new(dir).join("guests"),
        templates: Path::new(dir).join("templates"),
    };
    let host = Dying::new(at, after);
    let lab = open_lab(&Kind::Container.into(), site, Arc::new(host)).expect("a lab");
    let template = template(&*lab, "/bin/cat");
    let volume = lab.volume("g1", &stripe(Path::new(dir))).expect("a volume");
    let log = lab.volume("g1-log", &ext4()).expect("a volume");
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

fn clean_up_after_sudden_death_at_any_step_leaves_nothing() {
    if !root_tests() {
        return;
    }
    let mut had_volumes = 0;
    // Lab network (2), template (7), volume of two devices (5), that of the log (4), guest (4):
    // beyond them the child dies when all is done.
    for (at, after) in (1..=23).flat_map(|at| [(at, "before"), (at, "after")]) {
        let place = Place::new();
        let status = Command::new(env::current_exe().expect("this test"))
            .arg("child-that-dies")
            .arg(place.dir.path())
            .args([place.run.to_string(), at.to_string(), after.to_owned()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("started");
        assert!(!status.success(), "it was to die at step {at}");
        had_volumes += usize::from(!place.left().is_empty());
        let report = rookery_guest::clean(&CleanOptions {
            labels: Some(vec![place.run.clone()]),
        })
        .expect("cleaned");
        assert!(report.failed.is_empty(), "{at} {after}: {report:?}");
        assert_eq!(place.left(), [""; 0], "{at} {after}: {report:?}");
    }
    assert!(
        had_volumes >= 8,
        "it died {had_volumes} times over something that had to be cleaned"
    );
}
