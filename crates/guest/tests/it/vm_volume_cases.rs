//! Machines whose disks lie on volumes that the lab makes: with a file system, shared or not, and
//! raw.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use rookery_diagnosis::Diagnosis;
use rookery_guest::{
    CleanOptions, DiskShape, FileSystem, Fill, FillError, Guest, GuestState, IoLimits, Kind, Lab,
    LabShape, MountedBy, Provision, RoleMove, RoleProvision, StorageRole, VmShape, Volume,
    VolumeFault, VolumeLook, VolumeSpec, clean, open_lab, remove_all,
};
use rookery_host::{FaultyHost, Host, RealHost, RunId};

use crate::{
    Case,
    fixture::{Controller, Fixture, build, create_on, end_of, ext4, get, spec, template, up},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    ("disks_lie_on_volumes", disks_lie_on_volumes),
    (
        "roles_have_disks_of_their_own",
        roles_have_disks_of_their_own,
    ),
    (
        "a_role_without_room_fails_as_full",
        a_role_without_room_fails_as_full,
    ),
    (
        "a_volume_that_the_host_mounts_is_no_role",
        a_volume_that_the_host_mounts_is_no_role,
    ),
    (
        "a_fault_at_any_step_of_a_volume_leaves_nothing",
        a_fault_at_any_step_of_a_volume_leaves_nothing,
    ),
    (
        "a_volume_that_is_too_small_is_refused",
        a_volume_that_is_too_small_is_refused,
    ),
    (
        "volumes_of_a_killed_controller_are_cleaned_away",
        volumes_of_a_killed_controller_are_cleaned_away,
    ),
    (
        "volumes_of_others_are_not_held",
        volumes_of_others_are_not_held,
    ),
];

/// MiB of each disk.
const DISK_MIB: u64 = 512;

fn shape() -> VmShape {
    VmShape {
        disk: DiskShape {
            size_mib: DISK_MIB,
            ..DiskShape::default()
        },
        ..VmShape::default()
    }
}

fn lab_of(fixture: &Fixture) -> Box<dyn Lab> {
    open_lab(
        &LabShape::Vm(Box::new(shape())),
        fixture.site(),
        Arc::new(RealHost),
    )
    .expect("lab")
}

fn raw() -> VolumeSpec {
    VolumeSpec {
        size_mib: DISK_MIB,
        file_system: None,
        ..ext4(DISK_MIB)
    }
}

/// Two on one file system, the third on a device: what they flushed survives their sudden end, and
/// with the last guest a volume goes.
fn disks_lie_on_volumes(_: Kind) {
    let fixture = Fixture::new();
    let mut lab = lab_of(&fixture);
    let shared = lab
        .volume("shared", &ext4(2 * DISK_MIB + 128))
        .expect("a volume");
    let volume = lab.volume("g3", &raw()).expect("a volume");
    let limited = Provision {
        volume: Some(volume.name().to_owned()),
        limits: IoLimits {
            write_iops: Some(700),
            ..IoLimits::default()
        },
        ..Provision::default()
    };
    let mut guests = vec![
        create_on(&*lab, &spec(1, &[]), Some(Arc::clone(&shared))),
        create_on(&*lab, &spec(2, &[]), Some(shared)),
        lab.create_with(&template(&*lab), &spec(3, &[]), &limited)
            .expect("guest"),
    ];
    drop(volume);
    up(&*lab, &mut guests);
    let says = |guest: &dyn Guest, name: &str| {
        let in_force = guest.in_force();
        let reading = in_force.iter().find(|reading| reading.name == name);
        reading
            .map(|reading| reading.effective.clone())
            .unwrap_or_default()
    };
    for (name, value) in [
        ("vm.disk.pool", "volume of the study"),
        ("vm.disk.format", "raw"),
        ("vm.disk.backing", "none"),
        ("storage.filesystem", "ext4"),
        ("storage.atime", "noatime"),
        ("storage.barriers", "off"),
    ] {
        assert_eq!(says(&*guests[1], name), value, "{name}");
    }
    for (name, value) in [
        ("vm.disk.pool", "raw volume of the study"),
        ("storage.write_iops", "700"),
        ("storage.size", "512MiB"),
    ] {
        assert_eq!(says(&*guests[2], name), value, "{name}");
    }
    for (index, guest) in guests.iter_mut().enumerate() {
        let address = guest.address();
        get(&*lab, address, &format!("/write?row{index}")).expect("answer");
        assert_eq!(get(&*lab, address, "/sync").as_deref(), Some("synced"));
        guest.kill().expect("killed");
    }
    up(&*lab, &mut guests);
    for (index, guest) in guests.iter_mut().enumerate() {
        let row = format!("row{index}");
        assert_eq!(
            get(&*lab, guest.address(), "/row").as_deref(),
            Some(row.as_str())
        );
        guest.stop(Duration::from_secs(20)).expect("stopped");
        assert_eq!(
            fs::read_to_string(guest.data_dir().join("row")).expect("read"),
            row
        );
    }
    assert_eq!(loop_devices(&fixture), 2);
    guests.remove(0).remove().expect("removed");
    assert_eq!(loop_devices(&fixture), 2, "another guest is on it");
    remove_all(&mut guests).expect("removed");
    assert_eq!(
        loop_devices(&fixture),
        0,
        "a volume goes with its last guest, while the lab's libvirt lives"
    );
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after the end");
}

