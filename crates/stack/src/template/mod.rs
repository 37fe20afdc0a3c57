//! How the template of a stack is made: layers of root, data and program, and the guest that fills
//! a database.

mod builder;
mod copy;
mod files;
mod layers;
mod owner;

pub use builder::builder_run;
pub(crate) use builder::{await_end, build, copy_out, start, stop_in_order};
pub(crate) use copy::copy as copy_tree;
pub(crate) use files::FileLoader;
pub(crate) use layers::{check_root, data_layer, empty_layer, files_layer, has_root, root};
pub(crate) use owner::{give_to, give_to_guests};
