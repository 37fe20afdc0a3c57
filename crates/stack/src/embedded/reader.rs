//! The short read queries of the pages, and the connections they run on.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{connection::open_reader, money::Cents, search};

/// Rows of the history that a login shows.
const HISTORY_ROWS: usize = 10;

/// Most rows of one search, as the original driver has room for.
pub(crate) const MAX_SEARCH_ROWS: i64 = 100;

const LOGIN: &str = "SELECT CUSTOMERID FROM CUSTOMERS WHERE USERNAME = ?1 AND PASSWORD = ?2";
const HISTORY: &str = "
SELECT p.TITLE, p.ACTOR, related.TITLE FROM CUST_HIST h JOIN PRODUCTS p ON p.PROD_ID = h.PROD_ID
LEFT JOIN PRODUCTS related ON related.PROD_ID = p.COMMON_PROD_ID
WHERE h.CUSTOMERID = ?1 ORDER BY h.ORDERID DESC, p.TITLE LIMIT ?2";
const USERNAME: &str = "SELECT 1 FROM CUSTOMERS WHERE USERNAME = ?1";
const BY_TITLE: &str = "
SELECT p.PROD_ID, p.TITLE, p.ACTOR, p.PRICE FROM IX_PROD_TITLE f JOIN PRODUCTS p ON p.PROD_ID = \
                        f.rowid
WHERE IX_PROD_TITLE MATCH ?1 ORDER BY f.rank LIMIT ?2";
const BY_ACTOR: &str = "
SELECT p.PROD_ID, p.TITLE, p.ACTOR, p.PRICE FROM IX_PROD_ACTOR f JOIN PRODUCTS p ON p.PROD_ID = \
                        f.rowid
WHERE IX_PROD_ACTOR MATCH ?1 ORDER BY f.rank LIMIT ?2";
const BY_CATEGORY: &str = "SELECT PROD_ID, TITLE, ACTOR, PRICE FROM PRODUCTS WHERE CATEGORY = ?1 \
                           AND SPECIAL = 1 LIMIT ?2";
const PRODUCT: &str = "SELECT PROD_ID, TITLE, ACTOR, PRICE FROM PRODUCTS WHERE PROD_ID = ?1";
const STOCK: &str = "SELECT QUAN_IN_STOCK, SALES FROM INVENTORY WHERE PROD_ID = ?1";
const CARD: &str =
    "SELECT CREDITCARDTYPE, CREDITCARD, CREDITCARDEXPIRATION FROM CUSTOMERS WHERE CUSTOMERID = ?1";

/// A customer who logged in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) customer: i64,
    pub(crate) history: Vec<HistoryRow>,
}

/// One former purchase.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HistoryRow {
    pub(crate) title: String,
    pub(crate) actor: String,
    /// Title of the product that people who liked this one also liked.
    pub(crate) related: String,
}

/// What the pages show of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) id: i64,
    pub(crate) title: String,
    pub(crate) actor: String,
    pub(crate) price: Cents,
}

/// One row of `INVENTORY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StockLevel {
    pub(crate) in_stock: i64,
    pub(crate) sales: i64,
}

