//! Regular expressions that users write: bounded in size, linear in time.

use regex::bytes::{Regex, RegexBuilder};
use thiserror::Error;

/// Largest automaton of one regular expression, bytes.
const MOST_BYTES: usize = 1 << 20;

/// A text that is no regular expression, or one that needs too large an automaton.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PatternError(String);

/// Makes the automaton of a regular expression.
///
/// # Errors
/// When it is none, or would take more than 1 MiB.
pub fn pattern(text: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(text)
        .size_limit(MOST_BYTES)
        .dfa_size_limit(MOST_BYTES)
        .build()
        .map_err(|error| PatternError(in_one_line(&error)))
}

/// Errors of syntax are drawn over several lines; the last says what is wrong.
fn in_one_line(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("the regular expression needs more than {limit} bytes: the size limit")
        }
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_bounded() {
        assert!(pattern("id=([0-9]+)").is_ok());
        let said = |text: &str| pattern(text).expect_err("refused").to_string();
        assert_eq!(said("(a"), "unclosed group");
        assert!(said("(a{1000}){1000}").contains("size limit"));
    }
}
