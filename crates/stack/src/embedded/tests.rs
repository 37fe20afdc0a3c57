//! The pages through the site: texts, the original driver's reading, behaviour, bad input.
//!
//! Facts of the 1 MB database used here: customer 28 has three history rows, customer 2 none;
//! products 1 to 3 have 178, 275 and 311 units in stock, product 163 none and product 298 two;
//! categories 3 and 1 have two and no special products.

use insta::assert_snapshot;
use proptest::prelude::*;
use rookery_workload::dvdstore::{
    LineItem, NewCustomer, NewCustomerAnswer, Opening, PageSite, PurchaseAnswer, Search, Shopper,
    ShopperParams, WordLists, original,
    pages::{read_browse, read_login, read_new_customer, read_purchase},
};

use super::{
    OrderAudit, Pages,
    testing::{SIZE, Shop},
};
use crate::http_server::{Method, Request};

const PHP: PageSite<'_> = PageSite {
    directory: "ds2",
    page_type: "php",
};

/// The target that `write` writes.
fn target(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("targets are ASCII")
}

fn login(customer: u64) -> String {
    target(|out| PHP.login(out, &format!("user{customer}"), "password"))
}

fn browse(search: &Search<'_>, limit: u32) -> String {
    target(|out| PHP.browse(out, search, limit, 7))
}

fn purchase(customer: u64, items: &[(u64, u32)]) -> String {
    let items: Vec<LineItem> = items
        .iter()
        .map(|&(product, quantity)| LineItem { product, quantity })
        .collect();
    target(|out| PHP.purchase(out, customer, &items))
}

/// A shop whose titles and actors are named by product, so that snapshots do not depend on the word
/// lists.
fn plain_shop(behaviour: Pages) -> Shop {
    let shop = Shop::open(behaviour);
    shop.sql("UPDATE PRODUCTS SET TITLE = 'TITLE ' || PROD_ID, ACTOR = 'ACTOR ' || PROD_ID");
    shop
}

#[test]
fn login_pages() {
    let shop = plain_shop(Pages::Corrected);
    let nobody = shop.inner("/ds2/dslogin.php");
    assert_snapshot!("login_form", nobody);
    let failed = shop.inner("/ds2/dslogin.php?username=user1&password=wrong");
    assert!(failed.starts_with(
        "<H2>Username/password incorrect. Please re-enter your username and password</H2>\n"
    ));
    assert!(failed.ends_with(&nobody));
    assert!(
        !shop
            .page("/ds2/dslogin.php?username=customerid&password=customerid")
            .contains("customerid")
    );
    assert_snapshot!("login_with_history", shop.inner(&login(28)));
    assert_snapshot!("login_without_history", shop.inner(&login(2)));
}

#[test]
fn browse_pages() {
    let shop = plain_shop(Pages::Corrected);
    let results = |page: &str| {
        page.split_once("VALUE=\"Search\">\n</FORM>\n")
            .expect("a search form")
            .1
            .to_owned()
    };
    assert_snapshot!(
        "browse_results",
        results(&shop.inner(&browse(&Search::Category(3), 9)))
    );
    assert_snapshot!(
        "browse_nothing",
        results(&shop.inner(&browse(&Search::Category(1), 9)))
    );
    assert_snapshot!(
        "browse_cart",
        results(&shop.inner("/ds2/dsbrowse.jsp?customerid=7&item=1&selected_item[]=2&item=99999"))
    );
    assert_snapshot!(
        "not_logged_in",
        shop.inner("/ds2/dsbrowse.php?browsetype=title&browse_title=ABC")
    );
}

