//! Text for people in lines of a given width: [`wrapped`] for sentences, [`Table`] for tables,
//! [`Zone`] for times.
//!
//! A line is only broken between words. A word that is longer than the width, such as a path, stays
//! whole on a line of its own.

mod lines;
mod table;
mod zone;

pub use lines::{hanging, wrapped};
pub use table::Table;
pub use zone::Zone;

/// The width where none is known: output that is no terminal.
pub const DEFAULT_WIDTH: usize = 80;
