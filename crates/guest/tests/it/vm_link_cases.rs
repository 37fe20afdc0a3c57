//! Links of machines on the bridges of their lab: read back, under faults, and after sudden death.

use std::{path::PathBuf, process::Command, sync::Arc};

use rookery_guest::{
    CalledBy, Guest, GuestError, GuestSpec, InForce, Kind, LabShape, NetworkShape, NicModel,
    NicOffloads, RunDirs, VmShape, check_network, open_lab, remove_all,
};
use rookery_host::{FaultyHost, Host, NamespaceSysfs, RealHost, RunId, in_netns};
use rookery_study::{BackEnd, RateLimit, RateQueue};

use crate::{
    Case,
    dying::Dying,
    fixture::{Fixture, create, get, spec, template, up},
    network_cases::sudden_death_leaves_nothing,
    traces::links,
    vm_cases::talk,
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    (
        "machines_of_a_tier_are_called_on_a_network_of_their_own",
        machines_of_a_tier_are_called_on_a_network_of_their_own,
    ),
    (
        "what_a_tap_cannot_have_is_refused_by_name",
        what_a_tap_cannot_have_is_refused_by_name,
    ),
    (
        "every_failing_step_of_a_machines_link_leaves_nothing",
        every_failing_step_of_a_machines_link_leaves_nothing,
    ),
    (
        "sudden_death_at_any_step_of_a_machines_link_leaves_nothing_after_clean",
        sudden_death_at_any_step_of_a_machines_link_leaves_nothing_after_clean,
    ),
];

fn shape(nic: NetworkShape) -> LabShape {
    LabShape::Vm(Box::new(VmShape {
        nic,
        ..VmShape::default()
    }))
}

/// A link with every setting that there is: it takes the most steps.
fn everything() -> NetworkShape {
    NetworkShape {
        mtu: 9000,
        back_end: BackEnd::Separate,
        offloads: NicOffloads {
            tso: Some(false),
            checksum: Some(true),
        },
        rate_limit: Some(RateLimit {
            bits_per_s: 200_000_000,
            queue: RateQueue::Packets(64),
        }),
        ..NetworkShape::default()
    }
}

/// The first guest, its packets on CPU 0.
fn first() -> GuestSpec {
    GuestSpec {
        packet_cpus: vec![0],
        ..spec(1, &[])
    }
}

/// The second, which others call.
fn tier() -> GuestSpec {
    GuestSpec {
        packet_cpus: vec![0],
        called_by: CalledBy::Guests,
        ..spec(2, &["socket"])
    }
}

/// What is read back of both.
const READ_BACK: [&str; 10] = [
    "device",
    "tap",
    "mtu",
    "bridge_mtu",
    "back_end",
    "tso",
    "checksum",
    "rate_limit",
    "queue_length",
    "irq",
];

fn readings(guest: &dyn Guest) -> Vec<(String, String, String)> {
    let of_network = |found: &InForce| found.name.starts_with("network.");
    let found = guest.in_force().into_iter().filter(of_network);
    found
        .map(|found| (found.name, found.asked, found.effective))
        .collect()
}

fn assert_all_in_force(guest: &dyn Guest, names: &[&str]) {
    let readings = readings(guest);
    let found = readings.iter().map(|(name, ..)| name.as_str());
    let found: Vec<&str> = found
        .filter_map(|name| name.strip_prefix("network."))
        // Not every kernel has them.
        .filter(|name| *name != "bridge_filters")
        .collect();
    assert_eq!(found, names);
    for (name, asked, effective) in readings {
        // Which it is, is the lab's own matter.
        if name != "network.tap" {
            assert_eq!(asked, effective, "{name}");
        }
    }
}

/// A command in the lab's network.
fn in_lab(lab: &dyn rookery_guest::Lab, program: &str, words: &[&str]) {
    let ended = in_netns(lab.network(), || Command::new(program).args(words).status());
    assert!(
        ended.expect("a namespace").expect("started").success(),
        "{program} {words:?}"
    );
}

