//! The study language from outside: files, plans, laws.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests cast numbers of their own"
)]

mod broken;
mod common;
mod damaged;
mod factors;
mod groups;
mod laws;
mod originals;
mod placed;
mod storage;
mod studies;
