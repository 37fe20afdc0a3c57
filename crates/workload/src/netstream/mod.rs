//! The netstream workload: bytes back and forth over connections, to load a network and not a
//! server.
//!
//! Each user has a connection on which it asks for an answer of a given size, again and again:
//! small answers are requests and responses, large ones a stream. It keeps its connection, or opens
//! one for each exchange. Where guests have a tier, the guest that is asked receives the content
//! from a guest of the tier, and the user a receipt.
//!
//! Streams may also be measured by iperf3, at both ends: then a connection is one of its streams,
//! and an exchange a block that it received.

mod counters;
mod info;
mod protocol;

pub use counters::{
    ANSWER_BYTES, ANSWERS, CpuSeconds, CpuTimes, HostTimes, LEAST_CPU_S, NetstreamCounters,
};
pub use info::{INFO, NetstreamOperation};
pub use protocol::{
    ConnectionUse, EXCHANGE_PATH, ExchangeSize, FETCH_PATH, HEALTH_PATH, Receiver, StreamProgram,
    exchange_target, receipt,
};
