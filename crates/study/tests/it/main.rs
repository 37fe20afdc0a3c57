//! The study language from outside: files, plans, laws.

mod broken;
mod common;
mod damaged;
mod factors;
mod laws;
mod studies;
