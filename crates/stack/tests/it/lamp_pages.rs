//! The PHP pages keep the page contract, on a real MariaDB.

use std::{collections::BTreeSet, sync::Mutex, thread, time::Duration};

use rookery_stack::{
    embedded::Pages,
    lamp::{audit, sql::Database, warm},
};
use rookery_workload::dvdstore::{
    NewCustomerAnswer, PurchaseAnswer, Search, Size, original,
    pages::{read_browse, read_login, read_new_customer, read_purchase},
};

use crate::lamp_support::{
    shop::{SITE, SIZE, Shop, purchase, target},
    skipped,
};

fn number(database: &mut Database, statement: &str) -> i64 {
    database.number(statement).expect("a number")
}

/// Title and actor of a product.
fn names(database: &mut Database, product: u64) -> (String, String) {
    let rows: Vec<(String, String)> = database
        .query(&format!(
            "SELECT TITLE, ACTOR FROM DS2.PRODUCTS WHERE PROD_ID = {product}"
        ))
        .expect("a product");
    rows.into_iter().next().expect("a product")
}

/// Products 1 to 9 with plenty of stock, product 163 with none.
fn fill_shelves(database: &mut Database) {
    database
        .execute(
            "UPDATE DS2.INVENTORY SET QUAN_IN_STOCK = IF(PROD_ID = 163, 0, 100000) WHERE \
                  PROD_ID <= 9 OR PROD_ID = 163",
        )
        .expect("an update");
}

#[test]
fn both_drivers_read_every_page() {
    if skipped() {
        return;
    }
    let shop = Shop::start(false, 2);
    let mut root = shop.root();
    assert_eq!(shop.page("/health.php"), "ok\n");
    assert!(
        shop.page("/ds2/index.html")
            .contains("<H1 ALIGN=CENTER>DVD Store</H1>")
    );
    logins(&shop, &mut root);
    searches(&shop, &mut root);
    new_customers(&shop, &mut root);
    purchases(&shop, &mut root);
    cart_and_review(&shop, &mut root);
    shop.expect_no_complaint();
}

fn logins(shop: &Shop, root: &mut Database) {
    // The customer with the longest history sees the latest ten of it.
    let busiest = number(
        root,
        "SELECT CUSTOMERID FROM DS2.CUST_HIST GROUP BY CUSTOMERID ORDER BY COUNT(*) DESC, 1 LIMIT \
         1",
    ) as u64;
    let idle = number(
        root,
        "SELECT MIN(CUSTOMERID) FROM DS2.CUSTOMERS WHERE CUSTOMERID NOT IN (SELECT CUSTOMERID FROM \
         DS2.CUST_HIST)",
    ) as u64;
    for (customer, rows) in [(busiest, 11), (idle, 0)] {
        let page = shop.page(&target(|out| {
            SITE.login(out, &format!("user{customer}"), "password")
        }));
        assert_eq!(read_login(page.as_bytes()), Ok(customer));
        let original = original::read_login(&page).expect("the original driver reads it");
        assert_eq!(
            (original.customer as u64, original.history.len()),
            (customer, 0),
            "the history comes before the id"
        );
        assert_eq!(page.matches("<TR>").count(), rows, "a header and ten rows");
        assert_eq!(page.contains("Your previous purchases:"), rows > 0);
    }
    for (name, password) in [("user1", "wrong"), ("nobody", "password"), ("user1", "")] {
        let page = shop.page(&target(|out| SITE.login(out, name, password)));
        assert!(
            page.contains(
                "Username/password incorrect. Please re-enter your username and password"
            )
        );
        assert!(
            !page.contains("customerid"),
            "this is how the original driver tells"
        );
        assert!(original::read_login(&page).is_err());
    }
    for query in ["", "?username=&password=x", "?password=x"] {
        let page = shop.page(&format!("/ds2/dslogin.php{query}"));
        assert!(page.contains("NAME=\"username\"") && !page.contains("incorrect"));
    }
}

