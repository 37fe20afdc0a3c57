//! The study file: grammar, validation, plan.
//!
//! [`Document::parse`] reads a file and reports every problem at once ([`Problems`]); [`Plan::of`]
//! expands a study on a given host into points and trials. Nothing here does I/O: a host is
//! described by [`HostFacts`].
//!
//! Every key is declared once, in `sections`; [`json_schema`] and
//! [`reference`](fn@reference) are made from the same list.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod amount;
mod choices;
mod companions;
mod design;
mod document;
mod expression;
mod factors;
mod foreign_use;
mod grammar;
mod host_file;
mod host_probe;
mod image_use;
mod link_shape;
mod model;
mod names;
mod overrides;
mod plan;
mod planning;
mod problem;
mod readiness;
mod reading;
mod reference;
mod render;
mod scale;
mod schema;
mod sections;
mod shares;
mod source;
mod stack_use;
mod storage_use;
mod time_text;
mod values;
mod variants;
pub mod vm_shape;
mod workloads;

pub use amount::{Amount, Per, Scaled, Users};
pub use choices::Choices;
pub use companions::{
    Companion, CompanionContent, MOST_COMPANION_BYTES, companion_names, names_in_companion,
};
pub use design::Design;
pub use document::Document;
pub use expression::{
    EvaluationError, Expression, ExpressionError, MOST_EXPRESSION_BYTES, Variable, Variables,
};
pub use foreign_use::{ExternalUse, StackCommands, UsageSource};
pub use grammar::kinds::{ParseDurationError, parse_duration};
pub use host_probe::host_probes;
pub use image_use::{
    ImageArchive, ImageFile, ImageInstall, ImageRoot, ImageService, ImageUse, SecretSource,
    StopSignalName,
};
pub use link_shape::{
    BackEnd, Impairment, LEAST_MTU, LinkDevice, LinkShape, MOST_MTU, Offloads, PacketCpus,
    PacketPolicy, RateLimit, RateQueue, VXLAN_OVERHEAD, parse_rate, plain_rate,
};
pub use model::{Measure, Study};
pub use names::{Named, nearest as nearest_name};
pub use plan::{
    Callers, ChosenTimes, CpuPlace, Estimate, Expected, Factor, GuestGroup, HostFacts, Level, Plan,
    PlannedGuest, Point, Purpose, Search, Trial, Variant, WishPlan, WishTimes,
};
pub use planning::CannotPlan;
pub use problem::{Code, Problem, Problems};
pub use readiness::{ParseReadinessError, Readiness};
pub use reference::{reference, reference_of, reference_tables};
pub use render::render_plan;
pub use schema::json_schema;
pub use stack_use::{
    BufferPool, DatabaseUse, Engine, LampSite, LampUse, Pages, ParsePagesError, SettingValue,
    SimulatedUse, StackKind, StackUse, TuningProfile, WebServer,
};
pub use storage_use::{
    AccessTimes, BlockSize, FileSystem, ForeignTier, IoLimits, JournalMode, RoleUse, StorageRole,
    StorageUse, Tier, VolumeCache, VolumePlaces, VolumeSizes, VolumeUse,
};
pub use values::{
    Arrivals, BUDGETS, Course, CourseStep, CpuSet, CpuTime, DriverPlace, GuestKind, GuestShape,
    HostUse, LabShape, Layout, LayoutGroup, Load, LoadModel, LoopType, OpenLoad, OpenTimes, Order,
    Over, Override, PercentileWish, Pin, Pinning, Precision, RampUp, RepeatGoal, SearchEnd,
    SearchUse, StartRate, Swap, SwapKind, Vcpus, Visit, Wish, WishedMetric,
};
pub use workloads::*;
