//! The pages: from what a query found to HTML.
//!
//! The texts and tags that the original driver looks for, and their order, are a contract: it
//! searches the body for the first occurrence of each, case-sensitively. So tags are upper case, no
//! page holds a `<TR>` after the result table, a failed login does not say `customerid` anywhere,
//! and the history comes before the hidden field.

mod browse;
mod html;
mod index;
mod login;
mod new_customer;
mod notice;
mod purchase;

pub(crate) use browse::{Browse, CartItem, SearchForm, browse};
pub(crate) use html::Suffix;
pub(crate) use index::index;
pub(crate) use login::{login_failed, login_form, welcome};
pub(crate) use new_customer::{added, entry_form};
pub(crate) use notice::{not_logged_in, notice};
pub(crate) use purchase::{Outcome, PageLine, complete, review};
