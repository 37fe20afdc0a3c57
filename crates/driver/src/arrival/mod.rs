//! When visitors arrive: pure arithmetic, no clock.
//!
//! A [`Course`] is the rate of arrivals over a whole trial; [`Stream`] draws the arrivals of one guest from it.

mod course;
mod stream;

pub(crate) use course::Course;
#[cfg(test)]
pub(crate) use course::tests;
pub(crate) use stream::{Arrival, Share, Stream, persistence};