fn searches(shop: &Shop, root: &mut Database) {
    let (title, actor) = names(root, 77);
    let words = |text: &str| {
        text.split_once(' ')
            .map(|(one, two)| (one.to_owned(), two.to_owned()))
            .expect("two words")
    };
    let ((first, second), (given, family)) = (words(&title), words(&actor));
    let by_title = Search::Title {
        first: &first,
        second: &second,
    };
    let by_actor = Search::Actor {
        first: &given,
        last: &family,
    };
    let category = number(
        root,
        "SELECT CATEGORY FROM DS2.PRODUCTS WHERE SPECIAL = 1 GROUP BY CATEGORY ORDER BY COUNT(*) \
         DESC LIMIT 1",
    ) as u8;
    for (search, limit) in [
        (by_title, 9),
        (by_actor, 4),
        (Search::Category(category), 9),
    ] {
        let page = shop.page(&target(|out| SITE.browse(out, &search, limit, 5)));
        let found = original::read_browse(&page).expect("the original driver reads it");
        assert_eq!(read_browse(page.as_bytes()), Ok(found.len() as u32));
        assert!(
            (1..=limit as usize).contains(&found.len()),
            "{search:?}: {found:?}"
        );
        match search {
            Search::Title { .. } => assert_eq!(
                (found[0].title.as_str(), found[0].product),
                (title.as_str(), 77),
                "both words rank first"
            ),
            Search::Actor { .. } => assert!(
                found
                    .iter()
                    .all(|row| row.actor.contains(&given) || row.actor.contains(&family))
            ),
            Search::Category(_) => {
                for row in &found {
                    let sql = format!(
                        "SELECT CATEGORY * SPECIAL FROM DS2.PRODUCTS WHERE PROD_ID = {}",
                        row.product
                    );
                    assert_eq!(number(root, &sql), i64::from(category));
                }
            }
        }
        let sql = format!(
            "SELECT CAST(100 * PRICE AS SIGNED) FROM DS2.PRODUCTS WHERE PROD_ID = {}",
            found[0].product
        );
        assert_eq!((found[0].price * 100.0).round() as i64, number(root, &sql));
    }
    let nothing = Search::Title {
        first: "QQQQQ",
        second: "ZZZZZ",
    };
    let page = shop.page(&target(|out| SITE.browse(out, &nothing, 5, 5)));
    assert_eq!(
        (read_browse(page.as_bytes()), original::read_browse(&page)),
        (Ok(0), Ok(vec![]))
    );
    let form = shop.page("/ds2/dsbrowse.php?customerid=5");
    assert!(
        form.contains("NAME=browse_category")
            && !form.contains("<TABLE")
            && !form.contains("No DVDs Found")
    );
    let stranger = shop.page("/ds2/dsbrowse.php?browsetype=category&browse_category=1");
    assert!(stranger.contains("You have not logged in - Please click below to Login to DVD Store"));
}

