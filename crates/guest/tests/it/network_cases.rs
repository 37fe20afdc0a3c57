//! Links of containers with real interfaces: read back, under faults, and after sudden death.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rookery_guest::{
    CalledBy, CleanOptions, Guest, GuestSpec, InForce, Kind, LabShape, RunDirs, check_network,
    clean, open_lab, remove_all,
};
use rookery_host::{NamespaceSysfs, RealHost, RunId, in_netns, in_unnamed_netns};
use rookery_study::{BackEnd, Impairment, LinkDevice, LinkShape, Offloads, RateLimit, RateQueue};

use crate::{
    Case,
    cases::failing_steps_leave_nothing,
    dying::Dying,
    fixture::{Fixture, create, get, get_from, spec, template, up},
    traces::links,
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    (
        "links_of_every_device_carry_requests",
        links_of_every_device_carry_requests,
    ),
    (
        "settings_of_a_link_are_read_back",
        settings_of_a_link_are_read_back,
    ),
    (
        "packet_filters_see_nothing_of_the_bridges_of_a_lab",
        packet_filters_see_nothing_of_the_bridges_of_a_lab,
    ),
    (
        "guests_of_a_tier_are_called_on_a_network_of_their_own",
        guests_of_a_tier_are_called_on_a_network_of_their_own,
    ),
    (
        "routed_guests_reach_each_other_past_the_bridge",
        routed_guests_reach_each_other_past_the_bridge,
    ),
    (
        "a_link_that_does_not_fit_its_bridge_is_seen",
        a_link_that_does_not_fit_its_bridge_is_seen,
    ),
    (
        "what_the_kernel_lacks_is_refused_by_name",
        what_the_kernel_lacks_is_refused_by_name,
    ),
    (
        "every_failing_step_of_a_link_leaves_nothing",
        every_failing_step_of_a_link_leaves_nothing,
    ),
    (
        "sudden_death_at_any_step_of_a_link_leaves_nothing_after_clean",
        sudden_death_at_any_step_of_a_link_leaves_nothing_after_clean,
    ),
];

/// Whether IP packets on bridges go through packet filters.
const BRIDGE_FILTERS: &str = "/proc/sys/net/bridge/bridge-nf-call-iptables";

/// Whether the kernel has packet filters on bridges, for each namespace by itself.
fn has_bridge_filters() -> bool {
    in_unnamed_netns(|| Path::new(BRIDGE_FILTERS).exists()).expect("a namespace")
}

/// Delay and loss, where the kernel has them.
fn impairment() -> Impairment {
    let asked = Impairment {
        delay: Duration::from_millis(1),
        loss_ppm: 10,
    };
    let shape = LinkShape {
        impairment: asked,
        ..LinkShape::default()
    };
    match check_network(&LabShape::Container(shape), &[]) {
        Ok(()) => asked,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("Specified qdisc kind is unknown"), "{text}");
            Impairment::default()
        }
    }
}

/// Packets that the interfaces of a tunnel gather, where the kernel has that.
fn coalesce() -> Option<u32> {
    let asked = Some(8);
    let shape = LinkShape {
        device: LinkDevice::Vxlan,
        coalesce: asked,
        ..LinkShape::default()
    };
    let before = links();
    let checked = check_network(&LabShape::Container(shape), &[]);
    assert_eq!(links(), before, "what is tried goes");
    match checked {
        Ok(()) => asked,
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("a vxlan link such as [network] asks for cannot be made")
                    && text.contains("not supported"),
                "{text}"
            );
            None
        }
    }
}

/// A tunnel with every setting that there is: it takes the most steps.
fn everything() -> LinkShape {
    LinkShape {
        device: LinkDevice::Vxlan,
        mtu: 9000,
        bridge_mtu: 9000,
        offloads: Offloads {
            gro: Some(false),
            gso: Some(true),
            tso: Some(false),
            checksum: Some(false),
        },
        coalesce: coalesce(),
        rate_limit: Some(RateLimit {
            bits_per_s: 200_000_000,
            queue: RateQueue::Packets(64),
        }),
        impairment: impairment(),
        back_end: BackEnd::Separate,
    }
}

/// The first guest, its packets on CPU 0.
fn placed() -> GuestSpec {
    GuestSpec {
        packet_cpus: vec![0],
        ..spec(1, &[])
    }
}

fn with_lab(shape: &LinkShape, work: impl FnOnce(&dyn rookery_guest::Lab)) {
    let fixture = Fixture::new();
    let before = links();
    let mut lab = fixture
        .lab_of(&LabShape::Container(shape.clone()), Arc::new(RealHost))
        .expect("a lab");
    work(&*lab);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
    assert_eq!(links(), before, "the host's own network");
}

