//! The live page: in a browser, for hostile clients, and what it is told of runs.

mod browser;
mod common;
mod hostile;
mod library;
mod tls;
