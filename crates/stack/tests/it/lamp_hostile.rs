//! The PHP pages survive hostile input: a correct page or a clear 400, no complaint of PHP, and
//! nothing changed in the database.

use rookery_stack::lamp::sql::Database;
use rookery_workload::{
    dvdstore::pages::read_browse,
    random::{RandomSource as _, SplitMix64},
};

use crate::lamp_support::{shop::Shop, skipped};

const PAGES: [&str; 4] = ["dslogin", "dsnewcustomer", "dsbrowse", "dspurchase"];

/// Every field of every page, with the value that a page takes.
const FIELDS: [(&str, &str); 34] = [
    ("username", "user1"),
    ("password", "password"),
    ("firstname", "A"),
    ("lastname", "B"),
    ("address1", "C"),
    ("address2", ""),
    ("city", "D"),
    ("state", ""),
    ("zip", ""),
    ("country", "UK"),
    ("email", "a@b"),
    ("phone", "1"),
    ("creditcardtype", "1"),
    ("creditcard", "1"),
    ("ccexpmon", "1"),
    ("ccexpyr", "2010"),
    ("age", "20"),
    ("income", "20000"),
    ("gender", "M"),
    ("customerid", "5"),
    ("browsetype", "title"),
    ("browse_title", "RED"),
    ("browse_actor", "ANN"),
    ("browse_category", "3"),
    ("limit_num", "5"),
    ("selected_item[]", "3"),
    ("item[]", "4"),
    ("quan[]", "1"),
    ("drop[]", "7"),
    ("unknown", "x"),
    ("item[][]", "1"),
    ("customerid[]", "1"),
    ("username[x]", "1"),
    ("item", "1"),
];

/// Values that have broken shops before; percent-encoded where they must be.
const VALUES: [&str; 26] = [
    "",
    "'",
    "%27%20OR%20%271%27=%271",
    "1%20OR%201=1",
    "1;DROP%20TABLE%20CUSTOMERS",
    "x%27);DELETE%20FROM%20ORDERS;--%20",
    "1%20UNION%20SELECT%20PASSWORD%20FROM%20CUSTOMERS",
    "\\%27%20OR%201=1%20--%20",
    "%bf%27%20OR%201=1%20--%20",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "%22%3E%3CTR%3E%3CTABLE%3E",
    "%00",
    "user1%00",
    "%ff%fe",
    "%c3%28",
    "%F0%9F%A6%9C",
    "%e2%80%ae%e2%80%8b",
    "-1",
    "0",
    "2147483648",
    "99999999999999999999999999",
    "-9223372036854775808",
    "1e9",
    "0x10",
    "%20%2B5%20",
    "+*%22%40~%3C%3E()",
];

/// A checksum for each table, which changes with any row.
fn checksums(root: &mut Database) -> Vec<(String, u64)> {
    let tables: Vec<(String,)> = root
        .query(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'DS2' ORDER \
                BY 1",
        )
        .expect("tables");
    let names: Vec<String> = tables.iter().map(|(name,)| format!("DS2.{name}")).collect();
    root.query(&format!("CHECKSUM TABLE {}", names.join(", ")))
        .expect("checksums")
}

/// A page of ours, whatever was asked: 200 or 400, whole, and without what was injected.
fn expect_sane(shop: &Shop, target: &str, form: Option<&str>) {
    let answer = match form {
        Some(form) => shop.post(target, form),
        None => shop.get(target),
    };
    let shown: String = format!("{target} {}", form.unwrap_or_default())
        .chars()
        .take(300)
        .collect();
    assert!(
        matches!(answer.status, 200 | 400),
        "{shown}: {}\n{}",
        answer.status,
        answer.body
    );
    assert!(
        answer.body.starts_with("<!DOCTYPE html>") && answer.body.ends_with("</HTML>\n"),
        "{shown}: {}",
        answer.body
    );
    for injected in [
        "<script",
        "\"><TR",
        "SQL syntax",
        "mysqli",
        "Warning",
        "Stack trace",
    ] {
        assert!(
            !answer.body.contains(injected),
            "{shown}: {injected}\n{}",
            answer.body
        );
    }
    if answer.status == 400 {
        assert!(
            answer
                .body
                .contains("<H2>This request cannot be understood</H2>"),
            "{shown}: {}",
            answer.body
        );
    }
}

