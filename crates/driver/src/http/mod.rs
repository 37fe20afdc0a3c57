//! A thin HTTP/1.1 client: one send and one receive for a small exchange, limits on everything that a server may send.
//!
//! [`decode::Assembler`] turns bytes into an answer and does no I/O; [`connection::Connection`] moves the bytes.

pub(crate) mod chunk;
pub(crate) mod connection;
pub(crate) mod cookies;
pub(crate) mod decode;
pub(crate) mod head;
