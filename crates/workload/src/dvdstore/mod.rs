//! DVD Store 2.1: the sizes, the data, the page contract and the user loop.

mod params;
mod size;

pub use params::ShopperParams;
pub use size::{ParseSizeError, Rows, Size};
