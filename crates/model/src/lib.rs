//! Scaling laws, queueing models and what may be said from them. Pure: numbers in, numbers out.
//!
//! [`fit::judge`] fits laws to measurements and says how far to trust them; [`queue`] solves networks of stations.
//!
//! All times in seconds, all rates per second, all demands in seconds of one server.

mod law;
mod linalg;
mod random;
mod special;

pub mod fit;
pub mod queue;

pub use law::{Peak, Usl, gustafson, karp_flatt};
