//! Cases for every kind of guest.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rookery_guest::{
    CleanOptions, Guest, GuestError, GuestSpec, GuestState, Kind, LabShape, NotReadyReason, clean,
    inventory, remove_all, start_all,
};
use rookery_host::FaultyHost;

use crate::{
    Case,
    fixture::{
        Controller, Fixture, PATIENCE, base, create, end_of, get, healthy, layered, spec, template,
        up,
    },
};

/// What holds for all kinds, the fake included.
pub(crate) const ALL: &[Case] = &[
    (
        "lives_from_created_to_removed",
        lives_from_created_to_removed,
    ),
    ("data_is_a_private_copy", data_is_a_private_copy),
    ("keeps_its_log", keeps_its_log),
    ("eight_in_parallel", eight_in_parallel),
    ("dropping_removes", dropping_removes),
    (
        "a_stop_request_ends_the_start",
        a_stop_request_ends_the_start,
    ),
    ("bad_shapes_are_refused", bad_shapes_are_refused),
    ("closing_twice_is_fine", closing_twice_is_fine),
    ("starts_again_with_its_data", starts_again_with_its_data),
    ("a_base_alone_is_refused", a_base_alone_is_refused),
];

/// What of the two sets below and above is run on virtual machines: those that do not write the
/// data from outside, and not all of those that boot, for each boot takes seconds.
pub(crate) const VM: &[Case] = &[
    ("bad_shapes_are_refused", bad_shapes_are_refused),
    ("closing_twice_is_fine", closing_twice_is_fine),
    ("a_base_alone_is_refused", a_base_alone_is_refused),
    ("eight_in_parallel", eight_in_parallel),
    (
        "a_stop_request_ends_the_start",
        a_stop_request_ends_the_start,
    ),
    ("files_arrive_filled", files_arrive_filled),
    (
        "a_death_before_health_shows_its_log",
        a_death_before_health_shows_its_log,
    ),
    (
        "clean_after_a_killed_controller",
        clean_after_a_killed_controller,
    ),
    (
        "clean_after_a_kill_at_any_moment",
        clean_after_a_kill_at_any_moment,
    ),
    ("a_living_run_is_left_alone", a_living_run_is_left_alone),
];

/// What holds for kinds with processes.
pub(crate) const PROCESS: &[Case] = &[
    (
        "answers_inside_the_lab_network",
        answers_inside_the_lab_network,
    ),
    ("runs_on_the_cpus_asked_for", runs_on_the_cpus_asked_for),
    ("usage_grows", usage_grows),
    ("files_arrive_filled", files_arrive_filled),
    ("a_killed_guest_serves_again", a_killed_guest_serves_again),
    ("a_dead_guest_serves_again", a_dead_guest_serves_again),
    ("data_of_a_layer_are_cloned", data_of_a_layer_are_cloned),
    ("stops_gracefully", stops_gracefully),
    ("a_stubborn_guest_is_killed", a_stubborn_guest_is_killed),
    ("kill_takes_the_children_too", kill_takes_the_children_too),
    ("ends_by_itself", ends_by_itself),
    (
        "a_death_before_health_shows_its_log",
        a_death_before_health_shows_its_log,
    ),
    ("a_silent_guest_is_late", a_silent_guest_is_late),
    (
        "every_failing_step_leaves_nothing",
        every_failing_step_leaves_nothing,
    ),
    (
        "clean_after_a_killed_controller",
        clean_after_a_killed_controller,
    ),
    (
        "clean_after_a_kill_at_any_moment",
        clean_after_a_kill_at_any_moment,
    ),
    ("strangers_are_left_alone", strangers_are_left_alone),
    ("a_living_run_is_left_alone", a_living_run_is_left_alone),
    (
        "a_run_opens_again_after_its_controller_died",
        a_run_opens_again_after_its_controller_died,
    ),
];

