//! Cases for containers only: limits in force, the host's own network untouched.

use std::time::Duration;

use rookery_guest::{FileReaders, GuestFile, GuestSpec, GuestState, GuestUser, Kind};

use crate::{
    Case,
    fixture::{Fixture, create, end_of, get, healthy, layered, spec, up},
    traces::links,
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    ("cpu_quota_is_in_force", cpu_quota_is_in_force),
    ("cpu_is_shared_by_weight", cpu_is_shared_by_weight),
    ("memory_limit_is_in_force", memory_limit_is_in_force),
    ("pids_limit_is_in_force", pids_limit_is_in_force),
    ("the_user_is_in_force", the_user_is_in_force),
    (
        "files_cannot_be_changed_inside",
        files_cannot_be_changed_inside,
    ),
    (
        "links_of_the_host_do_not_change",
        links_of_the_host_do_not_change,
    ),
    (
        "a_run_that_announces_itself_is_left_alone",
        a_run_that_announces_itself_is_left_alone,
    ),
    ("guests_are_found_by_name", guests_are_found_by_name),
    (
        "the_driver_does_not_run_out_of_ports",
        the_driver_does_not_run_out_of_ports,
    ),
    ("a_name_alone_is_no_evidence", a_name_alone_is_no_evidence),
];

/// Somebody else's namespace and control group may be called as ours are; without a registration, a
/// process, a clone or a state they stay.
fn a_name_alone_is_no_evidence(_: Kind) {
    // As long as a run's id may be, and no id of a fixture.
    let id = format!("web{}", std::process::id());
    let name = format!("rookery-{id}");
    let cgroups = rookery_host::Cgroups::detect().expect("mounts");
    let group = cgroups
        .directory("pids", &format!("rookery/{id}"))
        .expect("a hierarchy");
    rookery_host::make_netns(&name, || Ok(())).expect("namespace");
    std::fs::create_dir_all(&group).expect("group");
    let run = rookery_host::RunId::try_from(id).expect("run id");
    let known = rookery_guest::inventory().expect("inventory");
    let report = rookery_guest::clean(&rookery_guest::CleanOptions {
        labels: Some(vec![run.clone()]),
    })
    .expect("cleaned");
    let stayed = [rookery_host::netns_path(&name).exists(), group.exists()];
    rookery_host::remove_netns(&name).expect("removed");
    std::fs::remove_dir(&group).expect("removed");
    cgroups.remove_if_empty("rookery");
    assert_eq!(stayed, [true, true], "{report:?}");
    assert!(
        report.removed.is_empty() && report.failed.is_empty(),
        "{report:?}"
    );
    assert!(known.iter().all(|thing| thing.run != run), "{known:?}");
}

fn cpu_quota_is_in_force(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let guest = healthy(
        &*lab,
        &GuestSpec {
            cpu_time: rookery_guest::CpuTime::cap(0.25),
            ..spec(1, &[])
        },
    );
    let mut probe = guest.usage_probe();
    let (before, begin) = (probe().expect("running"), std::time::Instant::now());
    while begin.elapsed() < Duration::from_millis(600) {
        get(&*lab, guest.address(), "/burn").expect("answer");
    }
    let cores = (probe().expect("running").cpu_us - before.cpu_us) as f64
        / 1e6
        / begin.elapsed().as_secs_f64();
    // It asks for a whole core and is cut down; a busy machine gives it less, never more.
    assert!(cores < 0.35, "{cores} cores");
}

/// Two guests that want the same CPU, one with a share of three times the other's.
fn cpu_is_shared_by_weight(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let shares = |number: u16, cores: f64| {
        healthy(
            &*lab,
            &GuestSpec {
                cpus: vec![0],
                cpu_time: rookery_guest::CpuTime::Share { cores },
                ..spec(number, &[])
            },
        )
    };
    let guests = [shares(1, 0.25), shares(2, 0.75)];
    let mut probes: Vec<_> = guests.iter().map(|guest| guest.usage_probe()).collect();
    let mut cpu_us = || -> Vec<u64> {
        let readings = probes.iter_mut().map(|probe| probe().expect("running"));
        readings.map(|usage| usage.cpu_us).collect()
    };
    let before = cpu_us();
    let begin = std::time::Instant::now();
    std::thread::scope(|scope| {
        for guest in &guests {
            let (lab, address) = (&lab, guest.address());
            scope.spawn(move || {
                while begin.elapsed() < Duration::from_secs(2) {
                    get(&**lab, address, "/burn").expect("answer");
                }
            });
        }
    });
    let after = cpu_us();
    let used: Vec<f64> = (0..2)
        .map(|index| (after[index] - before[index]) as f64)
        .collect();
    // Other work on the machine takes from both; who asks for its next work late gives some away.
    assert!(used[1] > 1.5 * used[0] && used[0] > 0.0, "{used:?} us");
}

