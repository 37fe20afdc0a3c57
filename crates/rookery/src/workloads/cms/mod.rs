//! Content management: its users, its data, its pages.

pub(crate) mod app;
mod args;
pub(crate) mod data;
pub(crate) mod drive;