fn readings(guest: &dyn Guest) -> Vec<(String, String, String)> {
    let of_network = |found: &InForce| found.name.starts_with("network.");
    let found = guest.in_force().into_iter().filter(of_network);
    found
        .map(|found| (found.name, found.asked, found.effective))
        .collect()
}

fn assert_all_in_force(guest: &dyn Guest) {
    let readings = readings(guest);
    assert!(readings.len() >= 3, "{readings:?}");
    for (name, asked, effective) in readings {
        assert_eq!(asked, effective, "{name}");
    }
}

fn links_of_every_device_carry_requests(_: Kind) {
    for (device, mtu) in [
        (LinkDevice::Veth, 9000),
        (LinkDevice::Veth, 65_535),
        (LinkDevice::Macvlan, 1500),
        (LinkDevice::Macvlan, 65_535),
        (LinkDevice::Vxlan, 1500),
        (LinkDevice::Vxlan, 65_485),
        (LinkDevice::Routed, 1500),
        (LinkDevice::Routed, 65_535),
    ] {
        let shape = LinkShape {
            device,
            mtu,
            bridge_mtu: mtu,
            ..LinkShape::default()
        };
        with_lab(&shape, |lab| {
            let mut guests: Vec<Box<dyn Guest>> =
                vec![create(lab, &spec(1, &[])), create(lab, &spec(2, &[]))];
            up(lab, &mut guests);
            for guest in &guests {
                let told = get(lab, guest.address(), "/file?/sys/class/net/eth0/mtu");
                assert_eq!(told.as_deref(), Some(&*format!("{mtu}\n")), "{device:?}");
                assert_all_in_force(&**guest);
            }
            remove_all(&mut guests).expect("removed");
            // The next guest of this number has the same names.
            let mut again: Vec<Box<dyn Guest>> = vec![create(lab, &spec(1, &[]))];
            up(lab, &mut again);
            assert_all_in_force(&*again[0]);
        });
    }
}

fn settings_of_a_link_are_read_back(_: Kind) {
    for device in [LinkDevice::Veth, LinkDevice::Macvlan, LinkDevice::Vxlan] {
        let shape = LinkShape {
            device,
            ..everything()
        };
        with_lab(&shape, |lab| {
            let mut guests: Vec<Box<dyn Guest>> = vec![create(lab, &placed())];
            up(lab, &mut guests);
            let names: Vec<String> = readings(&*guests[0])
                .into_iter()
                .map(|(name, ..)| name)
                .collect();
            let impaired: &[&str] = match shape.impairment.is_none() {
                true => &[],
                false => &["delay", "loss"],
            };
            let filters: &[&str] = match has_bridge_filters() {
                true => &["bridge_filters"],
                false => &[],
            };
            // An interface of a host with one CPU has one queue, and nothing to choose from.
            let packets: &[&str] = match std::thread::available_parallelism() {
                Ok(cpus) if cpus.get() > 1 => &["irq", "irq_send"],
                _ => &["irq"],
            };
            assert_eq!(
                names,
                ["device", "mtu", "bridge_mtu"]
                    .iter()
                    .chain(filters)
                    .chain(&[
                        "back_end",
                        "gro",
                        "gso",
                        "tso",
                        "checksum",
                        "rate_limit",
                        "queue_length",
                    ])
                    .chain(impaired)
                    .chain(packets)
                    .map(|name| format!("network.{name}"))
                    .collect::<Vec<_>>()
            );
            assert_all_in_force(&*guests[0]);
            // Somebody takes the limit away on the lab's side.
            let first = match device {
                LinkDevice::Vxlan => "x1",
                LinkDevice::Veth
                | LinkDevice::Macvlan
                | LinkDevice::Ipvlan
                | LinkDevice::Routed => "v1",
            };
            let removed = in_netns(lab.network(), || {
                Command::new("tc")
                    .args(["qdisc", "del", "dev", first, "root"])
                    .status()
            });
            assert!(removed.expect("a namespace").expect("tc").success());
            // And lets the kernel handle packets as it likes.
            let forgotten = in_netns(lab.network(), || {
                let sysfs = NamespaceSysfs::open()?;
                sysfs.write("class/net/v1/queues/rx-0/rps_cpus", "0")
            });
            forgotten.expect("a namespace").expect("a mask");
            let now = readings(&*guests[0]);
            let packets = now.iter().find(|(name, ..)| name == "network.irq");
            let in_lab = match device {
                // The tunnel above has kept its own.
                LinkDevice::Vxlan => "0 in the guest, 0 and none in the lab",
                LinkDevice::Veth
                | LinkDevice::Macvlan
                | LinkDevice::Ipvlan
                | LinkDevice::Routed => "0 in the guest, none and 0 in the lab",
            };
            assert_eq!(
                packets.map(|(_, _, effective)| effective.as_str()),
                Some(in_lab)
            );
            let limit = now.iter().find(|(name, ..)| name == "network.rate_limit");
            assert_eq!(
                limit.map(|(_, _, effective)| effective.as_str()),
                Some("200Mbit in the guest, ? in the lab")
            );
        });
    }
}

