//! Banking, e-commerce and support: their file sets, their pages, their back-end.

pub(crate) mod app;
mod args;
pub(crate) mod besim;
pub(crate) mod data;
