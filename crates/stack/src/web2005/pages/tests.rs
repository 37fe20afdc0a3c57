//! Pages through the site, without a network: what each shows, what is refused, what is written.

use std::net::SocketAddr;

use hyper::header::{LAST_MODIFIED, LOCATION};
use rookery_workload::{
    RandomDelay,
    web2005::{
        Model,
        besim::{Cents, banking, confirmation, ecommerce, ledger::LedgerTotals, support},
        files::pages,
    },
};

use super::{
    BackendAt,
    testing::{Pages, shape, state},
};
use crate::{
    http_server::{Method, StopSignal},
    web2005::{BesimConfig, BesimServer, LedgerSync, StateKeeping},
};

fn strings(row: &[&str]) -> Vec<String> {
    row.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_bank_user_sees_every_page() {
    let mut bank = Pages::open(Model::Banking);
    let state = state(Model::Banking);
    assert_eq!(bank.get("login", ""), [strings(&["form"])]);
    let rows = bank.log_in(2);
    assert_eq!(rows[0], ["ok"]);
    let accounts: Vec<Vec<String>> = banking::accounts(&state, 2)
        .map(|account| {
            let number = format!("{:010}", account.number);
            vec![number, account.kind(), account.balance.to_string()]
        })
        .collect();
    assert_eq!(rows[1..], accounts);
    assert!(
        bank.get("account_summary", "")
            .iter()
            .all(|row| row.len() == 7)
    );
    assert_eq!(
        bank.get("check_detail_html", "check_no=3"),
        [vec![accounts[0][0].clone(), "000003".to_owned()]]
    );
    assert_eq!(
        bank.get("bill_pay", "userid=2").len(),
        banking::payments(&state, 2).count()
    );
    assert_eq!(bank.get("add_payee", "userid=2"), [strings(&["form"])]);
    assert_eq!(
        bank.get("billpay_status", "userid=2&start=20050101&end=20050102"),
        Vec::<Vec<String>>::new()
    );
    assert_eq!(bank.get("chg_profile", "userid=2")[0].len(), 6);
    assert_eq!(bank.get("req_checks", "userid=2"), accounts);
    assert_eq!(bank.get("req_xfer_form", ""), accounts);
    assert_eq!(bank.get("logout", "userid=2"), [strings(&["bye"])]);
    let gone = bank.send(Method::Get, "/bank/account_summary.php", "", "");
    bank.check("login", &gone);
    assert_eq!(gone.rows(), [strings(&["form"])]);
}

#[test]
fn what_bank_users_are_told_is_in_the_ledger() {
    let mut bank = Pages::open(Model::Banking);
    let state = state(Model::Banking);
    bank.log_in(1);
    let address = "street=1%20Elm&city=Elmton&state=WA&zip=98101&phone=206-555-0100";
    let told = bank.post("payee_info", &format!("payee_id=p1&name=A%20B&{address}"));
    let wanted = confirmation(
        &state,
        Model::Banking,
        6,
        1,
        &[
            "p1",
            "A B",
            "1 Elm",
            "Elmton",
            "WA",
            "98101",
            "206-555-0100",
        ],
    );
    assert_eq!(told, [[format!("{wanted:010}")]]);
    let told = bank.post(
        "quick_pay",
        "payee%5B0%5D=p1&date%5B0%5D=20041007&amount%5B0%5D=12.34\
         &payee[1]=p2&date[1]=20041008&amount[1]=5",
    );
    let second = confirmation(&state, Model::Banking, 7, 1, &["p2", "20041008", "5"]);
    assert_eq!(
        told[1],
        ["p2", "5.00", "20041008", &format!("{second:010}")]
    );
    bank.post("post_profile", &format!("{address}&email=a%40example.com"));
    let accounts: Vec<banking::Account> = banking::accounts(&state, 1).collect();
    let [from, to] = [0, 1].map(|index| format!("{:010}", accounts[index].number));
    bank.post(
        "post_chk_order",
        &format!("account_no={from}&design=1&number=100"),
    );
    let told = bank.post(
        "post_fund_xfer",
        &format!("from={from}&to={to}&amount=50.00"),
    );
    assert_eq!(
        told,
        [
            vec![
                from.clone(),
                Cents(accounts[0].balance.0 - 5_000).to_string()
            ],
            vec![to.clone(), Cents(accounts[1].balance.0 + 5_000).to_string()],
        ]
    );
    for refused in [
        format!("from={from}&to={from}&amount=50.00"),
        format!("from={from}&to=0000000099&amount=50.00"),
        format!("from={from}&to={to}&amount=9999999"),
    ] {
        assert_eq!(
            bank.post("post_fund_xfer", &refused),
            [strings(&["refused"])]
        );
    }
    assert_eq!(
        bank.ledger(),
        LedgerTotals {
            payments: (2, 1_734),
            transfers: (1, 5_000),
            payees: 1,
            profiles: 1,
            check_orders: 1,
            ..LedgerTotals::default()
        }
    );
}

#[test]
fn passwords_and_sessions_are_looked_at() {
    let mut bank = Pages::open(Model::Banking);
    for form in [
        "userid=1&password=x",
        "userid=0&password=x",
        "userid=999&password=x",
    ] {
        assert_eq!(bank.post("login", form), [strings(&["refused"])]);
    }
    for cookie in [None, Some("RKSID=00000000000000000000000000000000")] {
        bank.cookie = cookie.map(str::to_owned);
        let seen = bank.send(Method::Get, "/bank/bill_pay.php", "userid=1", "");
        bank.check("login", &seen);
        assert_eq!(seen.rows(), [strings(&["form"])]);
    }
    bank.log_in(1);
    let other = bank.send(Method::Get, "/bank/bill_pay.php", "userid=2", "");
    assert_eq!(other.status, 400, "another user's address");
}

#[test]
fn check_images_and_files_are_those_of_the_set() {
    let mut bank = Pages::open(Model::Banking);
    bank.log_in(2);
    for (side, name) in [("front", "CIF000003"), ("back", "CIB000003")] {
        let query = format!("side={side}&check_no=3");
        let seen = bank.send(Method::Get, "/bank/check_image.php", &query, "");
        let path = format!("bank/images/user0000000002/{name}");
        let file = shape(Model::Banking).locate(&path).expect("a file");
        assert_eq!((seen.status, seen.body.len() as u64), (200, file.size));
        assert!(file.content.is_at(0, &seen.body));
    }
    let seen = bank.send(Method::Get, "/bank/images/5", "", "");
    assert_eq!((seen.status, seen.body.len()), (200, 36_789));
    let modified = seen.header(&LAST_MODIFIED).expect("a date").to_owned();
    let again = bank.send_with(Method::Get, "/bank/images/5", "", "", Some(&modified));
    assert_eq!((again.status, again.body.len()), (304, 0));
    for (path, status) in [
        ("/bank/images/45", 404),
        ("/bank/images/user0000000002", 404),
        ("/bank/images/5/6", 404),
        ("/bank/dynamic_padding/login", 404),
        ("/manifest-banking.tsv", 404),
        ("/bank/images/../../etc/passwd", 404),
        ("/bank/unknown.php", 404),
        ("/support/index.php", 404),
        ("/health.php", 200),
        ("/init.php", 200),
    ] {
        assert_eq!(
            bank.send(Method::Get, path, "", "").status,
            status,
            "{path}"
        );
    }
    let init = bank.send(Method::Get, "/init.php", "", "");
    assert!(init.body.starts_with(b"rk init model=banking time_ms="));
}

#[test]
fn a_customer_buys() {
    let mut shop = Pages::open(Model::Ecommerce);
    let state = state(Model::Ecommerce);
    assert_eq!(shop.get("index", "").len(), 21);
    let cookie = shop.cookie.clone();
    let seen = shop.send(Method::Post, "/ecommerce/index.php", "", "region=4");
    assert_eq!((seen.status, seen.body.len()), (307, 0));
    assert_eq!(
        seen.header(&LOCATION),
        Some("/ecommerce/index.php?region=4")
    );
    let rows = shop
        .page("index", Method::Post, "region=4", "region=4")
        .rows();
    assert_eq!(rows[0], ["4"]);
    assert_eq!(rows[4][0], "R04");
    assert_eq!(shop.get("search", "seg=5&kw=19").len(), 10);
    assert_eq!(shop.get("browse", "s=2")[1].len(), 20);
    let seen = shop.page("browse_productline", Method::Get, "p=3", "");
    let text = String::from_utf8_lossy(&seen.body).into_owned();
    assert_eq!(
        text.matches("/ecommerce/images/line0000000003/p").count(),
        3
    );
    assert_eq!(shop.get("productdetail", "i=21").len(), 9);
    let price = ecommerce::model_price(&state, 21).to_string();
    assert_eq!(shop.get("productdetail", "i=21")[0], ["21", &price]);
    let rows = shop.post("customize1", "i=21&from=0");
    assert_eq!(
        rows[..2],
        [strings(&["21", "1"]), strings(&["-", "-", "-"])]
    );
    assert_eq!(rows.len(), 27);
    shop.post("customize2", "i=21&from=1&o=01234");
    let rows = shop.post("customize3", "i=21&from=2&o=44444");
    assert_eq!(rows[1], ["01234", "44444", "-"]);
    let choices = ["01234", "44444", "00000"].map(ecommerce::Choice::parse);
    let rows = shop.post("cart", "action=add&i=21&o=00000");
    let price = ecommerce::price(&state, 21, &choices, 1, 4);
    assert_eq!(
        rows[0],
        ["21", "1", &price.total.to_string(), &price.tax.to_string()]
    );
    let rows = shop.post("cart", "action=update&line=0&quantity=3");
    let price = ecommerce::price(&state, 21, &choices, 3, 4);
    let total = price.total.0 + price.tax.0;
    assert_eq!(rows[1], [Cents(total).to_string()]);
    let password = state.password(9);
    assert_eq!(
        shop.post("login", "customer=9&password=wrong&new=no"),
        [strings(&["refused"])]
    );
    let rows = shop.post("login", &format!("customer=9&password={password}&new=no"));
    assert_eq!(rows[0], ["known"]);
    let address = "street=1%20Elm&city=Elmton&state=WA&zip=98101";
    let rows = shop.post(
        "login",
        &format!("customer=9&password={password}&new=yes&name=A%20B&{address}&phone=206-555-0100"),
    );
    assert_eq!(
        rows[1],
        ["A B", "1 Elm", "Elmton", "WA", "98101", "206-555-0100"]
    );
    let rows = shop.post("shipping", &format!("{address}&method=2"));
    let cost = ecommerce::shipping_cost(&state, 9, 2);
    assert_eq!(rows[0], ["2", &cost.to_string(), "20041012"]);
    let rows = shop.post("billing", "card=1&number=1234567890123456");
    let total = Cents(total + cost.0).to_string();
    assert_eq!(rows[0], ["1", "approved", "xxxxxxxxxxxx3456", &total]);
    let rows = shop.post("confirm", "order=yes");
    let order = confirmation(&state, Model::Ecommerce, 11, 9, &[&total]);
    assert_eq!(rows[0], [format!("{order:010}"), total.clone()]);
    let again = shop.send(Method::Post, "/ecommerce/confirm.php", "", "order=yes");
    shop.check("index", &again);
    let orders = shop.ledger().orders;
    assert_eq!(orders, (1, Cents::parse(&total).expect("money").0));
    assert_eq!(shop.cookie, cookie, "one session");
}

#[test]
fn steps_out_of_order_lead_to_the_first_page() {
    let mut shop = Pages::open(Model::Ecommerce);
    let address = "street=1%20Elm&city=Elmton&state=WA&zip=98101";
    for (name, form) in [
        ("cart", "action=update&line=0&quantity=3".to_owned()),
        ("login", "customer=9&password=x&new=no".to_owned()),
        ("shipping", format!("{address}&method=2")),
        ("billing", "card=1&number=1234567890123456".to_owned()),
        ("confirm", "order=yes".to_owned()),
    ] {
        let path = format!("/ecommerce/{name}.php");
        let seen = shop.send(Method::Post, &path, "", &form);
        shop.check("index", &seen);
    }
    for _ in 0..5 {
        shop.post("cart", "action=add&i=1&o=00000");
    }
    let full = shop.send(
        Method::Post,
        "/ecommerce/cart.php",
        "",
        "action=add&i=1&o=00000",
    );
    assert_eq!(full.status, 400);
}

#[test]
fn support_shows_every_page() {
    let mut pages = Pages::open(Model::Support);
    let state = state(Model::Support);
    assert_eq!(pages.get("home", "").len(), 12);
    let seen = pages.send(Method::Get, "/support/search.php", "q=a+b+c", "");
    assert!(String::from_utf8_lossy(&seen.body).contains("<title>Support: search a b c</title>"));
    let rows = seen.rows();
    assert_eq!(rows[0], ["a", "b", "c"]);
    let found: Vec<String> = support::search(&state, ["a", "b", "c"].into_iter())
        .map(|id| id.to_string())
        .collect();
    assert_eq!(rows[1], found);
    assert_eq!(
        pages.get("catalog", "id=12")[1].last().map(String::as_str),
        Some("240")
    );
    assert_eq!(
        pages.get("product", "id=7"),
        [
            strings(&["7", &support::product_name(&state, 7)]),
            strings(&["30", "10", "20"])
        ]
    );
    let rows = pages.get("fileCatalog", "id=7&category=1&os=2&lang=3");
    assert_eq!((rows[0].len(), rows.len()), (4, 17));
    let rows = pages.get("file", "id=15");
    let path = "/support/downloads/dir0000000001/download5_0";
    assert_eq!(rows, [strings(&["15", "37748736", path])]);
    let small = "/support/downloads/dir0000000001/download0_0";
    let seen = pages.send(Method::Get, small, "", "");
    let file = shape(Model::Support).locate(&small[1..]).expect("a file");
    assert_eq!(seen.body.len() as u64, file.size);
    assert!(file.content.is_at(0, &seen.body));
    assert!(pages.cookie.is_none());
}

/// A back-end that runs until it is dropped.
struct Besim {
    stop: StopSignal,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Besim {
    fn start(config: &BesimConfig) -> (Self, SocketAddr) {
        let server = BesimServer::bind(config).expect("a back-end");
        let address = server.local_addr();
        let stop = StopSignal::new();
        let raised = stop.clone();
        let thread = Some(std::thread::spawn(move || server.run(&raised)));
        (Self { stop, thread }, address)
    }
}

impl Drop for Besim {
    fn drop(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a back-end without a panic");
        }
    }
}

#[test]
fn a_back_end_of_its_own_may_end_and_come_back() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut config = BesimConfig {
        state: state(Model::Banking),
        keeping: StateKeeping::Pure,
        delay: RandomDelay::default(),
        ledger: Some(dir.path().join("ledger.txt")),
        sync: LedgerSync::Disk,
        listen: ([127, 0, 0, 1], 0).into(),
        workers: 1,
    };
    let (besim, address) = Besim::start(&config);
    config.listen = address;
    let mut bank = Pages::before(Model::Banking, dir, BackendAt::There(address));
    bank.log_in(1);
    let pay = "payee[0]=p1&date[0]=20041007&amount[0]=12.34";
    bank.post("quick_pay", pay);
    drop(besim);
    let down = bank.send(Method::Post, "/bank/quick_pay.php", "", pay);
    assert_eq!(down.status, 503);
    assert_eq!(bank.ledger().payments, (1, 1_234));
    let (besim, _) = Besim::start(&config);
    assert_eq!(bank.post("quick_pay", pay).len(), 1);
    let payments = banking::payments(&state(Model::Banking), 1).count();
    assert_eq!(bank.get("bill_pay", "userid=1").len(), payments);
    drop(besim);
    let totals = bank.ledger();
    assert_eq!((totals.payments, totals.faults), ((2, 2_468), 0));
}

#[test]
fn every_page_is_asked_by_a_test() {
    // Of banking 16, of e-commerce 13, of support 7; a new page needs a test here.
    assert_eq!(Model::ALL.map(|model| pages(model).len()), [16, 13, 7]);
}
