//! The HTTP server behind the stacks that this program serves itself: connections, limits, the
//! orderly end. What is answered is an [`HttpSite`].

mod body;
mod certificate;
mod error;
mod message;
mod patience;
mod server;
mod sessions;
mod stop;
mod tls;

pub(crate) use body::FileBody;
pub(crate) use certificate::{COMMON_NAME, PemPair};
pub use certificate::{NoRandomNumbers, SignedPair, signed_by_own_authority};
pub use error::ServerError;
pub(crate) use message::{Answer, AnswerBody, Content, FullAnswer, HttpSite, Method, Request};
#[cfg(test)]
pub(crate) use server::sent;
pub(crate) use server::{HttpServer, raise_file_limit};
pub(crate) use sessions::{SESSION_COOKIE, SessionId, Sessions, TooMany};
pub use stop::StopSignal;
pub(crate) use tls::own_files;
pub use tls::{NoTls, ServerCertificate};
