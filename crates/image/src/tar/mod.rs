//! Archives of the format tar, read entry by entry in bounded memory.
//!
//! [`Reader`] is the principal type. The crate `tar` takes long names and pax headers into memory
//! whatever their size, and splits pax headers at line breaks although values may contain some;
//! what comes from outside needs stricter rules: every number is checked, nothing but files has
//! content, no header speaks for all entries, and no sparse formats.

mod entry;
mod header;
mod name;
mod pax;
mod reader;

pub(crate) use entry::{Entry, Kind, Time};
pub(crate) use name::{components, image_path, shown};
pub(crate) use reader::{Advance, Reader, Seeking};
