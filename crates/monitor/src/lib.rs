//! Samplers of host and guests.
//!
//! A [`Sampler`] is one thread that reads what the host and each subject have used, at absolute times, and hands over all samples at its end.

mod host;
mod sampler;

pub use host::host_probe;
pub use sampler::Sampler;
