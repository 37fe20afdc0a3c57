//! Scaling laws, queueing models and what may be said from them. Pure: numbers in, numbers out.
//!
//! [`fit::judge`] fits laws to measurements and says how far to trust them; [`queue`] solves
//! networks of stations; [`simulate`] plays them where no formula holds; [`search`] finds the
//! largest load within limits; [`demand`] finds service demands in measurements; [`operational`]
//! holds the laws that need no assumption; [`consolidation`] is about many guests on one host.
//!
//! All times in seconds, all rates per second, all demands in seconds of one server.

#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests cast numbers of their own"
    )
)]

pub mod consolidation;
pub mod demand;
pub mod fit;
mod law;
mod linalg;
pub mod operational;
pub mod queue;
mod random;
pub mod search;
pub mod simulate;
mod special;

pub use law::{Peak, Usl, gustafson, karp_flatt};
