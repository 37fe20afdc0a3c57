//! A thin HTTP/1.1 client's reading half: from bytes to answers, with limits on everything that a
//! server may send. [`decode::Assembler`] does no I/O.

pub(crate) mod chunk;
pub(crate) mod cookies;
pub(crate) mod decode;
pub(crate) mod head;
pub(crate) mod kept;
mod limits;

pub use limits::Limits;
