//! The live page: the library of all runs, a run under way second by second, reports, comparisons
//! and trends in the browser.
//!
//! [`LiveServer`] is the principal type: it serves the runs of some directories at a loopback
//! address, to whoever has the token of its [`url`](LiveServer::url). It reads stores, and the
//! event [`Journal`] that the conducting process writes beside them; it changes nothing, unless it
//! is given the switches of a run ([`Control`]).
//!
//! Nothing that a request says is a path: runs are named by keys of what was listed. Everything
//! from a store reaches the page as JSON, and there as text. A report is a document without an
//! origin.

mod access;
mod answers;
mod control;
mod documents;
mod error;
mod journal;
mod library;
mod logs;
mod overview;
mod patience;
mod searches;
mod server;
mod site;
mod stream;
mod summary;
mod tls;

pub use control::Control;
pub use error::LiveError;
pub use journal::{Journal, PART_BYTES};
pub use server::{Limits, LiveServer, Options};
pub use summary::{RunState, RunSummary, TrialCounts};
pub use tls::TlsFiles;