fn packet_filters_see_nothing_of_the_bridges_of_a_lab(_: Kind) {
    if !has_bridge_filters() {
        return;
    }
    let host = std::fs::read(BRIDGE_FILTERS).expect("the host's own");
    with_lab(&LinkShape::default(), |lab| {
        let mut guests: Vec<Box<dyn Guest>> = vec![create(lab, &spec(1, &[]))];
        up(lab, &mut guests);
        let found = |guest: &dyn Guest| {
            let all = readings(guest).into_iter();
            let own = all.filter(|(name, ..)| name == "network.bridge_filters");
            own.map(|(_, asked, effective)| [asked, effective])
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&*guests[0]), [["off", "off"]]);
        // Somebody wants them in the lab.
        let wanted = in_netns(lab.network(), || std::fs::write(BRIDGE_FILTERS, "1"));
        wanted.expect("a namespace").expect("a switch");
        assert_eq!(found(&*guests[0]), [["off", "on"]]);
    });
    let now = std::fs::read(BRIDGE_FILTERS).expect("the host's own");
    assert_eq!(now, host, "the host's own");
}

fn guests_of_a_tier_are_called_on_a_network_of_their_own(_: Kind) {
    let shape = LinkShape {
        back_end: BackEnd::Separate,
        ..LinkShape::default()
    };
    with_lab(&shape, |lab| {
        let tier = GuestSpec {
            called_by: CalledBy::Guests,
            ..spec(2, &[])
        };
        let mut guests: Vec<Box<dyn Guest>> = vec![create(lab, &spec(1, &[])), create(lab, &tier)];
        up(lab, &mut guests);
        assert_eq!(guests[0].address().ip().to_string(), "10.77.0.1");
        assert_eq!(guests[1].address().ip().to_string(), "10.76.0.2");
        let received = |device: &str| {
            let file = format!("/file?/sys/class/net/{device}/statistics/rx_packets");
            let told = get(lab, guests[1].address(), &file).expect("told");
            told.trim().parse::<u64>().expect("a number")
        };
        let (users, callers) = (received("eth0"), received("eth1"));
        assert!(users > 0, "the lab asks it on the network of users");
        let process = (guests[0].process_probe())()[0];
        let network = PathBuf::from(format!("/proc/{process}/ns/net"));
        let told = get_from(Some(&network), guests[1].address(), "/health");
        assert!(told.is_some(), "a guest reaches it");
        assert!(received("eth1") > callers, "on that of tiers");
        assert_all_in_force(&*guests[1]);
        // Somebody takes the interface off its bridge.
        let taken = in_netns(lab.network(), || {
            Command::new("ip")
                .args(["link", "set", "b2", "nomaster"])
                .status()
        });
        assert!(taken.expect("a namespace").expect("ip").success());
        let now = readings(&*guests[1]);
        let found = now.iter().find(|(name, ..)| name == "network.back_end");
        assert_eq!(
            found.map(|(_, asked, effective)| (asked.as_str(), effective.as_str())),
            Some(("separate", "shared"))
        );
    });
}

/// A link without the bridge.
fn routed() -> LinkShape {
    LinkShape {
        device: LinkDevice::Routed,
        ..LinkShape::default()
    }
}

