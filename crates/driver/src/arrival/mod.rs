//! When visitors arrive.
//!
//! A [`Course`] is the rate of arrivals over a whole trial, [`Stream`] draws the arrivals of one guest from it: both are pure arithmetic. A
//! [`Schedule`] puts those of all guests into one order, and waits for the next.

mod course;
mod schedule;
mod stream;

pub(crate) use course::Course;
#[cfg(test)]
pub(crate) use course::tests;
pub use schedule::Schedule;
pub use stream::{Arrival, Share};
pub(crate) use stream::{Stream, persistence};