fn lives_from_created_to_removed(kind: Kind) {
    let fixture = Fixture::new();
    let mut lab = fixture.lab(kind);
    assert_eq!(lab.kind(), kind);
    let mut guest = create(&*lab, &spec(1, &[]));
    assert_eq!(guest.name(), "g1");
    assert_eq!(guest.state(), GuestState::Created);
    assert!(guest.data_dir().join("row").is_file());
    let mut guests = vec![guest];
    up(&*lab, &mut guests);
    let guest = &mut guests[0];
    assert_eq!(guest.state(), GuestState::Running);
    guest.kill().expect("killed");
    assert_eq!(
        guest.state(),
        GuestState::Ended("killed by signal 9".into())
    );
    assert!(
        guest.data_dir().join("row").is_file(),
        "the data outlives the guest until it is removed"
    );
    guest.kill().expect("killing the dead is fine");
    guest.remove().expect("removed");
    guest.remove().expect("removing again is fine");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
}

fn data_is_a_private_copy(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let template = template(&*lab);
    let (one, two) = (create(&*lab, &spec(1, &[])), create(&*lab, &spec(2, &[])));
    fs::write(one.data_dir().join("row"), "changed").expect("written");
    assert_eq!(
        fs::read_to_string(two.data_dir().join("row")).expect("read"),
        "first"
    );
    assert_eq!(
        fs::read_to_string(template.root.join("data/row")).expect("read"),
        "first"
    );
}

fn keeps_its_log(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(&*lab, &spec(1, &[]));
    assert!(
        guest.log_tail(1000).contains("starts"),
        "{}",
        guest.log_tail(1000)
    );
    guest.remove().expect("removed");
    assert!(
        guest.log_tail(1000).contains("starts"),
        "the log outlives the guest"
    );
}

fn eight_in_parallel(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let wanted = |number| GuestSpec {
        // As much as a machine with a database would have.
        memory_mib: Some(512),
        ..spec(number, &[])
    };
    let mut guests: Vec<_> = (1..=8)
        .map(|number| create(&*lab, &wanted(number)))
        .collect();
    up(&*lab, &mut guests);
    let mut addresses: Vec<_> = guests.iter().map(|guest| guest.address()).collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 8, "every guest has its own address");
    assert!(
        guests
            .iter_mut()
            .all(|guest| guest.state() == GuestState::Running)
    );
    remove_all(&mut guests).expect("removed");
    assert!(
        guests
            .iter_mut()
            .all(|guest| guest.state() != GuestState::Running)
    );
}

fn dropping_removes(kind: Kind) {
    let fixture = Fixture::new();
    {
        let lab = fixture.lab(kind);
        let _guest = healthy(&*lab, &spec(1, &[]));
    }
    fixture.assert_no_traces("after drop");
}

fn a_stop_request_ends_the_start(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    let error = start_all(
        &mut guests,
        &*lab,
        PATIENCE,
        &|_| {},
        &AtomicBool::new(true),
    )
    .expect_err("stopped");
    assert!(matches!(error, GuestError::Stopped { .. }), "{error}");
}

fn bad_shapes_are_refused(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let template = template(&*lab);
    let mut bad = spec(1, &[]);
    bad.name = "../escape".into();
    assert!(lab.create(&template, &bad).is_err());
    let _one = create(&*lab, &spec(1, &[]));
    assert!(
        lab.create(&template, &spec(1, &[])).is_err(),
        "the name is taken"
    );
}

fn starts_again_with_its_data(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    up(&*lab, &mut guests);
    let address = guests[0].address();
    assert!(guests[0].start().is_err(), "it runs already");
    guests[0].kill().expect("killed");
    fs::write(guests[0].data_dir().join("row"), "kept").expect("written");
    up(&*lab, &mut guests);
    assert_eq!(guests[0].state(), GuestState::Running);
    assert_eq!(guests[0].address(), address);
    guests[0].stop(Duration::from_millis(50)).expect("stopped");
    up(&*lab, &mut guests);
    assert_eq!(
        fs::read_to_string(guests[0].data_dir().join("row")).expect("read"),
        "kept"
    );
    drop(guests);
    drop(lab);
    fixture.assert_no_traces("after three lives");
}

