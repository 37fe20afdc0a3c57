//! What fuzz targets reach of the inside of this crate.

/// How many events of a machine's service a text holds.
#[must_use]
pub fn agent_events(text: &str) -> usize {
    crate::kinds::vm::fuzzing::events(text)
}

/// Reads a text as the counters of a machine, seen from inside and from outside.
pub fn counters(text: &str) {
    crate::kinds::vm::fuzzing::counters(text);
}
