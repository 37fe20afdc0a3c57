//! Web workloads as data: operations, data, mix and delays that a user wrote down.
//!
//! [`HttpWorkload`] is what a workload file says; how users go through it is shared with other
//! workloads as data, in [`data_driven`](crate::data_driven).

mod counters;
mod data;
mod info;
mod objects;
mod once;
mod pattern;
mod secret;

pub use counters::HttpCounters;
pub use data::{
    Body, Browser, Capture, Check, Field, Header, HttpOperation, HttpWorkload, Method, Object,
    Part as FormPart, PartContent, Source as CaptureSource, Statuses, Tls, TlsVersion,
    WorkloadFault,
};
pub use info::{INFO, PAGE};
pub(crate) use objects::attribute;
pub use objects::embedded_objects;
pub use pattern::{PatternError, pattern};
pub use secret::{is_secret, without_secrets};
