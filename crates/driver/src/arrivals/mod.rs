//! When visitors arrive.
//!
//! A [`Course`] is the rate of arrivals over a whole trial, [`Stream`] draws the arrivals of one
//! guest from it: both are pure arithmetic. A
//! [`Schedule`] puts those of all guests into one order, and waits for the next; an
//! [`ArrivalQueue`] says what becomes of each.

mod course;
mod queue;
mod schedule;
mod stream;

pub use course::Course;
pub use queue::{Admission, ArrivalQueue};
pub use schedule::Schedule;
pub use stream::{Arrival, Share, Stream, persistence};
