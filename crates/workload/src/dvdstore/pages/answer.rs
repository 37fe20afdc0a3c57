//! Reading the pages: what a body says, in the fewest passes over its bytes.

use std::sync::LazyLock;

use memchr::{memchr, memmem::Finder};

/// A text that is searched for through a whole page: prepared once, since that costs more than to
/// search.
type Prepared = LazyLock<Finder<'static>>;

static NAME_TAKEN: Prepared = LazyLock::new(|| Finder::new("Username already in use"));
static NOTHING_FOUND: Prepared = LazyLock::new(|| Finder::new("No DVDs Found"));
static TABLE: Prepared = LazyLock::new(|| Finder::new("<TABLE"));
static TABLE_END: Prepared = LazyLock::new(|| Finder::new("</TABLE"));
static ROLLED_BACK: Prepared = LazyLock::new(|| Finder::new("Insufficient stock"));
static ORDER_NUMBER: Prepared = LazyLock::new(|| Finder::new("ORDER NUMBER:"));
static CUSTOMER_ID: Prepared = LazyLock::new(|| Finder::new("customerid"));

/// The most rows that a result page may hold.
const MAX_ROWS: u32 = 100;

/// Why a page with status 200 is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageFault {
    /// The application refused, by its own words.
    #[error("the application refused: {0}")]
    Rejected(&'static str),
    /// The page does not hold what it must hold.
    #[error("the page does not hold {0}")]
    Missing(&'static str),
}

/// What the page for new customers answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewCustomerAnswer {
    /// The customer exists now, with this id.
    Added(u64),
    /// The user name is in use; another one may do.
    NameTaken,
}

/// What the purchase page answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurchaseAnswer {
    /// The order is committed, with this id.
    Ordered(u64),
    /// Rolled back: a product ran short.
    Shortage,
    /// Rolled back without a shortage: transactions collided.
    Conflict,
}

/// Reads the customer id from the page after a login.
///
/// # Errors
/// A wrong user name or password, or a page without an id.
pub fn read_login(body: &[u8]) -> Result<u64, PageFault> {
    read_customer(body).map_err(|fault| {
        if find(body, b"Username/password incorrect").is_some() {
            PageFault::Rejected("user name or password incorrect")
        } else {
            fault
        }
    })
}

/// Reads the answer to a new customer.
///
/// # Errors
/// Required fields were empty, or a page without an id.
pub fn read_new_customer(body: &[u8]) -> Result<NewCustomerAnswer, PageFault> {
    if NAME_TAKEN.find(body).is_some() {
        return Ok(NewCustomerAnswer::NameTaken);
    }
    read_customer(body)
        .map(NewCustomerAnswer::Added)
        .map_err(|fault| {
            if find(body, b"Please Complete All Required Fields").is_some() {
                PageFault::Rejected("a required field of the new customer was empty")
            } else {
                fault
            }
        })
}

/// Reads how many products a search found, at most 100; every row is checked.
///
/// # Errors
/// The customer was not logged in, there is no table of results, or a row lacks its id, title,
/// actor or price.
pub fn read_browse(body: &[u8]) -> Result<u32, PageFault> {
    read_products(body, |_, _, _| ())
}

/// [`read_browse`] that tells the id, title and actor of every product found.
///
/// # Errors
/// As [`read_browse`].
pub fn read_products(
    body: &[u8],
    mut tell: impl FnMut(u64, &[u8], &[u8]),
) -> Result<u32, PageFault> {
    if NOTHING_FOUND.find(body).is_some() {
        return Ok(0);
    }
    let mut scan = Scan(body);
    if !scan.after_prepared(&TABLE) {
        return Err(if find(body, b"You have not logged in").is_some() {
            PageFault::Rejected("the customer is not logged in")
        } else {
            PageFault::Missing("a table of results")
        });
    }
    let mut table = Scan(TABLE_END.find(scan.0).map_or(scan.0, |end| &scan.0[..end]));
    if !table.after(b"<TR>") {
        return Err(PageFault::Missing("the header of the results"));
    }
    let mut rows = 0;
    while rows < MAX_ROWS && table.after(b"<TR>") {
        let (id, title, actor) = read_row(&mut table)?;
        tell(id, title, actor);
        rows += 1;
    }
    Ok(rows)
}

