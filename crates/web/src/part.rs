//! The part of a load that one of several drivers carries.

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Which threads of all drivers together are those of one driver. Users and arrivals are dealt to
/// threads by their number among all, so that each user is the same wherever it is driven from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Threads of the drivers before it.
    pub before: u32,
    /// Threads of all drivers, its own included.
    pub of: u32,
}

impl Part {
    /// The whole load, on the CPUs of `config`.
    pub(crate) fn whole(config: &Config) -> Self {
        Self {
            before: 0,
            of: rookery_cast::count_u32(config.cpus.len()),
        }
    }
}
