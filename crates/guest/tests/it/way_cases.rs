//! Ways between a lab and a driver on another host: they carry requests, fail, and leave nothing.
//! The hosts are two network namespaces on one segment.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::channel,
    },
    thread,
};

use rookery_guest::{
    CleanOptions, DriverNetwork, Guest, GuestError, Kind, LabShape, RunDirs, Way, WayKind, clean,
    dead_runs_below, open_lab,
};
use rookery_host::{FaultyHost, Host, RealHost, RunId, in_netns, in_unnamed_netns};
use rookery_study::LinkShape;

use crate::{
    Case,
    dying::Dying,
    fixture::{Fixture, create, get_from, spec, up},
    traces::{links, of_run},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    (
        "a_guest_answers_a_driver_on_another_host_through_every_way",
        a_guest_answers_a_driver_on_another_host_through_every_way,
    ),
    (
        "where_no_direct_way_leads_it_is_said_why",
        where_no_direct_way_leads_it_is_said_why,
    ),
    (
        "every_failing_step_of_a_way_leaves_nothing",
        every_failing_step_of_a_way_leaves_nothing,
    ),
    (
        "sudden_death_at_any_step_of_a_way_leaves_nothing_after_clean",
        sudden_death_at_any_step_of_a_way_leaves_nothing_after_clean,
    ),
];

/// The hosts of the guests and of the driver.
const GUESTS_HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const DRIVERS_HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// Which end of a way.
#[derive(Clone, Copy, Debug)]
enum End {
    Lab,
    Driver,
}

/// Do `work` on the host of the guests, and give it the namespace of the driver's host.
fn on_segment<T: Send>(work: impl FnOnce(&Path) -> T + Send) -> T {
    let on_hosts = move || {
        let (told, made) = channel();
        let (done, waits) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                in_unnamed_netns(move || {
                    told.send(own_namespace()).expect("awaited");
                    // Ends with the sender.
                    let _ = waits.recv();
                })
            });
            let other = made.recv().expect("a namespace");
            let far = other.display();
            ip(&format!(
                "link set lo up\nlink add s0 type veth peer name s1 netns {far}\n\
                 address add {GUESTS_HOST}/24 dev s0\nlink set s0 up\n"
            ));
            let lines = format!("address add {DRIVERS_HOST}/24 dev s1\nlink set s1 up\n");
            in_netns(Some(&other), || ip(&lines)).expect("a namespace");
            let worked = work(&other);
            drop(done);
            worked
        })
    };
    in_unnamed_netns(on_hosts).expect("a namespace")
}

/// The network namespace of the calling thread, as other threads find it.
fn own_namespace() -> PathBuf {
    let thread = rustix::thread::gettid().as_raw_nonzero();
    PathBuf::from(format!("/proc/{}/task/{thread}/ns/net", std::process::id()))
}

fn ip(lines: &str) {
    let script = format!("ip -batch - <<'END'\n{lines}END\n");
    let status = Command::new("sh").args(["-c", &script]).status();
    assert!(status.expect("sh").success(), "{lines}");
}

/// What `ip` says in the caller's namespace.
fn ip_says(words: &[&str]) -> String {
    let said = Command::new("ip").args(words).output().expect("ip");
    String::from_utf8_lossy(&said.stdout).into_owned()
}

/// What a way changes in the namespace of its lab.
fn lab_state(lab: &Path) -> [String; 3] {
    let state = || {
        [
            own_links(),
            // A bridge whose last port is gone has no carrier.
            ip_says(&["route"]).replace("linkdown", "").replace(' ', ""),
            ip_says(&["neighbour", "show", "proxy"]),
        ]
    };
    in_netns(Some(lab), state).expect("a namespace")
}

/// A run whose id is as long as one of a real run.
fn fixture() -> Fixture {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let run = format!("w{:04}{number:02}", std::process::id() % 10_000);
    Fixture {
        run,
        ..Fixture::new()
    }
}

fn run_of(name: &str) -> RunId {
    RunId::try_from(name.to_owned()).expect("a run id")
}

/// The end at the lab of a run.
fn way(kind: WayKind, run: &str) -> Way {
    Way::new(
        kind,
        &run_of(run),
        0,
        GUESTS_HOST.into(),
        DRIVERS_HOST.into(),
    )
}

/// The first driver's network of a run; nothing of it is left.
fn assert_no_network(fixture: &Fixture, when: &str) {
    let directory = fixture.dir.path().canonicalize().expect("a directory");
    let traces = of_run(&format!("{}r00", fixture.run), &directory.join("drivers"));
    assert!(traces.is_empty(), "{when}: {traces:#?}");
}

