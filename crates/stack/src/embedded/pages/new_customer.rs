//! `dsnewcustomer`: the entry form, and the welcome.

use rookery_workload::dvdstore::data::COUNTRIES;

use super::{
    super::fields::Fields,
    html::{Html, Suffix},
};

const TITLE: &str = "DVD Store New Customer Login";

/// Names of the card types, numbered from 1.
pub(super) const CARD_TYPES: [&str; 5] =
    ["MasterCard", "Visa", "Discover", "Amex", "Dell Preferred"];

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The form, with what was typed before; `taken` = the user name belongs to somebody else.
pub(crate) fn entry_form(fields: &Fields<'_>, taken: bool, suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    page.heading(if taken {
        "Username already in use! Please try another username"
    } else {
        "New Customer - Please Complete All Required Fields Below (marked with *)"
    });
    page.form("dsnewcustomer");
    for (label, name) in [
        ("Firstname *", "firstname"),
        ("Lastname *", "lastname"),
        ("Address1 *", "address1"),
        ("Address2", "address2"),
        ("City *", "city"),
        ("State", "state"),
        ("Zipcode", "zip"),
    ] {
        page.field(label, "TEXT", name, fields.text(name));
    }
    let countries = [&["United States"], COUNTRIES.as_slice()].concat();
    select_text(
        &mut page,
        "Country *",
        "country",
        &countries,
        fields.text("country"),
    );
    page.field("Email", "TEXT", "email", fields.text("email"))
        .field("Phone", "TEXT", "phone", fields.text("phone"));
    select_number(
        &mut page,
        "Credit card",
        "creditcardtype",
        (1..).zip(CARD_TYPES),
        fields,
    );
    page.field(
        "Credit card number",
        "TEXT",
        "creditcard",
        fields.text("creditcard"),
    );
    select_number(&mut page, "Expires", "ccexpmon", (1..).zip(MONTHS), fields);
    let years = ["2008", "2009", "2010", "2011", "2012", "2013"];
    select_number(&mut page, "", "ccexpyr", (2008..).zip(years), fields);
    page.field("Username *", "TEXT", "username", fields.text("username"));
    page.field(
        "Password *",
        "PASSWORD",
        "password",
        fields.text("password"),
    );
    page.field("Age", "TEXT", "age", fields.text("age")).field(
        "Income ($US)",
        "TEXT",
        "income",
        fields.text("income"),
    );
    select_text(
        &mut page,
        "Gender",
        "gender",
        &["M", "F", "?"],
        fields.text("gender"),
    );
    page.submit("Submit New Customer Data");
    page.close()
}

/// A list of texts that are sent as they are shown.
fn select_text(page: &mut Html, label: &str, name: &str, options: &[&str], chosen: &str) {
    page.raw(label)
        .raw(" <SELECT NAME=\"")
        .raw(name)
        .raw("\">\n");
    for option in options {
        let selected = if *option == chosen { " SELECTED>" } else { ">" };
        page.raw("<OPTION VALUE=\"")
            .raw(option)
            .raw("\"")
            .raw(selected)
            .raw(option)
            .raw("</OPTION>\n");
    }
    page.raw("</SELECT><BR>\n");
}

/// A list of texts that are sent as numbers.
fn select_number<'a>(
    page: &mut Html,
    label: &str,
    name: &str,
    options: impl Iterator<Item = (i64, &'a str)>,
    fields: &Fields<'_>,
) {
    let chosen = fields.number(name);
    page.raw(label)
        .raw(" <SELECT NAME=\"")
        .raw(name)
        .raw("\">\n");
    for (value, option) in options {
        page.option(value, option, chosen == Some(value));
    }
    page.raw("</SELECT><BR>\n");
}

/// The new customer is stored.
pub(crate) fn added(customer: i64, suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    page.heading("New Customer Successfully Added.  Click below to begin shopping");
    page.form("dsbrowse")
        .hidden("customerid", customer)
        .submit("Start Shopping");
    page.close()
}
