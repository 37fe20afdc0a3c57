//! What workloads share whose operations a user wrote down: where values come from, which operation
//! follows which, what one user draws, and what is counted of it.

mod counts;
mod feeder;
mod journey;
mod template;
mod user;
mod values;
mod walk;

pub use counts::{RecordCount, Steps, merge_records, records_of};
pub use feeder::{Drawn, Dry, Feeder, Order, Per, Source};
pub use journey::{Course, Journey, OnFailure, Taken};
pub use template::{Encoding, Part, Template, TemplateError, is_name};
pub use user::DescribedUser;
pub use values::{FeederPlaces, OWN_VALUES, UnknownValue, value_names};
pub use walk::{Matrix, MatrixError, Place, Rows, Walk};

/// Most operations of a workload that a user wrote down.
pub const MOST_OPERATIONS: usize = 64;
