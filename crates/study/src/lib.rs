//! The study file: grammar, validation, plan.
//!
//! [`Study::parse`] reads a file and reports every problem at once; [`Plan::of`] expands a study on a given host into
//! points and trials. Nothing here does I/O: a host is described by [`HostFacts`].

mod model;
mod plan;

pub use model::{
    CpuSet, GuestKind, GuestShape, HostUse, Layout, Load, LoadModel, Order, Pages, Per, Pin, Scaled, StackKind, StackUse, Study, Users,
    Vcpus, Workload, WorkloadKind,
};
pub use plan::{Estimate, HostFacts, Plan, Point, Trial};