fn new_customers(shop: &Shop, root: &mut Database) {
    // Not of the United States: zip and state are empty, which a strict database would refuse.
    let query = "/ds2/dsnewcustomer.php?firstname=A&lastname=B&address1=C&address2=&city=D&state=&zip=&country=UK&email=b@dell.com&phone=1\
                 &creditcardtype=3&creditcard=12&ccexpmon=4&ccexpyr=2010&username=newuser1&password=secret&age=20&income=40000&gender=F";
    let page = shop.page(query);
    assert!(page.contains("New Customer Successfully Added.  Click below to begin shopping"));
    assert_eq!(
        read_new_customer(page.as_bytes()),
        Ok(NewCustomerAnswer::Added(2_001))
    );
    assert_eq!(original::read_new_customer(&page), Ok(2_001));
    let stored: Vec<(i64, i64, String, i64)> = root
        .query(
            "SELECT ZIP, REGION, CREDITCARDEXPIRATION, INCOME FROM DS2.CUSTOMERS WHERE \
                CUSTOMERID = 2001",
        )
        .expect("a row");
    assert_eq!(stored, [(0, 2, "2010/04".to_owned(), 40_000)]);

    let page = shop.page(query);
    assert_eq!(
        read_new_customer(page.as_bytes()),
        Ok(NewCustomerAnswer::NameTaken)
    );
    assert_eq!(original::read_new_customer(&page), Ok(0));
    assert!(
        page.contains("VALUE=\"newuser1\"") && page.contains("VALUE=\"UK\" SELECTED"),
        "the form is filled again"
    );
    let american = query
        .replace("country=UK", "country=US")
        .replace("newuser1", "newuser2")
        .replace("zip=", "zip=42");
    assert!(shop.page(&american).contains("Successfully Added"));
    assert_eq!(
        number(
            root,
            "SELECT REGION * 1000 + ZIP FROM DS2.CUSTOMERS WHERE USERNAME = 'newuser2'"
        ),
        1_042
    );
    for field in [
        "firstname",
        "lastname",
        "address1",
        "city",
        "country",
        "username",
        "password",
    ] {
        let page = shop.page(&query.replace(&format!("{field}="), &format!("{field}x=")));
        assert!(
            page.contains(
                "New Customer - Please Complete All Required Fields Below (marked with *)"
            ),
            "{field}"
        );
    }

    // Many who want one name at once: one gets it, nobody an error.
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let page = shop.page(&query.replace("newuser1", "popular"));
                answers
                    .lock()
                    .expect("no panic")
                    .push(read_new_customer(page.as_bytes()).expect("an answer"));
            });
        }
    });
    let answers = answers.into_inner().expect("no panic");
    assert_eq!(
        answers
            .iter()
            .filter(|answer| matches!(answer, NewCustomerAnswer::Added(_)))
            .count(),
        1
    );
    assert_eq!(
        number(
            root,
            "SELECT COUNT(*) FROM DS2.CUSTOMERS WHERE USERNAME = 'popular'"
        ),
        1
    );
}

fn purchases(shop: &Shop, root: &mut Database) {
    fill_shelves(root);
    let page = shop.page(&purchase(7, &[3, 1, 3], 2));
    assert_eq!(
        read_purchase(page.as_bytes()),
        Ok(PurchaseAnswer::Ordered(1_201))
    );
    assert_eq!(original::read_purchase(&page), Ok(Some(1_201)));
    let stored: Vec<(i64, i64, i64)> = root
        .query(
            "SELECT ORDERLINEID, PROD_ID, QUANTITY FROM DS2.ORDERLINES WHERE ORDERID = 1201 \
                ORDER BY 1",
        )
        .expect("lines");
    assert_eq!(stored, [(1, 3, 2), (2, 1, 2), (3, 3, 2)]);
    assert_eq!(
        number(
            root,
            "SELECT 100000 - QUAN_IN_STOCK FROM DS2.INVENTORY WHERE PROD_ID = 3"
        ),
        4
    );
    assert_eq!(
        number(
            root,
            "SELECT COUNT(*) FROM DS2.CUST_HIST WHERE CUSTOMERID = 7 AND ORDERID = 1201"
        ),
        3
    );
    let amounts = "SELECT CAST(1000000 * (o.NETAMOUNT - (SELECT SUM(l.QUANTITY * p.PRICE) FROM \
                   DS2.ORDERLINES l JOIN DS2.PRODUCTS p USING (PROD_ID) \
                   WHERE l.ORDERID = 1201)) + 1000 * (o.TAX - ROUND(0.0825 * o.NETAMOUNT, 2)) + \
                   o.TOTALAMOUNT - o.NETAMOUNT - o.TAX AS SIGNED) \
                   FROM DS2.ORDERS o WHERE o.ORDERID = 1201";
    assert_eq!(number(root, amounts), 0, "net, tax and total");
    assert!(page.contains(" charged to credit card ") && page.contains("Purchase complete"));

    // A shortage names its products in the order in which they were asked for, and leaves nothing.
    root.execute("UPDATE DS2.INVENTORY SET QUAN_IN_STOCK = 1 WHERE PROD_ID = 9")
        .expect("an update");
    let page = shop.page(&purchase(7, &[1, 163, 9, 2], 2));
    assert_eq!(read_purchase(page.as_bytes()), Ok(PurchaseAnswer::Shortage));
    assert_eq!(original::read_purchase(&page), Ok(None));
    let (one, other) = (
        page.find("Insufficient quantity for prod 163<"),
        page.find("Insufficient quantity for prod 9<"),
    );
    assert!(one.is_some() && one < other, "{page}");
    assert_eq!(
        number(root, "SELECT COUNT(*) FROM DS2.ORDERS WHERE ORDERID > 1201"),
        0
    );
    assert_eq!(
        number(
            root,
            "SELECT COUNT(*) FROM DS2.CUST_HIST WHERE ORDERID > 1201"
        ),
        0
    );
    assert_eq!(
        number(
            root,
            "SELECT QUAN_IN_STOCK FROM DS2.INVENTORY WHERE PROD_ID = 9"
        ),
        1
    );

    let stranger = shop.page(&purchase(999_999, &[1], 1));
    assert!(
        stranger.contains("there is no such customer")
            && stranger.contains("Insufficient stock - order not processed")
    );
    assert!(
        shop.page("/ds2/dspurchase.php?confirmpurchase=yes&customerid=7")
            .contains("order has no line")
    );
    assert!(
        shop.page("/ds2/dspurchase.php?confirmpurchase=yes")
            .contains("You have not logged in")
    );
    assert_eq!(
        number(root, "SELECT COUNT(*) FROM DS2.ORDERS WHERE ORDERID > 1201"),
        0
    );
}