#[test]
fn purchase_pages() {
    let shop = plain_shop(Pages::Corrected);
    shop.sql("UPDATE PRODUCTS SET PRICE = 1999 WHERE PROD_ID < 4");
    shop.sql(
        "UPDATE CUSTOMERS SET CREDITCARDTYPE = 2, CREDITCARD = '1234', CREDITCARDEXPIRATION = \
              '2009/08' WHERE CUSTOMERID = 28",
    );
    assert_snapshot!(
        "purchase_review",
        shop.inner("/ds2/dspurchase.php?customerid=28&item[]=1&quan[]=0&item[]=163&quan[]=9&item[]=2&quan[]=2&drop[]=1")
    );
    assert_snapshot!(
        "purchase_ordered",
        shop.inner(&purchase(28, &[(1, 1), (2, 2)]))
    );
    assert_snapshot!(
        "purchase_short",
        shop.inner(&purchase(28, &[(1, 1), (163, 1), (298, 3)]))
    );
    let unknown = shop.page(&purchase(999_999, &[(1, 1)]));
    assert_eq!(
        read_purchase(unknown.as_bytes()),
        Ok(PurchaseAnswer::Conflict)
    );
    let empty = shop.page("/ds2/dspurchase.php?customerid=28&confirmpurchase=yes");
    assert_eq!(
        read_purchase(empty.as_bytes()),
        Ok(PurchaseAnswer::Conflict)
    );
    assert!(
        shop.page("/ds2/dspurchase.php?item[]=1&confirmpurchase=yes")
            .contains("You have not logged in")
    );
}

#[test]
fn a_new_customer_can_log_in_and_buy() {
    let mut shop = Shop::open(Pages::Corrected);
    let person = Shopper::new(1, 1, 1).person();
    let form = target(|out| PHP.new_customer(out, &person, "newuser5"));
    assert_eq!(
        read_new_customer(shop.page(&form).as_bytes()),
        Ok(NewCustomerAnswer::Added(2_001))
    );
    assert_eq!(
        original::read_new_customer(&shop.page(&form)),
        Ok(0),
        "the name is taken now"
    );
    let welcome = shop.page(&target(|out| {
        PHP.login(out, "newuser5", NewCustomer::PASSWORD)
    }));
    assert_eq!(
        original::read_login(&welcome).expect("logged in").customer,
        2_001
    );
    assert_eq!(
        original::read_purchase(&shop.page(&purchase(2_001, &[(1, 1)]))),
        Ok(Some(1_201))
    );
    let incomplete = shop.inner("/ds2/dsnewcustomer.aspx?firstname=A%22%3E%3Cb%3E&zip=5");
    assert!(
        incomplete.contains("NAME=\"firstname\" VALUE=\"A&quot;&gt;&lt;b&gt;\""),
        "{incomplete}"
    );
    assert_eq!(shop.close().customers, 1);
}

#[test]
fn the_original_driver_could_drive_these_pages() {
    let shop = Shop::open(Pages::Corrected);
    let params = ShopperParams::new(SIZE);
    for page_type in ["php", "jsp", "html", "aspx"] {
        let site = PageSite {
            directory: "ds2",
            page_type,
        };
        let mut shopper = Shopper::new(7, 1, 1);
        for _ in 0..20 {
            let customer = loop {
                if let Opening::Login { customer } = shopper.opening(&params) {
                    break customer;
                }
            };
            let page = shop.page(&target(|out| {
                site.login(out, &format!("user{customer}"), "password")
            }));
            assert_eq!(
                original::read_login(&page).expect("logged in").customer,
                customer as i32
            );
            assert_eq!(read_login(page.as_bytes()), Ok(customer));
            let (search, limit) = shopper.search(&params, WordLists::own());
            let page = shop.page(&target(|out| site.browse(out, &search, limit, customer)));
            let results = original::read_browse(&page).expect("results");
            assert_eq!(read_browse(page.as_bytes()), Ok(results.len() as u32));
            assert!(results.len() <= limit as usize);
            let mut basket = Vec::new();
            shopper.basket(&params, &mut basket);
            let page = shop.page(&target(|out| site.purchase(out, customer, &basket)));
            let order = original::read_purchase(&page).expect("an order or a shortage");
            let expected = order.map_or(PurchaseAnswer::Shortage, |id| {
                PurchaseAnswer::Ordered(id as u64)
            });
            assert_eq!(read_purchase(page.as_bytes()), Ok(expected));
        }
    }
}