fn a_base_alone_is_refused(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let before = fixture.traces();
    let error = lab
        .create(&base(&*lab), &spec(1, &[]))
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("has no program"), "{error}");
    assert_eq!(fixture.traces(), before);
}

fn files_arrive_filled(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut with_files = spec(1, &["conf={conf}", "run={run}"]);
    with_files.files = vec![rookery_guest::GuestFile {
        path: "deep/conf.php".into(),
        text: "{listen} {address} {port} {data} {conf} {run} {nothing}".into(),
        readers: rookery_guest::FileReaders::All,
    }];
    let mut guest = healthy(&*lab, &with_files);
    let log = guest.log_tail(1000);
    let word = |key: &str| {
        let (_, rest) = log.split_once(key).expect("told");
        rest.split_whitespace().next().expect("a path").to_owned()
    };
    let (conf, run) = (word("conf="), word("run="));
    let (data, address) = (word("data="), guest.address());
    let expected = format!(
        "{address} {} {} {data} {conf} {run} {{nothing}}",
        address.ip(),
        address.port()
    );
    let get = |target: &str| get(&*lab, address, target);
    assert_eq!(get(&format!("/file?{conf}/deep/conf.php")), Some(expected));
    assert_eq!(
        get(&format!("/append?{run}/socket")).as_deref(),
        Some("appended")
    );
    guest.remove().expect("removed");
}

fn a_killed_guest_serves_again(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![healthy(&*lab, &spec(1, &["child"]))];
    get(&*lab, guests[0].address(), "/write?second");
    guests[0].kill().expect("killed");
    up(&*lab, &mut guests);
    assert_eq!(
        get(&*lab, guests[0].address(), "/row").as_deref(),
        Some("second")
    );
    assert_eq!(
        crate::traces::processes(&fixture.run).len(),
        2,
        "none of the first life is left"
    );
    let mut probe = guests[0].usage_probe();
    assert!(probe().expect("running").memory_bytes > 0);
}

fn a_dead_guest_serves_again(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![healthy(&*lab, &spec(1, &["child"]))];
    get(&*lab, guests[0].address(), "/exit");
    assert_eq!(
        end_of(&mut *guests[0]),
        GuestState::Ended("exit code 3".into())
    );
    up(&*lab, &mut guests);
    assert_eq!(
        get(&*lab, guests[0].address(), "/row").as_deref(),
        Some("first")
    );
    assert!(
        guests[0]
            .log_tail(4000)
            .matches("guest program starts")
            .count()
            >= 2,
        "the log goes on"
    );
}

fn data_of_a_layer_are_cloned(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let template = layered(&*lab);
    assert_eq!(template.layers.len(), 3, "program, data, base");
    let mut guests = vec![lab.create(&template, &spec(1, &[])).expect("guest")];
    up(&*lab, &mut guests);
    let address = guests[0].address();
    assert_eq!(get(&*lab, address, "/row").as_deref(), Some("layered"));
    assert_eq!(
        get(&*lab, address, "/write?changed").as_deref(),
        Some("written")
    );
    assert_eq!(
        fs::read_to_string(template.root.join("data/row")).expect("read"),
        "layered"
    );
    if kind == Kind::Container {
        assert_eq!(
            get(&*lab, address, "/file?/etc/release").as_deref(),
            Some("base"),
            "the base shows through"
        );
    }
    if rustix::process::geteuid().is_root() {
        let owner = |path: std::path::PathBuf| {
            std::os::unix::fs::MetadataExt::uid(&path.metadata().expect("there"))
        };
        assert_eq!(owner(guests[0].data_dir().to_owned()), 33);
        assert_eq!(owner(guests[0].data_dir().join("row")), 33);
    }
}

fn closing_twice_is_fine(kind: Kind) {
    let fixture = Fixture::new();
    let mut lab = fixture.lab(kind);
    lab.close().expect("closed");
    lab.close().expect("closed again");
    fixture.assert_no_traces("after close");
}