fn cart_and_review(shop: &Shop, root: &mut Database) {
    let (title, actor) = names(root, 2);
    let page = shop.page("/ds2/dsbrowse.php?customerid=5&item[]=2&selected_item[]=4&item[]=99999");
    assert!(
        page.contains("<H2>Shopping Cart</H2>")
            && page.contains(&title)
            && page.contains("VALUE=\"Checkout\"")
    );
    assert_eq!(
        page.matches("NAME=item[] VALUE=2>").count(),
        2,
        "in both forms"
    );
    assert_eq!(
        (page.matches("<TR>").count(), page.contains("99999")),
        (0, false)
    );

    let inner = shop.inner(
        "/ds2/dspurchase.php?customerid=5&item[]=2&quan[]=-3&item[]=4&quan[]=2&item[]=6&drop[]=1",
    );
    assert!(inner.contains(&format!("<TD>{title}</TD><TD>{actor}</TD><TD>$")));
    assert!(
        inner.contains("NAME=quan[] TYPE=TEXT SIZE=10 VALUE=1>"),
        "quantities are raised to one"
    );
    assert!(
        !inner.contains("NAME=item[] VALUE=4"),
        "the second line is dropped"
    );
    assert!(inner.contains("Tax (8.25%)") && inner.contains("NAME=confirmpurchase VALUE=yes"));
    let posted = shop.post(
        "/ds2/dspurchase.php",
        "customerid=5&item%5B%5D=2&quan%5B%5D=1",
    );
    assert_eq!(posted.status, 200);
    assert!(posted.body.contains(&title));
}

/// 80 purchases of the same nine products at once, every other one in the opposite order. Returns
/// the orders acknowledged, those refused as short, and the other refusals.
fn contend(shop: &Shop) -> (BTreeSet<u64>, u32, u32) {
    const BUYERS: u64 = 16;
    const ORDERS: u64 = 5;
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for buyer in 0..BUYERS {
            let (answers, shop) = (&answers, &shop);
            scope.spawn(move || {
                let mut products: Vec<u64> = (1..=9).collect();
                if buyer % 2 == 1 {
                    products.reverse();
                }
                for order in 0..ORDERS {
                    let page = shop.page(&purchase(1 + buyer * ORDERS + order, &products, 1));
                    answers
                        .lock()
                        .expect("no panic")
                        .push(read_purchase(page.as_bytes()).expect("a purchase page"));
                }
            });
        }
    });
    let answers = answers.into_inner().expect("no panic");
    let count =
        |wanted: PurchaseAnswer| answers.iter().filter(|answer| **answer == wanted).count() as u32;
    let ids = answers.iter().filter_map(|answer| match answer {
        PurchaseAnswer::Ordered(id) => Some(*id),
        _ => None,
    });
    (
        ids.collect(),
        count(PurchaseAnswer::Shortage),
        count(PurchaseAnswer::Conflict),
    )
}