#[test]
fn searches_find_any_word_and_rank_both_first() {
    let shop = Shop::open(Pages::Corrected);
    let words = WordLists::own();
    let [one, two] = [&words.titles[400], &words.titles[700]];
    let title = |first: &str, second: &str| {
        let page = shop.page(&format!(
            "/ds2/dsbrowse.php?customerid=1&browsetype=title&browse_title={first}%20{second}&limit_num=100"
        ));
        original::read_browse(&page)
            .expect("results")
            .into_iter()
            .map(|row| row.title)
            .collect::<Vec<_>>()
    };
    // A thousand products: every title begins with the first word.
    let first = &words.titles[0];
    assert_eq!(
        title(one, two),
        [format!("{first} {one}"), format!("{first} {two}")]
    );
    assert_eq!(title(one, "xyzzy"), [format!("{first} {one}")]);
    assert_eq!(title("of", "xyzzy"), Vec::<String>::new());
    assert_eq!(
        title(first, one).first(),
        Some(&format!("{first} {one}")),
        "both words before one"
    );
    assert_eq!(title(first, one).len(), 100, "bounded");
}

/// Buy all of product 1 (178 units) twice in one order, and more than there is.
fn run_short(behaviour: Pages) -> OrderAudit {
    let mut shop = Shop::open(behaviour);
    let order = |items: &[(u64, u32)]| read_purchase(shop.page(&purchase(28, items)).as_bytes());
    assert_eq!(
        order(&[(1, 100), (1, 78), (2, 1)]),
        Ok(PurchaseAnswer::Ordered(1_201))
    );
    assert_eq!(order(&[(2, 1), (1, 1)]), Ok(PurchaseAnswer::Shortage));
    assert_eq!(order(&[(3, 311), (3, 1)]), Ok(PurchaseAnswer::Shortage));
    assert_eq!(
        order(&[(3, 1)]),
        Ok(PurchaseAnswer::Ordered(1_204)),
        "ids of rolled-back orders are not given again"
    );
    shop.close()
}

#[test]
fn corrected_pages_leave_nothing_of_a_rolled_back_order() {
    let audit = run_short(Pages::Corrected);
    let expected = OrderAudit {
        loaded_orders: 1_200,
        orders: 2,
        order_lines: 4,
        history_rows: 4,
        ..OrderAudit::default()
    };
    assert_eq!(audit, expected);
    assert!(audit.consistent(Pages::Corrected));
}

#[test]
fn faithful_pages_leave_the_history_of_a_rolled_back_order() {
    let audit = run_short(Pages::Faithful);
    let expected = OrderAudit {
        loaded_orders: 1_200,
        orders: 2,
        order_lines: 4,
        history_rows: 8,
        orphan_history: 4,
        ..OrderAudit::default()
    };
    assert_eq!(audit, expected);
    assert_eq!(
        audit.faults(Pages::Corrected),
        ["4 history rows belong to no order"]
    );
    assert!(audit.consistent(Pages::Faithful));
}

#[test]
fn audit_tells_what_does_not_fit() {
    let mut shop = Shop::open(Pages::Corrected);
    shop.page(&purchase(28, &[(1, 1), (2, 1)]));
    shop.page(&purchase(28, &[(3, 1)]));
    shop.sql(
        "DELETE FROM ORDERLINES WHERE ORDERID = 1201; UPDATE INVENTORY SET QUAN_IN_STOCK = 0 \
              WHERE PROD_ID = 3",
    );
    shop.sql("PRAGMA foreign_keys = OFF; DELETE FROM ORDERS WHERE ORDERID = 1202");
    let audit = shop.close();
    let expected = [
        "1 orders have no line",
        "1 order lines belong to no order",
        "1 orders have more or fewer history rows than lines",
        "1 orders have other amounts than their lines",
        "1 history rows belong to no order",
        "3 products have another stock than the orders left",
        "2 products have other sales than the orders made",
    ];
    assert_eq!(audit.faults(Pages::Corrected), expected);
    assert_eq!(audit.units_off, 2 + 310);
}

