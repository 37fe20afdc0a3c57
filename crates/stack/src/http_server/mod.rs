//! The HTTP server behind the stacks that this program serves itself: connections, limits, the
//! orderly end. What is answered is an [`HttpSite`].

mod message;
mod patience;
mod server;
mod stop;

pub(crate) use message::{Answer, Content, HttpSite, Method, Request};
pub(crate) use server::{HttpServer, ListenError};
pub use stop::StopSignal;
