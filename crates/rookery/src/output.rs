//! Printing: results to standard output, everything else to standard error; a closed pipe is no
//! error.

use crate::exit::{Code, Failure};

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write, stderr, stdout},
    process::exit,
};

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

/// Print a result, with a newline at its end, or say why it cannot be printed.
pub(crate) fn try_result(text: impl Display) -> io::Result<()> {
    let text = text.to_string();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = stdout().lock();
    write!(out, "{text}{newline}").and_then(|()| out.flush())
}

/// Print a remark for people.
pub(crate) fn remark(text: impl Display) {
    // Nothing can be done when even standard error is closed.
    let _ = writeln!(stderr(), "{text}");
}

/// Print why a command failed to standard error: for people, or with `--json` as one line of JSON.
/// Standard output holds results alone, so that each of them stays one document.
pub(crate) fn failure(failure: &Failure, as_json: bool) {
    if as_json {
        remark(failure.to_json());
    } else {
        remark(failure.to_string().trim_end());
    }
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
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
