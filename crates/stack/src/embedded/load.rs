//! Making the database: generated rows go straight into the tables, without files between.

use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rookery_stats::DatabaseLoad;
use rookery_workload::dvdstore::{
    Rows, Size, WordLists,
    data::{
        CATEGORIES, Customer, CustomerHalf, CustomerRandom, Customers, Inventory, MONTHS,
        ORDER_YEAR, Orders, Products,
    },
};
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

use super::{
    connection::settle,
    error::{DatabaseContext as _, EmbeddedError},
    meta::Meta,
    schema,
};

/// Rows between two reports of progress.
const REPORT_EVERY: u64 = 10_000;

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// What is being made: a table, or `indexes`.
    pub step: &'static str,
    /// Rows (or indexes) of it that are done.
    pub done: u64,
    /// Rows (or indexes) of it altogether.
    pub total: u64,
}

/// What a load has made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadSummary {
    /// Rows in all tables.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// Its parts.
    pub parts: DatabaseLoad,
}

/// Make a database of `size` at `database`, with titles and actors from `words`, and report to
/// `progress` about every ten thousand rows; its answer may end the load, of which nothing stays
/// then.
///
/// The file appears under its name only when it is complete: a load that was killed leaves
/// `<name>.part`, which the next load replaces.
///
/// # Errors
/// When `database` exists, the disk is full, SQLite refuses, or `progress` ends the load.
pub fn load(
    database: &Path,
    size: Size,
    words: &WordLists,
    progress: &dyn Fn(LoadProgress) -> ControlFlow<()>,
) -> Result<LoadSummary, EmbeddedError> {
    let start = Instant::now();
    if database.exists() {
        return Err(EmbeddedError::Exists(database.to_owned()));
    }
    let part = part_path(database);
    remove_stale(&part)?;
    let loaded =
        fill(&part, size, words, progress).and_then(|rows| Ok((rows, publish(&part, database)?)));
    match loaded {
        Ok((filled, bytes)) => Ok(LoadSummary {
            rows: filled.rows,
            bytes,
            took: start.elapsed(),
            parts: filled.parts(start.elapsed(), bytes),
        }),
        Err(error) => {
            // The first error is the one to tell; a remainder is replaced by the next load.
            let _ = fs::remove_file(&part);
            Err(error)
        }
    }
}

fn part_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn remove_stale(part: &Path) -> Result<(), EmbeddedError> {
    match fs::remove_file(part) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(EmbeddedError::File {
            path: part.to_owned(),
            step: "removing an unfinished load",
            source,
        }),
        _ => Ok(()),
    }
}

/// A file that is filled.
struct Filled {
    rows: u64,
    /// When the empty tables, all rows and all indexes were there, since the begin.
    created: Duration,
    loaded: Duration,
    indexed: Duration,
}

impl Filled {
    /// The parts of a load that was `whole` after this time.
    fn parts(&self, whole: Duration, bytes: u64) -> DatabaseLoad {
        let between = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
        DatabaseLoad {
            create_s: self.created.as_secs_f64(),
            rows_s: between(self.created, self.loaded),
            index_s: between(self.loaded, self.indexed),
            check_s: 0.0,
            close_s: between(self.indexed, whole),
            rows: self.rows,
            bytes,
        }
    }
}