/// A file system that the machine mounts, XFS of a module of its kernel or ext4.
fn of_role(file_system: FileSystem) -> VolumeSpec {
    let ext4 = ext4(320);
    match file_system {
        FileSystem::Ext4 => VolumeSpec {
            mounted_by: MountedBy::Guest,
            ..ext4
        },
        other => VolumeSpec {
            file_system: Some(other),
            mounted_by: MountedBy::Guest,
            barriers: None,
            journal: None,
            ..ext4
        },
    }
}

/// A disk of a role, to which `moved` goes.
fn role_on(volume: &Volume, moved: RoleMove, write_iops: Option<u64>) -> RoleProvision {
    RoleProvision {
        volume: volume.name().to_owned(),
        moved: vec![moved],
        limits: IoLimits {
            write_iops,
            ..IoLimits::default()
        },
    }
}

fn row() -> RoleMove {
    RoleMove::Files {
        directory: String::new(),
        prefix: "row".to_owned(),
    }
}

fn loop_devices(fixture: &Fixture) -> usize {
    let traces = fixture.traces().into_iter();
    traces
        .filter(|trace| trace.starts_with("loop device"))
        .count()
}

/// What was moved to a disk, and what was flushed there, survives the sudden end of the machine.
fn roles_have_disks_of_their_own(_: Kind) {
    let fixture = Fixture::new();
    let mut lab = lab_of(&fixture);
    let log = lab
        .volume("g1-log", &of_role(FileSystem::Ext4))
        .expect("a volume");
    let temporary = lab
        .volume("g1-temporary", &of_role(FileSystem::Xfs))
        .expect("a volume");
    let directory = RoleMove::Directory {
        path: "scratch".to_owned(),
        name: "files".to_owned(),
    };
    let provision = Provision {
        roles: BTreeMap::from([
            (StorageRole::Log, role_on(&log, row(), Some(700))),
            (StorageRole::Temporary, role_on(&temporary, directory, None)),
        ]),
        ..Provision::default()
    };
    let guest = lab.create_with(&template(&*lab), &spec(1, &[]), &provision);
    let mut guests = vec![guest.expect("guest")];
    drop((log, temporary));
    for kept in ["kept", "kept again"] {
        up(&*lab, &mut guests);
        let guest = &*guests[0];
        let page = |target: &str| get(&*lab, guest.address(), target).unwrap_or_default();
        assert_eq!(page("/file?/volumes/log/row"), "first", "{kept}");
        assert_eq!(
            guest.link_in_data("scratch").as_deref(),
            Some(Path::new("/volumes/temporary/files"))
        );
        assert_eq!(guest.link_in_data("no/such"), None);
        assert_eq!(page("/append?/volumes/temporary/files/a"), "appended");
        assert_eq!(guest.volume_fault(VolumeLook::Thorough), None);
        for (name, value) in [
            ("storage.log.filesystem", "ext4"),
            ("storage.log.atime", "noatime"),
            ("storage.log.barriers", "off"),
            ("storage.log.journal", "writeback"),
            ("storage.log.size", "320MiB"),
            ("storage.log.write_iops", "700"),
            ("storage.temporary.filesystem", "xfs"),
            ("storage.temporary.atime", "noatime"),
        ] {
            let in_force = guest.in_force();
            let reading = in_force.iter().find(|reading| reading.name == name);
            let reading = reading.unwrap_or_else(|| panic!("{name}: {in_force:?}"));
            assert_eq!(
                (&*reading.asked, &*reading.effective),
                (value, value),
                "{name}"
            );
        }
        guests[0].kill().expect("killed");
    }
    assert_eq!(loop_devices(&fixture), 2);
    remove_all(&mut guests).expect("removed");
    assert_eq!(loop_devices(&fixture), 0, "they go with the guest");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after the end");
}

