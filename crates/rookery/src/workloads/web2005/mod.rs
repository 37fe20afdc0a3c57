//! Banking, e-commerce and support: their users, their file sets, their pages, their back-end.

pub(crate) mod app;
mod args;
pub(crate) mod besim;
pub(crate) mod data;
pub(crate) mod drive;
