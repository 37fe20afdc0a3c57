//! The link between a container and the bridge of its lab: how it is made, set, and read back.
//!
//! Every link begins as a pair of `veth` interfaces, one end in the guest's namespace and the
//! other, `v1` for the first guest, in the lab's. The guest's own interface is always `eth0`; where
//! it is made on top of the pair, the guest's end of the pair is `u0`. All but the lab's end lies
//! in the guest's namespace, and what else is in the lab's depends on that end, so that nothing of
//! a link outlives its guest.
//!
//! A routed guest has no part in the bridge: the lab has a route to its end of the pair, and the
//! guest one to the lab and, through it, to the others.
//!
//! Where tiers have a network of their own, every guest has a second pair: `eth1` in its namespace,
//! and `b1` for the first guest, a port of the bridge `br1`. A guest of a tier has its address
//! there.
//!
//! Machines on the lab's bridges have taps of the same names, `v1` and `b1`, which their emulator
//! makes and which go with it.

mod ability;
mod base;
mod bridge_filters;
mod in_force;
mod lines;
mod machine;
mod onward;
mod packet_cpus;
mod settings;
mod unnamed;

pub(crate) use ability::missing;
pub(crate) use base::{
    LAB_ADDRESS, LAB_NETWORK, back_end_address, bridges, guest_address, run_batch,
};
pub(crate) use bridge_filters::leave_out as leave_out_filters;
pub(crate) use in_force::{LinkPlace, host_mtu, readings};
pub(crate) use lines::{LinkLines, back_end_port};
pub(crate) use machine::{MachineEnd, MachineLink};
pub(crate) use onward::route_onward;
pub use settings::AskedLink;
pub(crate) use settings::{EndSettings, Side, apply};
pub use unnamed::{LinkEnds, with_link};

/// The guest's own interface.
pub(crate) const GUEST_DEVICE: &str = "eth0";
/// The guest's end of the pair where its own interface is another.
const LOWER_DEVICE: &str = "u0";
/// The bridge of a lab.
pub(crate) const BRIDGE: &str = "br0";
/// A guest's interface to the network of tiers.
pub(crate) const BACK_END_DEVICE: &str = "eth1";
/// The bridge of that network.
pub(crate) const BACK_END_BRIDGE: &str = "br1";
