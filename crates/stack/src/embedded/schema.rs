//! The schema of DVD Store 2.1, as SQLite holds it.
//!
//! Names and order of the columns are the original's. What differs, and why:
//!
//! * Tables are STRICT: a column holds its type or nothing. Money is INTEGER **cents**, a date is
//!   INTEGER `YYYYMMDD`.
//! * `ORDERLINES` has its unique index (order, line) as primary key WITHOUT ROWID: one tree instead
//!   of two.
//! * `IX_CUST_HIST_CUSTOMERID` covers order and product too, so that a login reads no table row of
//!   the history.
//! * `IX_PROD_CATEGORY` covers `SPECIAL` too (as other databases' kits do): a category search reads
//!   only what it shows.
//! * The two full-text indexes are FTS5 tables that keep their text in `PRODUCTS` (external
//!   content). Products never change, so no trigger keeps the two in step.
//! * `META` says what was loaded.
//!
//! # How full-text search differs from MySQL's natural-language mode
//!
//! The same: any word of the text matches, rows come in order of relevance, `LIMIT` cuts them;
//! words of fewer than three letters never match (the kit's configuration asks MySQL for
//! `ft_min_word_len=3` and no stop words). Different: relevance is BM25 rather than MySQL's
//! weights, so that the order of rows differs; MySQL's MyISAM ignores words which half of all rows
//! hold, FTS5 ranks them last; only the first
//! [`MAX_WORDS`](super::search::MAX_WORDS) words of a text count.

/// Version of everything below; a database of another version is refused.
pub(crate) const VERSION: i64 = 1;

/// `PRAGMA application_id`: "RkDS".
pub(crate) const APPLICATION_ID: i32 = 0x526b_4453;

/// All tables. Foreign keys are enforced on the writer's connection only, and not while loading.
pub(crate) const TABLES: &str = "
CREATE TABLE META (NAME TEXT PRIMARY KEY, VALUE TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE CUSTOMERS (
  CUSTOMERID INTEGER PRIMARY KEY, FIRSTNAME TEXT NOT NULL, LASTNAME TEXT NOT NULL, ADDRESS1 TEXT \
                                 NOT NULL, ADDRESS2 TEXT,
  CITY TEXT NOT NULL, STATE TEXT, ZIP INTEGER, COUNTRY TEXT NOT NULL, REGION INTEGER NOT NULL, \
                                 EMAIL TEXT, PHONE TEXT,
  CREDITCARDTYPE INTEGER NOT NULL, CREDITCARD TEXT NOT NULL, CREDITCARDEXPIRATION TEXT NOT NULL, \
                                 USERNAME TEXT NOT NULL,
  PASSWORD TEXT NOT NULL, AGE INTEGER, INCOME INTEGER, GENDER TEXT) STRICT;
CREATE TABLE CUST_HIST (
  CUSTOMERID INTEGER NOT NULL REFERENCES CUSTOMERS ON DELETE CASCADE, ORDERID INTEGER NOT NULL, \
                                 PROD_ID INTEGER NOT NULL) STRICT;
CREATE TABLE ORDERS (
  ORDERID INTEGER PRIMARY KEY, ORDERDATE INTEGER NOT NULL, CUSTOMERID INTEGER REFERENCES CUSTOMERS \
                                 ON DELETE SET NULL,
  NETAMOUNT INTEGER NOT NULL, TAX INTEGER NOT NULL, TOTALAMOUNT INTEGER NOT NULL) STRICT;
CREATE TABLE ORDERLINES (
  ORDERLINEID INTEGER NOT NULL, ORDERID INTEGER NOT NULL REFERENCES ORDERS ON DELETE CASCADE, \
                                 PROD_ID INTEGER NOT NULL,
  QUANTITY INTEGER NOT NULL, ORDERDATE INTEGER NOT NULL, PRIMARY KEY (ORDERID, ORDERLINEID)) \
                                 STRICT, WITHOUT ROWID;
CREATE TABLE PRODUCTS (
  PROD_ID INTEGER PRIMARY KEY, CATEGORY INTEGER NOT NULL, TITLE TEXT NOT NULL, ACTOR TEXT NOT \
                                 NULL, PRICE INTEGER NOT NULL,
  SPECIAL INTEGER, COMMON_PROD_ID INTEGER NOT NULL) STRICT;
CREATE TABLE INVENTORY (PROD_ID INTEGER PRIMARY KEY, QUAN_IN_STOCK INTEGER NOT NULL, SALES INTEGER \
                                 NOT NULL) STRICT;
CREATE TABLE CATEGORIES (CATEGORY INTEGER PRIMARY KEY, CATEGORYNAME TEXT NOT NULL) STRICT;
CREATE TABLE REORDER (
  PROD_ID INTEGER NOT NULL, DATE_LOW INTEGER NOT NULL, QUAN_LOW INTEGER NOT NULL, DATE_REORDERED \
                                 INTEGER, QUAN_REORDERED INTEGER,
  DATE_EXPECTED INTEGER) STRICT;
";

/// All indexes, made after the rows are in: sorted building is several times faster than keeping
/// them during the load.
pub(crate) const INDEXES: [&str; 8] = [
    "CREATE UNIQUE INDEX IX_CUST_USERNAME ON CUSTOMERS(USERNAME)",
    "CREATE INDEX IX_CUST_HIST_CUSTOMERID ON CUST_HIST(CUSTOMERID, ORDERID, PROD_ID)",
    "CREATE INDEX IX_ORDER_CUSTID ON ORDERS(CUSTOMERID)",
    "CREATE INDEX IX_PROD_CATEGORY ON PRODUCTS(CATEGORY, SPECIAL)",
    "CREATE INDEX IX_PROD_SPECIAL ON PRODUCTS(SPECIAL)",
    "CREATE VIRTUAL TABLE IX_PROD_TITLE USING fts5(TITLE, content='PRODUCTS', \
     content_rowid='PROD_ID', tokenize='ascii')",
    "CREATE VIRTUAL TABLE IX_PROD_ACTOR USING fts5(ACTOR, content='PRODUCTS', \
     content_rowid='PROD_ID', tokenize='ascii')",
    "INSERT INTO IX_PROD_TITLE(IX_PROD_TITLE) VALUES('rebuild'); INSERT INTO \
     IX_PROD_ACTOR(IX_PROD_ACTOR) VALUES('rebuild')",
];
