//! What is known of a system that runs already.

use std::net::SocketAddr;

use rookery_study::UsageSource;

use crate::health::Health;

/// A system that runs already, to be taken as a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningSystem {
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is seen to be healthy.
    pub health: Health,
    /// By what its use of CPU and memory is seen.
    pub usage: UsageSource,
}