#[test]
fn paths_and_methods_are_judged() {
    let shop = Shop::open(Pages::Corrected);
    let status = |method, path| {
        shop.request(Request {
            method,
            path,
            query: "",
            form: "",
            headers: None,
        })
        .status
    };
    for path in [
        "/",
        "/ds2",
        "/ds2x/dslogin.php",
        "/ds2/dslogin",
        "/ds2/dslogin.cgi",
        "/ds2/x.php",
        "/ds2/../health",
        "/ds3/index.html",
    ] {
        assert_eq!(status(Method::Get, path), 404, "{path}");
    }
    for path in [
        "/health",
        "/ds2/",
        "/ds2/index.html",
        "/ds2/dslogin.php",
        "/ds2/dsbrowse.aspx",
    ] {
        assert_eq!(status(Method::Get, path), 200, "{path}");
        assert_eq!(status(Method::Other, path), 405, "{path}");
    }
    let form = Request {
        method: Method::Post,
        path: "/ds2/dslogin.php",
        query: "",
        form: "username=user28&password=password",
        headers: None,
    };
    assert!(String::from_utf8_lossy(&shop.request(form).body).contains("VALUE=28>"));
}

#[test]
fn health_tells_what_is_served() {
    let shop = Shop::open(Pages::Faithful);
    shop.page(&purchase(28, &[(1, 1)]));
    let health: serde_json::Value =
        serde_json::from_slice(&shop.answer("/health").body).expect("JSON");
    assert_eq!(
        (
            &health["status"],
            &health["size"],
            &health["pages"],
            &health["orders"]
        ),
        (&"ok".into(), &"1MB".into(), &"faithful".into(), &1.into())
    );
}

/// Requests near the pages' own fields, and far from them.
fn requests() -> impl Strategy<Value = (String, String)> {
    let page = prop::sample::select(vec![
        "dslogin.php",
        "dsnewcustomer.php",
        "dsbrowse.jsp",
        "dspurchase.html",
        "dspurchase.php",
        "x",
    ]);
    let name = prop::sample::select(vec![
        "username",
        "password",
        "customerid",
        "browsetype",
        "browse_title",
        "browse_actor",
        "browse_category",
        "limit_num",
        "item[]",
        "item%5B%5D",
        "quan",
        "drop[]",
        "confirmpurchase",
        "firstname",
        "lastname",
        "address1",
        "city",
        "country",
        "zip",
        "age",
    ]);
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0..300_i64).prop_map(|number| number.to_string()),
        prop::sample::select(vec![
            "title",
            "actor",
            "category",
            "yes",
            "'; DROP TABLE ORDERS; --",
            "\" OR *",
            "%00%ff",
            "NEAR(a b)"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,20}",
    ];
    let fields = prop::collection::vec(
        (name, value).prop_map(|(name, value)| format!("{name}={value}")),
        0..12,
    );
    let query = prop_oneof![4 => fields.prop_map(|fields| fields.join("&")), 1 => "\\PC{0,60}"];
    (page.prop_map(|page| format!("/ds2/{page}")), query)
}

#[test]
fn no_input_makes_more_than_a_page_or_a_refusal() {
    let mut shop = Shop::open(Pages::Corrected);
    proptest!(ProptestConfig::with_cases(300), |((path, query) in requests(), post: bool)| {
        let (method, query, form) = if post { (Method::Post, "", query.as_str()) } else { (Method::Get, query.as_str(), "") };
        let answer = shop.request(Request { method, path: &path, query, form, headers: None });
        prop_assert!(matches!(answer.status, 200 | 400..=499), "{} {}", answer.status, String::from_utf8_lossy(&answer.body));
    });
    let audit = shop.close();
    assert!(audit.consistent(Pages::Corrected), "{audit:?}");
}

