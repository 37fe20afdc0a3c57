//! Cases for machines on networks that are not the lab's own.

use std::{fs, io, sync::Arc};

use rookery_guest::{Guest, Kind, LabShape, Network, NetworkShape, VmShape, open_lab, remove_all};
use rookery_host::{Host, Invocation, RealHost, in_netns, make_netns, netns_path, remove_netns};

use crate::{
    Case,
    fixture::{Fixture, create, get, spec, template, up},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    (
        "in_user_mode_guests_answer_on_loopback",
        in_user_mode_guests_answer_on_loopback,
    ),
    (
        "on_a_bridge_of_the_host_guests_have_its_addresses",
        on_a_bridge_of_the_host,
    ),
];

fn shape(nic: NetworkShape) -> VmShape {
    VmShape {
        nic,
        ..VmShape::default()
    }
}

fn in_user_mode_guests_answer_on_loopback(_: Kind) {
    let fixture = Fixture::new();
    let nic = NetworkShape {
        network: Network::User,
        mtu: 1400,
        ..NetworkShape::default()
    };
    let mut lab = open_lab(
        &LabShape::Vm(Box::new(shape(nic))),
        fixture.site(),
        Arc::new(RealHost),
    )
    .expect("lab");
    assert_eq!(lab.network(), None, "the driver stays where it is");
    let mut guests: Vec<Box<dyn Guest>> =
        vec![create(&*lab, &spec(1, &[])), create(&*lab, &spec(2, &[]))];
    up(&*lab, &mut guests);
    let [first, second] = [guests[0].address(), guests[1].address()];
    assert!(first.ip().is_loopback() && first.ip() != second.ip());
    assert_eq!(
        get(&*lab, first, "/write?second").as_deref(),
        Some("written")
    );
    assert_eq!(get(&*lab, second, "/row").as_deref(), Some("first"));
    assert_eq!(
        get(&*lab, first, "/file?/sys/class/net/eth0/mtu").as_deref(),
        Some("1400\n")
    );
    remove_all(&mut guests).expect("removed");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
}

/// A namespace `neighbour` stands for a machine of somebody else on the bridge.
fn has_the_address_of_the_second_guest(neighbour: &str) {
    let path = netns_path(neighbour);
    let link = "link add port7 type veth peer name eth7\nlink set port7 mtu 9000 master br7 up\n";
    let inside = "address add 10.9.1.51/24 dev eth7\nlink set eth7 up\n";
    let batch = |said: &str| {
        RealHost
            .run(Invocation::new("ip").args(["-batch", "-"]).stdin(said))
            .expect("a link");
    };
    batch(link);
    RealHost
        .run(Invocation::new("ip").args([
            "link",
            "set",
            "eth7",
            "netns",
            &path.display().to_string(),
        ]))
        .expect("moved");
    in_netns(Some(&path), || batch(inside)).expect("an address");
}

/// A network namespace stands for the host: it has a bridge that was there before.
fn on_a_bridge_of_the_host(_: Kind) {
    let name = format!("hostbridge{}", std::process::id());
    // Set, and not given when it is made: the kernel leaves it alone then when ports come and go.
    let batch = "link set lo up\nlink add br7 type bridge stp_state 0 forward_delay 0\nlink set \
                 br7 mtu 9000\naddress add 10.9.1.1/24 dev br7\nlink set br7 up\n";
    let ip = || {
        RealHost
            .run(Invocation::new("ip").args(["-batch", "-"]).stdin(batch))
            .map(drop)
    };
    make_netns(&name, || ip().map_err(io::Error::other)).expect("a host with a bridge");
    let neighbour = format!("neighbour{}", std::process::id());
    make_netns(&neighbour, || Ok(())).expect("another machine on the bridge");
    let done = in_netns(Some(&netns_path(&name)), || {
        let fixture = Fixture::new();
        let nic = |mtu: u32| NetworkShape {
            network: Network::HostBridge("br7".to_owned()),
            addresses: Some("10.9.1.50/24".parse().expect("valid")),
            mtu,
            ..NetworkShape::default()
        };
        let refused = open_lab(
            &LabShape::Vm(Box::new(shape(nic(1500)))),
            fixture.site(),
            Arc::new(RealHost),
        );
        let refused = refused.err().expect("frames of another size").to_string();
        assert!(
            refused.contains("carries packets of 9000 bytes"),
            "{refused}"
        );
        let mut lab = open_lab(
            &LabShape::Vm(Box::new(shape(nic(9000)))),
            fixture.site(),
            Arc::new(RealHost),
        )
        .expect("lab");
        assert_eq!(lab.network(), None);
        let mut guests: Vec<Box<dyn Guest>> = vec![create(&*lab, &spec(1, &[]))];
        up(&*lab, &mut guests);
        let address = guests[0].address();
        assert_eq!(address, "10.9.1.50:18099".parse().expect("address"));
        assert_eq!(
            get(&*lab, address, "/file?/sys/class/net/eth0/mtu").as_deref(),
            Some("9000\n")
        );
        has_the_address_of_the_second_guest(&neighbour);
        let taken = lab.create(&template(&*lab), &spec(2, &[])).err();
        let taken = taken.expect("the address is taken").to_string();
        assert!(
            taken.contains("10.9.1.51") && taken.contains("belongs to"),
            "{taken}"
        );
        remove_netns(&neighbour).expect("removed, and its interface with it");
        remove_all(&mut guests).expect("removed");
        drop(guests);
        lab.close().expect("closed");
        fixture.assert_no_traces("after close");
        let links = RealHost
            .run(Invocation::new("ip").args(["-o", "link"]))
            .expect("links");
        assert!(
            links.contains("br7: ") && links.contains("mtu 9000") && links.lines().count() == 2,
            "{links}"
        );
    });
    remove_netns(&name).expect("removed");
    done.expect("the case");
    assert!(fs::metadata(netns_path(&name)).is_err());
}
