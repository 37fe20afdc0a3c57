//! Misbehaving servers and other fixtures for tests.
//!
//! [`Server`] answers on 127.0.0.1 as its [`Behaviour`] says, one thread per connection; it keeps a
//! log of the request targets and ends when it is dropped. [`StallingServer`] is one that freezes
//! now and then. [`PretendHosts`] are machines with an sshd each, as network namespaces.

mod behaviour;
mod pretend_hosts;
mod server;
mod stall;

pub use behaviour::{Behaviour, page};
pub use pretend_hosts::{NATS, NatsServer, PretendHosts};
pub use server::{Request, Server, full_backlog, refusing_address};
pub use stall::{Freezes, StallingServer, truth};
