//! What containers need of the host.

use crate::host_check::{Lack, kernel_lists, missing_for_isolation};

/// What this host lacks.
pub(crate) fn missing() -> Vec<Lack> {
    let mut missing = missing_for_isolation(&[("runc", "runc"), ("ip", "iproute2")]);
    if !kernel_lists("overlay") {
        missing.push(Lack::new(
            "the kernel offers no overlay file system",
            "modprobe overlay",
        ));
    }
    missing
}
