//! The contract between users and server: targets of requests, and what answers must be.
//!
//! Everything is a GET of HTTP/1.1, as users of web workloads send it. Bodies are plain text.

use std::fmt::Write as _;

/// Answers 200 while the server is healthy.
pub const HEALTH_PATH: &str = "/health";
/// One record: `/record?number=7` answers `7 TEXT`.
pub const RECORD_PATH: &str = "/record";
/// Records in a row: `/list?first=7&count=3` answers three lines as of records.
pub const LIST_PATH: &str = "/list";
/// Adds a record: `/write?text=abc` answers `written 1001`, the new record's number.
pub const WRITE_PATH: &str = "/write";

/// Why an answer is none: something else was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerFault(pub &'static str);

/// Appends the target that reads record `number`.
pub fn record_target(out: &mut Vec<u8>, number: u32) {
    extend(out, format_args!("{RECORD_PATH}?number={number}"));
}

/// Appends the target that lists `count` records from `first` on.
pub fn list_target(out: &mut Vec<u8>, first: u32, count: u32) {
    extend(out, format_args!("{LIST_PATH}?first={first}&count={count}"));
}

/// Appends the target that writes a record; `text` is made of letters alone.
pub fn write_target(out: &mut Vec<u8>, text: &str) {
    extend(out, format_args!("{WRITE_PATH}?text={text}"));
}

fn extend(out: &mut Vec<u8>, target: std::fmt::Arguments<'_>) {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = text.write_fmt(target);
    out.extend_from_slice(text.as_bytes());
}

/// Whether an answer is record `number`.
///
/// # Errors
/// When it is something else.
pub fn check_record(body: &[u8], number: u32) -> Result<(), AnswerFault> {
    let line = lines(body).next();
    is_record(line, number).ok_or(AnswerFault("another record"))
}

/// Whether an answer is the list of `count` records from `first` on.
///
/// # Errors
/// When it is something else.
pub fn check_list(body: &[u8], first: u32, count: u32) -> Result<(), AnswerFault> {
    let mut lines = lines(body);
    for number in (first..).take(count as usize) {
        is_record(lines.next(), number).ok_or(AnswerFault("another list"))?;
    }
    match lines.next() {
        None => Ok(()),
        Some(_) => Err(AnswerFault("too long a list")),
    }
}

/// The number of the record that an answer acknowledges.
///
/// # Errors
/// When it acknowledges none.
pub fn check_written(body: &[u8]) -> Result<u32, AnswerFault> {
    std::str::from_utf8(body)
        .ok()
        .and_then(|text| text.trim_end().strip_prefix("written "))
        .and_then(|number| number.parse().ok())
        .ok_or(AnswerFault("no acknowledgement"))
}

fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    let whole = (!body.is_empty()).then_some(body);
    whole
        .into_iter()
        .flat_map(|body| body.split(|byte| *byte == b'\n'))
}

fn is_record(line: Option<&[u8]>, number: u32) -> Option<()> {
    let line = std::str::from_utf8(line?).ok()?;
    let (found, _) = line.split_once(' ')?;
    (found.parse() == Ok(number)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_for_what_they_are() {
        assert_eq!(check_record(b"7 abc\n", 7), Ok(()));
        assert_eq!(
            check_record(b"8 abc\n", 7),
            Err(AnswerFault("another record"))
        );
        assert_eq!(check_record(b"", 7), Err(AnswerFault("another record")));
        assert_eq!(check_list(b"7 a\n8 b\n", 7, 2), Ok(()));
        assert_eq!(check_list(b"7 a\n", 7, 2), Err(AnswerFault("another list")));
        assert_eq!(
            check_list(b"7 a\n8 b\n9 c\n", 7, 2),
            Err(AnswerFault("too long a list"))
        );
        assert_eq!(check_written(b"written 1001\n"), Ok(1001));
        assert_eq!(
            check_written(b"refused\n"),
            Err(AnswerFault("no acknowledgement"))
        );
    }

    #[test]
    fn targets_are_those_of_the_server() {
        let mut out = Vec::new();
        record_target(&mut out, 7);
        out.push(b' ');
        list_target(&mut out, 7, 3);
        out.push(b' ');
        write_target(&mut out, "abc");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "/record?number=7 /list?first=7&count=3 /write?text=abc"
        );
    }
}
