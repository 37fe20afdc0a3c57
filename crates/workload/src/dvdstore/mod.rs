//! DVD Store 2.1: the sizes, the data, the page contract and the user loop.

pub mod data;
mod params;
mod random;
mod size;
pub mod words;

pub use data::{
    CATEGORIES, Cents, Customer, CustomerHalf, CustomerRandom, Customers, Inventory, LineEnd, Order, OrderLine, Orders, Product, Products,
    Stock,
};
pub use params::ShopperParams;
pub use size::{ParseSizeError, Rows, Size};
pub use words::{WordList, WordLists, WordsError};
