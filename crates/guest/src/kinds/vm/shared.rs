//! What all machines of a lab share.

use std::{path::PathBuf, sync::Arc};

use rookery_host::{Cgroups, Host};

use super::{accel::AcceleratorChoice, virsh::Virsh};
use crate::label::Label;

/// What all guests of a lab share.
pub(super) struct Shared {
    pub(super) label: Label,
    pub(super) cgroups: Cgroups,
    pub(super) host: Arc<dyn Host>,
    pub(super) virsh: Virsh,
    /// Models of security by which machines are let alone.
    pub(super) security: Vec<String>,
    /// Directory of the lab's libvirt.
    pub(super) home: PathBuf,
    pub(super) accelerator: AcceleratorChoice,
    /// The lab's network namespace, where it has one.
    pub(super) network: Option<PathBuf>,
}
