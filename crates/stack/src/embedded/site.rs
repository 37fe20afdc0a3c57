//! From a request to an answer: which page, which queries, what is stored.
//!
//! Knows nothing of connections: method, path, query and form come in, status and body go out.

use std::{path::Path, time::Duration};

use super::{
    Pages,
    burn::burn,
    error::{DatabaseContext as _, EmbeddedError},
    fields::Fields,
    meta::Meta,
    order::{Line, MAX_QUANTITY, NewOrder, OrderOutcome, StockChange},
    pages::{self, Browse, CartItem, Outcome, PageLine, SearchForm, Suffix},
    reader::{Query, Readers},
    service::HEALTH_PATH,
    writer::{CustomerRow, WriteFault, Writer},
};
use crate::http_server::{Answer, Content, HttpSite, Method, Request};

/// Longest value of a text column, in characters; longer input is cut, as the original's database
/// does.
const MAX_TEXT: usize = 50;

/// Rows of a search that does not say how many.
const USUAL_SEARCH_ROWS: i64 = 10;

fn page(body: Vec<u8>) -> Answer {
    Answer {
        status: 200,
        content: Content::Html,
        body,
    }
}

/// A page that says why there is no other.
fn notice(status: u16, heading: &str, sentence: &str) -> Answer {
    Answer {
        status,
        content: Content::Html,
        body: pages::notice(heading, sentence),
    }
}

/// Why there is no page.
enum Fault {
    Read(rusqlite::Error),
    Write(WriteFault),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Read(error)
    }
}

impl From<WriteFault> for Fault {
    fn from(fault: WriteFault) -> Self {
        Self::Write(fault)
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        let fault = match fault {
            Fault::Read(error) => WriteFault::from(&error),
            Fault::Write(fault) => fault,
        };
        match fault {
            WriteFault::Busy => notice(
                503,
                "The shop is too busy",
                "Nothing was stored. Please try again in a second.",
            ),
            WriteFault::Failed(what) => notice(
                500,
                "The shop's database failed",
                &format!("Nothing was stored: {what}"),
            ),
        }
    }
}

/// The dynamic pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Login,
    NewCustomer,
    Browse,
    Purchase,
}

impl Page {
    const ALL: [(&'static str, Self); 4] = [
        ("dslogin", Self::Login),
        ("dsnewcustomer", Self::NewCustomer),
        ("dsbrowse", Self::Browse),
        ("dspurchase", Self::Purchase),
    ];

    /// `dslogin.php` -> the page and the suffix for its links.
    fn of_file(file: &str) -> Option<(Self, Suffix)> {
        let (name, suffix) = file.split_once('.')?;
        let (_, page) = Self::ALL.into_iter().find(|(known, _)| *known == name)?;
        let suffix = Suffix::ALL
            .into_iter()
            .find(|known| known.as_str() == suffix)?;
        Some((page, suffix))
    }
}

/// The shop behind the pages.
pub(crate) struct Site {
    readers: Readers,
    writer: Writer,
    behaviour: Pages,
    /// CPU time that every page burns on purpose.
    extra_cpu: Duration,
    /// What the pages' paths begin with: `/ds2/`.
    prefix: String,
    meta: Meta,
    index: Vec<u8>,
}

impl Site {
    /// A shop that reads with `workers` connections and hands its writes to `writer`.
    pub(crate) fn open(
        database: &Path,
        workers: usize,
        behaviour: Pages,
        directory: &str,
        meta: Meta,
        writer: Writer,
    ) -> Result<Self, EmbeddedError> {
        let prefix = match directory.trim_matches('/') {
            "" => "/".to_owned(),
            directory => format!("/{directory}/"),
        };
        let readers =
            Readers::open(database, workers).at(database, "opening the database for reading")?;
        Ok(Self {
            readers,
            writer,
            behaviour,
            extra_cpu: Duration::ZERO,
            prefix,
            meta,
            index: pages::index(),
        })
    }

    /// The same shop, every page of which burns `extra_cpu` of CPU time.
    pub(crate) fn burning(self, extra_cpu: Duration) -> Self {
        Self { extra_cpu, ..self }
    }
}

impl HttpSite for Site {
    type Answer = Answer;

