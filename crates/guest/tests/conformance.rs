//! The conformance suite of guests.
fn main() {}