/// A file that is larger than the disk to which it is moved.
fn a_role_without_room_fails_as_full(_: Kind) {
    let fixture = Fixture::new();
    let mut lab = lab_of(&fixture);
    let small = VolumeSpec {
        size_mib: 16,
        ..of_role(FileSystem::Ext4)
    };
    let volume = lab.volume("g1-log", &small).expect("a volume");
    let provision = Provision {
        roles: BTreeMap::from([(StorageRole::Log, role_on(&volume, row(), None))]),
        ..Provision::default()
    };
    let fill = |data: &Path| {
        let written = fs::write(data.join("row"), vec![7; 32 << 20]);
        written.map(|()| None).map_err(FillError::from)
    };
    let large = build(&*lab, "conformance, a large file", None, Fill::Data(&fill));
    let mut guest = lab
        .create_with(&large, &spec(1, &[]), &provision)
        .expect("guest");
    drop(volume);
    guest.start().expect("started");
    let ended = end_of(&mut *guest);
    assert!(
        matches!(&ended, GuestState::Ended(why) if why.contains("No space left")),
        "{ended:?}"
    );
    assert!(matches!(
        guest.volume_fault(VolumeLook::Thorough),
        Some(VolumeFault::Full(_))
    ));
    drop(guest);
    lab.close().expect("closed");
    fixture.assert_no_traces("after the end");
}

fn a_volume_that_the_host_mounts_is_no_role(_: Kind) {
    let fixture = Fixture::new();
    let mut lab = lab_of(&fixture);
    for (name, spec_of) in [("mounted", ext4(64)), ("raw", raw())] {
        let volume = lab.volume(name, &spec_of).expect("a volume");
        let provision = Provision {
            roles: BTreeMap::from([(StorageRole::Log, role_on(&volume, row(), None))]),
            ..Provision::default()
        };
        let refused = lab.create_with(&template(&*lab), &spec(1, &[]), &provision);
        let error = refused.err().expect("refused");
        assert!(
            error.to_string().contains("none that a machine can mount") && error.help().is_some(),
            "{error}"
        );
    }
    lab.close().expect("closed");
    fixture.assert_no_traces("after the end");
}

/// The file, the device, the file system, the mount and the view of libvirt can fail. Of the volume
/// of a role all of that but the mount.
fn a_fault_at_any_step_of_a_volume_leaves_nothing(_: Kind) {
    let mut faults = 0;
    for n in 1.. {
        let fixture = Fixture::new();
        let host = Arc::new(FaultyHost::failing_at(n));
        let Ok(mut lab) = open_lab(
            &LabShape::Vm(Box::new(shape())),
            fixture.site(),
            Arc::clone(&host) as Arc<dyn Host>,
        ) else {
            fixture.assert_no_traces(&format!("after fault {n}, while the lab opened"));
            continue;
        };
        // That of a role is mounted by the machine.
        let made = lab
            .volume("g1", &ext4(DISK_MIB))
            .and_then(|_data| lab.volume("g1-log", &of_role(FileSystem::Ext4)));
        let failed = host.has_failed();
        assert_eq!(made.is_err(), failed, "fault {n}");
        drop(made);
        lab.close().expect("closed");
        fixture.assert_no_traces(&format!("after fault {n}"));
        if !failed {
            break;
        }
        faults += 1;
    }
    assert_eq!(faults, 9);
}

fn a_volume_that_is_too_small_is_refused(_: Kind) {
    let fixture = Fixture::new();
    let mut lab = lab_of(&fixture);
    let volume = lab.volume("g1", &ext4(DISK_MIB / 2)).expect("a volume");
    let provision = Provision {
        volume: Some(volume.name().to_owned()),
        ..Provision::default()
    };
    let error = lab
        .create_with(&template(&*lab), &spec(1, &[]), &provision)
        .err()
        .expect("refused");
    assert!(
        error
            .to_string()
            .contains("a disk of 512 MiB on a volume of 256 MiB")
            && error.help().is_some_and(|help| help.contains("disk_size")),
        "{error}"
    );
    drop(volume);
    lab.close().expect("closed");
    fixture.assert_no_traces("after the end");
}

/// The lab's libvirtd has a mount namespace of its own, and there no volume of another run, nor the
/// clone of a container that lies on one.
fn volumes_of_others_are_not_held(_: Kind) {
    let other = Fixture::new();
    let mut containers = other.lab(Kind::Container);
    let volume = containers.volume("g1", &ext4(96)).expect("a volume");
    let mut guest = create_on(&*containers, &spec(1, &["serve"]), Some(volume));
    let fixture = Fixture::new();
    let mut machines = lab_of(&fixture);
    guest.remove().expect("the volume goes with its last guest");
    containers.close().expect("the volume is removed");
    other.assert_no_traces("while another lab is open");
    machines.close().expect("closed");
}

fn volumes_of_a_killed_controller_are_cleaned_away(_: Kind) {
    let fixture = Fixture::new();
    let controller = Controller::start_on_volumes(&fixture, &shape(), DISK_MIB + 96);
    let devices = fixture
        .traces()
        .into_iter()
        .filter(|trace| trace.starts_with("loop device"))
        .count();
    assert_eq!(devices, 4, "two for each machine");
    controller.kill();
    let run = RunId::try_from(fixture.run.clone()).expect("run id");
    let report = clean(&CleanOptions {
        labels: Some(vec![run]),
    })
    .expect("cleaned");
    assert!(report.failed.is_empty(), "{report:?}");
    fixture.assert_no_traces("after clean");
}
