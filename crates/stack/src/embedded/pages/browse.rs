//! `dsbrowse`: search form, results, cart.

use rookery_workload::dvdstore::CATEGORIES;

use super::{
    super::reader::Product,
    html::{Html, Suffix},
};

/// What the page shows.
pub(crate) struct Browse<'a> {
    pub(crate) customer: i64,
    /// What was searched for; fills the form again.
    pub(crate) form: SearchForm<'a>,
    /// `None` = no search was asked for.
    pub(crate) results: Option<&'a [Product]>,
    pub(crate) cart: &'a [CartItem],
}

/// The search fields as they came.
pub(crate) struct SearchForm<'a> {
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) category: Option<i64>,
    pub(crate) limit: i64,
}

/// One product in the cart.
pub(crate) struct CartItem {
    pub(crate) product: i64,
    pub(crate) title: String,
}

/// The page. A search's table is the last that has `<TR>`: the original driver reads every further
/// one as a product.
pub(crate) fn browse(show: &Browse<'_>, suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open("DVD Store Browse Page", suffix);
    search_form(&mut page, show);
    match show.results {
        Some([]) => drop(page.heading("No DVDs Found")),
        Some(products) => results(&mut page, show, products),
        None => {}
    }
    if !show.cart.is_empty() {
        cart(&mut page, show);
    }
    page.close()
}

fn search_form(page: &mut Html, show: &Browse<'_>) {
    let form = &show.form;
    page.heading("Select Type of Search").form("dsbrowse");
    for (kind, label) in [
        ("title", "Title"),
        ("actor", "Actor"),
        ("category", "Category"),
    ] {
        let checked = if form.kind == kind { " CHECKED>" } else { ">" };
        page.raw("<INPUT NAME=browsetype TYPE=RADIO VALUE=\"")
            .raw(kind)
            .raw("\"")
            .raw(checked)
            .raw(label)
            .raw("\n");
        match kind {
            "title" => page
                .raw("<INPUT NAME=browse_title TYPE=TEXT SIZE=15 VALUE=\"")
                .text(form.title)
                .raw("\"><BR>\n"),
            "actor" => page
                .raw("<INPUT NAME=browse_actor TYPE=TEXT SIZE=15 VALUE=\"")
                .text(form.actor)
                .raw("\"><BR>\n"),
            _ => page.raw("<SELECT NAME=browse_category>\n"),
        };
    }
    for (number, name) in (1_i64..).zip(CATEGORIES) {
        page.option(number, name, form.category == Some(number));
    }
    page.raw("</SELECT><BR>\nNumber of search results to return\n<SELECT NAME=limit_num>\n");
    for number in 1..=10 {
        page.raw("<OPTION VALUE=")
            .number(number)
            .raw(if form.limit == number {
                " SELECTED>"
            } else {
                ">"
            })
            .number(number);
        page.raw("</OPTION>\n");
    }
    page.raw("</SELECT><BR>\n");
    carry(page, show);
    page.submit("Search");
}

fn results(page: &mut Html, show: &Browse<'_>, products: &[Product]) {
    page.heading("Search Results").form("dsbrowse");
    page.raw(
        "<TABLE border=2>\n<TR><TH>Add to Shopping \
              Cart</TH><TH>Title</TH><TH>Actor</TH><TH>Price</TH></TR>\n",
    );
    for product in products {
        page.raw("<TR><TD><INPUT NAME=selected_item[] TYPE=CHECKBOX VALUE=")
            .number(product.id)
            .raw("></TD>");
        page.cell(&product.title)
            .cell(&product.actor)
            .raw("<TD>")
            .cents(product.price)
            .raw("</TD></TR>\n");
    }
    page.raw("</TABLE>\n<BR>\n");
    carry(page, show);
    page.submit("Update Shopping Cart");
}

/// The rows open with `<TD>`, without `<TR>`, as the original's do: see [`browse`].
fn cart(page: &mut Html, show: &Browse<'_>) {
    page.heading("Shopping Cart")
        .form("dspurchase")
        .raw("<TABLE border=2>\n<TH>Item</TH><TH>Title</TH></TR>\n");
    for (number, item) in (1_i64..).zip(show.cart) {
        page.raw("<TD>")
            .number(number)
            .raw("</TD>")
            .cell(&item.title)
            .raw("</TR>\n");
    }
    page.raw("</TABLE>\n<BR>\n");
    carry(page, show);
    page.submit("Checkout");
}

/// Customer and cart as hidden fields.
fn carry(page: &mut Html, show: &Browse<'_>) {
    page.hidden("customerid", show.customer);
    for item in show.cart {
        page.hidden("item[]", item.product);
    }
}
