//! Workloads that are written down: what is taken, what is refused, and where.

use std::time::Duration;

use rookery_workload::{
    DelayDistribution,
    data_driven::{Order, Source, Walk},
    http::{Body, CaptureSource, Check},
};

use super::HttpUse;
use crate::{
    Choices, Companion, CompanionContent, Document, Problems, Study, Workload,
    sections::testing::{refusal, with},
};

const SHOP: &str = r#"
think_time = "1s"
think_distribution = "truncated-exponential"
login = "login"
start = { list = 1 }
gzip = true
receive_rate = 100000
headers = { Accept-Language = "en" }

[[feeder]]
name = "people"
csv = "people.csv"
per = "session"

[[feeder]]
name = "number"
range = "1..9"
order = "once"

[[operation]]
name = "login"
method = "POST"
path = "/login"
form = { name = "${people.name}", city = "${people.city}" }
capture = { token = 'value="([^"]*)"' }
contains = "welcome"
status = [200, 303]
think_time = "0s"

[[operation]]
name = "list"
path = "/list?first=${number}"
capture_json = { item = "/items/0/id" }
json = { "/page" = "list" }
objects = ["/a.css", "/b.js"]
objects_conditional = 0.5
next = { list = 0.25, comment = 0.5, end = 0.25 }

[[operation]]
name = "comment"
method = "POST"
path = "/comment/${item}"
multipart = { token = "${token}", text = "a\n\"b\" \\ $$" }
files = { picture = 1000 }
counts = "comments"
min_bytes = 6
timeout = "2s"
next = { end = 1 }
"#;

fn files(shop: &str) -> [Companion; 2] {
    [
        ("w/shop.toml", shop),
        ("w/people.csv", "name,city\nann,Bonn\nbob,\"Ulm, \"\n"),
    ]
    .map(|(name, text)| Companion {
        place: None,
        name: name.to_owned(),
        content: CompanionContent::Text(text.to_owned()),
    })
}

fn study_with(shop: &str, more: &str) -> Result<Document, Problems> {
    let files = files(shop);
    let choices = Choices {
        files: &files,
        ..Choices::default()
    };
    let text = format!(
        "title = \"t\"\n[workload]\nkind = \"http\"\nfile = \"w/shop.toml\"\n{more}\n[load]\nusers \
         = 5\n[qos.comment]\np95 = \"1s\"\n[[layout]]\nname = \"one\"\n"
    );
    Document::parse_with("studies/s.toml", &text, choices)
}