fn routed_guests_reach_each_other_past_the_bridge(_: Kind) {
    with_lab(&routed(), |lab| {
        let mut guests: Vec<Box<dyn Guest>> =
            vec![create(lab, &spec(1, &[])), create(lab, &spec(2, &[]))];
        up(lab, &mut guests);
        let in_lab = |words: &[&str]| {
            let run = || Command::new("ip").args(words).output();
            let output = in_netns(lab.network(), run).expect("a namespace");
            let output = output.expect("ip");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        assert_eq!(in_lab(&["link", "show", "master", "br0"]), "");
        let process = (guests[0].process_probe())()[0];
        let network = PathBuf::from(format!("/proc/{process}/ns/net"));
        let told = get_from(Some(&network), guests[1].address(), "/health");
        assert!(told.is_some(), "a guest reaches another");
        // Without its route a guest is at the end of a pair that leads nowhere.
        in_lab(&["route", "del", "10.77.0.2/32", "dev", "v2"]);
        let device = |guest: &dyn Guest| {
            let found = readings(guest).into_iter();
            let mut device = found.filter(|(name, ..)| name == "network.device");
            device
                .next()
                .map(|(_, asked, effective)| (asked, effective))
        };
        let said = |effective: &str| Some(("routed".to_owned(), effective.to_owned()));
        assert_eq!(device(&*guests[0]), said("routed"));
        assert_eq!(device(&*guests[1]), said("veth"));
    });
}

fn a_link_that_does_not_fit_its_bridge_is_seen(_: Kind) {
    let shape = LinkShape {
        mtu: 9000,
        bridge_mtu: 1500,
        ..LinkShape::default()
    };
    with_lab(&shape, |lab| {
        let mut guests: Vec<Box<dyn Guest>> = vec![create(lab, &spec(1, &[]))];
        up(lab, &mut guests);
        let found = readings(&*guests[0]);
        let of = |name: &str| {
            let found = found.iter().find(|(known, ..)| known == name);
            found.map(|(_, _, effective)| effective.clone())
        };
        assert_eq!(of("network.mtu").as_deref(), Some("9000"));
        assert_eq!(of("network.bridge_mtu").as_deref(), Some("1500"));
    });
}

fn what_the_kernel_lacks_is_refused_by_name(_: Kind) {
    let shape = |device| {
        LabShape::Container(LinkShape {
            device,
            ..LinkShape::default()
        })
    };
    let before = links();
    for device in [LinkDevice::Macvlan, LinkDevice::Vxlan] {
        check_network(&shape(device), &[]).expect("the other cases use it");
    }
    check_network(&LabShape::Container(everything()), &[0]).expect("the other cases use it");
    // A host that has it is right to let it pass.
    let asked = Command::new("unshare")
        .args(["-n", "sh", "-c"])
        .arg("ip link add u0 type veth peer name v0 && ip link add link u0 name i0 type ipvlan")
        .stderr(Stdio::null())
        .status();
    let has_ipvlan = asked.expect("unshare").success();
    match check_network(&shape(LinkDevice::Ipvlan), &[]) {
        Ok(()) => assert!(has_ipvlan),
        Err(error) => {
            let text = error.to_string();
            assert!(
                !has_ipvlan && text.contains("ipvlan") && text.contains("Unknown device type"),
                "{text}"
            );
        }
    }
    // The kernel knows no CPU of this number, and every CPU that guests are given.
    let error = check_network(&shape(LinkDevice::Veth), &[8191]);
    let text = error.expect_err("refused").to_string();
    assert!(
        text.contains("rx-0/rps_cpus") && text.contains("Value too large"),
        "{text}"
    );
    assert_eq!(links(), before, "the host's own network");
}

fn every_failing_step_of_a_link_leaves_nothing(_: Kind) {
    let before = links();
    for shape in [everything(), routed()] {
        failing_steps_leave_nothing(&LabShape::Container(shape), &placed());
    }
    assert_eq!(links(), before, "the host's own network");
}

/// How the child ends that came to the end of its work.
const CAME_TO_ITS_END: i32 = 77;

/// The child of the case below: a lab with a guest that runs. It dies on the way, or leaves all of
/// it behind.
pub(crate) fn run_linker_that_dies(words: &[String]) {
    let [run, dir, templates, at, after] = words else {
        panic!("an order of five words")
    };
    let dirs = RunDirs {
        run: RunId::try_from(run.clone()).expect("a run id"),
        dir: PathBuf::from(dir),
        templates: PathBuf::from(templates),
    };
    let host = Arc::new(Dying::new(at, after));
    let lab = open_lab(&LabShape::Container(everything()), dirs, host).expect("a lab");
    let mut guest = lab.create(&template(&*lab), &placed()).expect("a guest");
    guest.start().expect("started");
    std::process::exit(CAME_TO_ITS_END);
}

fn sudden_death_at_any_step_of_a_link_leaves_nothing_after_clean(_: Kind) {
    // The template is there already: no step is one of its building.
    drop(template(&*Fixture::new().lab(Kind::Container)));
    sudden_death_leaves_nothing("linker-that-dies", 12);
}

/// Let a program of this executable, which makes a guest and its link, die before and after each of
/// its changes, which are more than `least`: what it made is removed by `clean`.
pub(crate) fn sudden_death_leaves_nothing(program: &str, least: usize) {
    let before = links();
    for after in ["before", "after"] {
        for at in 1_usize.. {
            assert!(at < 60, "a guest and its link take fewer changes than that");
            let fixture = Fixture::new();
            let dirs = fixture.site();
            let status = Command::new(std::env::current_exe().expect("own path"))
                .args([program, &fixture.run])
                .args([&dirs.dir, &dirs.templates])
                .args([&at.to_string(), after])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("started");
            let report = clean(&CleanOptions {
                labels: Some(vec![dirs.run]),
            })
            .expect("cleaned");
            assert!(report.failed.is_empty(), "{at} {after}: {report:?}");
            fixture.assert_no_traces(&format!("death {after} change {at}"));
            if status.code() == Some(CAME_TO_ITS_END) {
                assert!(at > least, "the steps of {program} were {at}");
                break;
            }
        }
    }
    assert_eq!(links(), before, "the host's own network");
}