fn stored(root: &mut Database) -> BTreeSet<u64> {
    let rows: Vec<(u64,)> = root
        .query("SELECT ORDERID FROM DS2.ORDERS WHERE ORDERID > 1200")
        .expect("orders");
    rows.into_iter().map(|row| row.0).collect()
}

#[test]
fn corrected_purchases_in_opposite_orders_lose_nothing() {
    if skipped() {
        return;
    }
    let shop = Shop::start(false, 8);
    let mut root = shop.root();
    fill_shelves(&mut root);
    let (ids, short, conflicts) = contend(&shop);
    assert_eq!((ids.len(), short, conflicts), (80, 0, 0));
    assert_eq!(stored(&mut root), ids);
    let other =
        "SELECT COUNT(*) FROM DS2.INVENTORY WHERE PROD_ID <= 9 AND QUAN_IN_STOCK <> 100000 - 80";
    assert_eq!(number(&mut root, other), 0, "the stock is exact");
    assert_eq!(
        number(
            &mut root,
            "SELECT COUNT(*) FROM DS2.CUST_HIST WHERE ORDERID > 1200"
        ),
        9 * 80
    );
    assert_eq!(
        root.status()
            .expect("counters")
            .get("Innodb_deadlocks")
            .map(String::as_str),
        Some("0")
    );
    root.execute("UPDATE DS2.INVENTORY SET QUAN_IN_STOCK = QUAN_IN_STOCK + 1 WHERE PROD_ID = 20")
        .expect("an update");
    let found = audit(&mut root, SIZE).expect("an audit");
    assert_eq!(
        (found.orders, found.order_lines, found.history_rows),
        (80, 720, 720)
    );
    // The nine shelves were filled by hand, and product 20 once more: nothing else is off.
    let faults = found.faults(Pages::Corrected);
    assert_eq!(
        faults,
        ["10 products have another stock than the orders left"],
        "{found:?}"
    );
    assert!(
        audit(&mut root, Size::Mb(2))
            .is_err_and(|error| error.to_string().contains("db_size does not match"))
    );
    let warmed = warm(&mut root).expect("a warm database");
    assert_eq!(warmed.indexes, 15, "{warmed:?}");
    shop.expect_no_complaint();
}

#[test]
fn faithful_purchases_have_the_known_defects_and_no_other() {
    if skipped() {
        return;
    }
    let shop = Shop::start(true, 8);
    let mut root = shop.root();
    fill_shelves(&mut root);
    // A rolled-back order leaves its history.
    let page = shop.page(&purchase(7, &[1, 163, 2], 1));
    assert_eq!(read_purchase(page.as_bytes()), Ok(PurchaseAnswer::Shortage));
    assert_eq!(
        number(
            &mut root,
            "SELECT COUNT(*) FROM DS2.CUST_HIST WHERE ORDERID > 1200"
        ),
        3
    );
    assert_eq!(stored(&mut root), BTreeSet::new());

    let (ids, short, conflicts) = contend(&shop);
    assert_eq!(
        ids.len() as u32 + conflicts,
        80,
        "a deadlock is told as an order that was not processed"
    );
    assert_eq!(short, 0, "it does not name a product");
    let kept = stored(&mut root);
    assert!(ids.is_subset(&kept), "what was acknowledged is there");
    let found = audit(&mut root, SIZE).expect("an audit");
    assert_eq!(
        found.faults(Pages::Faithful),
        Vec::<String>::new(),
        "{found:?}"
    );
    assert_eq!(found.orphan_history, 3 + 9 * u64::from(conflicts));
    assert!(!found.consistent(Pages::Corrected));
    eprintln!(
        "{conflicts} deadlocks told as refusals, {} units of stock lost",
        found.units_off
    );
    assert_eq!(
        number(
            &mut root,
            "SELECT COUNT(*) FROM DS2.CUST_HIST WHERE ORDERID > 1200"
        ),
        3 + 9 * 80,
        "one history for each attempt"
    );
    let sold = number(
        &mut root,
        "SELECT 100000 - QUAN_IN_STOCK FROM DS2.INVENTORY WHERE PROD_ID = 5",
    );
    assert!(
        (1..=80).contains(&sold),
        "updates may be lost, never invented: {sold}"
    );
    shop.expect_no_complaint();
}

