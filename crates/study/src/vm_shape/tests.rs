//! Tests of shapes.

use super::*;

#[test]
fn the_defaults_and_the_paper_are_sound() {
    assert_eq!(VmShape::default().problems(), Vec::<String>::new());
    let paper = VmShape::pureflex();
    assert_eq!(paper.problems(), Vec::<String>::new());
    assert_eq!(
        (paper.disk.cache.word(), paper.disk.io.word()),
        ("none", "native")
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let shape = VmShape {
        vcpus: Some(0),
        memory_mib: 1,
        cpu: CpuModel::Named("'/><evil".into()),
        disk: DiskShape {
            io: DiskIo::Native,
            size_mib: 1,
            queues: Some(0),
            ..DiskShape::default()
        },
        iothreads: 17,
        nic: NetworkShape {
            network: Network::HostBridge("br0 up".into()),
            mtu: 1,
            ..NetworkShape::default()
        },
        ..VmShape::default()
    };
    insta::assert_snapshot!(shape.problems().join("\n"), @r#"
    a guest has 1 to 255 vCPUs
    1 MiB of memory are too few: take 128 or more
    a device has 1 to 64 queues
    17 threads for I/O are too many: take at most 16
    `\'/><evil` is no name of a processor
    packets of 1 bytes cannot be: take 1280 to 65521
    `br0 up` is no name of a bridge
    guests on a bridge of the host need addresses: say which, as in 192.168.1.50/24
    a disk of 1 MiB cannot be: take 256 to 4194304
    io = "native" needs cache = "none" or "directsync", and not "writeback"
    "#);
}

#[test]
fn an_unknown_key_is_refused() {
    assert!(serde_json::from_str::<VmShape>(r#"{"memory_mib": 1024}"#).is_ok());
    assert!(serde_json::from_str::<VmShape>(r#"{"memory": 1024}"#).is_err());
    assert!(serde_json::from_str::<VmShape>(r#"{"disc": {}}"#).is_err());
}

#[test]
fn networks_pools_images_and_connections_are_checked() {
    let shape = VmShape {
        nic: NetworkShape {
            addresses: Some("10.0.0.1/24".parse().expect("valid")),
            ..NetworkShape::default()
        },
        pool: Pool::Devices(vec![
            "/dev/sdb".into(),
            "/dev/sdb".into(),
            "/etc/passwd".into(),
        ]),
        image: Some("image.qcow2".into()),
        boot: Some(Boot::Direct),
        connection: Some("qemu+ssh://other/system".into()),
        ..VmShape::default()
    };
    insta::assert_snapshot!(shape.problems().join("\n"), @r#"
    only guests on a bridge of the host are given addresses: leave them out
    `qemu+ssh://other/system` is no connection to a libvirt on this host: take one such as qemu:///system
    the lab's own network is not within reach of another libvirt: take a bridge of the host, or user mode
    devices are named by their paths below /dev, one for each guest
    a device belongs to one guest alone
    volumes and devices hold raw copies: set clone = "raw"
    an image boots by firmware: leave boot out, or take "firmware" or "efi"
    image.qcow2 is not absolute: name the image by its whole path
    "#);
    let shape = VmShape {
        nic: NetworkShape {
            network: Network::User,
            mtu: 9000,
            ..NetworkShape::default()
        },
        pool: Pool::Lvm("vg0/../x y".into()),
        boot: Some(Boot::Efi),
        ..VmShape::default()
    };
    insta::assert_snapshot!(shape.problems().join("\n"), @r#"
    a network in user mode has one queue, no vhost, and packets of at most 1500 bytes
    `vg0/../x y` is no volume group: write group, or group/pool
    volumes and devices hold raw copies: set clone = "raw"
    the lab's own system boots directly: leave boot out, or name an image
    "#);
    let bridged = VmShape {
        nic: NetworkShape {
            network: Network::HostBridge("br0".into()),
            ..NetworkShape::default()
        },
        ..VmShape::default()
    };
    insta::assert_snapshot!(bridged.problems().join("\n"), @"guests on a bridge of the host need \
        addresses: say which, as in 192.168.1.50/24");
}

#[test]
fn what_leads_elsewhere_is_no_connection() {
    let problems = |uri: &str| {
        let shape = VmShape {
            nic: NetworkShape {
                network: Network::User,
                ..NetworkShape::default()
            },
            connection: Some(uri.to_owned()),
            ..VmShape::default()
        };
        shape.problems().len()
    };
    for uri in [
        "qemu:///system",
        "test:///default",
        "qemu+unix:///system?socket=/run/x/libvirt-sock",
    ] {
        assert_eq!(problems(uri), 0, "{uri}");
    }
    for uri in [
        "",
        "qemu://host/system",
        "qemu",
        "--help",
        "qemu:///system --all",
        "qemu+ssh://u@h/system",
        "qemu:///system'",
    ] {
        assert_eq!(problems(uri), 1, "{uri}");
    }
}

#[test]
fn every_key_is_read_as_it_is_written() {
    let text = r#"{"nic": {"network": {"host-bridge": "br0"}, "addresses": "10.9.0.1/16"}, "pool": {"lvm": "vg0/thin"}, "disk": {"clone": "raw"},
        "image": "/images/debian.qcow2", "boot": "efi", "connection": "qemu:///system"}"#;
    let shape: VmShape = serde_json::from_str(text).expect("read");
    assert_eq!(shape.problems(), Vec::<String>::new());
    assert_eq!(
        (shape.boots(), &shape.pool),
        (Boot::Efi, &Pool::Lvm("vg0/thin".into()))
    );
    assert_eq!(
        serde_json::from_str::<VmShape>(&serde_json::to_string(&shape).expect("json"))
            .expect("read"),
        shape
    );
    assert_eq!(
        serde_json::from_str::<Pool>(r#""directory""#).expect("read"),
        Pool::Directory
    );
}