fn driver_network(
    way: Way,
    host: &Arc<dyn Host>,
    run: &str,
    other: &Path,
    directory: &Path,
) -> Result<DriverNetwork, GuestError> {
    let make = || {
        way.other_end()
            .make_driver_network(host, &run_of(run), &directory.join("drivers"))
    };
    in_netns(Some(other), make).expect("a namespace")
}

fn a_guest_answers_a_driver_on_another_host_through_every_way(_: Kind) {
    let before = links();
    on_segment(|other| {
        let host: Arc<dyn Host> = Arc::new(RealHost);
        for (kind, mtu) in [(WayKind::Tunnel, "1450"), (WayKind::Direct, "1500")] {
            let fixture = fixture();
            let mut lab = fixture.lab(Kind::Container);
            let mut guests: Vec<Box<dyn Guest>> = vec![create(&*lab, &spec(1, &[]))];
            up(&*lab, &mut guests);
            let network = lab.network().expect("a network").to_owned();
            let untouched = lab_state(&network);
            let hosts = [
                own_links(),
                in_netns(Some(other), own_links).expect("there"),
            ];
            let way = way(kind, &fixture.run);
            let end = way.join_lab(&*host, &run_of(&fixture.run), &network);
            let end = end.expect("an end");
            let made = driver_network(way, &host, &fixture.run, other, fixture.dir.path());
            let made = made.expect("a network");
            let ask = |page| get_from(Some(&made.path()), guests[0].address(), page);
            assert!(ask("/health").is_some(), "{kind}");
            let told = in_netns(Some(&made.path()), || ip_says(&["link", "show", "eth0"]));
            let told = told.expect("a namespace");
            assert!(told.contains(&format!("mtu {mtu} ")), "{told}");
            let now = [
                own_links(),
                in_netns(Some(other), own_links).expect("there"),
            ];
            assert_eq!(now, hosts, "the hosts' own networks");
            drop(made);
            drop(end);
            assert_eq!(lab_state(&network), untouched, "{kind}");
            assert_no_network(&fixture, kind.name());
            drop(guests);
            lab.close().expect("closed");
            fixture.assert_no_traces(kind.name());
        }
    });
    assert_eq!(links(), before, "the host's own network");
}

/// Names of the links of the caller's namespace. What else is told of them changes by itself: a
/// bridge has the hardware address of a port, and carriers come up late.
fn own_links() -> String {
    links().join(" ")
}

fn where_no_direct_way_leads_it_is_said_why(_: Kind) {
    on_segment(|other| {
        ip("route add default via 192.0.2.254\n");
        let refusal = |there: [u8; 4]| {
            let there = IpAddr::from(there);
            let error = Way::check(WayKind::Direct, there).expect_err("refused");
            let fields = rookery_diagnosis::ErrorFields::new(&error);
            assert_eq!(fields.code, "guest::no-direct-way");
            assert!(fields.help.is_some_and(|help| help.contains("tunnel")));
            error.to_string()
        };
        for (there, words) in [
            ([127, 0, 0, 1], "lo of this host"),
            ([198, 51, 100, 1], "behind 192.0.2.254"),
        ] {
            let told = refusal(there);
            assert!(told.contains(words), "{told}");
        }
        // The other host has no way beyond the segment.
        let told = in_netns(Some(other), || refusal([198, 51, 100, 1])).expect("a namespace");
        assert!(told.contains("knows no way there"), "{told}");
        Way::check(WayKind::Direct, DRIVERS_HOST.into()).expect("on one segment");
        Way::check(WayKind::Tunnel, [198, 51, 100, 1].into()).expect("through any network");
        // What is refused is refused where it would be made, too.
        let fixture = fixture();
        let lab = fixture.lab(Kind::Container);
        let network = lab.network().expect("a network");
        let untouched = lab_state(network);
        let run = run_of(&fixture.run);
        let beyond = Way::new(
            WayKind::Direct,
            &run,
            0,
            GUESTS_HOST.into(),
            [198, 51, 100, 1].into(),
        );
        let joined = beyond.join_lab(&RealHost, &run, network);
        assert!(matches!(joined.err(), Some(GuestError::NoDirectWay { .. })));
        assert_eq!(lab_state(network), untouched);
    });
}

/// Make one end, and take it away again.
fn make(
    (way, end): (Way, End),
    host: &Arc<dyn Host>,
    fixture: (&str, &Path),
    (lab, other): (&Path, &Path),
) -> Result<(), GuestError> {
    let (run, directory) = fixture;
    match end {
        End::Lab => way.join_lab(&**host, &run_of(run), lab).map(drop),
        End::Driver => driver_network(way, host, run, other, directory).map(drop),
    }
}

