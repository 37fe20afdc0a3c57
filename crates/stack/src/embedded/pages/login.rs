//! `dslogin`: the form, the welcome with the history, the refusal.

use super::{
    super::reader::Login,
    html::{Html, Suffix},
};

const TITLE: &str = "DVD Store Login Page";

/// Login form and the way to become a customer.
pub(super) fn form(page: &mut Html, username: &str) {
    page.raw("<P>Returning customer? Please enter your user name and password:</P>\n")
        .form("dslogin");
    page.field("Username", "TEXT", "username", username)
        .field("Password", "PASSWORD", "password", "")
        .submit("Login");
    page.raw("<P>New here?</P>\n")
        .form("dsnewcustomer")
        .submit("New Customer");
}

/// Nobody tried to log in yet.
pub(crate) fn login_form(suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    form(&mut page, "");
    page.close()
}

/// Wrong name or password. Must not hold the text `customerid`: this is how the original driver
/// tells.
pub(crate) fn login_failed(suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    page.heading("Username/password incorrect. Please re-enter your username and password");
    form(&mut page, "");
    page.close()
}

/// Logged in: the latest purchases, then the way to the shelves.
pub(crate) fn welcome(login: &Login, suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    page.heading("Welcome to the DVD Store - Click below to begin shopping");
    if !login.history.is_empty() {
        page.raw("<H3>Your previous purchases:</H3>\n<TABLE border=2>\n");
        page.raw(
            "<TR><TH>Title</TH><TH>Actor</TH><TH>People who liked this DVD also liked</TH></TR>\n",
        );
        for row in &login.history {
            page.raw("<TR>")
                .cell(&row.title)
                .cell(&row.actor)
                .cell(&row.related)
                .raw("</TR>\n");
        }
        page.raw("</TABLE>\n<BR>\n");
    }
    page.form("dsbrowse")
        .hidden("customerid", login.customer)
        .submit("Start Shopping");
    page.close()
}