/// What an order is charged to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// 1 to 5 for the types that the shop knows.
    pub(crate) kind: i64,
    pub(crate) number: String,
    /// `YYYY/MM`.
    pub(crate) expiration: String,
}

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query<'a> {
    Title(&'a str),
    Actor(&'a str),
    Category(i64),
}

/// One connection for reading. Every statement stays prepared; the parameters are bound.
#[derive(Debug)]
pub(crate) struct Reader(Connection);

type Result<T> = std::result::Result<T, rusqlite::Error>;

impl Reader {
    pub(crate) fn open(database: &Path) -> Result<Self> {
        open_reader(database).map(Self)
    }

    /// Run several queries on one state of the database, which also saves taking the read lock for
    /// each.
    fn snapshot<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.0.prepare_cached("BEGIN")?.execute([])?;
        let result = work();
        // Nothing was written: to commit is only to let go of the snapshot, also after an error.
        let ended = self
            .0
            .prepare_cached("COMMIT")
            .and_then(|mut commit| commit.execute([]));
        result.and_then(|value| ended.map(|_| value))
    }

    /// The customer with this name and password, and the ten latest purchases; `None` = there is
    /// none such.
    pub(crate) fn login(&self, username: &str, password: &str) -> Result<Option<Login>> {
        self.snapshot(|| {
            let found = self
                .0
                .prepare_cached(LOGIN)?
                .query_row([username, password], |row| row.get(0))
                .optional()?;
            let Some(customer) = found else {
                return Ok(None);
            };
            let mut statement = self.0.prepare_cached(HISTORY)?;
            let rows = statement.query_map(
                params![customer, i64::try_from(HISTORY_ROWS).unwrap_or(i64::MAX)],
                |row| {
                    Ok(HistoryRow {
                        title: row.get(0)?,
                        actor: row.get(1)?,
                        related: row.get::<_, Option<_>>(2)?.unwrap_or_default(),
                    })
                },
            )?;
            Ok(Some(Login {
                customer,
                history: rows.collect::<Result<_>>()?,
            }))
        })
    }

    /// Whether a customer of this name exists.
    pub(crate) fn username_taken(&self, username: &str) -> Result<bool> {
        self.0.prepare_cached(USERNAME)?.exists([username])
    }

    /// The first `limit` products found, at most [`MAX_SEARCH_ROWS`].
    pub(crate) fn search(&self, query: Query<'_>, limit: i64) -> Result<Vec<Product>> {
        let limit = limit.clamp(0, MAX_SEARCH_ROWS);
        let by_words = |sql, text| match search::any_word(text) {
            Some(words) => self
                .0
                .prepare_cached(sql)?
                .query_map(params![words, limit], product)?
                .collect(),
            None => Ok(Vec::new()),
        };
        match query {
            Query::Title(text) => by_words(BY_TITLE, text),
            Query::Actor(text) => by_words(BY_ACTOR, text),
            Query::Category(number) => self
                .0
                .prepare_cached(BY_CATEGORY)?
                .query_map([number, limit], product)?
                .collect(),
        }
    }

    /// The product of each id, in the order of the ids; `None` where there is no such product.
    pub(crate) fn products(&self, ids: impl Iterator<Item = i64>) -> Result<Vec<Option<Product>>> {
        self.snapshot(|| {
            let mut statement = self.0.prepare_cached(PRODUCT)?;
            ids.map(|id| statement.query_row([id], product).optional())
                .collect()
        })
    }

    /// The stock of each id, in the order of the ids; `None` where there is no such product.
    pub(crate) fn stock(&self, ids: impl Iterator<Item = i64>) -> Result<Vec<Option<StockLevel>>> {
        self.snapshot(|| {
            let mut statement = self.0.prepare_cached(STOCK)?;
            let level = |row: &Row<'_>| {
                Ok(StockLevel {
                    in_stock: row.get(0)?,
                    sales: row.get(1)?,
                })
            };
            ids.map(|id| statement.query_row([id], level).optional())
                .collect()
        })
    }

    /// The card of a customer; `None` when there is no such customer.
    pub(crate) fn card(&self, customer: i64) -> Result<Option<Card>> {
        let card = |row: &Row<'_>| {
            Ok(Card {
                kind: row.get(0)?,
                number: row.get(1)?,
                expiration: row.get(2)?,
            })
        };
        self.0
            .prepare_cached(CARD)?
            .query_row([customer], card)
            .optional()
    }
}

fn product(row: &Row<'_>) -> Result<Product> {
    Ok(Product {
        id: row.get(0)?,
        title: row.get(1)?,
        actor: row.get(2)?,
        price: Cents(row.get(3)?),
    })
}

/// Readers that are not in use.
///
/// A worker takes one for as long as a query runs and never across a suspension point, so there are
/// never more than workers. The last one given back is taken first, and on one worker it is always
/// the same: its statements and pages stay in the CPU's caches.
#[derive(Debug)]
pub(crate) struct Readers {
    database: PathBuf,
    idle: Mutex<Vec<Reader>>,
}

impl Readers {
    /// Open `count` readers at once, so that serving needs no further file.
    pub(crate) fn open(database: &Path, count: usize) -> Result<Self> {
        let idle = (0..count)
            .map(|_| Reader::open(database))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            database: database.to_owned(),
            idle: Mutex::new(idle),
        })
    }

    /// Run `work` on a reader, on this thread.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Reader) -> Result<T>) -> Result<T> {
        let taken = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let reader = taken.map_or_else(|| Reader::open(&self.database), Ok)?;
        let result = work(&reader);
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(reader);
        result
    }
}