fn answers_inside_the_lab_network(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let guest = healthy(&*lab, &spec(1, &[]));
    assert_eq!(
        get(&*lab, guest.address(), "/row").as_deref(),
        Some("first")
    );
    assert_eq!(
        get(&*lab, guest.address(), "/write?second").as_deref(),
        Some("written")
    );
    assert_eq!(
        fs::read_to_string(guest.data_dir().join("row")).expect("read"),
        "second",
        "the host sees the guest's data"
    );
}

fn runs_on_the_cpus_asked_for(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let usable = rookery_host::Topology::read(fixture.dir.path())
        .expect("topology")
        .usable_cpus;
    let last = *usable.last().expect("a CPU");
    let guest = healthy(
        &*lab,
        &rookery_guest::GuestSpec {
            cpus: vec![last],
            ..spec(1, &[])
        },
    );
    assert_eq!(get(&*lab, guest.address(), "/cpus"), Some(last.to_string()));
}

fn usage_grows(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(&*lab, &spec(1, &[]));
    let mut probe = guest.usage_probe();
    let before = probe().expect("running");
    for _ in 0..4 {
        get(&*lab, guest.address(), "/burn").expect("answer");
    }
    let after = probe().expect("running");
    // The pages burn 200 ms of wall time; how much CPU that is, the machine's other work decides.
    assert!(after.cpu_us > before.cpu_us, "{before:?} {after:?}");
    assert!(after.memory_bytes > 0);
    guest.remove().expect("removed");
    assert_eq!(guest.usage_probe()(), None);
}

fn stops_gracefully(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(&*lab, &spec(1, &["graceful"]));
    guest.stop(PATIENCE).expect("stopped");
    assert_eq!(guest.state(), GuestState::Ended("exit code 0".into()));
}

fn a_stubborn_guest_is_killed(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(&*lab, &spec(1, &["stubborn"]));
    guest.stop(Duration::from_millis(50)).expect("stopped");
    assert_eq!(
        guest.state(),
        GuestState::Ended("killed by signal 9".into())
    );
}

fn kill_takes_the_children_too(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(&*lab, &spec(1, &["child"]));
    assert_eq!(crate::traces::processes(&fixture.run).len(), 2);
    guest.kill().expect("killed");
    assert!(crate::traces::processes(&fixture.run).is_empty());
}

fn ends_by_itself(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guest = healthy(&*lab, &spec(1, &[]));
    get(&*lab, guest.address(), "/exit");
    assert_eq!(end_of(&mut *guest), GuestState::Ended("exit code 3".into()));
    guest.remove().expect("removed");
}

fn a_death_before_health_shows_its_log(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &["dies"]))];
    let error = start_all(
        &mut guests,
        &*lab,
        5 * PATIENCE,
        &|_| {},
        &AtomicBool::new(false),
    )
    .expect_err("died");
    let text = error.to_string();
    assert!(
        text.contains("I give up") && text.contains("g1") && text.contains("exit code 7"),
        "{text}"
    );
}

fn a_silent_guest_is_late(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &["silent"]))];
    let error = start_all(
        &mut guests,
        &*lab,
        Duration::from_millis(300),
        &|_| {},
        &AtomicBool::new(false),
    )
    .expect_err("late");
    assert!(
        matches!(
            &error,
            GuestError::NotReady {
                reason: NotReadyReason::Late { .. },
                ..
            }
        ),
        "{error}"
    );
}

fn every_failing_step_leaves_nothing(kind: Kind) {
    failing_steps_leave_nothing(&kind.into(), &spec(1, &[]));
}

