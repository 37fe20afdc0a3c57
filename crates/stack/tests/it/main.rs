//! The web shop's servers from outside: the embedded one, and the pages of LAMP on PHP and MariaDB.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests cast numbers of their own"
)]

mod common;
mod http;
mod lamp_hostile;
mod lamp_load;
mod lamp_pages;
mod lamp_support;
mod orders;
mod web2005_hostile;
