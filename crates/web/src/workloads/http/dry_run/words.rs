//! Checks and captures in words.

use rookery_workload::http::{CaptureSource, Check, Statuses};

/// Longest part of a text that is shown.
const LONGEST: usize = 60;

/// What an answer must be.
pub(super) fn check(check: &Check) -> String {
    match check {
        Check::Contains(text) => format!("contains {}", quoted(&text.to_string())),
        Check::Lacks(text) => format!("lacks {}", quoted(&text.to_string())),
        Check::Matches(pattern) => format!("matches {}", short(pattern)),
        Check::Json { pointer, value } => {
            format!("{} is {}", json(pointer), quoted(&value.to_string()))
        }
        Check::Size { min, max } if *max == u64::MAX => format!("at least {min} bytes"),
        Check::Size { min, max } => format!("{min} to {max} bytes"),
        Check::Digest(digest) => format!("sha256 {}", short(digest)),
    }
}

/// The statuses of a good answer.
pub(super) fn statuses(statuses: &Statuses) -> String {
    match statuses {
        Statuses::Success => "status 200 to 299".to_owned(),
        Statuses::OneOf(list) => {
            let list: Vec<String> = list.iter().map(u16::to_string).collect();
            format!("status {}", list.join(" or "))
        }
    }
}

/// Where a value is taken from.
pub(super) fn source(source: &CaptureSource) -> String {
    match source {
        CaptureSource::Regex(pattern) => format!("pattern {}", short(pattern)),
        CaptureSource::Json(pointer) => json(pointer),
        CaptureSource::Header(name) => format!("header {name}"),
        CaptureSource::Cookie(name) => format!("cookie {name}"),
    }
}

fn json(pointer: &str) -> String {
    if pointer.is_empty() {
        "JSON document".to_owned()
    } else {
        format!("JSON {}", short(pointer))
    }
}

/// A short text in quotation marks.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", short(text))
}

/// The begin of a text, on one line.
pub(super) fn short(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        if line.chars().count() > LONGEST {
            break;
        }
        line.push(' ');
        line.push_str(word);
    }
    if line.chars().count() <= LONGEST {
        return line;
    }
    let begin: String = line.chars().take(LONGEST).collect();
    format!("{begin}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_lines_joined() {
        assert_eq!(short("<html>\r\n  <b>x"), "<html> <b>x");
        let long = short(&"ab ".repeat(1_000));
        assert!(
            long.ends_with("...") && long.chars().count() == LONGEST + 3,
            "{long}"
        );
    }
}
