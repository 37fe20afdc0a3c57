//! What machines need of the host.

use std::path::Path;

use crate::host_check::{Lack, missing_for_isolation};

/// Programs, each with its package.
const PROGRAMS: [(&str, &str); 7] = [
    ("libvirtd", "libvirt-daemon libvirt-daemon-driver-qemu"),
    ("virsh", "libvirt-clients"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("qemu-img", "qemu-utils"),
    ("mke2fs", "e2fsprogs"),
    ("mmdebstrap", "mmdebstrap"),
    ("ip", "iproute2"),
];

/// What this host lacks.
pub(crate) fn missing() -> Vec<Lack> {
    let mut missing = missing_for_isolation(&PROGRAMS);
    if !Path::new("/dev/net/tun").exists() {
        missing.push(Lack::new("there is no /dev/net/tun", "modprobe tun"));
    }
    if std::env::consts::ARCH != "x86_64" {
        missing.push(Lack::new(
            "machines are x86_64",
            "use another kind of guest",
        ));
    }
    missing
}
