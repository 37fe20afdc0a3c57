//! What goes into guests: the embedded application server on SQLite, LAMP from distribution
//! packages, MariaDB, PostgreSQL and SQLite as databases, and the supervisor of their services.
//!
//! [`open()`] gives the [`Stack`] of a study; [`Stack::build`] makes its template, and gives a
//! [`BuiltStack`]: what its guests run, how they are warmed, asked and audited.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

mod api;
mod audit;
pub mod cms;
pub mod database;
mod definition;
pub mod dvdstore_files;
pub mod embedded;
mod error;
mod foreign;
mod http_server;
pub mod lamp;
pub mod netstream;
mod open;
mod packages;
mod page;
pub mod root;
pub mod sample;
mod service;
mod stacks;
pub mod supervise;
mod supervised;
mod template;
mod tier;
pub mod tuning;
pub mod web2005;
mod workloads;

pub use api::{
    AuditScope, BuildListener, ClonedGuests, DatabaseLoader, EffectiveSetting, Found, GuestStack,
    Origin, RunningGuests, StackContext,
};
pub use audit::OrderAudit;
pub use definition::Stack;
pub use error::StackError;
pub use http_server::{
    NoRandomNumbers, NoTls, ServerCertificate, ServerError, SignedPair, StopSignal,
    signed_by_own_authority,
};
pub use open::{OpenStack, open, open_part, open_without_database};
pub use service::Service;
pub use supervised::SupervisedService;
pub use template::builder_run;
pub use tier::{StackPart, TierAccess};
pub use workloads::{
    BuiltStack, DatabaseProbe, DvdstoreStack, NetstreamStack, OrderentryStack, PoolRange,
    ProbedServer, SampleStack, SqlStack,
};
