//! Guests: bare, container, vm, fake; templates, clones, the lab network.
//!
//! A [`Lab`] is the ground on which the guests of one run stand: it owns what they share (network namespace and bridge,
//! addresses, directories) and makes [`Guest`]s from a [`Template`]. Everything carries the run's label, so that [`clean`]
//! finds what a dead run left.
//!
//! [`open_lab`] prepares the ground, [`Lab::template`] and [`Lab::create`] make guests, [`start_all`] brings them up together and
//! [`remove_all`] takes them away. Guests should be gone before their lab is closed; a lab that closes kills what is left.

mod addresses;
mod api;
mod bare;
mod clean;
mod container;
mod copy;
mod elf;
mod fake;
mod files;
mod ground;
mod group_usage;
mod health;
mod label;
mod launch;
mod log;
mod open;
mod phase;
mod registry;
mod site;
mod storage;
mod sweep;
mod template;
mod vm;

pub use api::{
    Fill, Guest, GuestError, GuestFile, GuestSpec, GuestState, Kind, Lab, Patience, ProcessProbe,
    Progress, Recipe, Site, Template, Versions, patient,
};
pub use clean::{CleanOptions, CleanReport, LabelledThing, clean, inventory};
pub use fake::{FakeBehaviour, FakeLab, FakeStep};
pub use health::Health;
pub use launch::{StartProgress, remove_all, start_all};
pub use open::{check_host, open_lab, open_lab_on, open_vm_lab, open_vm_lab_on};
pub use registry::Registration;
pub use rookery_host::{
    Usage, UsageProbe,
    io::IoLimits,
    volume::{Atime, FileSystem, Journal, VolumeSpec},
};
pub use storage::{InForce, Provision, Volume, check_storage};
pub use template::{
    LayerKind, TemplateChoice, TemplateInfo, TemplateRemoval, build_template, remove_templates,
    short_digest, templates,
};
pub use vm::{
    Accelerator, AcceleratorChoice, Boot, CpuModel, DiskCache, DiskClone, DiskCounters, DiskIo,
    DiskShape, GuestNet, GuestPins, MemoryShape, Network, NetworkShape, OutsideCounters, Pins,
    Pool, VmCounters, VmProbe, VmShape, audit_pins, choose_accelerator, pin_table, vm_agent,
};