pub(crate) fn memory_limit_is_in_force(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(
        &*lab,
        &GuestSpec {
            memory_mib: Some(48),
            ..spec(1, &[])
        },
    );
    assert_eq!(
        get(&*lab, guest.address(), "/memory"),
        None,
        "64 MiB do not fit"
    );
    let GuestState::Ended(reason) = end_of(&mut *guest) else {
        panic!("it lives")
    };
    assert!(
        reason.starts_with("killed by signal 9 (out of memory: its limit is 48 MiB"),
        "{reason}"
    );
    let large = healthy(
        &*lab,
        &GuestSpec {
            memory_mib: Some(256),
            ..spec(2, &[])
        },
    );
    assert_eq!(
        get(&*lab, large.address(), "/memory"),
        Some((64 << 20).to_string())
    );
}

fn pids_limit_is_in_force(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let guest = healthy(
        &*lab,
        &GuestSpec {
            pids: Some(20),
            ..spec(1, &[])
        },
    );
    let made: u32 = get(&*lab, guest.address(), "/threads")
        .expect("answer")
        .parse()
        .expect("number");
    assert_eq!(made, 19, "all but the one that serves");
}

fn the_user_is_in_force(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let plain = GuestSpec {
        user: Some(GuestUser::same(33)),
        ..spec(1, &[])
    };
    let mut guests = vec![lab.create(&layered(&*lab), &plain).expect("guest")];
    up(&*lab, &mut guests);
    let get = |target: &str| get(&*lab, guests[0].address(), target).expect("answer");
    assert_eq!(
        get("/user"),
        "33 33 33 33 33 33 33 33 0000000000000000 0000000000000000"
    );
    for open in ["/data/new", "/tmp/new", "/run/new", "/dev/shm/new"] {
        assert_eq!(get(&format!("/append?{open}")), "appended", "{open}");
    }
    for closed in ["/new", "/conf/new", "/etc/release", "/program"] {
        assert_ne!(get(&format!("/append?{closed}")), "appended", "{closed}");
    }
}

/// A way beyond the guest is barred: to the user that guests of stacks have and, with the least
/// set of rights, to root.
pub(crate) fn is_barred(way: &str) {
    let fixture = Fixture::new();
    let lab = fixture.lab(Kind::Container);
    let with_files = |number, user| GuestSpec {
        user,
        files: vec![GuestFile {
            path: "a".into(),
            text: "told".into(),
            readers: FileReaders::All,
        }],
        ..spec(number, &[])
    };
    let template = layered(&*lab);
    let mut guests: Vec<_> = [(1, Some(GuestUser::same(33))), (2, None)]
        .map(|(number, user)| {
            lab.create(&template, &with_files(number, user))
                .expect("guest")
        })
        .into();
    up(&*lab, &mut guests);
    for guest in &guests {
        // Root may write what is its own in its own clone.
        if guest.name() == "g2" && way == "its_program_is_written" {
            continue;
        }
        let said = get(&*lab, guest.address(), &format!("/beyond?{way}"));
        assert_eq!(said.as_deref(), Some("refused"), "{}: {way}", guest.name());
    }
}

fn files_cannot_be_changed_inside(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let with_files = GuestSpec {
        files: vec![GuestFile {
            path: "a".into(),
            text: "told".into(),
            readers: FileReaders::All,
        }],
        ..spec(1, &[])
    };
    let guest = healthy(&*lab, &with_files);
    let read_only = std::io::ErrorKind::ReadOnlyFilesystem.to_string();
    assert_eq!(
        get(&*lab, guest.address(), "/append?/conf/a"),
        Some(read_only)
    );
    assert_eq!(
        get(&*lab, guest.address(), "/file?/conf/a").as_deref(),
        Some("told")
    );
}

fn links_of_the_host_do_not_change(kind: Kind) {
    let before = links();
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let _guest = healthy(&*lab, &spec(1, &[]));
    assert_eq!(links(), before);
}

fn a_run_that_announces_itself_is_left_alone(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let _guest = create(&*lab, &spec(1, &[]));
    // No process carries the label now, and somebody loses the registration.
    std::fs::remove_file(format!("/run/rookery/runs/{}.json", fixture.run)).expect("registered");
    let before = fixture.traces();
    let run = rookery_host::RunId::try_from(fixture.run.clone()).expect("run id");
    let options = rookery_guest::CleanOptions {
        labels: Some(vec![run.clone()]),
    };
    let report = rookery_guest::clean(&options).expect("cleaned");
    assert_eq!((report.alive, report.removed), (vec![run], vec![]));
    assert_eq!(fixture.traces(), before);
}

fn the_driver_does_not_run_out_of_ports(kind: Kind) {
    let reuse = || {
        let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_tw_reuse");
        text.expect("read").trim().to_owned()
    };
    let before = reuse();
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    assert_eq!(
        rookery_host::in_netns(lab.network(), reuse).expect("network"),
        "1"
    );
    assert_eq!(reuse(), before, "the host's own stays");
}

fn guests_are_found_by_name(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    up(&*lab, &mut guests);
    for name in [
        format!("rookery-{}-g1", fixture.run),
        format!("rookery-{}", fixture.run),
    ] {
        assert!(rookery_host::netns_path(&name).exists(), "{name}");
    }
}