/// All values of one field, each on a page whose other fields are right.
fn each_value_in_each_field(shop: &Shop) {
    for page in PAGES {
        for (field, _) in FIELDS {
            for value in VALUES {
                // An order must not be placed, nor a customer added: the first has no confirmation,
                // the second has no city.
                let others = FIELDS[..29]
                    .iter()
                    .filter(|(name, _)| *name != field && *name != "city");
                let mut query: Vec<String> = others
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                query.push(format!("{field}={value}"));
                if field == "city" {
                    query.retain(|pair| !pair.starts_with("lastname"));
                }
                expect_sane(shop, &format!("/ds2/{page}.php?{}", query.join("&")), None);
            }
        }
    }
}

/// Requests drawn at random: some fields, some of them twice, hostile values, query and form; the
/// seed is fixed.
fn random_requests(shop: &Shop) {
    let mut random = SplitMix64::new(1);
    let mut draw = |count: usize| random.index(count);
    for _ in 0..400 {
        let page = PAGES[draw(PAGES.len())];
        let mut pairs = [Vec::new(), Vec::new()];
        for _ in 0..draw(12) {
            let (field, usual) = FIELDS[draw(FIELDS.len())];
            let value = if draw(3) == 0 {
                usual
            } else {
                VALUES[draw(VALUES.len())]
            };
            // One that completes an order or a customer would rightly change the database.
            if field != "city" {
                pairs[draw(2)].push(format!("{field}={value}"));
            }
        }
        let [query, form] = pairs.map(|pairs| pairs.join("&"));
        expect_sane(
            shop,
            &format!("/ds2/{page}.php?{query}"),
            (draw(2) == 0).then_some(form.as_str()),
        );
    }
}

/// Requests of a size that no shopper sends.
fn huge_requests(shop: &Shop) {
    let megabyte = "x".repeat(1 << 20);
    for page in PAGES {
        for field in [
            "username",
            "customerid",
            "browse_title",
            "item[]",
            "firstname",
            "quan[]",
        ] {
            expect_sane(
                shop,
                &format!("/ds2/{page}.php"),
                Some(&format!("customerid=5&browsetype=title&{field}={megabyte}")),
            );
        }
        let words = "RED+".repeat(1 << 16);
        expect_sane(
            shop,
            &format!("/ds2/{page}.php"),
            Some(&format!(
                "customerid=5&browsetype=title&browse_title={words}"
            )),
        );
        let digits = "9".repeat(1 << 20);
        expect_sane(
            shop,
            &format!("/ds2/{page}.php"),
            Some(&format!("customerid=5&item[]={digits}&quan[]={digits}")),
        );
        let many = "item[]=1&quan[]=1&".repeat(450);
        expect_sane(
            shop,
            &format!("/ds2/{page}.php"),
            Some(&format!("{many}customerid=5")),
        );
    }
    let crowd = shop.post("/ds2/dspurchase.php", &"item[]=1&".repeat(1_000));
    assert_eq!(
        crowd.status, 400,
        "PHP reads no more, and would drop the rest of the order"
    );
}

