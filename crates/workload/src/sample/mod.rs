//! The sample workload: users read, list and write small records over HTTP.
//!
//! It is the worked example of how a workload is added (see `CONTRIBUTING.md`), small enough to be
//! read at once and complete: operations, a state-change matrix, counters with metrics, a proof,
//! data, and the contract between users and server. The tests run it through the whole laboratory.

mod counters;
mod data;
mod info;
mod matrix;
mod protocol;
mod user;

pub use counters::{NEW_BYTES, NEW_RECORDS, SampleCounters};
pub use data::SampleData;
pub use info::{INFO, SampleOperation};
pub use matrix::{MatrixError, OPERATION_COUNT, TransitionMatrix};
pub use protocol::{
    AnswerFault, HEALTH_PATH, LIST_PATH, RECORD_PATH, WRITE_PATH, check_list, check_record,
    check_written, list_target, record_target, write_target,
};
pub use user::SampleUser;
