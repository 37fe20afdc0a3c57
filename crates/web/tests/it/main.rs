//! Trials over HTTP against servers of the tests' own.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests cast numbers of their own"
)]

mod cms;
mod common;
mod dry_run;
mod errors;
mod http;
mod https;
mod network;
mod open;
mod parts;
mod trial;
mod web2005;