/// What comes back is escaped, and means what was typed.
fn echoes_are_escaped(shop: &Shop) {
    let page = shop.page("/ds2/dsbrowse.php?customerid=5&browsetype=title&browse_title=%22%3E%3CTABLE%3E%3CTR%3E%26&limit_num=5");
    assert!(
        page.contains("VALUE=\"&quot;&gt;&lt;TABLE&gt;&lt;TR&gt;&amp;\""),
        "{page}"
    );
    // `TABLE` is a word of a title: the results are still read, and nothing that was typed is taken
    // for one.
    let results = read_browse(page.as_bytes()).expect("a page of results");
    assert_eq!(
        page.matches("<TR>").count() as u32,
        results + u32::from(results > 0)
    );
    let form = shop.page("/ds2/dsnewcustomer.php?firstname=%27%3Cb%3E%22&lastname=%F0%9F%A6%9C");
    assert!(
        form.contains("VALUE=\"&apos;&lt;b&gt;&quot;\"") && form.contains("VALUE=\"\u{1f99c}\""),
        "{form}"
    );
    // An injection into the login finds nobody.
    for password in [
        "%27%20OR%20%271%27=%271",
        "%bf%27%20OR%201=1%20--%20x",
        "\\",
    ] {
        let answer = shop.get(&format!(
            "/ds2/dslogin.php?username=user1&password={password}"
        ));
        assert!(!answer.body.contains("customerid"), "{password}");
    }
}

#[test]
fn hostile_input_changes_nothing() {
    if skipped() {
        return;
    }
    let shop = Shop::start(false, 4);
    let mut root = shop.root();
    let before = checksums(&mut root);
    each_value_in_each_field(&shop);
    random_requests(&shop);
    huge_requests(&shop);
    echoes_are_escaped(&shop);
    assert_eq!(checksums(&mut root), before);
    shop.expect_no_complaint();
}

#[test]
fn what_customers_type_is_stored_as_typed() {
    if skipped() {
        return;
    }
    let shop = Shop::start(false, 2);
    let mut root = shop.root();
    let added = shop.page(
        "/ds2/dsnewcustomer.php?firstname=Robert%27);DROP%20TABLE%20CUSTOMERS;--&lastname=%F0%9F%A6%9C%C3%A9&address1=%3Cb%3E&city=\\&country=UK\
         &username=o%27brien&password=%25_%27&zip=12345678901234567&age=-5&income=abc&creditcardtype=99999999999&ccexpmon=13&ccexpyr=&gender=%C3%A9x",
    );
    assert!(added.contains("Successfully Added"), "{added}");
    let texts: Vec<(String, String, String, String, String)> = root
        .query(
            "SELECT FIRSTNAME, LASTNAME, CITY, CREDITCARDEXPIRATION, GENDER FROM DS2.CUSTOMERS \
                WHERE USERNAME = 'o''brien'",
        )
        .expect("a row");
    let expected = [
        "Robert');DROP TABLE CUSTOMERS;--",
        "\u{1f99c}\u{e9}",
        "\\",
        "/13",
        "\u{e9}",
    ]
    .map(str::to_owned);
    assert_eq!(texts, [expected.into()]);
    let numbers: Vec<(i64, i64, Option<i64>, i64)> = root
        .query(
            "SELECT ZIP, AGE, INCOME, CREDITCARDTYPE FROM DS2.CUSTOMERS WHERE USERNAME = \
                'o''brien'",
        )
        .expect("a row");
    assert_eq!(
        numbers,
        [(2_147_483_647, 0, None, 2_147_483_647)],
        "numbers are the nearest that fit"
    );
    assert!(
        shop.page("/ds2/dslogin.php?username=o%27brien&password=%25_%27")
            .contains("customerid")
    );
    let long = "\u{e9}"
        .repeat(500)
        .bytes()
        .map(|byte| format!("%{byte:02X}"))
        .collect::<String>();
    let added = shop.page(&format!(
        "/ds2/dsnewcustomer.php?firstname={long}&lastname=B&address1=C&city=D&country=UK&username={long}&password=p"
    ));
    assert!(added.contains("Successfully Added"), "{added}");
    let cut = "SELECT COUNT(*) FROM DS2.CUSTOMERS WHERE CHAR_LENGTH(FIRSTNAME) = 50 AND \
               CHAR_LENGTH(USERNAME) = 50";
    assert_eq!(root.number(cut).expect("a number"), 1);
    // The same name again is taken, although it is cut first.
    let again = shop.page(&format!(
        "/ds2/dsnewcustomer.php?firstname=A&lastname=B&address1=C&city=D&country=UK&username={long}&password=p"
    ));
    assert!(again.contains("Username already in use"));
    shop.expect_no_complaint();
}
