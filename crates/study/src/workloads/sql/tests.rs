//! Database workloads that are written down: what is taken, what is refused, and where.

use rookery_workload::{
    data_driven::Walk,
    sql::{Marks, RowAudit},
};

use super::SqlUse;
use crate::{Choices, Companion, CompanionContent, Document, Problems, Study, Workload};

const NOTES: &str = r#"
setup_file = "tables.sql"
think_time = "10ms"
retries = 5

[[feeder]]
name = "id"
range = "1..9"

[[operation]]
name = "read"
weight = 3
statement = [{ sql = "SELECT title FROM notes WHERE id = ${id}", rows = 1 }]

[[operation]]
name = "copy"
transaction = true
counts = "copies"
timeout = "2s"

[[operation.statement]]
sql = "SELECT id, title FROM notes WHERE id = ${id}"
values = ["${id}"]
capture = { title = 2 }

[[operation.statement]]
sql = "INSERT INTO copies (title) VALUES (${title})"
rows = 1

[[audit]]
counts = "copies"
sql = "SELECT count(*) FROM copies"
initial = 2
"#;

const TABLES: &str = "CREATE TABLE notes (id INTEGER, title TEXT);\n-- none\n\
                      INSERT INTO notes VALUES (1, 'a;b');\n";

fn document(notes: &str, tables: &str) -> Result<Document, Problems> {
    let files = [("w/notes.toml", notes), ("w/tables.sql", tables)].map(|(name, text)| Companion {
        place: None,
        name: name.to_owned(),
        content: CompanionContent::Text(text.to_owned()),
    });
    let choices = Choices {
        files: &files,
        ..Choices::default()
    };
    let text = "title = \"t\"\n[workload]\nkind = \"sql\"\nfile = \"w/notes.toml\"\n[stack]\nkind = \
                \"sqlite\"\n[load]\nusers = 2\n[qos.read]\np95 = \"1s\"\n[[layout]]\nname = \"one\"\n";
    Document::parse_with("studies/s.toml", text, choices)
}

fn sql(study: &Study) -> &SqlUse {
    match &study.workload {
        Workload::Sql(wanted) => wanted,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_workload_file_and_its_script_are_read_whole() {
    let document = document(NOTES, TABLES).unwrap_or_else(|problems| panic!("{problems}"));
    let workload = &sql(document.study()).workload;
    assert_eq!(
        workload.setup,
        [
            "CREATE TABLE notes (id INTEGER, title TEXT)",
            "-- none\nINSERT INTO notes VALUES (1, 'a;b')"
        ]
    );
    assert!(matches!(&workload.walk, Walk::Weights { weights, .. } if *weights == [3.0, 1.0]));
    assert_eq!(workload.retries, 5);
    let copy = &workload.operations[1];
    assert!(copy.transaction);
    assert_eq!(copy.delay.mean.as_millis(), 10);
    let [look, insert] = &copy.statements[..] else {
        panic!("two statements");
    };
    assert_eq!(look.captures[0].column, 2);
    assert_eq!(
        insert.text.with_marks(Marks::Numbered),
        "INSERT INTO copies (title) VALUES ($1)"
    );
    assert_eq!(
        (insert.checks.min_rows, insert.checks.max_rows),
        (Some(1), Some(1))
    );
    let audit = RowAudit {
        counts: "copies".to_owned(),
        statement: "SELECT count(*) FROM copies".to_owned(),
        initial: 2,
    };
    assert_eq!(workload.audits, [audit]);
}

#[test]
fn a_study_that_was_written_is_read_as_it_was() {
    let document = document(NOTES, TABLES).unwrap_or_else(|problems| panic!("{problems}"));
    let written = document.study().to_toml();
    let again = Document::parse("again.toml", &written);
    let again = again.unwrap_or_else(|problems| panic!("{problems}\n{written}"));
    assert_eq!(sql(again.study()), sql(document.study()));
}

#[test]
fn problems_of_a_workload_file_point_into_it() {
    let said = |from: &str, to: &str| {
        let notes = NOTES.replace(from, to);
        assert_ne!(notes, NOTES, "{from} is there");
        document(&notes, TABLES).expect_err("refused").to_string()
    };
    let cases = [
        ("${title})", "${titel})", "`${titel}`, which is neither"),
        ("${title})", "${title:raw})", "values are bound"),
        (
            "counts = \"copies\"\ntimeout",
            "timeout",
            "no operation counts copies",
        ),
        (
            "counts = \"copies\"\nsql",
            "counts = \"others\"\nsql",
            "`copy` counts copies",
        ),
        (
            "rows = 1\n",
            "rows = 1\nmax_rows = 2\n",
            "`rows` says exactly",
        ),
        (
            "rows = 1\n",
            "min_rows = 3\nmax_rows = 2\n",
            "at least 3 and at most 2",
        ),
        ("{ title = 2 }", "{ title = 0 }", "capture"),
        ("name = \"copy\"", "name = \"operation\"", "another meaning"),
        (
            "setup_file = \"tables.sql\"",
            "",
            "nothing makes the tables",
        ),
        ("tables.sql", "other.sql", "cannot read the file"),
        (
            "INSERT INTO copies (title) VALUES (${title})",
            "COMMIT",
            "transaction = true",
        ),
    ];
    for (from, to, wanted) in cases {
        let text = said(from, to);
        assert!(text.contains(wanted), "{wanted} in {text}");
        let is_placed = text.contains("notes.toml:") || text.contains("--> studies/");
        assert!(is_placed, "a place in {text}");
    }
}

#[test]
fn a_script_without_an_end_is_refused() {
    let refused = document(NOTES, "INSERT INTO notes VALUES ('a);\n");
    let text = refused.expect_err("refused").to_string();
    assert!(text.contains("has no end"), "{text}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let said = |more: &str| {
        let text = format!(
            "title = \"t\"\n[workload]\nkind = \"sql\"\nsetup = \"CREATE TABLE a (b TEXT)\"\n\
             operation = [{{name = \"read\", statement = [{{sql = \"SELECT 1\"}}]}}]\n{more}\n\
             [[layout]]\nname = \"one\"\n"
        );
        let refused = Document::parse("s.toml", &text);
        refused.expect_err("refused").to_string()
    };
    let lamp = said("[stack]\nkind = \"lamp\"\n[load]\nusers = 1");
    assert!(lamp.contains("does not carry"), "{lamp}");
}

#[test]
fn visitors_of_an_open_load_share_a_few_connections() {
    let connections = |load: &str| {
        let text = format!(
            "title = \"t\"\n[workload]\nkind = \"sql\"\nsetup = \"CREATE TABLE a (b TEXT)\"\n\
             operation = [{{name = \"read\", statement = [{{sql = \"SELECT 1\"}}]}}]\n\
             [stack]\nkind = \"sqlite\"\n[load]\nmodel = \"{load}\n[[layout]]\nname = \"one\"\n"
        );
        let document = Document::parse("s.toml", &text);
        let document = document.unwrap_or_else(|problems| panic!("{problems}"));
        document.study().load.max_in_flight()
    };
    assert_eq!(connections("open\"\nrate = 5"), Some(64));
    let partly = "partly-open\"\nrate = 5\nacts = 3\nmax_in_flight = 8";
    assert_eq!(connections(partly), Some(8));
}