fn http(study: &Study) -> &HttpUse {
    match &study.workload {
        Workload::Http(wanted) => wanted,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_workload_file_is_read_whole() {
    let document = study_with(SHOP, "").unwrap_or_else(|problems| panic!("{problems}"));
    let wanted = http(document.study());
    let workload = &wanted.workload;
    assert_eq!(wanted.operation_names(), ["login", "list", "comment"]);
    assert_eq!(workload.login, Some(0));
    let delays = workload.operations.iter().map(|operation| operation.delay);
    let delays: Vec<_> = delays
        .map(|delay| (delay.mean.as_secs(), delay.distribution))
        .collect();
    let usual = DelayDistribution::TruncatedExponential;
    assert_eq!(delays, [(0, usual), (1, usual), (1, usual)]);
    let Walk::Matrix(matrix) = &workload.walk else {
        panic!("{:?}", workload.walk);
    };
    assert_eq!(matrix.rows().next[1], [0.0, 0.25, 0.5, 0.25]);
    assert_eq!(
        workload.feeders[0].source,
        Source::Table {
            columns: vec!["name".to_owned(), "city".to_owned()],
            rows: vec![
                vec!["ann".to_owned(), "Bonn".to_owned()],
                vec!["bob".to_owned(), "Ulm, ".to_owned()],
            ],
            secret: None,
        }
    );
    assert_eq!(workload.feeders[1].order, Order::Once);
    let [login, list, comment] = &workload.operations[..] else {
        panic!("three operations");
    };
    let Body::Form(fields) = &login.body else {
        panic!("{:?}", login.body);
    };
    assert_eq!(fields[0].name, "name", "fields keep their order");
    assert_eq!(
        list.captures[0].source,
        CaptureSource::Json("/items/0/id".to_owned())
    );
    assert_eq!(list.objects[1].conditional, Some(0.5));
    assert_eq!(
        comment.checks,
        [Check::Size {
            min: 6,
            max: u64::MAX
        }]
    );
    assert_eq!(comment.timeout, Some(Duration::from_secs(2)));
}

#[test]
fn what_a_plan_keeps_needs_no_files() {
    let document = study_with(SHOP, "").unwrap_or_else(|problems| panic!("{problems}"));
    let again = Study::parse("again.toml", &document.study().to_toml());
    assert_eq!(
        again.unwrap_or_else(|problems| panic!("{problems}")),
        *document.study()
    );
}

#[test]
fn a_study_says_pauses_beside_its_file() {
    let document = study_with(SHOP, "think_time = [\"2s\", \"4s\"]\n")
        .unwrap_or_else(|problems| panic!("{problems}"));
    let mean = |variant: usize| {
        let study = &document.variants()[variant].study;
        http(study).workload.operations[1].delay.mean.as_secs()
    };
    assert_eq!((mean(0), mean(1)), (2, 4));
    let refused = study_with(SHOP, "login = \"list\"\n").expect_err("refused");
    insta::assert_snapshot!(refused.to_string());
}

#[test]
fn problems_of_a_workload_file_point_into_it() {
    let broken = SHOP
        .replace("list = 0.25", "list = 0.35")
        .replace("'value=\"([^\"]*)\"'", "'value=(['")
        .replace("path = \"/login\"", "pathh = \"/login\"")
        .replace("people.csv", "nobody.csv")
        .replace("1..9", "9..1");
    let refused = study_with(&broken, "").expect_err("refused");
    insta::assert_snapshot!(refused.to_string());
    let syntax = study_with("[[operation]]\nname = \n", "").expect_err("refused");
    insta::assert_snapshot!(syntax.to_string());
}

#[test]
fn a_workload_file_is_read_by_itself_too() {
    let [_, people] = files("");
    let people = Companion {
        name: "people.csv".to_owned(),
        ..people
    };
    let wanted = HttpUse::parse_file("x/shop.toml", SHOP, &[people])
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(wanted.operation_names().len(), 3);
    let refused = HttpUse::parse_file("x/shop.toml", &SHOP.replace("\"/list", "\"list"), &[])
        .expect_err("refused");
    let first = &refused.list()[0];
    assert_eq!((&*first.file, first.line), ("x/shop.toml", 12));
    let list = refused.list().iter().find(|problem| problem.line == 32);
    assert!(
        list.is_some_and(|problem| problem.message.contains("does not begin with")),
        "{refused}"
    );
}

/// The shop with the cities of its people as secrets, in a file at `place`.
fn secret_shop(place: Option<&str>, secret: &str, people: &str) -> Result<HttpUse, Problems> {
    let file = Companion {
        name: "people.csv".to_owned(),
        place: place.map(str::to_owned),
        content: CompanionContent::Text(people.to_owned()),
    };
    let shop = SHOP.replace("per = \"session\"", secret);
    HttpUse::parse_file("shop.toml", &shop, &[file])
}

#[test]
fn of_secret_columns_the_plan_has_their_place_alone() {
    const PEOPLE: &str = "name,city\nann,Bonn\nbob,Ulm\n";
    let read = |place, secret| secret_shop(place, secret, PEOPLE);
    let wanted = read(Some("/home/my site/people.csv"), "secret = [\"city\"]")
        .unwrap_or_else(|problems| panic!("{problems}"));
    let feeder = &wanted.workload.feeders[0];
    let Source::Table { rows, .. } = &feeder.source else {
        panic!("{feeder:?}");
    };
    assert_eq!(rows, &[["ann", ""], ["bob", ""]]);
    let secret = feeder.secret().expect("secret columns");
    assert_eq!(
        (&secret.names[..], &*secret.file),
        (&["city".to_owned()][..], "/home/my site/people.csv")
    );
    let refused = |place, secret| read(place, secret).expect_err("refused").to_string();
    let said = refused(Some("/people.csv"), "secret = [\"town\"]");
    assert!(said.contains("no column `town`"), "{said}");
    let said = refused(None, "secret = [\"city\"]");
    assert!(said.contains("no file of this host"), "{said}");
}

#[test]
fn a_refusal_says_no_secret() {
    for people in [
        "ann,Bo nn\nbob,Ulm\n",
        "ann,Bonn\nbob,Ulm\n",
        "name,city\nann,Bonn,x\n",
    ] {
        let refused = secret_shop(Some("/people.csv"), "secret = [\"city\"]", people);
        let said = refused.expect_err("refused").to_string();
        assert!(!said.contains("nn\n") && !said.contains("Bo"), "{said}");
    }
    let inline = SHOP.replace("order = \"once\"", "secret = [\"number\"]");
    let said = HttpUse::parse_file("shop.toml", &inline, &files("")).expect_err("refused");
    assert!(said.to_string().contains("only columns of `csv`"), "{said}");
}

/// A workload of these lines in a study.
fn refused(lines: &str) -> String {
    refusal(&format!("[workload]\nkind = \"http\"\n{lines}\n"))
}

#[test]
fn mixes_that_cannot_be_walked_are_refused() {
    let two = |first: &str, second: &str| {
        format!(
            "[[workload.operation]]\nname = \"a\"\npath = \"/a\"\n{first}\n\
             [[workload.operation]]\nname = \"b\"\npath = \"/b\"\n{second}\n"
        )
    };
    assert_eq!(
        refused(&two("next = {a = 0.5, b = 0.6}", "next = {end = 1}")),
        "study::contradiction: `next` of `a`: the row sums to 1.1, not to 1"
    );
    assert_eq!(
        refused(&two("next = {b = 0.5, end = 0.5}", "next = {b = 1}")),
        "study::contradiction: `next` of `b`: a session that comes here never ends"
    );
    assert_eq!(
        refused(&two("next = {c = 1}", "")),
        "study::unknown-choice: no operation is named `c`"
    );
    assert_eq!(
        refused(&two("next = {b = 1}", "")),
        "study::missing-key: a session comes to `b`, and nothing follows it"
    );
    assert_eq!(
        refused(&two("next = {b = 1}", "weight = 2")),
        "study::contradiction: the mix is said by `next` and `start`, by `weight` and \
         `session_operations` at once"
    );
    assert_eq!(
        refused(&two("weight = 0", "weight = 0")),
        "study::contradiction: no operation is ever drawn"
    );
}

#[test]
fn what_an_operation_cannot_be_is_refused() {
    let one = |lines: &str| {
        refused(&format!(
            "[[workload.operation]]\nname = \"a\"\npath = \"/a\"\n{lines}\n"
        ))
    };
    for (lines, said) in [
        (
            "contains = \"${nobody}\"",
            "`a` uses `${nobody}`, which is neither data nor captured",
        ),
        ("capture = {x = \"(a{1000}){1000}\"}", "size limit"),
        ("capture_json = {x = \"id\"}", "does not begin with `/`"),
        (
            "headers = {Host = \"x\"}",
            "the header `Host` is the driver's own",
        ),
        ("headers = {\"a b\" = \"x\"}", "is no header"),
        ("body = \"x\"", "a `GET` request sends no body"),
        (
            "method = \"POST\"\nbody = \"x\"\nform = {a = \"b\"}",
            "a request has one body",
        ),
        ("sha256 = \"12\"", "is no digest"),
        ("min_bytes = 9\nmax_bytes = 8", "does not exist"),
        ("status = [99]", "is less than 100"),
        ("contains = \"$x\"", "a lone `$`"),
        (
            "delay = \"1s\"",
            "unknown key `delay` in [[workload.operation]]",
        ),
    ] {
        let refused = one(lines);
        assert!(refused.contains(said), "{lines}: {refused}");
    }
    assert!(
        refused("").contains("the workload has no operations"),
        "{}",
        refused("")
    );
    assert!(
        refused("[[workload.operation]]\nname = \"page\"\npath = \"/\"")
            .contains("another meaning")
    );
}

#[test]
fn feeders_say_one_source() {
    let feeder = |lines: &str| {
        refused(&format!(
            "[[workload.operation]]\nname = \"a\"\npath = \"/a\"\n[[workload.feeder]]\nname = \
             \"f\"\n{lines}\n"
        ))
    };
    for (lines, said) in [
        ("", "says nowhere what it gives"),
        ("range = \"1..2\"\nid = true", "gives range and id at once"),
        ("id = true\norder = \"once\"", "never ends"),
        ("values = []", "has nothing to give"),
        ("csv = \"gone.csv\"", "cannot read the file `gone.csv`"),
        (
            "columns = [\"a\", \"b\"]\nrows = [[\"1\"]]",
            "one value for each of its 2 `columns`",
        ),
    ] {
        let refused = feeder(lines);
        assert!(refused.contains(said), "{lines}: {refused}");
    }
}

#[test]
fn limits_are_those_of_its_operations() {
    let lines = "[workload]\nkind = \"http\"\n[[workload.operation]]\nname = \"home\"\npath = \
                 \"/\"\n[qos.home]\np95 = \"1s\"\n[qos.page]\np99 = \"2s\"\n";
    let study = with(lines).expect("valid");
    let limited: Vec<_> = study
        .qos
        .percentiles
        .iter()
        .map(|limit| limit.operation.clone())
        .collect();
    assert_eq!(limited, [Some("page".to_owned()), Some("home".to_owned())]);
    let unknown = lines.replace("[qos.home]", "[qos.hme]");
    assert!(
        refusal(&unknown).contains("unknown key `hme` in [qos]"),
        "{}",
        refusal(&unknown)
    );
    assert!(refusal(&lines.replace("[qos.home]", "[qos.order]")).contains("does not have"));
}
