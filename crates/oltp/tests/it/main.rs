//! Order entry on databases: SQLite in this process, private servers of MariaDB and PostgreSQL, and
//! drivers of ODBC.

mod acid;
mod errors;
mod hostile;
#[cfg(feature = "odbc")]
mod odbc;
mod servers;
mod sqlite;
mod support;
mod trial;
