//! What fuzz targets reach of machines.

use super::{counters::parse_domstats, events};

/// How many events a text holds.
pub(crate) fn events(text: &str) -> usize {
    events::parse(text).len()
}

/// Reads a text as what `virsh domstats` says.
pub(crate) fn counters(text: &str) {
    let _ = parse_domstats(text);
}
