//! The models against what is published, against each other, and against simulation.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests cast numbers of their own"
)]

mod examples;
mod properties;
mod published;
mod simulation;
