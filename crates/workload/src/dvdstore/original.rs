//! How the original web driver reads pages: the compatibility oracle for servers.
//!
//! A page that these functions read can be driven by the original driver. They keep its quirks on
//! purpose: texts that only count behind the start of the page, values at fixed distances, double
//! quotes as the only quotes. To judge pages as a client use [`super::pages`], which accepts more
//! and tells more apart.

/// The most rows that the original driver has room for.
const MAX_ROWS: usize = 100;

/// Why the original driver would give up; the emulated user then ends for the rest of the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginalFault {
    /// A text that it looks for does not occur.
    #[error("the original driver looks for `{0}` and does not find it")]
    NotFound(&'static str),
    /// It takes a text for a number, and the text is none.
    #[error("the original driver reads `{text}` as {what}, which must be a number")]
    NotANumber {
        /// What the number stands for.
        what: &'static str,
        /// The text, cut to a readable length.
        text: String,
    },
    /// More rows than it has room for.
    #[error("the original driver has room for {MAX_ROWS} rows, the page has more")]
    TooManyRows,
}

/// What the original driver reads from the page after a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalLogin {
    /// The customer id.
    pub customer: i32,
    /// Title, actor and related title of earlier purchases, as far as they stand behind the
    /// customer id.
    pub history: Vec<[String; 3]>,
}

/// What the original driver reads from one row of search results.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginalResult {
    /// Product id.
    pub product: i32,
    /// Title.
    pub title: String,
    /// Actor.
    pub actor: String,
    /// Price.
    pub price: f64,
}

/// Reads the page after a login.
///
/// # Errors
/// When the original driver would not find the customer id, or would stumble over the history
/// behind it.
pub fn read_login(body: &str) -> Result<OriginalLogin, OriginalFault> {
    let (customer, mut rest) = read_customer(body)?;
    let mut history = Vec::new();
    if let Ok(previous) = from(rest, "Your previous purchases:") {
        rest = after(from(previous, "<TABLE")?, "<TR>")?;
        while let Ok(row) = after(rest, "<TR>") {
            let (title, row) = cell(row)?;
            let (actor, row) = cell(row)?;
            let (related, row) = cell(row)?;
            if history.len() == MAX_ROWS {
                return Err(OriginalFault::TooManyRows);
            }
            history.push([title, actor, related].map(str::to_owned));
            rest = row;
        }
    }
    Ok(OriginalLogin { customer, history })
}

/// Reads the answer to a new customer; 0 means that the user name is in use.
///
/// # Errors
/// When the original driver would not find the customer id.
pub fn read_new_customer(body: &str) -> Result<i32, OriginalFault> {
    if behind_start(body, "Username already in use") {
        return Ok(0);
    }
    read_customer(body).map(|(customer, _)| customer)
}

/// Reads the results of a search.
///
/// # Errors
/// When there is no table, or the original driver would stumble over a row of it or behind it.
pub fn read_browse(body: &str) -> Result<Vec<OriginalResult>, OriginalFault> {
    let mut results = Vec::new();
    if behind_start(body, "No DVDs Found") {
        return Ok(results);
    }
    let mut rest = after(from(body, "<TABLE")?, "<TR>")?;
    while let Ok(row) = after(rest, "<TR>") {
        let (value, row) = split(skip(from(row, "VALUE=")?, 6), ">")?;
        let product = integer("a product id", &value.replace('"', ""))?;
        let (title, row) = cell(row)?;
        let (actor, row) = cell(row)?;
        let (price, row) = cell(row)?;
        let price = price
            .trim()
            .parse()
            .map_err(|_| not_a_number("a price", price))?;
        if results.len() == MAX_ROWS {
            return Err(OriginalFault::TooManyRows);
        }
        results.push(OriginalResult {
            product,
            title: title.to_owned(),
            actor: actor.to_owned(),
            price,
        });
        rest = row;
    }
    Ok(results)
}

/// Reads the answer to a purchase: the order id, or nothing when it was rolled back.
///
/// # Errors
/// When the text 15 characters behind the `O` of `ORDER NUMBER` is not a number up to the next tag.
pub fn read_purchase(body: &str) -> Result<Option<i32>, OriginalFault> {
    if behind_start(body, "Insufficient stock") {
        return Ok(None);
    }
    let (id, _) = split(skip(from(body, "ORDER NUMBER")?, 15), "<")?;
    integer("an order number", id).map(Some)
}

/// The id between the first `=` and the first `>` behind the first `customerid`, and the page from
/// that `>` on.
fn read_customer(body: &str) -> Result<(i32, &str), OriginalFault> {
    let (_, rest) = split(from(body, "customerid")?, "=")?;
    let (value, rest) = split(rest, ">")?;
    Ok((integer("a customer id", value.trim_matches('"'))?, rest))
}

/// The next cell and the row behind its text.
fn cell(row: &str) -> Result<(&str, &str), OriginalFault> {
    let start = after(row, "<TD>")?;
    let end = start.find('<').ok_or(OriginalFault::NotFound("<"))?;
    Ok((&start[..end], &start[end..]))
}

/// Whether `text` occurs, but not at the very start: the original tests for an index above 0.
fn behind_start(body: &str, text: &str) -> bool {
    body.find(text).is_some_and(|index| index > 0)
}