/// The n-th change of the host fails, for n = 1, 2, 3, ... until a whole life needs fewer.
pub(crate) fn failing_steps_leave_nothing(shape: &LabShape, spec: &GuestSpec) {
    for after_the_deed in [false, true] {
        for n in 1.. {
            assert!(n < 100, "a life of a guest takes fewer changes than that");
            let fixture = Fixture::new();
            let host = Arc::new(if after_the_deed {
                FaultyHost::failing_after(n)
            } else {
                FaultyHost::failing_at(n)
            });
            let lived = live(&fixture, (shape, spec), &host);
            fixture.assert_no_traces(&format!(
                "after fault {n} (after the deed: {after_the_deed})"
            ));
            if !host.has_failed() {
                lived.expect("no fault, no failure");
                break;
            }
            let error = lived.expect_err("the fault is told");
            assert!(error.to_string().contains("injected"), "fault {n}: {error}");
        }
    }
}

/// Open, create, start; everything is dropped at the end. After a failed create the lab must hold
/// no trace of the guest.
fn live(
    fixture: &Fixture,
    (shape, spec): (&LabShape, &GuestSpec),
    host: &Arc<FaultyHost>,
) -> Result<(), GuestError> {
    let lab = fixture.lab_of(shape, Arc::clone(host) as Arc<dyn rookery_host::Host>)?;
    let fill = |_: &std::path::Path| Ok(None);
    let program = std::env::current_exe().expect("own path");
    let recipe = rookery_guest::Recipe {
        description: "conformance, empty".into(),
        program,
        base: None,
        fill: rookery_guest::Fill::Data(&fill),
    };
    let template = lab.template(&recipe, &rookery_guest::patient)?;
    let before = fixture.traces();
    let created = lab.create(&template, spec);
    if created.is_err() {
        assert_eq!(fixture.traces(), before, "a failed create leaves nothing");
    }
    let mut guests = vec![created?];
    let start = |guests: &mut [Box<dyn Guest>]| {
        start_all(guests, &*lab, PATIENCE, &|_| {}, &AtomicBool::new(false)).map(drop)
    };
    start(&mut guests)?;
    // And once more: the steps of a second start can fail as well.
    guests[0].kill()?;
    start(&mut guests)
}

fn clean_after_a_killed_controller(kind: Kind) {
    let fixture = Fixture::new();
    let controller = Controller::start(&fixture, kind);
    assert!(fixture.traces().len() >= 4, "{:?}", fixture.traces());
    controller.kill();
    let run = rookery_host::RunId::try_from(fixture.run.clone()).expect("run id");
    let left: Vec<_> = inventory()
        .expect("inventory")
        .into_iter()
        .filter(|thing| thing.run == run)
        .collect();
    assert!(
        !left.is_empty() && left.iter().all(|thing| !thing.alive),
        "{left:?}"
    );
    let options = CleanOptions {
        labels: Some(vec![run]),
    };
    let report = clean(&options).expect("cleaned");
    assert!(
        report.failed.is_empty() && !report.removed.is_empty(),
        "{report:?}"
    );
    fixture.assert_no_traces("after clean");
    assert!(
        fixture.dir.path().join("logs/g1.log").is_file(),
        "logs stay"
    );
    let again = clean(&options).expect("cleaned again");
    assert!(
        again.removed.is_empty() && again.failed.is_empty(),
        "{again:?}"
    );
}

/// Wherever the controller is when it is killed - opening, cloning, starting, removing, closing - a
/// clean-up leaves nothing.
fn clean_after_a_kill_at_any_moment(kind: Kind) {
    // The template is there already: the moments fall into the life of guests.
    drop(template(&*Fixture::new().lab(kind)));
    for moment in 0..12_u32 {
        let fixture = Fixture::new();
        let controller = Controller::churning(&fixture, kind);
        thread::sleep(Duration::from_millis(u64::from(7 + moment * 37)));
        controller.kill();
        let run = rookery_host::RunId::try_from(fixture.run.clone()).expect("run id");
        let report = clean(&CleanOptions {
            labels: Some(vec![run]),
        })
        .expect("cleaned");
        assert!(report.failed.is_empty(), "moment {moment}: {report:?}");
        fixture.assert_no_traces(&format!("moment {moment}"));
    }
}

