//! The bulk load and the access to the database, on a real MariaDB.

use std::{cell::Cell, ops::ControlFlow, path::Path};

use rookery_stack::lamp::{
    LoadError, load, settle,
    sql::{Account, Database},
};
use rookery_workload::dvdstore::{Size, WordLists};

use crate::lamp_support::{MariaDb, skipped};

const SIZE: Size = Size::Mb(2);

/// Checksum of every table: the same rows in the same order give the same.
fn checksums(database: &mut Database) -> Vec<(String, u64)> {
    database
        .query(
            "CHECKSUM TABLE DS2.CUSTOMERS, DS2.CUST_HIST, DS2.ORDERS, DS2.ORDERLINES, \
             DS2.PRODUCTS, DS2.INVENTORY, DS2.CATEGORIES, DS2.REORDER",
        )
        .expect("checksums")
}

fn number(database: &mut Database, statement: &str) -> i64 {
    database.number(statement).expect("a number")
}

#[test]
fn a_loaded_database_is_the_generated_one() {
    if skipped() {
        return;
    }
    let server = MariaDb::start(&[]);
    let mut root = server.root();
    let reports = Cell::new((0, 0));
    let loaded = load(&mut root, SIZE, WordLists::own(), 2, &|at| {
        let (rows, indexes) = reports.get();
        reports.set(if at.step == "rows" {
            (at.done, indexes)
        } else {
            (rows, at.done)
        });
        assert!(at.done <= at.total, "{at:?}");
        ControlFlow::Continue(())
    })
    .expect("a loaded database");
    let rows = SIZE.rows();
    let lines = number(&mut root, "SELECT COUNT(*) FROM DS2.ORDERLINES") as u64;
    assert_eq!(
        loaded.rows,
        16 + rows.customers + rows.orders() + 2 * lines + 2 * rows.products
    );
    assert_eq!(reports.get().1, 6, "every index is reported");
    assert!(reports.get().0 > 0 && loaded.bytes > 1_000_000);
    check_rows(&mut root);
    check_keys(&mut root);
    check_search(&mut root);
    check_procedure(&mut root);

    // The same again, by another number of streams.
    let first = {
        root.execute("DELETE FROM DS2.CUSTOMERS WHERE USERNAME = 'somebody'")
            .expect("cleared");
        checksums(&mut root)
    };
    root.execute("DROP DATABASE DS2").expect("dropped");
    load(&mut root, SIZE, WordLists::own(), 5, &|_| {
        ControlFlow::Continue(())
    })
    .expect("a loaded database");
    assert_eq!(checksums(&mut root), first);
    settle(&mut root).expect("settled");
}

fn check_rows(root: &mut Database) {
    // Facts of the published files: the month's first order, product 1, and the first customer of
    // each half.
    let first: Vec<(String, i64, String, String, String)> = root
        .query(
            "SELECT ORDERDATE, ORDERID, NETAMOUNT, TAX, TOTALAMOUNT FROM DS2.ORDERS WHERE \
                ORDERID = 1",
        )
        .expect("an order");
    let text = |text: &str| text.to_owned();
    assert_eq!(
        first,
        [(
            text("2009-01-27"),
            1,
            text("313.24"),
            text("25.84"),
            text("339.08")
        )]
    );
    let zips: Vec<(i64, String, i64, String)> = root
        .query(
            "SELECT CUSTOMERID, COUNTRY, REGION, ADDRESS2 FROM DS2.CUSTOMERS WHERE CUSTOMERID = \
                1 OR ZIP = 0 ORDER BY 1 LIMIT 2",
        )
        .expect("customers");
    assert_eq!(
        (
            zips[0].0,
            zips[0].2,
            zips[0].3.as_str(),
            zips[1].0,
            zips[1].2
        ),
        (1, 1, "", 2_001, 2)
    );
    assert_eq!(
        number(
            root,
            "SELECT COUNT(*) FROM DS2.PRODUCTS WHERE PRICE BETWEEN 9.99 AND 29.99"
        ),
        2_000
    );
    let sold = number(root, "SELECT CAST(SUM(SALES) AS SIGNED) FROM DS2.INVENTORY");
    assert_eq!(
        sold,
        number(
            root,
            "SELECT CAST(SUM(QUANTITY) AS SIGNED) FROM DS2.ORDERLINES"
        )
    );
    let next: Vec<(String, u64)> = root
        .query(
            "SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE \
                TABLE_SCHEMA = 'DS2' AND TABLE_NAME IN ('CUSTOMERS', 'ORDERS') ORDER BY 1",
        )
        .expect("tables");
    assert_eq!(next, [(text("CUSTOMERS"), 4_001), (text("ORDERS"), 2_401)]);
}

