//! What emulated users do: operations, page contracts, data generators.
//!
//! Everything here is pure: it reads no clock and does no I/O. A generator writes into a buffer that the
//! caller owns, a page is rendered into one, a response is judged from bytes.

pub mod dvdstore;
pub mod orderentry;
