//! Guests: bare, container, vm, fake; templates, clones, the lab network.
//!
//! A [`Lab`] holds what the guests of one run share (network namespace and bridge, addresses,
//! directories) and makes [`Guest`]s from a [`Template`]. Everything carries the run's label, so
//! that [`clean`] finds what a dead run left.
//!
//! [`open_lab`] opens the lab for a kind of guest, [`Lab::template`] and [`Lab::create`] make
//! guests, [`start_all`] brings them up together and [`remove_all`] takes them away. Guests should
//! be gone before their lab is closed; a lab that closes kills what is left.

mod addresses;
mod clean;
mod copy;
mod counters;
mod cpu_quota;
mod elf;
mod error;
mod external;
mod family;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod health;
mod host_check;
mod kind;
mod kinds;
mod lab;
mod lab_core;
mod lab_network;
mod label;
mod launch;
mod link;
mod log;
mod no_direct_way;
mod paths;
mod phase;
mod processes;
mod registry;
mod route;
mod run_lab;
mod spec;
mod storage;
mod swap;
mod sweep;
mod template;
mod usage_sum;
mod way;

pub use clean::{CleanOptions, CleanReport, LabelledThing, clean, inventory};
pub use counters::{DiskCounters, MachineCounters, MachineProbe, OutsideCounters};
pub use error::{FillError, GuestError, NotReadyReason, StepError, Subject};
pub use external::RunningSystem;
pub use guest::{CommandEnd, CommandVariables, Guest, GuestCommand, GuestState, ProcessProbe};
pub use health::Health;
pub use kind::{Kind, LabShape};
pub use kinds::{
    FakeBehaviour, FakeLab, FakeStep, check_host, check_network, check_storage, check_swap,
    open_lab, refuse_tier,
    vm::{
        Accelerator, AcceleratorChoice, AgentError, GuestPins, audit_pins, choose_accelerator,
        pin_table, vm_agent,
    },
};
pub use lab::{Lab, Progress};
pub use launch::{StartProgress, remove_all, start_all};
pub use link::{AskedLink, LinkEnds, with_link};
pub use no_direct_way::NoDirectWay;
pub use paths::{RunDirs, SHARED};
pub use registry::Registration;
pub use rookery_host::{
    Usage, UsageProbe,
    io::IoLimits,
    volume::{AccessTimes, DeviceSource, FileSystem, JournalMode, MountedBy, VolumeSpec},
};
pub use rookery_study::StorageRole;
pub use rookery_study::vm_shape::{
    Boot, CpuModel, DiskCache, DiskClone, DiskIo, DiskShape, GuestNet, MemoryShape, Network,
    NetworkShape, NicModel, NicOffloads, Pins, Pool, VmShape,
};
pub use spec::{CalledBy, CpuTime, FileReaders, GuestFile, GuestSpec, GuestUser};
pub use storage::{
    InForce, Provision, RoleDirectory, RoleMove, RoleProvision, Volume, VolumeDevice, VolumeFault,
    VolumeLook,
};
pub use swap::SwapDevice;
pub use template::{
    Fill, LayerKind, Patience, Recipe, Template, TemplateChoice, TemplateInfo, TemplateRemoval,
    Versions, build_template, content_digest, install_with_libraries, installed_command, patient,
    remove_templates, short_digest, templates,
};
pub use way::{
    Direct, DriverNetwork, LabEnd, MOST_DRIVERS, TUNNEL_PORT, Tunnel, Way, WayKind, dead_runs_below,
};
