//! Machines that fail: what the error says, and that the others go on.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{
    DiskShape, Guest, GuestState, Kind, Lab, LabShape, RunDirs, VmShape, open_lab, remove_all,
    start_all, templates,
};
use rookery_host::{RealHost, in_netns};

use crate::{
    Case,
    fixture::{Fixture, PATIENCE, create, end_of, get, spec, template, up},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    ("a_broken_kernel_is_told", a_broken_kernel_is_told),
    (
        "a_broken_system_shows_the_panic",
        a_broken_system_shows_the_panic,
    ),
    (
        "a_full_disk_ends_one_guest_alone",
        a_full_disk_ends_one_guest_alone,
    ),
    (
        "a_lost_network_is_late_with_all_words",
        a_lost_network_is_late_with_all_words,
    ),
];

/// Where a case may change templates: those of the suite, in a directory of its own.
fn with_own_templates(fixture: &Fixture) -> RunDirs {
    let shared = fixture.site();
    // The system and the disk's image, built or found.
    let mut lab = fixture.lab(Kind::Vm);
    let toy = template(&*lab);
    lab.prepare(&toy, &|_, _| {}, &rookery_guest::patient)
        .expect("prepared");
    lab.close().expect("closed");
    let own = fixture.dir.path().join("templates");
    let copied = Command::new("cp")
        .arg("-al")
        .args([&shared.templates, &own])
        .status()
        .expect("cp");
    assert!(copied.success());
    RunDirs {
        templates: own,
        ..shared
    }
}

/// Make a file of the machines' system by `change` of what it was. Guests must have been created
/// before: a template that has changed makes none.
fn change_system_file(own: &Path, file: &str, change: fn(Vec<u8>) -> Vec<u8>) {
    let mut changed = 0;
    for found in templates(own).expect("templates") {
        if found.description.starts_with("system of virtual machines") {
            let path = own.join(&found.digest).join("root").join(file);
            let bytes = fs::read(&path).expect("read");
            // The file itself is that of the other templates as well.
            fs::remove_file(&path).expect("removed");
            fs::write(&path, change(bytes)).expect("written");
            changed += 1;
        }
    }
    assert!(changed > 0, "no system in {}", own.display());
}

/// The error of one that should not come up, within a time.
fn refused(lab: &dyn Lab, guests: &mut [Box<dyn Guest>], limit: Duration) -> String {
    let error = start_all(guests, lab, limit, &|_| {}, &AtomicBool::new(false))
        .expect_err("it cannot come up");
    error.to_string()
}

fn a_broken_kernel_is_told(_: Kind) {
    let fixture = Fixture::new();
    let site = with_own_templates(&fixture);
    let own = site.templates.clone();
    let mut lab = open_lab(&Kind::Vm.into(), site, Arc::new(RealHost)).expect("lab");
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    change_system_file(&own, "vmlinuz", |mut kernel| {
        kernel.truncate(kernel.len() / 2);
        kernel
    });
    let error = refused(&*lab, &mut guests, PATIENCE);
    assert!(
        error.contains("guest g1") && error.contains("before its service began"),
        "{error}"
    );
    // So early that nobody could say a word.
    assert!(error.contains("console:\n    (nothing)"), "{error}");
    remove_all(&mut guests).expect("removed");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
}

fn a_broken_system_shows_the_panic(_: Kind) {
    let fixture = Fixture::new();
    let site = with_own_templates(&fixture);
    let own = site.templates.clone();
    let lab = open_lab(&Kind::Vm.into(), site, Arc::new(RealHost)).expect("lab");
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    change_system_file(&own, "system.img", |_| vec![0; 1 << 20]);
    let error = refused(&*lab, &mut guests, 5 * PATIENCE);
    assert!(
        error.contains("the machine went away before its service began"),
        "{error}"
    );
    assert!(
        error.contains("the disk of the system cannot be mounted")
            && error.contains("Kernel panic"),
        "{error}"
    );
}

/// One writes until its disk is full, and ends; the other does not notice.
fn a_full_disk_ends_one_guest_alone(_: Kind) {
    let fixture = Fixture::new();
    let shape = VmShape {
        disk: DiskShape {
            size_mib: 256,
            ..DiskShape::default()
        },
        ..VmShape::default()
    };
    let lab = open_lab(
        &LabShape::Vm(Box::new(shape)),
        fixture.site(),
        Arc::new(RealHost),
    )
    .expect("lab");
    let mut guests = vec![create(&*lab, &spec(1, &[])), create(&*lab, &spec(2, &[]))];
    up(&*lab, &mut guests);
    assert_eq!(
        get(&*lab, guests[0].address(), "/fill"),
        None,
        "it ends over it"
    );
    assert_eq!(
        end_of(&mut *guests[0]),
        GuestState::Ended("exit code 4".into())
    );
    let log = guests[0].log_tail(1000);
    assert!(log.contains("No space left"), "{log}");
    assert_eq!(
        get(&*lab, guests[1].address(), "/row").as_deref(),
        Some("first")
    );
    guests[0].stop(Duration::ZERO).expect("its data can be had");
    assert!(
        guests[0]
            .data_dir()
            .join("filler")
            .metadata()
            .expect("there")
            .len()
            > 64 << 20
    );
    // Its next life is given no time: it is late before it has said anything.
    let error = refused(&*lab, &mut guests[..1], Duration::ZERO);
    assert!(
        error.contains("not healthy within 0ns")
            && error.contains("has told nothing")
            && error.contains("console:"),
        "{error}"
    );
}

/// The link of one goes down as soon as it is there.
fn a_lost_network_is_late_with_all_words(_: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(Kind::Vm);
    let mut guests = [create(&*lab, &spec(1, &[])), create(&*lab, &spec(2, &[]))];
    let network = lab.network().expect("of its own").to_owned();
    up(&*lab, &mut guests[1..]);
    let over = AtomicBool::new(false);
    let error = thread::scope(|scope| {
        scope.spawn(|| unplug(&network, "v1", &over));
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            refused(&*lab, &mut guests[..1], Duration::from_secs(20))
        }));
        over.store(true, Ordering::Relaxed);
        refused.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    assert!(
        error.contains("guest g1") && error.contains("not healthy within"),
        "{error}"
    );
    assert!(error.contains("console:"), "{error}");
    assert_eq!(
        get(&*lab, guests[1].address(), "/row").as_deref(),
        Some("first"),
        "the other goes on"
    );
    // It lives, and its log comes by another way.
    let deadline = Instant::now() + 5 * PATIENCE;
    while !guests[0].log_tail(4000).contains("guest program starts") {
        assert!(
            guests[0].state() == GuestState::Running && Instant::now() < deadline,
            "{error}"
        );
        thread::sleep(Duration::from_millis(100));
    }
    guests[0]
        .stop(PATIENCE)
        .expect("it can be asked without a network");
    assert!(guests[0].data_dir().join("row").is_file());
}

/// Set a link down until the end: libvirt sets it up when the machine goes on.
fn unplug(network: &Path, link: &str, over: &AtomicBool) {
    in_netns(Some(network), || {
        while !over.load(Ordering::Relaxed) {
            // Fails until the link is there.
            let _ = Command::new("ip")
                .args(["link", "set", link, "down"])
                .output();
            thread::sleep(Duration::from_millis(50));
        }
    })
    .expect("network");
}