fn from<'a>(body: &'a str, token: &'static str) -> Result<&'a str, OriginalFault> {
    body.find(token)
        .map(|index| &body[index..])
        .ok_or(OriginalFault::NotFound(token))
}

fn after<'a>(body: &'a str, token: &'static str) -> Result<&'a str, OriginalFault> {
    split(body, token).map(|(_, rest)| rest)
}

fn split<'a>(body: &'a str, token: &'static str) -> Result<(&'a str, &'a str), OriginalFault> {
    body.split_once(token).ok_or(OriginalFault::NotFound(token))
}

/// The text behind the first `count` characters.
fn skip(text: &str, count: usize) -> &str {
    text.char_indices()
        .nth(count)
        .map_or("", |(index, _)| &text[index..])
}

/// A 32-bit integer; blanks around it do not matter.
fn integer(what: &'static str, text: &str) -> Result<i32, OriginalFault> {
    text.trim().parse().map_err(|_| not_a_number(what, text))
}

fn not_a_number(what: &'static str, text: &str) -> OriginalFault {
    OriginalFault::NotANumber {
        what,
        text: text.chars().take(40).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "<INPUT TYPE=HIDDEN NAME=customerid VALUE=123>";
    const HISTORY: &str = "<H3>Your previous purchases:</H3><TABLE border=2><TR><TH>Title</TH></TR>\
        <TR><TD>A B</TD><TD>C D</TD><TD>E F</TD></TR></TABLE>";

    #[test]
    fn a_history_before_the_customer_id_is_not_seen() {
        let login = |body: String| read_login(&body);
        assert_eq!(
            login(format!("{HISTORY}{FORM}")),
            Ok(OriginalLogin {
                customer: 123,
                history: vec![]
            })
        );
        let history = vec![["A B", "C D", "E F"].map(str::to_owned)];
        assert_eq!(
            login(format!("{FORM}{HISTORY}")),
            Ok(OriginalLogin {
                customer: 123,
                history
            })
        );
        let rows = "<TR><TD>A</TD><TD>B</TD><TD>C</TD></TR>".repeat(101);
        let long = format!("{FORM}Your previous purchases:<TABLE><TR></TR>{rows}");
        assert_eq!(login(long), Err(OriginalFault::TooManyRows));
    }

    #[test]
    fn only_double_quotes_are_quotes() {
        let id = |value: &str| {
            read_login(&format!("<INPUT NAME=customerid VALUE={value}>"))
                .map(|login| login.customer)
        };
        assert_eq!(id("\"5\""), Ok(5));
        assert_eq!(id(" 5 "), Ok(5));
        assert!(matches!(id("'5'"), Err(OriginalFault::NotANumber { .. })));
        assert_eq!(
            read_login("Username/password incorrect"),
            Err(OriginalFault::NotFound("customerid"))
        );
    }

    #[test]
    fn messages_at_the_very_start_do_not_count() {
        assert_eq!(read_new_customer(" Username already in use"), Ok(0));
        assert_eq!(
            read_new_customer("Username already in use"),
            Err(OriginalFault::NotFound("customerid"))
        );
        assert_eq!(read_browse(" No DVDs Found"), Ok(vec![]));
        assert_eq!(
            read_browse("No DVDs Found"),
            Err(OriginalFault::NotFound("<TABLE"))
        );
        assert_eq!(read_purchase(" Insufficient stock"), Ok(None));
        assert_eq!(
            read_purchase("Insufficient stock"),
            Err(OriginalFault::NotFound("ORDER NUMBER"))
        );
    }

    #[test]
    fn results_are_read_with_their_quirks() {
        let row = "<TR><TD><INPUT NAME=selected_item[] TYPE=CHECKBOX VALUE=\"39\"></TD><TD>A \
                   B</TD><TD>C D</TD><TD> 9.99</TD></TR>";
        let body = format!("<TABLE border=2><TR><TH>Title</TH></TR>{row}</TABLE>");
        let result = OriginalResult {
            product: 39,
            title: "A B".into(),
            actor: "C D".into(),
            price: 9.99,
        };
        assert_eq!(read_browse(&body), Ok(vec![result]));
        let with_cart = format!("{body}<TABLE><TR><TD>1</TD></TR></TABLE>");
        assert_eq!(
            read_browse(&with_cart),
            Err(OriginalFault::NotFound("VALUE=")),
            "any row behind the results is taken for one"
        );
        let with_dollar = body.replace(" 9.99", "$9.99");
        assert!(matches!(
            read_browse(&with_dollar),
            Err(OriginalFault::NotANumber {
                what: "a price",
                ..
            })
        ));
        let full = format!("<TABLE><TR></TR>{}", row.repeat(101));
        assert_eq!(read_browse(&full), Err(OriginalFault::TooManyRows));
    }

    #[test]
    fn order_numbers_stand_behind_two_blanks() {
        assert_eq!(
            read_purchase("--- ORDER NUMBER:  12001</H2>"),
            Ok(Some(12_001))
        );
        assert_eq!(
            read_purchase("--- ORDER NUMBER: 12001</H2>"),
            Ok(Some(2001)),
            "one blank loses a digit"
        );
        assert!(matches!(
            read_purchase("ORDER NUMBER:  </H2>"),
            Err(OriginalFault::NotANumber { .. })
        ));
        assert_eq!(
            read_purchase("ORDER NUMBER:  12"),
            Err(OriginalFault::NotFound("<"))
        );
    }
}
