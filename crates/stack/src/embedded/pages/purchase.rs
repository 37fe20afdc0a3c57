//! `dspurchase`: the review before buying, and what became of the order.

use super::{
    super::{
        money::{Amounts, Cents},
        order::{Line, OrderOutcome},
        reader::{Card, Product},
    },
    html::{Html, Suffix},
    new_customer::CARD_TYPES,
};

const TITLE: &str = "DVD Store Purchase Page";

/// One line with its product; `None` = there is no such product, and it costs nothing.
pub(crate) struct PageLine {
    pub(crate) line: Line,
    pub(crate) product: Option<Product>,
}

impl PageLine {
    fn price(&self) -> Cents {
        self.product
            .as_ref()
            .map_or(Cents(0), |product| product.price)
    }

    fn title(&self) -> &str {
        self.product.as_ref().map_or("", |product| &product.title)
    }

    fn actor(&self) -> &str {
        self.product.as_ref().map_or("", |product| &product.actor)
    }

    /// Net amount, tax and total of all `lines`.
    pub(crate) fn amounts(lines: &[Self]) -> Amounts {
        Amounts::of_net(lines.iter().fold(Cents(0), |sum, line| {
            sum.plus(line.price().times(line.line.quantity))
        }))
    }
}

/// The order before it is placed: quantities may be changed, lines dropped.
pub(crate) fn review(customer: i64, lines: &[PageLine], suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    page.heading("Selected Items: specify quantity desired; click purchase when finished")
        .form("dspurchase");
    page.raw(
        "<TABLE border=2>\n<TR><TH>Item</TH><TH>Quantity</TH><TH>Title</TH><TH>Actor</TH><TH>Price</TH><TH>Remove From Order?</TH></TR>\n",
    );
    for (index, line) in (0_i64..).zip(lines) {
        page.raw("<TR><TD>")
            .number(index + 1)
            .raw("</TD><TD><INPUT NAME=quan[] TYPE=TEXT SIZE=10 VALUE=");
        page.number(line.line.quantity)
            .raw("></TD>")
            .cell(line.title())
            .cell(line.actor());
        page.raw("<TD>$")
            .cents(line.price())
            .raw("</TD><TD><INPUT NAME=drop[] TYPE=CHECKBOX VALUE=")
            .number(index)
            .raw("></TD></TR>\n");
    }
    sums(&mut page, PageLine::amounts(lines), 4);
    page.raw("</TABLE>\n<BR>\n");
    page.hidden("customerid", customer);
    for line in lines {
        page.hidden("item[]", line.line.product);
    }
    page.submit("Update and Recalculate Total");
    page.form("dspurchase")
        .raw("<INPUT TYPE=HIDDEN NAME=confirmpurchase VALUE=yes>\n")
        .hidden("customerid", customer);
    for line in lines {
        page.hidden("item[]", line.line.product)
            .hidden("quan[]", line.line.quantity);
    }
    page.submit("Purchase");
    page.close()
}

/// Subtotal, tax and total below `columns` columns of text.
fn sums(page: &mut Html, amounts: Amounts, columns: i64) {
    for (label, amount) in [
        ("Subtotal", amounts.net),
        ("Tax (8.25%)", amounts.tax),
        ("Total", amounts.total),
    ] {
        page.raw("<TR><TD COLSPAN=")
            .number(columns)
            .raw(">")
            .raw(label)
            .raw("</TD><TD>$")
            .cents(amount)
            .raw("</TD></TR>\n");
    }
}

/// What became of an order.
pub(crate) struct Outcome<'a> {
    pub(crate) order: &'a OrderOutcome,
    pub(crate) card: Option<&'a Card>,
}

/// After an attempt to buy. As in the original the heading says `Purchase complete` whatever became
/// of it; the truth is below.
pub(crate) fn complete(lines: &[PageLine], outcome: &Outcome<'_>, suffix: Suffix) -> Vec<u8> {
    let mut page = Html::open(TITLE, suffix);
    let amounts = PageLine::amounts(lines);
    page.heading("Purchase complete").raw("<TABLE border=2>\n");
    page.raw("<TR><TH>Item</TH><TH>Quantity</TH><TH>Title</TH><TH>Actor</TH><TH>Price</TH></TR>\n");
    for (number, line) in (1_i64..).zip(lines) {
        page.raw("<TR><TD>")
            .number(number)
            .raw("</TD><TD>")
            .number(line.line.quantity)
            .raw("</TD>");
        page.cell(line.title())
            .cell(line.actor())
            .raw("<TD>$")
            .cents(line.price())
            .raw("</TD></TR>\n");
    }
    sums(&mut page, amounts, 4);
    page.raw("</TABLE>\n<BR>\n");
    match outcome.order {
        OrderOutcome::Ordered(id) => {
            if let Some(card) = outcome.card {
                charged(&mut page, amounts.total, card);
            }
            page.raw("<H2>Order Completed Successfully --- ORDER NUMBER:  ")
                .number(*id)
                .raw("</H2><BR>\n");
        }
        OrderOutcome::Short(products) => {
            for product in products {
                page.raw("<P>Insufficient quantity for prod ")
                    .number(*product)
                    .raw("</P>\n");
            }
            refused(&mut page);
        }
        OrderOutcome::UnknownCustomer => {
            page.raw("<P>Insert into ORDERS table failed:  there is no such customer</P>\n");
            refused(&mut page);
        }
        OrderOutcome::Empty => {
            page.raw("<P>Insert into ORDERLINES table failed:  the order has no line</P>\n");
            refused(&mut page);
        }
    }
    page.close()
}

fn charged(page: &mut Html, total: Cents, card: &Card) {
    let kind = usize::try_from(card.kind - 1)
        .ok()
        .and_then(|index| CARD_TYPES.get(index));
    page.raw("<H3>$")
        .cents(total)
        .raw(" charged to credit card ")
        .text(&card.number);
    page.raw(" (")
        .raw(kind.unwrap_or(&"unknown"))
        .raw("), expiration ")
        .text(&card.expiration)
        .raw("</H3><BR>\n");
}

fn refused(page: &mut Html) {
    page.heading("Insufficient stock - order not processed");
}