    /// The read queries run right here on the worker thread: each takes some ten microseconds from
    /// memory, less than a hop to another thread and back; and the workers are as many as the CPUs,
    /// so that nothing else could run meanwhile anyway.
    async fn answer(&self, request: Request<'_>) -> Answer {
        if request.path == HEALTH_PATH {
            return match request.method {
                Method::Get => self.health(),
                _ => method_not_allowed(),
            };
        }
        let Some(file) = request.path.strip_prefix(self.prefix.as_str()) else {
            return not_found();
        };
        if matches!(file, "" | "index.html") {
            return if request.method == Method::Other {
                method_not_allowed()
            } else {
                page(self.index.clone())
            };
        }
        let Some((wanted, suffix)) = Page::of_file(file) else {
            return not_found();
        };
        if request.method == Method::Other {
            return method_not_allowed();
        }
        let Ok(fields) = Fields::parse(request.query, request.form) else {
            return notice(
                400,
                "Too many fields",
                "A request may have at most 1000 fields.",
            );
        };
        burn(self.extra_cpu);
        let made = match wanted {
            Page::Login => self.login(&fields, suffix),
            Page::NewCustomer => self.new_customer(&fields, suffix).await,
            Page::Browse => self.browse(&fields, suffix),
            Page::Purchase => self.purchase(&fields, suffix).await,
        };
        made.map_or_else(Answer::from, page)
    }

    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer {
        notice(status, heading, sentence)
    }
}

impl Site {
    fn health(&self) -> Answer {
        let alive = self.writer.is_alive();
        let body = serde_json::json!({
            "status": if alive { "ok" } else { "the writer has ended" },
            "size": self.meta.size,
            "words": self.meta.words,
            "pages": self.behaviour,
            "orders": self.writer.orders(),
        });
        Answer {
            status: if alive { 200 } else { 503 },
            content: Content::Json,
            body: body.to_string().into_bytes(),
        }
    }

    fn login(&self, fields: &Fields<'_>, suffix: Suffix) -> Result<Vec<u8>, Fault> {
        let username = fields.text("username");
        if username.is_empty() {
            return Ok(pages::login_form(suffix));
        }
        let login = self
            .readers
            .with(|reader| reader.login(username, fields.text("password")))?;
        Ok(login.map_or_else(
            || pages::login_failed(suffix),
            |login| pages::welcome(&login, suffix),
        ))
    }

    async fn new_customer(&self, fields: &Fields<'_>, suffix: Suffix) -> Result<Vec<u8>, Fault> {
        let required = [
            "firstname",
            "lastname",
            "address1",
            "city",
            "country",
            "username",
            "password",
        ];
        if required.iter().any(|name| fields.text(name).is_empty()) {
            return Ok(pages::entry_form(fields, false, suffix));
        }
        let row = customer_row(fields);
        // Asking a reader first keeps the common refusal off the writer; the unique index decides.
        let taken = self
            .readers
            .with(|reader| reader.username_taken(&row.username))?;
        let added = if taken {
            None
        } else {
            self.writer.customer(row).await?
        };
        Ok(added.map_or_else(
            || pages::entry_form(fields, true, suffix),
            |id| pages::added(id, suffix),
        ))
    }

    fn browse(&self, fields: &Fields<'_>, suffix: Suffix) -> Result<Vec<u8>, Fault> {
        let Some(customer) = fields.number("customerid") else {
            return Ok(pages::not_logged_in(suffix));
        };
        let form = SearchForm {
            kind: fields.text("browsetype"),
            title: fields.text("browse_title"),
            actor: fields.text("browse_actor"),
            category: fields.number("browse_category"),
            limit: fields.number("limit_num").unwrap_or(USUAL_SEARCH_ROWS),
        };
        let query = match form.kind {
            "" => None,
            "title" => Some(Query::Title(form.title)),
            "actor" => Some(Query::Actor(form.actor)),
            // An unknown type finds nothing, as category 0 does.
            kind => Some(Query::Category(if kind == "category" {
                form.category.unwrap_or(0)
            } else {
                0
            })),
        };
        let in_cart = || {
            fields
                .numbers("item")
                .chain(fields.numbers("selected_item"))
                .flatten()
        };
        let (results, cart) = self.readers.with(|reader| {
            let results = query
                .map(|query| reader.search(query, form.limit))
                .transpose()?;
            let cart = if in_cart().next().is_some() {
                reader.products(in_cart())?
            } else {
                Vec::new()
            };
            Ok((results, cart))
        })?;
        let cart: Vec<_> = cart
            .into_iter()
            .flatten()
            .map(|product| CartItem {
                product: product.id,
                title: product.title,
            })
            .collect();
        Ok(pages::browse(
            &Browse {
                customer,
                form,
                results: results.as_deref(),
                cart: &cart,
            },
            suffix,
        ))
    }