/// Everything into the file at `part`.
fn fill(
    part: &Path,
    size: Size,
    words: &WordLists,
    progress: &dyn Fn(LoadProgress) -> ControlFlow<()>,
) -> Result<Filled, EmbeddedError> {
    let began = Instant::now();
    let connection = Connection::open(part).at(part, "creating the database")?;
    settle(&connection).at(part, "setting up the database")?;
    // The block of common file systems and the unit of the page cache: a page never needs two
    // writes or reads.
    connection
        .pragma_update(None, "page_size", 4_096)
        .at(part, "setting up the database")?;
    // A load that fails is thrown away whole, so nothing has to be undone or synchronised before
    // the end.
    for (setting, value) in [
        ("journal_mode", "OFF"),
        ("synchronous", "OFF"),
        ("locking_mode", "EXCLUSIVE"),
        ("foreign_keys", "OFF"),
    ] {
        connection
            .pragma_update(None, setting, value)
            .at(part, "setting up the database")?;
    }
    connection
        .pragma_update(None, "cache_size", -65_536)
        .at(part, "setting up the database")?;
    connection
        .execute_batch(schema::TABLES)
        .at(part, "creating the tables")?;

    let created = began.elapsed();
    let rows = size.rows();
    let loader = Loader {
        connection: &connection,
        part,
        progress,
    };
    loader.categories()?;
    loader.customers(rows)?;
    let (order_lines, sold) = loader.orders(rows)?;
    loader.products(rows, words)?;
    loader.inventory(&sold)?;
    let loaded = began.elapsed();
    loader.indexes()?;
    let indexed = began.elapsed();
    let meta = Meta {
        size,
        words: words_digest(words),
        order_lines,
    };
    meta.write(&connection)
        .at(part, "writing what was loaded")?;
    // Write-ahead logging is a property of the file: readers and the writer do not block each
    // other.
    connection
        .pragma_update(None, "locking_mode", "NORMAL")
        .at(part, "finishing")?;
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .at(part, "finishing")?;
    connection
        .close()
        .map_err(|(_, source)| source)
        .at(part, "finishing")?;
    Ok(Filled {
        rows: CATEGORIES.len() as u64
            + rows.customers
            + rows.orders()
            + 2 * order_lines
            + 2 * rows.products,
        created,
        loaded,
        indexed,
    })
}

/// Make `part` durable and give it its name. Returns its bytes.
fn publish(part: &Path, database: &Path) -> Result<u64, EmbeddedError> {
    let failed = |step| {
        move |source| EmbeddedError::File {
            path: part.to_owned(),
            step,
            source,
        }
    };
    let file = File::open(part).map_err(failed("opening the loaded database"))?;
    file.sync_all()
        .map_err(failed("writing the database to the disk"))?;
    let bytes = file
        .metadata()
        .map_err(failed("opening the loaded database"))?
        .len();
    fs::rename(part, database).map_err(failed("renaming the loaded database"))?;
    if let Some(directory) = database
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed("writing the directory to the disk"))?;
    }
    Ok(bytes)
}

/// Digest of the word lists: with the size it decides every byte of the titles and actors.
fn words_digest(words: &WordLists) -> String {
    let mut digest = Sha256::new();
    for list in [&words.titles, &words.first_names, &words.last_names] {
        for word in list {
            digest.update(word.as_bytes());
            digest.update(b"\n");
        }
        digest.update(b"\n");
    }
    digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Fills the tables, each in one transaction.
struct Loader<'a> {
    connection: &'a Connection,
    part: &'a Path,
    progress: &'a dyn Fn(LoadProgress) -> ControlFlow<()>,
}

type Sql<T> = Result<T, rusqlite::Error>;