/// Keep everybody else from product 3.
fn lock_third(holder: &mut Database) {
    holder.execute("START TRANSACTION").expect("begun");
    holder
        .query::<(i64,)>("SELECT SALES FROM DS2.INVENTORY WHERE PROD_ID = 3 FOR UPDATE")
        .expect("a locked row");
}

/// How often somebody has begun to wait for a row.
fn lock_waits(root: &mut Database) -> i64 {
    let counter = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME \
                   = 'INNODB_ROW_LOCK_WAITS'";
    number(root, counter)
}

#[test]
fn a_purchase_that_waits_in_vain_is_tried_again_and_then_told_as_a_failure() {
    if skipped() {
        return;
    }
    let shop = Shop::start(false, 2);
    let mut root = shop.root();
    fill_shelves(&mut root);
    root.execute("SET GLOBAL innodb_lock_wait_timeout = 1")
        .expect("a setting");
    let mut holder = shop.root();
    lock_third(&mut holder);
    let before = lock_waits(&mut root);
    thread::scope(|scope| {
        let buyer = scope.spawn(|| shop.page(&purchase(7, &[2, 3], 1)));
        // The first attempt has waited in vain, the second waits.
        while lock_waits(&mut root) < before + 2 {
            assert!(!buyer.is_finished(), "it waits for the lock");
            thread::sleep(Duration::from_millis(10));
        }
        holder.execute("COMMIT").expect("released");
        let page = buyer.join().expect("no panic");
        assert_eq!(
            read_purchase(page.as_bytes()),
            Ok(PurchaseAnswer::Ordered(1_202)),
            "the first number was rolled back"
        );
    });
    lock_third(&mut holder);
    let answer = shop.get(&purchase(7, &[2, 3], 1));
    assert_eq!(answer.status, 503, "neither a success nor a shortage");
    assert!(!answer.body.contains("Insufficient") && !answer.body.contains("ORDER NUMBER"));
    holder.execute("COMMIT").expect("released");
    let found: Vec<(i64, i64)> = root
        .query("SELECT PROD_ID, QUAN_IN_STOCK FROM DS2.INVENTORY WHERE PROD_ID IN (2, 3)")
        .expect("stock");
    assert_eq!(
        found,
        [(2, 99_999), (3, 99_999)],
        "the failed attempts took nothing"
    );
}

#[test]
fn a_database_that_fails_is_told_honestly() {
    if skipped() {
        return;
    }
    let shop = Shop::start(false, 2);
    let mut root = shop.root();
    let orders = stored(&mut root);
    root.execute("RENAME TABLE DS2.INVENTORY TO DS2.ELSEWHERE")
        .expect("renamed");
    let answer = shop.get(&purchase(7, &[1, 2], 1));
    assert_eq!(answer.status, 503, "{}", answer.body);
    for text in [
        "Insufficient",
        "ORDER NUMBER",
        "Purchase complete",
        "ELSEWHERE",
    ] {
        assert!(!answer.body.contains(text), "{text}");
    }
    assert_eq!(stored(&mut root), orders, "nothing of it was stored");
    root.execute("RENAME TABLE DS2.ELSEWHERE TO DS2.INVENTORY")
        .expect("renamed");
    root.execute("ALTER USER 'web'@'localhost' ACCOUNT LOCK")
        .expect("locked");
    let health = shop.get("/health.php");
    assert_eq!(health.status, 503);
    assert!(
        health.body.starts_with("the database does not answer: "),
        "{}",
        health.body
    );
    assert_eq!(
        shop.get("/ds2/dslogin.php?username=user1&password=password")
            .status,
        503
    );
    assert_eq!(
        shop.get("/ds2/dslogin.php").status,
        200,
        "the form asks no database"
    );
}