    async fn purchase(&self, fields: &Fields<'_>, suffix: Suffix) -> Result<Vec<u8>, Fault> {
        let Some(customer) = fields.number("customerid") else {
            return Ok(pages::not_logged_in(suffix));
        };
        let lines = self.lines(fields)?;
        if fields.text("confirmpurchase").is_empty() {
            return Ok(pages::review(customer, &lines, suffix));
        }
        if lines.is_empty() {
            let outcome = Outcome {
                order: &OrderOutcome::Empty,
                card: None,
            };
            return Ok(pages::complete(&lines, &outcome, suffix));
        }
        let wanted: Vec<Line> = lines.iter().map(|line| line.line).collect();
        let stock = self.stock_change(&wanted)?;
        let amounts = PageLine::amounts(&lines);
        let order = self
            .writer
            .order(NewOrder {
                customer,
                amounts,
                lines: wanted,
                stock,
            })
            .await?;
        let card = match order {
            OrderOutcome::Ordered(_) => self.readers.with(|reader| reader.card(customer))?,
            _ => None,
        };
        Ok(pages::complete(
            &lines,
            &Outcome {
                order: &order,
                card: card.as_ref(),
            },
            suffix,
        ))
    }

    /// The lines of the order, without the dropped ones, with their products.
    fn lines(&self, fields: &Fields<'_>) -> Result<Vec<PageLine>, Fault> {
        let quantities = fields.numbers("quan").chain(std::iter::repeat(None));
        let wanted: Vec<Line> = (0_i64..)
            .zip(fields.numbers("item").zip(quantities))
            .filter(|(index, _)| !fields.numbers("drop").any(|drop| drop == Some(*index)))
            .map(|(_, (item, quantity))| Line {
                product: item.unwrap_or(0),
                quantity: quantity.unwrap_or(1).clamp(1, MAX_QUANTITY),
            })
            .collect();
        let products = self
            .readers
            .with(|reader| reader.products(wanted.iter().map(|line| line.product)))?;
        Ok(wanted
            .into_iter()
            .zip(products)
            .map(|(line, product)| PageLine { line, product })
            .collect())
    }

    /// How the stock changes. The faithful way reads it here, outside the writer's transaction and
    /// without a lock, as the original does.
    fn stock_change(&self, lines: &[Line]) -> Result<StockChange, Fault> {
        match self.behaviour {
            Pages::Corrected => Ok(StockChange::Relative),
            Pages::Faithful => {
                let read = self
                    .readers
                    .with(|reader| reader.stock(lines.iter().map(|line| line.product)))?;
                Ok(StockChange::from_read(lines, &read))
            }
        }
    }
}

/// The row of a new customer; numbers that are none become 0, as the original's database has it in
/// its lenient mode.
fn customer_row(fields: &Fields<'_>) -> CustomerRow {
    let text = |name: &str| cut(fields.text(name));
    let month = fields.number("ccexpmon").unwrap_or(0);
    CustomerRow {
        first_name: text("firstname"),
        last_name: text("lastname"),
        address1: text("address1"),
        address2: text("address2"),
        city: text("city"),
        state: text("state"),
        zip: fields.number("zip").unwrap_or(0),
        region: if fields.text("country") == "US" { 1 } else { 2 },
        country: text("country"),
        email: text("email"),
        phone: text("phone"),
        card_kind: fields.number("creditcardtype").unwrap_or(0),
        card: text("creditcard"),
        card_expiration: cut(&format!("{}/{month:02}", fields.text("ccexpyr"))),
        username: text("username"),
        password: text("password"),
        age: fields.number("age"),
        income: fields.number("income"),
        gender: fields.text("gender").chars().take(1).collect(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

fn not_found() -> Answer {
    notice(
        404,
        "There is no such page",
        "The shop's entrance is index.html.",
    )
}

fn method_not_allowed() -> Answer {
    notice(
        405,
        "This is not done here",
        "Pages answer GET and POST, the health page GET.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_that_pass_are_told_apart_from_those_that_stay() {
        let sqlite = |code| {
            Fault::Read(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(code),
                None,
            ))
        };
        let status = |fault| Answer::from(fault).status;
        assert_eq!(status(sqlite(rusqlite::ffi::SQLITE_BUSY)), 503);
        assert_eq!(status(Fault::Write(WriteFault::Busy)), 503);
        assert_eq!(status(sqlite(rusqlite::ffi::SQLITE_IOERR)), 500);
    }

    #[test]
    fn long_texts_are_cut_and_missing_numbers_are_zero() {
        let name = "\u{e9}".repeat(60);
        let query =
            format!("firstname={name}&zip=&country=US&ccexpmon=7&ccexpyr=2010&age=x&gender=MF");
        let row = customer_row(&Fields::parse(&query, "").expect("few fields"));
        assert_eq!(row.first_name.chars().count(), MAX_TEXT);
        assert_eq!(
            (
                row.zip,
                row.region,
                row.card_expiration.as_str(),
                row.age,
                row.gender.as_str()
            ),
            (0, 1, "2010/07", None, "M")
        );
    }
}