impl Loader<'_> {
    /// Run `work` in one transaction.
    fn table<T>(
        &self,
        step: &'static str,
        work: impl FnOnce(&Connection) -> Sql<T>,
    ) -> Result<T, EmbeddedError> {
        let transact = || {
            let transaction = self.connection.unchecked_transaction()?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        transact().at(self.part, step)
    }

    fn report(&self, step: &'static str, done: u64, total: u64) -> Sql<()> {
        if done.is_multiple_of(REPORT_EVERY) || done == total {
            self.tell(step, done, total)
        } else {
            Ok(())
        }
    }

    /// A listener that has had enough interrupts the load, as SQLite calls it.
    fn tell(&self, step: &'static str, done: u64, total: u64) -> Sql<()> {
        match (self.progress)(LoadProgress { step, done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT),
                None,
            )),
        }
    }

    fn categories(&self) -> Result<(), EmbeddedError> {
        self.table("loading CATEGORIES", |connection| {
            let mut insert = connection.prepare("INSERT INTO CATEGORIES VALUES (?1, ?2)")?;
            for (id, name) in (1_i64..).zip(CATEGORIES) {
                insert.execute(params![id, name])?;
            }
            Ok(())
        })
    }

    fn customers(&self, rows: Rows) -> Result<(), EmbeddedError> {
        self.table("loading CUSTOMERS", |connection| {
            let mut insert = connection.prepare(
                "INSERT INTO CUSTOMERS VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
                 ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            )?;
            let halves = CustomerHalf::ALL
                .into_iter()
                .flat_map(|half| Customers::new(rows, half, CustomerRandom::Newlib));
            for customer in halves {
                insert.execute(params![
                    customer.id.cast_signed(),
                    customer.first_name(),
                    customer.last_name(),
                    customer.address1(),
                    customer.city(),
                    customer.state,
                    customer.zip,
                    customer.country,
                    customer.region,
                    customer.email(),
                    customer.phone.to_string(),
                    customer.card_type,
                    customer.card.to_string(),
                    customer.expiration(),
                    customer.username(),
                    Customer::PASSWORD,
                    customer.age,
                    customer.income,
                    customer.gender,
                ])?;
                self.report("CUSTOMERS", customer.id, rows.customers)?;
            }
            Ok(())
        })
    }

    /// `ORDERS`, `ORDERLINES` and `CUST_HIST` together, as one order draws them. Returns the number
    /// of lines and the units sold per product.
    fn orders(&self, rows: Rows) -> Result<(u64, Vec<u32>), EmbeddedError> {
        self.table("loading ORDERS, ORDERLINES and CUST_HIST", |connection| {
            let mut orders =
                connection.prepare("INSERT INTO ORDERS VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            let mut lines =
                connection.prepare("INSERT INTO ORDERLINES VALUES (?1, ?2, ?3, ?4, ?5)")?;
            let mut history = connection.prepare("INSERT INTO CUST_HIST VALUES (?1, ?2, ?3)")?;
            let mut sold = vec![
                0_u32;
                usize::try_from(rows.products)
                    .expect("a catalogue has at most 10 230 000 products")
            ];
            let mut order_lines = 0;
            for order in (1_u8..)
                .take(MONTHS.len())
                .flat_map(|month| Orders::new(rows, month))
            {
                let date = i64::from(ORDER_YEAR) * 10_000
                    + i64::from(order.month) * 100
                    + i64::from(order.day);
                let (id, customer) = (order.id.cast_signed(), order.customer.cast_signed());
                let [net, tax, total] =
                    [order.net, order.tax, order.total].map(|amount| amount.0.cast_signed());
                orders.execute(params![id, date, customer, net, tax, total])?;
                for (number, line) in (1_i64..).zip(order.lines()) {
                    lines.execute(params![number, id, line.product, line.quantity, date])?;
                    history.execute(params![customer, id, line.product])?;
                    sold[line.product as usize - 1] += u32::from(line.quantity);
                    order_lines += 1;
                }
                self.report("ORDERS", order.id, rows.orders())?;
            }
            Ok((order_lines, sold))
        })
    }

    fn products(&self, rows: Rows, words: &WordLists) -> Result<(), EmbeddedError> {
        self.table("loading PRODUCTS", |connection| {
            let mut insert =
                connection.prepare("INSERT INTO PRODUCTS VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for product in Products::new(rows, words) {
                let price = product.price.0.cast_signed();
                let (id, common) = (
                    product.id.cast_signed(),
                    product.common_product.cast_signed(),
                );
                insert.execute(params![
                    id,
                    product.category,
                    product.title(),
                    product.actor(),
                    price,
                    product.special,
                    common
                ])?;
                self.report("PRODUCTS", product.id, rows.products)?;
            }
            Ok(())
        })
    }

    fn inventory(&self, sold: &[u32]) -> Result<(), EmbeddedError> {
        self.table("loading INVENTORY", |connection| {
            let mut insert = connection.prepare("INSERT INTO INVENTORY VALUES (?1, ?2, ?3)")?;
            for row in Inventory::new(sold) {
                insert.execute(params![row.product.cast_signed(), row.in_stock, row.sold])?;
                self.report("INVENTORY", row.product, sold.len() as u64)?;
            }
            Ok(())
        })
    }

    fn indexes(&self) -> Result<(), EmbeddedError> {
        let total = schema::INDEXES.len() as u64;
        for (done, sql) in (1..).zip(schema::INDEXES) {
            self.connection
                .execute_batch(sql)
                .at(self.part, "building the indexes")?;
            self.tell("indexes", done, total)
                .at(self.part, "building the indexes")?;
        }
        self.connection
            .execute_batch("ANALYZE")
            .at(self.part, "gathering statistics")
    }
}
