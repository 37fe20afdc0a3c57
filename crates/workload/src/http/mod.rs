//! Web workloads as data: operations, data, mix and delays that a user wrote down.
//!
//! [`HttpWorkload`] is what a workload file says; [`HttpUser`] draws what one user does.

mod counters;
mod data;
mod feeder;
mod info;
mod objects;
mod pattern;
mod template;
mod user;
mod walk;

pub use counters::{HttpCounters, RecordCount};
pub use data::{
    Body, Browser, Capture, Check, Field, Header, HttpOperation, HttpWorkload, MOST_OPERATIONS,
    Method, Object, OnFailure, Part as FormPart, PartContent, Source as CaptureSource, Statuses,
    Tls, TlsVersion, WorkloadFault,
};
pub use feeder::{Drawn, Dry, Feeder, Order, Per, Source};
pub use info::{INFO, PAGE};
pub use objects::embedded_objects;
pub use pattern::{PatternError, pattern};
pub use template::{Encoding, Part, Template, TemplateError, is_name};
pub use user::HttpUser;
pub use walk::{Matrix, MatrixError, Place, Rows, Walk};
