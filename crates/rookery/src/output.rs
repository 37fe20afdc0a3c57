//! Printing: results to standard output, everything else to standard error; a closed pipe is no
//! error.

use std::{
    env,
    fmt::Display,
    io::{self, BufWriter, ErrorKind, IsTerminal as _, Write, stderr, stdout},
    os::fd::AsFd,
    process::exit,
};

use rookery_export::ExportError;
use rookery_text::{DEFAULT_WIDTH, Zone, hanging, wrapped};
use terminal_size::{Width, terminal_size_of};

use crate::{
    colour::{self, Colour},
    exit::{Code, Failure},
};

/// Longest lines on a terminal: longer ones are hard to read.
const MOST_COLUMNS: usize = 120;

/// The time zone of what people read.
pub(crate) fn zone() -> Zone {
    Zone::system()
}

/// Width of the lines for people on standard output.
pub(crate) fn width() -> usize {
    width_of(stdout())
}

/// Width of the lines for people on standard error.
pub(crate) fn error_width() -> usize {
    width_of(stderr())
}

/// The columns of a terminal; elsewhere those that `COLUMNS` names, or 80.
fn width_of(stream: impl AsFd) -> usize {
    if let Some((Width(columns), _)) = terminal_size_of(stream) {
        return usize::from(columns).clamp(20, MOST_COLUMNS);
    }
    env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .filter(|columns| *columns >= 20)
        .unwrap_or(DEFAULT_WIDTH)
}

/// Print a result for people: lines are broken between words.
pub(crate) fn text(text: impl Display) {
    result(wrapped(&text.to_string(), width()));
}

/// Print a result, with a newline at its end.
///
/// Only for the end of a command: where the result cannot be printed the process ends at once.
pub(crate) fn result(text: impl Display) {
    match try_result(text) {
        Ok(()) => {}
        // A reader such as `head` has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit(0),
        Err(reason) => {
            let failure = Failure::new(
                Code::Store,
                format!("cannot write to standard output: {reason}"),
            );
            remark(failure.help("redirect it to a place with room, or to /dev/null"));
            exit(Code::Store as i32);
        }
    }
}

/// Print a long result as it is made; a reader that has seen enough ends the process.
pub(crate) fn stream(
    write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<Code, Failure> {
    let mut out = BufWriter::new(stdout().lock());
    match write(&mut out) {
        Ok(()) => Ok(Code::Done),
        Err(ExportError::Write { source, .. }) if source.kind() == ErrorKind::BrokenPipe => exit(0),
        Err(error) => Err(error.into()),
    }
}

/// Print a result, with a newline at its end, or say why it cannot be printed.
pub(crate) fn try_result(text: impl Display) -> io::Result<()> {
    let text = text.to_string();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = stdout().lock();
    write!(out, "{text}{newline}").and_then(|()| out.flush())
}

/// Print a remark for people: lines are broken between words.
pub(crate) fn remark(text: impl Display) {
    verbatim_remark(message(&text.to_string(), error_width()));
}

/// Print a remark as it is.
pub(crate) fn verbatim_remark(text: impl Display) {
    // Nothing can be done when even standard error is closed.
    let _ = writeln!(stderr(), "{text}");
}

/// A message in lines of `width`, what follows of a line indented below it. Excerpts of files
/// (`12 | text`) stay as they are: a mark stands below a word of them.
pub(crate) fn message(text: &str, width: usize) -> String {
    let excerpt = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        rest.starts_with('|')
    };
    let broken = |line: &str| {
        if line.chars().count() <= width || excerpt(line) {
            return line.to_owned();
        }
        let rest = line.trim_start();
        let indent = line.len() - rest.len() + 2;
        let lines = hanging(&" ".repeat(indent), rest, width);
        lines.join("\n").split_off(2)
    };
    text.lines().map(broken).collect::<Vec<_>>().join("\n")
}

/// Print why a command failed to standard error: for people, or with `--json` as one line of JSON.
/// Standard output holds results alone, so that each of them stays one document.
pub(crate) fn failure(failure: &Failure, as_json: bool) {
    if as_json {
        verbatim_remark(failure.to_json());
        return;
    }
    let text = message(failure.to_string().trim_end(), error_width());
    let on_terminal = stderr().is_terminal();
    let lines = text.lines().map(|line| match line.split_once(']') {
        Some((head, rest)) if head.starts_with("error[") => {
            let head = format!("{head}]");
            colour::painted(&head, Colour::Red, on_terminal) + rest
        }
        _ => line.to_owned(),
    });
    verbatim_remark(lines.collect::<Vec<_>>().join("\n"));
}

/// Print a value as indented JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Code, Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::new(Code::Internal, error))?;
    result(text);
    Ok(Code::Done)
}

/// Text from elsewhere, a target or a stored run, which must not command the terminal.
pub(crate) fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if rookery_diagnosis::commands(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_commands_nobody_and_keeps_its_words_apart() {
        assert_eq!(
            printable("no\r\nroom\t\u{1b}[2J \u{202e}txt"),
            "no  room \u{fffd}[2J \u{fffd}txt"
        );
    }

    #[test]
    fn messages_are_broken_between_words_and_excerpts_are_not() {
        let text =
            "error[x]: one two three four\n 1 | one two three four five\n  help: six seven eight";
        assert_eq!(
            message(text, 20),
            "error[x]: one two\n  three four\n 1 | one two three four five\n  help: six seven\n    \
             eight"
        );
    }
}
