//! DVD Store 2.1: the sizes, the data, the page contract and the user loop.

mod counters;
pub mod data;
mod info;
pub mod lines;
pub mod original;
pub mod pages;
mod params;
mod random;
pub mod shopper;
mod size;
pub mod words;

pub use counters::{NEW_ORDERS, ShopCounters};
pub use data::{
    CATEGORIES, Cents, Customer, CustomerHalf, CustomerRandom, Customers, Inventory, LineEnd,
    Order, OrderLine, Orders, Product, Products, Stock,
};
pub use info::{INFO, ORDER, opening_shares};
pub use pages::{
    LineItem, NewCustomer, NewCustomerAnswer, PageFault, PageSite, PurchaseAnswer, Search,
};
pub use params::ShopperParams;
pub use shopper::{Opening, Shopper};
pub use size::{ParseSizeError, Rows, Size};
pub use words::{Crawl, WordList, WordLists, WordsError};