fn every_failing_step_of_a_way_leaves_nothing(_: Kind) {
    on_segment(|other| {
        for (kind, end) in both_ends_of_all() {
            let fixture = fixture();
            let lab = fixture.lab(Kind::Container);
            let network = lab.network().expect("a network");
            let untouched = lab_state(network);
            let hosts = [
                own_links(),
                in_netns(Some(other), own_links).expect("there"),
            ];
            for after_the_deed in [false, true] {
                for n in 1.. {
                    assert!(n < 20, "an end of a way takes fewer changes than that");
                    let faulty = Arc::new(match after_the_deed {
                        true => FaultyHost::failing_after(n),
                        false => FaultyHost::failing_at(n),
                    });
                    let host: Arc<dyn Host> = Arc::clone(&faulty) as Arc<dyn Host>;
                    let made = make(
                        (way(kind, &fixture.run), end),
                        &host,
                        (&fixture.run, fixture.dir.path()),
                        (network, other),
                    );
                    let when = format!("{kind} {end:?}, fault {n}");
                    assert_eq!(lab_state(network), untouched, "{when}");
                    assert_no_network(&fixture, &when);
                    if !faulty.has_failed() {
                        made.expect("no fault, no failure");
                        assert!(n > 2, "the steps were {n}");
                        break;
                    }
                    let error = made.expect_err("the fault is told");
                    assert!(error.to_string().contains("injected"), "{when}: {error}");
                }
            }
            let now = [
                own_links(),
                in_netns(Some(other), own_links).expect("there"),
            ];
            assert_eq!(now, hosts, "the hosts' own networks");
        }
    });
}

fn both_ends_of_all() -> impl Iterator<Item = (WayKind, End)> {
    let ends = |kind| [(kind, End::Lab), (kind, End::Driver)];
    WayKind::ALL.into_iter().flat_map(ends)
}

/// How the child ends that came to the end of its work.
const CAME_TO_ITS_END: i32 = 77;

/// The child of the case below: a lab, and one end of a way. It dies on the way, or leaves all of
/// it behind.
pub(crate) fn run_way_maker_that_dies(words: &[String]) {
    let [run, dir, templates, kind, end, at, after] = words else {
        panic!("an order of seven words")
    };
    let dirs = RunDirs {
        run: run_of(run),
        dir: PathBuf::from(dir),
        templates: PathBuf::from(templates),
    };
    let mut known = both_ends_of_all();
    let wanted = known.find(|(one, side)| one.name() == kind && format!("{side:?}") == *end);
    let (kind, end) = wanted.expect("an end of a way");
    let host: Arc<dyn Host> = Arc::new(Dying::new(at, after));
    on_segment(|other| {
        let shape = LabShape::Container(LinkShape::default());
        let lab = open_lab(&shape, dirs.clone(), Arc::new(RealHost)).expect("a lab");
        let network = lab.network().expect("a network");
        let way = way(kind, run);
        let made = match end {
            End::Lab => way
                .join_lab(&*host, &dirs.run, network)
                .map(std::mem::forget),
            End::Driver => driver_network(way, &host, run, other, &dirs.dir).map(std::mem::forget),
        };
        made.expect("an end");
        std::process::exit(CAME_TO_ITS_END);
    });
}

fn sudden_death_at_any_step_of_a_way_leaves_nothing_after_clean(_: Kind) {
    let before = links();
    for (kind, end) in both_ends_of_all() {
        let fixture = fixture();
        let dirs = fixture.site();
        for after in ["before", "after"] {
            for at in 1.. {
                assert!(at < 20, "an end of a way takes fewer changes than that");
                let status = Command::new(std::env::current_exe().expect("own path"))
                    .args(["way-maker-that-dies", &fixture.run])
                    .args([&dirs.dir, &dirs.templates])
                    .args([kind.name(), &format!("{end:?}"), &at.to_string(), after])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .expect("started");
                let when = format!("{kind} {end:?}, death {after} change {at}");
                // As an agent does that begins in this directory.
                let dead = dead_runs_below(&dirs.dir.canonicalize().expect("a directory"));
                assert!(!dead.is_empty(), "{when}");
                let labels = Some(dead);
                let report = clean(&CleanOptions { labels }).expect("cleaned");
                assert!(report.failed.is_empty(), "{when}: {report:?}");
                fixture.assert_no_traces(&when);
                assert_no_network(&fixture, &when);
                if status.code() == Some(CAME_TO_ITS_END) {
                    assert!(at > 2, "the steps were {at}");
                    break;
                }
            }
        }
    }
    assert_eq!(links(), before, "the host's own network");
}
