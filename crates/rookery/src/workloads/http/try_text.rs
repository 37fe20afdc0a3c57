//! A dry run for people.

use rookery_text::hanging;
use rookery_web::workloads::http::dry_run::{
    DryRunReport, TriedCapture, TriedCheck, TriedFault, TriedObject, TriedOperation,
};

use crate::output::printable;

/// More good objects than these are told in one line.
const MOST_OBJECTS: usize = 10;
/// How much further than its first line an item is indented.
const INDENT: usize = 10;

/// The report in lines of `width`.
pub(super) fn text(report: &DryRunReport, name: &str, site: &str, width: usize) -> String {
    let count = report.operations.len();
    let mut lines = hanging(
        "",
        &format!("{name} at {site}: {count} operations, each once"),
        width,
    );
    for operation in &report.operations {
        lines.push(String::new());
        lines.extend(Lines::new(operation, width).0);
    }
    lines.push(String::new());
    if let Some(early) = &report.ended_early {
        let left = early.left.join(", ");
        lines.extend(hanging(
            "",
            &format!("not tried, as {}: {left}", early.why),
            width,
        ));
    }
    lines.extend(hanging("", &summary(report), width));
    lines.join("\n")
}

fn summary(report: &DryRunReport) -> String {
    let (good, bad): (Vec<_>, Vec<_>) = report.operations.iter().partition(|one| one.is_good());
    if bad.is_empty() {
        return format!("all {} went as they should", good.len());
    }
    let bad: Vec<&str> = bad.iter().map(|one| one.name.as_str()).collect();
    format!(
        "{} of {} went as they should; {} did not",
        good.len(),
        report.operations.len(),
        bad.join(", ")
    )
}

/// The lines of one operation.
struct Lines(Vec<String>);

impl Lines {
    fn new(operation: &TriedOperation, width: usize) -> Self {
        let mut lines = Self(Vec::new());
        let room = width.saturating_sub(operation.name.len() + operation.method.len() + 3);
        let target = operation
            .target
            .as_deref()
            .unwrap_or("(a value is missing)");
        lines.0.push(format!(
            "{}: {} {}",
            operation.name,
            operation.method,
            cut(target, room)
        ));
        let mut item = |label: &str, text: &str| lines.item(label, text, width);
        for redirect in &operation.redirects {
            let target = cut(&redirect.target, width - INDENT - 7);
            item("", &format!("{} to {target}", redirect.status));
        }
        if let Some(answer) = &operation.answer {
            let kind = answer.content_type.as_deref().unwrap_or("no content type");
            let sent = match answer.sent_bytes == answer.bytes {
                true => String::new(),
                false => format!(" ({} as sent)", size(answer.sent_bytes)),
            };
            item(
                "",
                &format!(
                    "{} {kind}, {}{sent}, {:.1} ms",
                    answer.status,
                    size(answer.bytes),
                    operation.time_us as f64 / 1e3
                ),
            );
        }
        operation
            .checks
            .iter()
            .for_each(|one| check(one, &mut item));
        operation
            .captures
            .iter()
            .for_each(|one| capture(one, &mut item));
        objects(&operation.objects, width, &mut item);
        if let Some(fault) = &operation.fault {
            item("FAILED", &fault_words(fault));
        }
        lines
    }

    fn item(&mut self, label: &str, text: &str, width: usize) {
        let label = format!("  {label:width$}", width = INDENT - 2);
        self.0.extend(hanging(&label, &printable(text), width));
    }
}

fn check(check: &TriedCheck, item: &mut impl FnMut(&str, &str)) {
    let found = match &check.found {
        Some(found) => format!(": {found}"),
        None => String::new(),
    };
    let label = if check.passed { "ok" } else { "FAILED" };
    item(label, &format!("{}{found}", check.check));
}

fn capture(capture: &TriedCapture, item: &mut impl FnMut(&str, &str)) {
    let TriedCapture {
        name, from, bytes, ..
    } = capture;
    match &capture.value {
        Some(value) => item(
            "value",
            &format!("{name} = {value} ({bytes} bytes, {from})"),
        ),
        None => item("FAILED", &format!("value {name} is not there ({from})")),
    }
}