/// Processes and namespaces whose labels only look like those of the dead run survive its clean-up.
fn strangers_are_left_alone(kind: Kind) {
    let fixture = Fixture::new();
    let controller = Controller::start(&fixture, kind);
    let sleeper = |key: &str, value: &str| {
        std::process::Command::new("sleep")
            .arg("600")
            .env(key, value)
            .spawn()
            .expect("sleep")
    };
    let mut sleepers = [
        sleeper("ROOKERY_RUN", &format!("{}y", fixture.run)),
        sleeper("NOT_ROOKERY_RUN", &fixture.run),
    ];
    let names = [
        format!("rookery-{}y", fixture.run),
        format!("x-rookery-{}", fixture.run),
    ];
    if kind == Kind::Container {
        names
            .iter()
            .for_each(|name| rookery_host::make_netns(name, || Ok(())).expect("namespace"));
    }
    controller.kill();
    let run = rookery_host::RunId::try_from(fixture.run.clone()).expect("run id");
    let report = clean(&CleanOptions {
        labels: Some(vec![run]),
    })
    .expect("cleaned");
    let alive: Vec<bool> = sleepers
        .iter_mut()
        .map(|child| child.try_wait().expect("watched").is_none())
        .collect();
    let present: Vec<bool> = names
        .iter()
        .map(|name| rookery_host::netns_path(name).exists())
        .collect();
    for child in &mut sleepers {
        child.kill().expect("killed");
        child.wait().expect("reaped");
    }
    if kind == Kind::Container {
        names
            .iter()
            .for_each(|name| rookery_host::remove_netns(name).expect("removed"));
    }
    assert!(report.failed.is_empty(), "{report:?}");
    assert_eq!(alive, [true, true]);
    assert_eq!(present, [kind == Kind::Container; 2]);
    fixture.assert_no_traces("after clean");
}

fn a_living_run_is_left_alone(kind: Kind) {
    let fixture = Fixture::new();
    let controller = Controller::start(&fixture, kind);
    let run = rookery_host::RunId::try_from(fixture.run.clone()).expect("run id");
    let before = fixture.traces();
    let report = clean(&CleanOptions {
        labels: Some(vec![run.clone()]),
    })
    .expect("cleaned");
    assert_eq!((report.alive, report.removed), (vec![run.clone()], vec![]));
    assert_eq!(fixture.traces(), before);
    assert!(
        fixture
            .lab_on(kind, Arc::new(rookery_host::RealHost))
            .is_err(),
        "nor may another conduct it"
    );
    // Even without its registration: its processes name their controller.
    let registration = format!("/run/rookery/runs/{}.json", fixture.run);
    if std::path::Path::new(&registration).exists() {
        fs::remove_file(&registration).expect("removed");
        assert_eq!(
            clean(&CleanOptions {
                labels: Some(vec![run.clone()])
            })
            .expect("cleaned")
            .alive,
            std::slice::from_ref(&run)
        );
    }
    controller.kill();
    let report = clean(&CleanOptions {
        labels: Some(vec![run]),
    })
    .expect("cleaned");
    assert!(report.failed.is_empty(), "{report:?}");
    let mut left = fixture.traces();
    if kind != Kind::Container {
        // Without a registration nobody knows where the clone of a guest lies that is mounted
        // nowhere.
        left.retain(|trace| !trace.starts_with("clone "));
    }
    assert!(left.is_empty(), "{left:#?}");
}

fn a_run_opens_again_after_its_controller_died(kind: Kind) {
    let fixture = Fixture::new();
    Controller::start(&fixture, kind).kill();
    let lab = fixture.lab(kind);
    let stop = AtomicBool::new(false);
    let mut guests: Vec<Box<dyn Guest>> = vec![create(&*lab, &spec(1, &[]))];
    start_all(&mut guests, &*lab, PATIENCE, &|_| {}, &stop).expect("healthy");
    assert!(!stop.load(Ordering::Relaxed));
    drop(guests);
    drop(lab);
    fixture.assert_no_traces("after the second life");
}
