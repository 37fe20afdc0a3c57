//! The HTTP server behind the stacks that this program serves itself: connections, limits, the
//! orderly end. What is answered is an [`HttpSite`].

mod body;
mod message;
mod patience;
mod server;
mod stop;

pub(crate) use body::FileBody;
#[cfg(test)]
pub(crate) use body::sent;
pub(crate) use message::{Answer, AnswerBody, Content, FullAnswer, HttpSite, Method, Request};
pub(crate) use server::{HttpServer, ListenError};
pub use stop::StopSignal;