fn machines_of_a_tier_are_called_on_a_network_of_their_own(_: Kind) {
    let before = links();
    let fixture = Fixture::new();
    let mut lab = fixture
        .lab_of(&shape(everything()), Arc::new(RealHost))
        .expect("a lab");
    let tier = GuestSpec {
        sockets: vec!["echo.sock".to_owned()],
        ..tier()
    };
    let mut guests: Vec<Box<dyn Guest>> = vec![create(&*lab, &first()), create(&*lab, &tier)];
    up(&*lab, &mut guests);
    assert_eq!(guests[0].address().ip().to_string(), "10.77.0.1");
    assert_eq!(guests[1].address().ip().to_string(), "10.76.0.2");
    let of_second = |file: &str| {
        let told = get(&*lab, guests[1].address(), &format!("/file?{file}"));
        told.expect("told").trim().to_owned()
    };
    for device in ["eth0", "eth1"] {
        let mtu = of_second(&format!("/sys/class/net/{device}/mtu"));
        assert_eq!(mtu, "9000", "{device}");
    }
    let received = |device: &str| {
        let file = format!("/sys/class/net/{device}/statistics/rx_packets");
        of_second(&file).parse::<u64>().expect("a number")
    };
    let (users, callers) = (received("eth0"), received("eth1"));
    assert!(users > 0, "the lab asks it on the network of users");
    let fetch = format!("/fetch?{}", guests[1].address());
    let told = get(&*lab, guests[0].address(), &fetch);
    assert_eq!(told.as_deref(), Some("ok"), "a guest reaches it");
    assert!(received("eth1") > callers, "on that of tiers");
    let socket = guests[1].sockets_dir().join("echo.sock");
    assert_eq!(talk(&socket, "hello"), "0 hello", "it leads to the host");
    for guest in &guests {
        assert_all_in_force(&**guest, &READ_BACK);
    }
    // Somebody takes the interface off its bridge, lets the kernel handle its packets as it likes,
    // and takes the limit away on the lab's side.
    in_lab(&*lab, "ip", &["link", "set", "b2", "nomaster"]);
    in_lab(&*lab, "tc", &["qdisc", "del", "dev", "v2", "root"]);
    let forgotten = in_netns(lab.network(), || {
        let sysfs = NamespaceSysfs::open()?;
        sysfs.write("class/net/b2/queues/rx-0/rps_cpus", "0")
    });
    forgotten.expect("a namespace").expect("a mask");
    let now = readings(&*guests[1]);
    for (name, asked, effective) in [
        ("network.back_end", "separate", "shared"),
        ("network.irq", "0", "0 and none"),
        (
            "network.rate_limit",
            "200Mbit",
            "200Mbit in the guest, ? in the lab",
        ),
        ("network.tap", "", "v2"),
    ] {
        let found = now.iter().find(|(known, ..)| known == name);
        let (_, found_asked, found_effective) = found.expect(name);
        assert_eq!((&**found_asked, &**found_effective), (asked, effective));
    }
    remove_all(&mut guests).expect("removed");
    let left = in_netns(lab.network(), links).expect("a namespace");
    assert_eq!(left, ["lo", "br0", "br1"], "they go with their guests");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
    assert_eq!(links(), before, "the host's own network");
}

fn what_a_tap_cannot_have_is_refused_by_name(_: Kind) {
    let before = links();
    let emulated = NetworkShape {
        model: NicModel::E1000,
        ..NetworkShape::default()
    };
    let refused = Fixture::new().lab_of(&shape(emulated), Arc::new(RealHost));
    let text = refused.err().expect("refused").to_string();
    assert!(text.contains("has no driver for an e1000"), "{text}");
    check_network(&shape(everything()), &[0]).expect("the other cases use it");
    // The kernel knows no CPU of this number, and every CPU that guests are given.
    let refused = check_network(&shape(everything()), &[8191]);
    let text = refused.expect_err("refused").to_string();
    assert!(
        text.contains("rx-0/rps_cpus") && text.contains("Value too large"),
        "{text}"
    );
    assert_eq!(links(), before, "what is tried goes");
}

/// A lab and a guest whose machine runs; whether it is healthy is not waited for. All is dropped at
/// the end.
fn live(dirs: RunDirs, host: Arc<dyn Host>) -> Result<(), GuestError> {
    let lab = open_lab(&shape(everything()), dirs, host)?;
    let mut guest = lab.create(&template(&*lab), &first())?;
    guest.start()
}

/// The images are there already: no step is one of their building.
fn build_images() {
    let fixture = Fixture::new();
    live(fixture.site(), Arc::new(RealHost)).expect("no fault");
}

fn every_failing_step_of_a_machines_link_leaves_nothing(_: Kind) {
    build_images();
    let before = links();
    for after_the_deed in [false, true] {
        for n in 1.. {
            assert!(n < 60, "a machine takes fewer changes than that");
            let fixture = Fixture::new();
            let host = Arc::new(match after_the_deed {
                true => FaultyHost::failing_after(n),
                false => FaultyHost::failing_at(n),
            });
            let lived = live(fixture.site(), Arc::clone(&host) as Arc<dyn Host>);
            fixture.assert_no_traces(&format!("fault {n} (after the deed: {after_the_deed})"));
            if !host.has_failed() {
                lived.expect("no fault, no failure");
                break;
            }
            // A fault in what is removed at the end is tried again by the lab.
            if let Err(error) = lived {
                assert!(error.to_string().contains("injected"), "fault {n}: {error}");
            }
        }
    }
    assert_eq!(links(), before, "the host's own network");
}

/// How the child ends that came to the end of its work.
const CAME_TO_ITS_END: i32 = 77;

/// The child of the case below: a lab with a machine that runs. It dies on the way, or leaves all
/// of it behind.
pub(crate) fn run_machine_linker_that_dies(words: &[String]) {
    let [run, dir, templates, at, after] = words else {
        panic!("an order of five words")
    };
    let dirs = RunDirs {
        run: RunId::try_from(run.clone()).expect("a run id"),
        dir: PathBuf::from(dir),
        templates: PathBuf::from(templates),
    };
    let host = Arc::new(Dying::new(at, after));
    let lab = open_lab(&shape(everything()), dirs, host).expect("a lab");
    let mut guest = lab.create(&template(&*lab), &first()).expect("a guest");
    guest.start().expect("started");
    std::process::exit(CAME_TO_ITS_END);
}

fn sudden_death_at_any_step_of_a_machines_link_leaves_nothing_after_clean(_: Kind) {
    build_images();
    sudden_death_leaves_nothing("machine-linker-that-dies", 8);
}
