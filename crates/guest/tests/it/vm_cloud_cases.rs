//! Cases for machines that boot from a cloud image by firmware. They run where
//! `ROOKERY_VM_CLOUD_IMAGE` names one; it is made, in minutes, if there is none.

use std::{path::PathBuf, process::Command, sync::Arc};

use rookery_guest::{Guest, GuestState, Kind, LabShape, VmShape, open_lab, remove_all};
use rookery_host::RealHost;

use crate::{
    Case,
    fixture::{Fixture, PATIENCE, create, get, spec, up},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[(
    "a_cloud_image_becomes_a_guest",
    a_cloud_image_becomes_a_guest,
)];

/// Whether they are to be run.
pub(crate) fn wanted() -> bool {
    std::env::var_os("ROOKERY_VM_CLOUD_IMAGE").is_some()
}

fn image() -> PathBuf {
    let path = PathBuf::from(std::env::var_os("ROOKERY_VM_CLOUD_IMAGE").expect("asked for"));
    if !path.exists() {
        let work = tempfile::tempdir().expect("temporary directory");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cloud-image.sh");
        let made = Command::new("sh")
            .arg(script)
            .arg(&path)
            .arg(work.path())
            .status()
            .expect("sh");
        assert!(made.success(), "{made}");
    }
    path.canonicalize().expect("there")
}

/// Its network and name are the guest's own, its data survive the loss of the machine, and what was
/// flushed is there for the host.
fn a_cloud_image_becomes_a_guest(_: Kind) {
    let fixture = Fixture::new();
    let shape = VmShape {
        image: Some(image()),
        ..VmShape::default()
    };
    let mut lab = open_lab(
        &LabShape::Vm(Box::new(shape)),
        fixture.site(),
        Arc::new(RealHost),
    )
    .expect("lab");
    let mut guests: Vec<Box<dyn Guest>> = vec![create(
        &*lab,
        &rookery_guest::GuestSpec {
            memory_mib: Some(512),
            ..spec(1, &["graceful"])
        },
    )];
    up(&*lab, &mut guests);
    let address = guests[0].address();
    assert_eq!(
        get(&*lab, address, "/file?/proc/sys/kernel/hostname").as_deref(),
        Some("g1\n")
    );
    assert_eq!(
        get(&*lab, address, "/file?/sys/class/net/eth0/mtu").as_deref(),
        Some("1500\n")
    );
    let command_line = get(&*lab, address, "/file?/proc/cmdline").expect("answer");
    assert!(
        command_line.contains("BOOT_IMAGE="),
        "GRUB started it: {command_line}"
    );
    get(&*lab, address, "/write?second").expect("answer");
    assert_eq!(get(&*lab, address, "/sync").as_deref(), Some("synced"));
    guests[0].kill().expect("killed");
    up(&*lab, &mut guests);
    assert_eq!(get(&*lab, address, "/row").as_deref(), Some("second"));
    guests[0].stop(PATIENCE).expect("stopped");
    assert_eq!(guests[0].state(), GuestState::Ended("exit code 0".into()));
    assert_eq!(
        std::fs::read_to_string(guests[0].data_dir().join("row")).expect("read"),
        "second"
    );
    remove_all(&mut guests).expect("removed");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
}
