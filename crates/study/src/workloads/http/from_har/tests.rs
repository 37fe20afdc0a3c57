//! Drafts from archives good and bad: each is a workload file that is right, and holds no secret.

use proptest::prelude::*;
use rookery_workload::{
    data_driven::{Source, Walk},
    http::{Body, CaptureSource, HttpWorkload},
};
use serde_json::{Value as Json, json};

use super::*;
use crate::HttpUse;

fn parsed(text: &str) -> HttpWorkload {
    HttpUse::parse_file("draft.toml", text, &[])
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
        .workload
}

fn draft(entries: Json) -> String {
    let har = json!({"log": {"version": "1.2", "entries": entries}}).to_string();
    draft_from_har("site.har", har.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn headers(pairs: &[(&str, &str)]) -> Json {
    pairs
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

/// An entry `at` so many seconds after noon, which took 100 ms.
fn entry(at: u32, method: &str, url: &str, mime: &str, body: &str) -> Json {
    json!({
        "startedDateTime": format!("2026-01-31T12:{:02}:{:02}.000Z", at / 60, at % 60),
        "time": 100,
        "request": {"method": method, "url": url, "headers": [], "cookies": []},
        "response": {
            "status": 200, "headers": [], "redirectURL": "",
            "content": {"mimeType": mime, "text": body},
        },
    })
}

fn posted(mut entry: Json, mime: &str, text: &str) -> Json {
    entry["request"]["postData"] = json!({"mimeType": mime, "text": text});
    entry
}

/// A visit: a page with a hidden field, a login that leads on, data by a script, another site.
fn visit() -> Json {
    let page = "<form action=/login><input type=hidden name=\"csrf\" value=\"c5rf-t0ken\"></form>";
    let mut login = posted(
        entry(5, "POST", "https://shop.example/login", "", ""),
        "application/x-www-form-urlencoded",
        "email=ann%40example.org&password=open+sesame&csrf=c5rf-t0ken&remember=1",
    );
    login["response"]["status"] = json!(302);
    login["response"]["redirectURL"] = json!("/account?welcome=1");
    login["response"]["headers"] = headers(&[("Set-Cookie", "sid=0123456789abcdef; Path=/")]);
    let mut home = entry(
        6,
        "GET",
        "https://shop.example/account?welcome=1",
        "text/html",
        "<h1>hi</h1>",
    );
    home["request"]["headers"] = headers(&[
        ("Cookie", "sid=0123456789abcdef"),
        ("Accept-Encoding", "gzip, br"),
        ("User-Agent", "a browser"),
    ]);
    let mut start = entry(
        7,
        "GET",
        "https://shop.example/api/start",
        "application/json; charset=utf-8",
        "{\"auth\": {\"bearer\": \"eyJ0b2tlbiI6MX0\"}, \"items\": [{\"id\": \"a1b2c3d4e5f6\"}]}",
    );
    start["_resourceType"] = json!("xhr");
    let mut buy = posted(
        entry(
            12,
            "POST",
            "https://shop.example/api/cart",
            "application/json",
            "{}",
        ),
        "application/json",
        "{\"item\": \"a1b2c3d4e5f6\", \"count\": 2, \"note\": \"costs $5\", \"pin\": 1234}",
    );
    buy["request"]["headers"] = headers(&[
        ("Authorization", "Bearer eyJ0b2tlbiI6MX0"),
        ("X-Requested-With", "XMLHttpRequest"),
        ("X-Api-Key", "never-seen-before"),
    ]);
    json!([
        entry(0, "GET", "https://shop.example/", "text/html", page),
        entry(1, "GET", "https://shop.example/a.css", "text/css", ""),
        entry(
            1,
            "GET",
            "https://cdn.example/b.js",
            "application/javascript",
            ""
        ),
        login,
        home,
        start,
        buy,
        entry(20, "GET", "https://shop.example/", "text/html", page),
    ])
}

#[test]
fn a_visit_becomes_a_session() {
    let text = draft(visit());
    insta::assert_snapshot!(text);
    let workload = parsed(&text);
    assert_eq!(workload.walk, Walk::Script(vec![0, 1, 2, 3, 0]));
    let sources: Vec<&CaptureSource> = workload
        .operations
        .iter()
        .flat_map(|operation| &operation.captures)
        .map(|capture| &capture.source)
        .collect();
    assert!(matches!(sources[0], CaptureSource::Regex(_)), "{sources:?}");
    assert!(sources.contains(&&CaptureSource::Json("/auth/bearer".to_owned())));
    assert!(sources.contains(&&CaptureSource::Json("/items/0/id".to_owned())));
    for secret in [
        "open sesame",
        "open+sesame",
        "ann%40",
        "ann@",
        "c5rf-t0ken",
        "0123456789abcdef",
        "eyJ0b2tlbiI6MX0",
        "never-seen-before",
        "1234,",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

/// A page of a shop.
fn page_of(at: u32, target: &str, body: &str) -> Json {
    let url = format!("https://shop.example{target}");
    entry(at, "GET", &url, "text/html", body)
}

/// What is put into a basket, with the token that the page before it had.
fn basket(at: u32, product: &str, token: &str) -> Json {
    let form = format!("product={product}&quantity=1&csrf={token}");
    posted(
        entry(at, "POST", "https://shop.example/basket", "text/html", ""),
        "application/x-www-form-urlencoded",
        &form,
    )
}

fn with_token(token: &str) -> String {
    format!("<form><input type=hidden name=\"csrf\" value=\"{token}\"></form>")
}

#[test]
fn requests_that_differ_in_one_value_are_one_operation() {
    let text = draft(json!([
        page_of(0, "/", ""),
        page_of(2, "/about", ""),
        page_of(4, "/contact", ""),
        page_of(6, "/search?q=red&sort=price", ""),
        page_of(8, "/search?q=blue%20hat&sort=price", ""),
        page_of(10, "/product/12", &with_token("t0ken-of-12")),
        basket(12, "12", "t0ken-of-12"),
        page_of(14, "/product/15?from=search", ""),
        page_of(16, "/product/15", &with_token("t0ken-of-15")),
        page_of(18, "/product/19", &with_token("t0ken-of-19")),
        basket(20, "19", "t0ken-of-19"),
        page_of(22, "/order/4711/receipt", ""),
        page_of(24, "/order/90210/receipt", ""),
        page_of(26, "/index.php?action=login", ""),
        page_of(28, "/index.php?action=logout", ""),
        page_of(30, "/d/a1b2c3d4e5f6", ""),
        page_of(32, "/d/b2c3d4e5f6a7", ""),
    ]));
    insta::assert_snapshot!(text);
    let workload = parsed(&text);
    let names: Vec<&str> = workload
        .operations
        .iter()
        .map(|operation| operation.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "home",
            "about",
            "contact",
            "search",
            "product",
            "post-basket",
            "product-2",
            "receipt",
            "index",
            "index-2",
            "d",
            "d-2",
        ]
    );
    let feeders: Vec<(&str, &Source)> = workload
        .feeders
        .iter()
        .map(|feeder| (feeder.name.as_str(), &feeder.source))
        .collect();
    let texts = |values: [&str; 2]| Source::Values(values.map(str::to_owned).to_vec());
    let range = |first, last| Source::Range { first, last };
    assert_eq!(
        feeders,
        [
            ("q", &texts(["red", "blue hat"])),
            ("product", &range(12, 19)),
            ("product_2", &range(12, 19)),
            ("order", &texts(["4711", "90210"])),
        ]
    );
    assert!(!text.contains("t0ken"), "{text}");
}

#[test]
fn secrets_are_no_values_of_a_feeder() {
    let secret = |at, value: &str| page_of(at, &format!("/pay?token={value}&amount=5"), "");
    let mut in_path = page_of(4, "/visit/0123456789abcdef/show", "");
    in_path["request"]["cookies"] = headers(&[("sid", "0123456789abcdef")]);
    let login = |at, user: &str| {
        posted(
            entry(at, "POST", "https://shop.example/login", "text/html", ""),
            "application/x-www-form-urlencoded",
            &format!("user={user}&password=open-sesame"),
        )
    };
    let text = draft(json!([
        secret(0, "first-secret"),
        secret(2, "second-secret"),
        in_path,
        page_of(6, "/visit/7/show", ""),
        page_of(8, "/visit/8/show", ""),
        login(10, "ann.of.bonn"),
        login(12, "bob.of.bonn"),
    ]));
    for secret in [
        "first-secret",
        "second-secret",
        "0123456789abcdef",
        "ann.of",
        "bob.of",
        "open-sesame",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("range = \"7..8\""), "{text}");
    parsed(&text);
}

#[test]
fn a_multipart_form_and_a_text_are_kept() {
    let text = "--xx\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA picture\r\n--xx\r\n\
                Content-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n\u{1}PNG\r\n\
                --xx--\r\n";
    let upload = posted(
        entry(0, "POST", "http://127.0.0.1:8080/upload", "text/html", ""),
        "multipart/form-data; boundary=xx",
        text,
    );
    let soap = posted(
        entry(1, "PUT", "http://127.0.0.1:8080/soap", "text/xml", "<ok/>"),
        "text/xml; charset=utf-8",
        "<a price=\"$1\">\u{7f}</a>",
    );
    let workload = parsed(&draft(json!([upload, soap])));
    let Body::Multipart(parts) = &workload.operations[0].body else {
        panic!("{:?}", workload.operations[0]);
    };
    assert_eq!(parts.len(), 2);
    let Body::Text(text) = &workload.operations[1].body else {
        panic!("{:?}", workload.operations[1]);
    };
    assert_eq!(text.to_string(), "<a price=\"$$1\">\u{7f}</a>");
    assert_eq!(workload.operations[1].headers[0].name, "content-type");
}

#[test]
fn what_leads_to_another_site_is_not_followed() {
    let mut out = entry(0, "GET", "http://a.example/out", "text/html", "");
    out["response"]["status"] = json!(302);
    out["response"]["redirectURL"] = json!("https://other.example/");
    let workload = parsed(&draft(json!([
        out,
        entry(1, "GET", "http://a.example/", "text/html", "")
    ])));
    assert!(!workload.operations[0].follow && workload.operations[0].statuses.allow(302));
}

#[test]
fn what_is_no_archive_is_refused() {
    let refused = |bytes: &[u8]| draft_from_har("x.har", bytes).expect_err("refused").code();
    assert_eq!(refused(b""), "har::no-json");
    assert_eq!(refused(b"<html>"), "har::no-json");
    assert_eq!(refused(b"\xff\xfe{}"), "har::no-json");
    for empty in [
        "{}",
        "[]",
        "1",
        "{\"log\": 3}",
        "{\"log\": {\"entries\": {\"a\": [[]]}}}",
    ] {
        assert_eq!(refused(empty.as_bytes()), "har::no-requests", "{empty}");
    }
    let deep = format!(
        "{{\"log\": {{\"entries\": {}{}}}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    assert_ne!(refused(deep.as_bytes()), "har::too-large");
    let odd = json!({"log": {"entries": [
        null, 7, {"request": "x"}, {"request": {"method": [1], "url": {}}},
        entry(0, "BREW", "http://a.example/", "text/html", ""),
        entry(0, "GET", "data:text/html,x", "text/html", ""),
    ]}});
    assert_eq!(refused(odd.to_string().as_bytes()), "har::no-requests");
}

#[test]
fn a_large_archive_becomes_a_file_of_bounded_size() {
    let long = "v\u{1}$\"".repeat(600);
    let mut entries: Vec<Json> = (0..400)
        .map(|number| {
            let url = format!("http://big.example/p{number}q?x={}", "\"%\\".repeat(300));
            posted(
                entry(number, "POST", &url, "text/html", &long),
                "application/x-www-form-urlencoded",
                &format!("a={long}&token={long}&b={number}"),
            )
        })
        .collect();
    for number in 0..2_000 {
        let url = format!("http://big.example/object-{number}.png");
        entries.push(entry(500, "GET", &url, "image/png", ""));
    }
    let mut binary = entry(
        600,
        "GET",
        "http://big.example/binary",
        "text/html",
        "//79/P8=",
    );
    binary["response"]["content"]["encoding"] = json!("base64");
    entries.push(binary);
    let text = draft(json!(entries));
    assert!(text.len() <= MOST_COMPANION_BYTES, "{}", text.len());
    assert!(parsed(&text).operations.len() > 1);
}

#[test]
fn pauses_follow_the_archive() {
    let page = |at, name: &str| {
        entry(
            at,
            "GET",
            &format!("http://a.example/{name}"),
            "text/html",
            "",
        )
    };
    let text = draft(json!([
        page(0, "a"),
        page(3, "b"),
        page(6, "c"),
        page(9, "d")
    ]));
    let workload = parsed(&text);
    let delay = workload.operations[0].delay;
    assert_eq!(delay.mean.as_millis(), 2_900);
    assert!(text.contains("think_distribution = \"constant\""), "{text}");
}

/// A name, a value: anything that can stand in a string of JSON.
fn anything() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        "[$\\{\\}\"'\\\\\n\r\t#=&;%+a-c\u{0}\u{7f}\u{e000}\u{e001}\u{202e}]{0,20}",
        "[a-z]{1,6}",
        Just("token".to_owned()),
        Just("password".to_owned()),
        Just("errors".to_owned()),
    ]
}

prop_compose! {
    fn any_entry()(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
        path in anything(),
        query in anything(),
        (kind, resource) in prop::sample::select(vec![
            ("text/html", "document"), ("application/json", "xhr"), ("image/png", "image"), ("", ""),
        ]),
        (mime, names) in (
            prop::sample::select(vec![
                "application/x-www-form-urlencoded", "application/json", "text/xml",
                "multipart/form-data; boundary=b", "",
            ]),
            prop::collection::vec((anything(), anything()), 0..4),
        ),
        text in anything(),
        status in prop::sample::select(vec![200, 204, 302, 304, 404, 500]),
        body in anything(),
        host in prop::sample::select(vec!["a.example", "u:p@a.example:80", "b.example"]),
    ) -> Json {
        let pairs: Json = names.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let form: Vec<String> = names.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let document = names.iter().map(|(name, value)| (name.clone(), json!(value)));
        let sent = match mime {
            "application/json" => Json::Object(document.collect()).to_string(),
            "application/x-www-form-urlencoded" => form.join("&"),
            _ => text,
        };
        json!({
            "startedDateTime": "2026-01-31T12:00:00Z", "time": 5, "_resourceType": resource,
            "request": {
                "method": method, "url": format!("http://{host}/{path}?{query}"),
                "headers": pairs, "cookies": pairs,
                "postData": {"mimeType": mime, "text": sent, "params": pairs},
            },
            "response": {
                "status": status, "redirectURL": query, "headers": pairs,
                "content": {"mimeType": kind, "text": format!("{body}{query}")},
            },
        })
    }
}

proptest! {
    #[test]
    fn whatever_an_archive_holds_the_draft_is_right(
        entries in prop::collection::vec(any_entry(), 0..6),
        name in anything(),
    ) {
        let har = json!({"log": {"entries": entries}}).to_string();
        if let Ok(text) = draft_from_har(&name, har.as_bytes()) {
            let read = HttpUse::parse_file("draft.toml", &text, &[]);
            prop_assert!(read.is_ok(), "{}\n{text}", read.err().map_or_else(String::new, |all| all.to_string()));
        }
    }

    #[test]
    fn no_secret_of_an_archive_is_written_down(
        secret in "[A-Za-z0-9][A-Za-z0-9+/=&$ ]{8,28}[A-Za-z0-9]",
        field in prop::sample::select(vec!["password", "csrf_token", "apiKey"]),
        kind in prop::sample::select(vec!["application/json", "application/x-www-form-urlencoded"]),
        echo in any::<bool>(),
    ) {
        let mut encoded = Vec::new();
        rookery_workload::data_driven::Encoding::Form.append(&mut encoded, secret.as_bytes());
        let encoded = String::from_utf8(encoded).expect("ASCII");
        let sent = match kind {
            "application/json" => json!({field: secret, "other": secret}).to_string(),
            _ => format!("{field}={encoded}&other={encoded}"),
        };
        let page = if echo { format!("<input name=\"{field}\" value=\"{secret}\">") } else { String::new() };
        let mut first = entry(0, "GET", &format!("http://a.example/{encoded}?q={encoded}"), "text/html", &page);
        first["request"]["cookies"] = headers(&[("sid", &secret)]);
        let text = draft(json!([
            first,
            posted(entry(1, "POST", "http://a.example/x", "text/html", ""), kind, &sent),
        ]));
        prop_assert!(!text.contains(&secret) && !text.contains(&encoded), "{secret}\n{text}");
        parsed(&text);
    }

    #[test]
    fn no_secret_is_a_value_of_a_feeder(
        secrets in prop::collection::vec("[A-Za-z0-9][A-Za-z0-9_.]{8,28}", 2..6),
        field in prop::sample::select(vec!["password", "csrf_token", "apiKey"]),
        place in 0..4_usize,
    ) {
        let requests = secrets.iter().zip(0..).map(|(secret, at)| {
            let url = |target: &str| format!("http://a.example/{target}");
            let mut request = match place {
                0 => entry(at, "GET", &url(&format!("x?{field}={secret}")), "text/html", ""),
                1 => entry(at, "GET", &url(&format!("x/{secret}/y")), "text/html", ""),
                2 => entry(at, "GET", &url(&format!("x?of={secret}")), "text/html", ""),
                _ => posted(
                    entry(at, "POST", &url("x"), "text/html", ""),
                    "application/x-www-form-urlencoded",
                    &format!("{field}={secret}&n={at}"),
                ),
            };
            // In paths and under other names it is known by where else it was seen.
            request["request"]["cookies"] = headers(&[("sid", secret)]);
            request
        });
        let text = draft(requests.collect());
        for secret in &secrets {
            prop_assert!(!text.contains(secret.as_str()), "{secret}\n{text}");
        }
        parsed(&text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = draft_from_har("x", &bytes);
    }
}