/// One row of results: the product id in a checkbox, then title, actor and price in cells.
fn read_row<'a>(table: &mut Scan<'a>) -> Result<(u64, &'a [u8], &'a [u8]), PageFault> {
    let id = if table.after(b"VALUE=") {
        table.until(b'>')
    } else {
        None
    };
    let id = id
        .and_then(number)
        .ok_or(PageFault::Missing("the product id of a row"))?;
    let mut text = |what| {
        cell(table)
            .filter(|text| !text.is_empty())
            .ok_or(PageFault::Missing(what))
    };
    let (title, actor) = (text("the title of a row")?, text("the actor of a row")?);
    cell(table)
        .filter(|text| is_price(text))
        .ok_or(PageFault::Missing("the price of a row"))
        .map(|_| (id, title, actor))
}

/// Reads the answer to a purchase.
///
/// # Errors
/// A page that names neither an order nor a shortage.
pub fn read_purchase(body: &[u8]) -> Result<PurchaseAnswer, PageFault> {
    if ROLLED_BACK.find(body).is_some() {
        let short = find(body, b"Insufficient quantity for prod").is_some();
        return Ok(if short {
            PurchaseAnswer::Shortage
        } else {
            PurchaseAnswer::Conflict
        });
    }
    let mut scan = Scan(body);
    let id = if scan.after_prepared(&ORDER_NUMBER) {
        scan.until(b'<')
    } else {
        None
    };
    id.and_then(number)
        .map(PurchaseAnswer::Ordered)
        .ok_or(PageFault::Missing("an order number"))
}

/// The id after the first `customerid`: between the next `=` and the next `>`.
fn read_customer(body: &[u8]) -> Result<u64, PageFault> {
    let mut scan = Scan(body);
    if !scan.after_prepared(&CUSTOMER_ID) || scan.until(b'=').is_none() {
        return Err(PageFault::Missing("a customer id"));
    }
    scan.until(b'>')
        .and_then(number)
        .ok_or(PageFault::Missing("a customer id that is a number above 0"))
}

/// A number above 0, with or without quotes and blanks around it.
fn number(text: &[u8]) -> Option<u64> {
    let quoted = text.trim_ascii();
    let bare = [b'"', b'\'']
        .iter()
        .find_map(|quote| quoted.strip_prefix(&[*quote])?.strip_suffix(&[*quote]))
        .unwrap_or(quoted);
    if bare.is_empty() || bare.len() > 18 {
        return None;
    }
    let digits = bare.iter().try_fold(0, |sum, &byte| {
        byte.is_ascii_digit()
            .then(|| 10 * sum + u64::from(byte - b'0'))
    });
    digits.filter(|&id| id > 0)
}

/// Digits with at most one decimal point or comma; a leading blank or currency sign does not
/// matter.
fn is_price(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"$").unwrap_or(text);
    let points = text.iter().filter(|&byte| b".,".contains(byte)).count();
    points <= 1
        && text.len() > points
        && text
            .iter()
            .all(|byte| byte.is_ascii_digit() || b".,".contains(byte))
}

fn cell<'a>(table: &mut Scan<'a>) -> Option<&'a [u8]> {
    if table.after(b"<TD>") {
        table.until(b'<')
    } else {
        None
    }
}

/// Position of a short token that is near or whose first byte is rare: cheaper than to prepare a
/// search.
fn find(body: &[u8], token: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(hit) = memchr(token[0], &body[from..]) {
        if body[from + hit..].starts_with(token) {
            return Some(from + hit);
        }
        from += hit + 1;
    }
    None
}

/// The part of a body that is still to be read.
struct Scan<'a>(&'a [u8]);

impl<'a> Scan<'a> {
    /// Moves behind the next `token`, if there is one.
    fn after(&mut self, token: &[u8]) -> bool {
        let at = find(self.0, token);
        self.skip(at, token.len())
    }

    /// Moves behind the next occurrence of a prepared text, if there is one.
    fn after_prepared(&mut self, token: &Prepared) -> bool {
        let at = token.find(self.0);
        self.skip(at, token.needle().len())
    }

    fn skip(&mut self, at: Option<usize>, length: usize) -> bool {
        if let Some(at) = at {
            self.0 = &self.0[at + length..];
        }
        at.is_some()
    }

    /// Takes the text before the next `end` and moves behind it.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let at = memchr(end, self.0)?;
        let text = &self.0[..at];
        self.0 = &self.0[at + 1..];
        Some(text)
    }
}

#[cfg(test)]
mod tests;
