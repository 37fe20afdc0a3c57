//! What workloads share whose operations a user wrote down: where values come from, which operation
//! follows which, what one user draws, and what is counted of it.

use std::time::Duration;

use crate::RandomDelay;

mod counts;
pub mod csv;
mod feeder;
mod journey;
mod secret;
mod template;
mod user;
mod values;
mod walk;

pub use counts::{RecordCount, Steps, merge_records, records_of};
pub use feeder::{Drawn, Dry, Feeder, Order, Per, Population, SecretColumns, Source};
pub use journey::{Course, Journey, OnFailure, Taken, set_value};
pub use secret::{MASK, SecretMismatch};
pub use template::{Encoding, Part, Template, TemplateError, is_name};
pub use user::DescribedUser;
pub(crate) use values::check_values;
pub use values::{FeederPlaces, OWN_VALUES, UnknownValue, value_names};
pub use walk::{Matrix, MatrixError, Place, Rows, Walk};

/// The mean of the delays of all operations: the longest random delay before the first.
pub(crate) fn mean_delay(delays: impl ExactSizeIterator<Item = RandomDelay>) -> Duration {
    let count = delays.len().max(1);
    let sum: f64 = delays.map(|delay| delay.mean.as_secs_f64()).sum();
    Duration::try_from_secs_f64(sum / count as f64).unwrap_or_default()
}

/// Most operations of a workload that a user wrote down.
pub const MOST_OPERATIONS: usize = 64;