/// Two orders of five units each whose stock was read before either was written.
async fn overlapping_orders(writer: &super::writer::Writer, readers: &super::reader::Readers) {
    use super::order::{Line, NewOrder, OrderOutcome, StockChange};
    let lines = vec![Line {
        product: 1,
        quantity: 5,
    }];
    let read = readers
        .with(|reader| reader.stock([1].into_iter()))
        .expect("a stock");
    for id in [1_201, 1_202] {
        let stock = StockChange::from_read(&lines, &read);
        let order = NewOrder {
            customer: 28,
            amounts: Default::default(),
            lines: lines.clone(),
            stock,
        };
        assert_eq!(writer.order(order).await, Ok(OrderOutcome::Ordered(id)));
    }
}

#[test]
fn an_absolute_stock_change_loses_the_update_in_between() {
    use super::{audit, reader::Readers, testing::database, writer::Writer};
    let (_dir, path) = database();
    let (writer, thread) = Writer::start(&path, Pages::Faithful, 1_200).expect("a writer");
    let readers = Readers::open(&path, 1).expect("a reader");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(overlapping_orders(&writer, &readers));
    drop(writer);
    thread.join().expect("no panic").expect("a folded log");
    let audit = audit(&path).expect("an audit");
    assert_eq!(
        (
            audit.orders,
            audit.products_with_other_stock,
            audit.units_off
        ),
        (2, 1, 5)
    );
}

#[test]
fn a_refusing_database_is_told_and_nothing_is_stored() {
    let mut shop = Shop::open(Pages::Corrected);
    shop.sql(
        "CREATE TRIGGER BROKEN BEFORE INSERT ON ORDERLINES BEGIN SELECT RAISE(ABORT, 'the \
              disk burns'); END",
    );
    let answer = shop.answer(&purchase(28, &[(1, 1)]));
    assert_eq!(answer.status, 500);
    assert!(String::from_utf8_lossy(&answer.body).contains("Nothing was stored: the disk burns"));
    shop.sql("DROP TRIGGER BROKEN");
    assert_eq!(shop.answer(&purchase(28, &[(1, 1)])).status, 200);
    let audit = shop.close();
    assert_eq!(audit.orders, 1);
    assert!(audit.consistent(Pages::Corrected), "{audit:?}");
}

#[test]
fn databases_that_are_not_whole_are_refused() {
    use super::{EmbeddedError, audit, load, testing::database};
    let (_dir, path) = database();
    let change = |sql: &str| {
        rusqlite::Connection::open(&path)
            .and_then(|connection| connection.execute_batch(sql))
            .expect("a statement")
    };
    change("PRAGMA foreign_keys = OFF; DELETE FROM CUSTOMERS WHERE CUSTOMERID = 2000");
    let error = audit(&path).expect_err("a customer is missing").to_string();
    assert!(
        error.contains(
            "db_size does not match the loaded row counts: 1MB needs CUSTOMERID 1 to \
                        2000 in CUSTOMERS, 2000 is missing"
        ),
        "{error}"
    );
    change("UPDATE META SET VALUE = '2MB' WHERE NAME = 'size'");
    let error = audit(&path).expect_err("another size").to_string();
    assert!(
        error.contains("2MB has 4000 customers, 2000 were loaded"),
        "{error}"
    );
    change("PRAGMA user_version = 77");
    assert!(matches!(audit(&path), Err(EmbeddedError::Foreign { .. })));
    assert!(matches!(
        load(&path, SIZE, WordLists::own(), &|_| {
            std::ops::ControlFlow::Continue(())
        }),
        Err(EmbeddedError::Exists(_))
    ));
    assert!(matches!(
        audit(&path.with_extension("none")),
        Err(EmbeddedError::Missing(_))
    ));
    std::fs::write(&path, "no database at all").expect("a text file");
    assert!(matches!(audit(&path), Err(EmbeddedError::Database { .. })));
}

#[test]
fn a_load_that_is_stopped_leaves_nothing() {
    use super::load;
    use std::ops::ControlFlow;
    for step in ["CUSTOMERS", "ORDERS", "indexes"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let stop = |progress: super::LoadProgress| {
            if progress.step == step {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let error = load(
            &dir.path().join("shop.sqlite"),
            SIZE,
            WordLists::own(),
            &stop,
        )
        .expect_err("stopped");
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("readable").count(),
            0,
            "after {step}"
        );
    }
}