fn check_keys(root: &mut Database) {
    let keys: Vec<(String, String)> = root
        .query(
            "SELECT CONSTRAINT_NAME, DELETE_RULE FROM \
                information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'DS2' ORDER \
                BY 1",
        )
        .expect("keys");
    let names: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["FK_CUSTOMERID", "FK_CUST_HIST_CUSTOMERID", "FK_ORDERID"]
    );
    let refused = root
        .execute("INSERT INTO DS2.CUST_HIST VALUES (999999, 1, 1)")
        .expect_err("no such customer");
    assert_eq!(refused.code(), Some(1452), "{refused}");
    let refused = root
        .execute("UPDATE DS2.CUSTOMERS SET USERNAME = 'user2' WHERE CUSTOMERID = 1")
        .expect_err("a taken name");
    assert_eq!(refused.code(), Some(1062), "{refused}");
    // Nothing refers to nothing.
    let orphans = "SELECT COUNT(*) FROM DS2.CUST_HIST h LEFT JOIN DS2.CUSTOMERS c USING \
                   (CUSTOMERID) WHERE c.CUSTOMERID IS NULL";
    assert_eq!(number(root, orphans), 0);
}

fn check_search(root: &mut Database) {
    // Stop words of the server's own list, as `WITH`, count as words; two letters do not.
    let title: Vec<(String,)> = root
        .query("SELECT TITLE FROM DS2.PRODUCTS WHERE PROD_ID = 1234")
        .expect("a title");
    let word = title[0].0.split(' ').next_back().expect("two words");
    let found = number(
        root,
        &format!("SELECT COUNT(*) FROM DS2.PRODUCTS WHERE MATCH(TITLE) AGAINST('{word}')"),
    );
    let exact = number(
        root,
        &format!(
            "SELECT COUNT(*) FROM DS2.PRODUCTS WHERE CONCAT(' ', TITLE, ' ') LIKE '% {word} %'"
        ),
    );
    assert!(
        found == exact && found > 0,
        "{word}: {found} found, {exact} there"
    );
}

fn check_procedure(root: &mut Database) {
    root.execute("USE DS2").expect("the database");
    let call = "CALL NEW_CUSTOMER('A', 'B', 'C', '', 'D', '', 0, 'UK', 2, '', '', 1, '1', \
                '2010/01', 'somebody', 'p', 20, 1, 'M', @id)";
    root.execute(call).expect("a new customer");
    assert_eq!(number(root, "SELECT @id"), 4_001);
    root.execute(call).expect("the same name");
    assert_eq!(number(root, "SELECT @id"), 0);
}

#[test]
fn a_load_that_cannot_end_well_says_why() {
    if skipped() {
        return;
    }
    let server = MariaDb::start(&["--innodb-ft-min-token-size=4"]);
    let mut root = server.root();
    let refused = load(&mut root, SIZE, WordLists::own(), 2, &|_| {
        ControlFlow::Continue(())
    })
    .expect_err("another token size");
    assert!(
        matches!(
            refused,
            LoadError::Setting {
                name: "innodb_ft_min_token_size",
                ..
            }
        ),
        "{refused}"
    );
    drop((root, server));

    let server = MariaDb::start(&[]);
    let mut root = server.root();
    let ended = load(&mut root, Size::Mb(10), WordLists::own(), 2, &|_| {
        ControlFlow::Break(())
    })
    .expect_err("interrupted");
    assert!(matches!(ended, LoadError::Interrupted), "{ended}");
    let refused = load(&mut root, SIZE, WordLists::own(), 2, &|_| {
        ControlFlow::Continue(())
    })
    .expect_err("the database is there");
    assert!(
        matches!(&refused, LoadError::Sql(error) if error.code() == Some(1007)),
        "{refused}"
    );
}

#[test]
fn the_database_is_reached_by_any_path_and_waits_are_bounded() {
    if skipped() {
        return;
    }
    let server = MariaDb::start(&[]);
    let deep = (0..8).fold(server.dir.path().to_owned(), |path, level| {
        path.join(format!("a-directory-with-a-long-name-{level}"))
    });
    std::fs::create_dir_all(&deep).expect("directories");
    std::os::unix::fs::symlink(server.dir.path(), deep.join("data")).expect("a link");
    let socket = deep.join("data/mysql.sock");
    assert!(socket.as_os_str().len() > 250);
    let mut root = Database::connect(&socket, Account::Root).expect("a connection");
    assert_eq!(
        root.variables()
            .expect("variables")
            .get("skip_networking")
            .map(String::as_str),
        Some("ON")
    );
    assert!(root.status().expect("counters").contains_key("Uptime"));
    let other = root
        .query::<(String, String)>("SELECT 1")
        .expect_err("two columns of one");
    assert!(other.to_string().contains("SELECT 1"), "{other}");

    let wrong = Database::connect(&socket, Account::Web)
        .map(drop)
        .expect_err("there is no such account yet");
    assert!(wrong.to_string().contains("as web"), "{wrong}");
    root.set_patience(std::time::Duration::from_millis(50));
    let late = root.execute("SELECT SLEEP(600)").expect_err("a timeout");
    assert!(late.to_string().contains("did not answer"), "{late}");
    assert!(
        root.execute("SELECT 1").is_err(),
        "the connection was given up"
    );
    let nowhere = Database::connect(Path::new("nowhere/mysql.sock"), Account::Root)
        .map(drop)
        .expect_err("nobody");
    assert!(nowhere.to_string().contains("nowhere/mysql.sock"));
}
