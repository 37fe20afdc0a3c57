//! What a database says it was loaded with, and whether its tables agree.

use std::path::Path;

use rookery_workload::dvdstore::{Rows, Size};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    error::{DatabaseContext as _, EmbeddedError},
    schema,
};

/// What was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Nominal size.
    pub(crate) size: Size,
    /// Digest of the word lists that titles and actors are made of.
    pub(crate) words: String,
    /// Rows of `ORDERLINES` (and `CUST_HIST`: one for each).
    pub(crate) order_lines: u64,
}

impl Meta {
    /// Customers, orders per month and products of the size.
    pub(crate) fn rows(&self) -> Rows {
        self.size.rows()
    }

    /// Write it into an empty `META`, and the version into the file's header.
    pub(crate) fn write(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        let rows = self.rows();
        let mut insert = connection.prepare("INSERT INTO META (NAME, VALUE) VALUES (?1, ?2)")?;
        for (name, value) in [
            ("size", self.size.to_string()),
            ("words", self.words.clone()),
            ("customers", rows.customers.to_string()),
            ("orders", rows.orders().to_string()),
            ("products", rows.products.to_string()),
            ("order_lines", self.order_lines.to_string()),
        ] {
            insert.execute(params![name, value])?;
        }
        connection.pragma_update(None, "user_version", schema::VERSION)?;
        connection.pragma_update(None, "application_id", schema::APPLICATION_ID)
    }

    /// Read it from the database at `path`.
    ///
    /// # Errors
    /// [`EmbeddedError::Foreign`] when the file is not ours, [`EmbeddedError::SizeMismatch`] when
    /// the counts are not those of the size.
    pub(crate) fn read(connection: &Connection, path: &Path) -> Result<Self, EmbeddedError> {
        let header = |name| {
            connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .at(path, "reading the header")
        };
        let (application, version) = (header("application_id")?, header("user_version")?);
        if application != i64::from(schema::APPLICATION_ID) || version != schema::VERSION {
            let what = format!(
                "application id {application:#x}, version {version}; expected {:#x}, {}",
                schema::APPLICATION_ID,
                schema::VERSION
            );
            return Err(EmbeddedError::Foreign {
                path: path.to_owned(),
                what,
            });
        }
        let source = Entries { connection, path };
        let size = source.entry::<Size>("size")?;
        let rows = size.rows();
        for (name, expected) in [
            ("customers", rows.customers),
            ("orders", rows.orders()),
            ("products", rows.products),
        ] {
            let found = source.entry::<u64>(name)?;
            if found != expected {
                let what = format!("{size} has {expected} {name}, {found} were loaded");
                return Err(EmbeddedError::SizeMismatch {
                    path: path.to_owned(),
                    what,
                });
            }
        }
        Ok(Self {
            size,
            words: source.entry("words")?,
            order_lines: source.entry("order_lines")?,
        })
    }

    /// Compare with the tables in a few index look-ups, also for a database of many gigabytes: the
    /// first and last loaded id of every table must be there, and no product beyond.
    ///
    /// # Errors
    /// [`EmbeddedError::SizeMismatch`] with the first table that disagrees.
    pub(crate) fn check_tables(
        &self,
        connection: &Connection,
        path: &Path,
    ) -> Result<(), EmbeddedError> {
        let rows = self.rows();
        for (table, key, last) in [
            ("CUSTOMERS", "CUSTOMERID", rows.customers),
            ("ORDERS", "ORDERID", rows.orders()),
            ("ORDERLINES", "ORDERID", rows.orders()),
            ("CUST_HIST", "rowid", self.order_lines),
            ("PRODUCTS", "PROD_ID", rows.products),
            ("INVENTORY", "PROD_ID", rows.products),
            ("IX_PROD_TITLE", "rowid", rows.products),
            ("IX_PROD_ACTOR", "rowid", rows.products),
        ] {
            for id in [1, last] {
                let sql = format!("SELECT 1 FROM {table} WHERE {key} = ?1");
                let found = connection
                    .query_row(&sql, [id.cast_signed()], |_| Ok(()))
                    .optional()
                    .at(path, "checking the loaded rows")?;
                if found.is_none() {
                    let what = format!(
                        "{} needs {key} 1 to {last} in {table}, {id} is missing",
                        self.size
                    );
                    return Err(EmbeddedError::SizeMismatch {
                        path: path.to_owned(),
                        what,
                    });
                }
            }
        }
        for (table, last) in [("PRODUCTS", rows.products), ("INVENTORY", rows.products)] {
            let sql = format!("SELECT max(PROD_ID) FROM {table}");
            let found = connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .at(path, "checking the loaded rows")?;
            if found != last.cast_signed() {
                let what = format!(
                    "{} has {last} products, {table} ends with {found}",
                    self.size
                );
                return Err(EmbeddedError::SizeMismatch {
                    path: path.to_owned(),
                    what,
                });
            }
        }
        Ok(())
    }
}

/// Reads entries of `META`.
struct Entries<'a> {
    connection: &'a Connection,
    path: &'a Path,
}

impl Entries<'_> {
    fn entry<T: std::str::FromStr>(&self, name: &str) -> Result<T, EmbeddedError> {
        let text = self
            .connection
            .query_row("SELECT VALUE FROM META WHERE NAME = ?1", [name], |row| {
                row.get::<_, String>(0)
            })
            .optional()
            .at(self.path, "reading what was loaded")?;
        text.as_deref()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| EmbeddedError::Foreign {
                path: self.path.to_owned(),
                what: format!(
                    "entry `{name}` of META is {}",
                    text.map_or("missing".to_owned(), |text| format!("`{text}`"))
                ),
            })
    }
}