/// Many good objects are one line.
fn objects(objects: &[TriedObject], width: usize, item: &mut impl FnMut(&str, &str)) {
    let good = objects.iter().filter(|object| object.fault.is_none());
    let (count, bytes) = (good.clone().count(), good.map(|object| object.bytes).sum());
    let many = count > MOST_OBJECTS;
    for object in objects {
        let target = cut(&object.target, width.saturating_sub(INDENT + 30));
        match (&object.fault, object.status) {
            (Some(fault), _) => item(
                "FAILED",
                &format!("object {target}: {}", fault_words(fault)),
            ),
            (None, Some(status)) if !many => {
                item(
                    "object",
                    &format!("{status} {target}, {}", size(object.bytes)),
                );
            }
            (None, _) => {}
        }
    }
    if many {
        item("objects", &format!("{count} came, {}", size(bytes)));
    }
}

fn fault_words(fault: &TriedFault) -> String {
    let kind = format!("{}/{}", fault.class, fault.sub_class);
    match fault.detail.as_str() {
        "" => kind,
        detail => format!("{kind}: {detail}"),
    }
}

/// At most so many characters of a word.
fn cut(word: &str, room: usize) -> String {
    let word = printable(word);
    if word.chars().count() <= room {
        return word;
    }
    let begin: String = word.chars().take(room.saturating_sub(3)).collect();
    format!("{begin}...")
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use rookery_web::workloads::http::dry_run::{Redirected, TriedAnswer};

    use super::*;

    fn operation(name: &str) -> TriedOperation {
        TriedOperation {
            name: name.to_owned(),
            method: "POST",
            target: Some("/login".to_owned()),
            time_us: 12_345,
            redirects: Vec::new(),
            answer: Some(TriedAnswer {
                status: 200,
                content_type: Some("text/html".to_owned()),
                bytes: 12_345,
                sent_bytes: 12_345,
            }),
            checks: Vec::new(),
            captures: Vec::new(),
            objects: Vec::new(),
            fault: None,
        }
    }

    fn object(number: u32) -> TriedObject {
        TriedObject {
            target: format!("/{number}.png"),
            status: Some(200),
            bytes: 1_000,
            fault: None,
        }
    }

    #[test]
    fn a_report_fits_80_columns_and_commands_no_terminal() {
        let mut login = operation("login");
        login.redirects.push(Redirected {
            status: 303,
            target: format!("/{}", "long".repeat(100)),
        });
        let check = |check: &str, passed, found: &str| TriedCheck {
            check: check.to_owned(),
            passed,
            found: Some(found.to_owned()).filter(|found| !found.is_empty()),
        };
        login.checks = vec![
            check("status 200 to 299", true, ""),
            check(
                "contains \"Welcome\"",
                false,
                "the body begins with \"<html> \u{1b}[2J <p>a page of another kind, which is rather long\"",
            ),
        ];
        login.captures = vec![
            TriedCapture {
                name: "token".to_owned(),
                from: "header X-Token".to_owned(),
                value: Some("***".to_owned()),
                bytes: 32,
            },
            TriedCapture {
                name: "id".to_owned(),
                from: "JSON /items/0/id".to_owned(),
                value: None,
                bytes: 0,
            },
        ];
        login.objects = vec![
            object(1),
            TriedObject {
                status: None,
                fault: Some(TriedFault {
                    class: "status".to_owned(),
                    sub_class: "404".to_owned(),
                    detail: "\u{1b}]0;x\u{7}".to_owned(),
                }),
                ..object(2)
            },
        ];
        let mut many = operation("many");
        many.objects = (0..20).map(object).collect();
        let lost = TriedOperation {
            target: None,
            answer: None,
            fault: Some(TriedFault {
                class: "parse".to_owned(),
                sub_class: "no-value".to_owned(),
                detail: "no operation before gave id".to_owned(),
            }),
            ..operation("lost")
        };
        let report = DryRunReport {
            operations: vec![login, many, lost],
            ended_early: None,
        };
        let text = text(&report, "shop.toml", "http://127.0.0.1:8080", 80);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        insta::assert_snapshot!(text);
    }
}
