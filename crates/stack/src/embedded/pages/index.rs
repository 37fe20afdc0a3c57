//! The entrance.

use super::{
    html::{Html, Suffix},
    login::form,
};

/// `index.html`: log in or become a customer.
pub(crate) fn index() -> Vec<u8> {
    let suffix = Suffix::default();
    let mut page = Html::open("DVD Store", suffix);
    page.heading("Welcome to the DVD Store");
    page.raw(
        "<P>A shop of films, every one of them invented. Log in to see what you bought \
              before, and to buy more.</P>\n",
    );
    form(&mut page, "");
    page.close()
}
