//! An error as fields, for JSON, and as text, for the terminal.

use std::{error::Error, fmt};

use serde::{Deserialize, Serialize};

use crate::{Diagnosis, commands};

/// Longest chain of causes that is kept. A longer one is a cycle or a fault of ours.
const MOST_CAUSES: usize = 16;

/// One error, its parts apart. `Display` prints what a user reads on the terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFields {
    /// The kind of error, such as `guest::not-ready`.
    pub code: String,
    /// What happened. May have several lines, for instance the end of a guest's log.
    pub message: String,
    /// Where it happened, if the message does not say so.
    #[serde(default)]
    pub place: Option<String>,
    /// What the user can do.
    #[serde(default)]
    pub help: Option<String>,
    /// Why it happened, outermost cause first. Causes whose text the message or an earlier cause
    /// holds already are left out.
    #[serde(default)]
    pub causes: Vec<String>,
}

impl ErrorFields {
    /// The fields of `error`.
    #[must_use]
    pub fn new(error: &dyn Diagnosis) -> Self {
        let message = error.to_string();
        let causes = causes(error.source(), &message);
        Self {
            code: error.code().to_owned(),
            message,
            place: error.place(),
            help: error.help(),
            causes,
        }
    }
}

/// The texts of `cause` and of what caused it, as far as they say anything new.
fn causes(mut cause: Option<&dyn Error>, message: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..MOST_CAUSES {
        let Some(error) = cause else { break };
        let text = error.to_string();
        let known = message.contains(&text) || texts.iter().any(|earlier| earlier.contains(&text));
        if !known {
            texts.push(text);
        }
        cause = error.source();
    }
    texts
}

impl fmt::Display for ErrorFields {
    /// `error[CODE]: MESSAGE`, then a line each for the place, the causes and the help. Control
    /// characters are replaced: parts of a message may come from a guest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, printable(&self.message))?;
        let place = self.place.iter().map(|place| ("at", place));
        let causes = self.causes.iter().map(|cause| ("cause", cause));
        let help = self.help.iter().map(|help| ("help", help));
        for (label, text) in place.chain(causes).chain(help) {
            let text = printable(text).replace('\n', "\n    ");
            write!(f, "\n  {label}: {text}")?;
        }
        Ok(())
    }
}

/// `text` without trailing blanks and without what would command a terminal.
fn printable(text: &str) -> String {
    text.trim_end()
        .chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            control if commands(control) => '\u{fffd}',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum TestError {
        #[error("no clone of the template: {source}")]
        Repeats { source: std::io::Error },
        #[error("the guest ended\n  \x1b[31mred")]
        Guest(#[source] Middle),
        #[error(transparent)]
        Through(#[from] Middle),
    }

    #[derive(Debug, thiserror::Error)]
    #[error("its process was killed")]
    struct Middle(#[source] std::io::Error);

    impl Diagnosis for TestError {
        fn code(&self) -> &'static str {
            "test::failed"
        }
        fn place(&self) -> Option<String> {
            matches!(self, Self::Guest(_)).then(|| "guest web-1".to_owned())
        }
        fn help(&self) -> Option<String> {
            matches!(self, Self::Guest(_)).then(|| "first\nsecond".to_owned())
        }
    }

    fn cause() -> std::io::Error {
        std::io::Error::other("out of memory")
    }

    #[test]
    fn each_part_has_its_line_and_no_control_character_gets_through() {
        let fields = ErrorFields::new(&TestError::Guest(Middle(cause())));
        assert_eq!(
            fields.to_string(),
            "error[test::failed]: the guest ended\n  \u{fffd}[31mred\n  at: guest web-1\n  \
             cause: its process was killed\n  cause: out of memory\n  help: first\n    second"
        );
    }

    #[test]
    fn a_cause_that_the_message_holds_is_not_repeated() {
        let fields = ErrorFields::new(&TestError::Repeats { source: cause() });
        assert_eq!(fields.causes, Vec::<String>::new());
    }

    #[test]
    fn a_transparent_error_gives_the_causes_of_the_inner_one() {
        let fields = ErrorFields::new(&TestError::Through(Middle(cause())));
        assert_eq!(fields.message, "its process was killed");
        assert_eq!(fields.causes, ["out of memory"]);
    }

    #[test]
    fn json_has_every_part_as_a_field() {
        let fields = ErrorFields::new(&TestError::Guest(Middle(cause())));
        let json = serde_json::to_value(&fields).expect("fields are JSON");
        assert_eq!(json["code"], "test::failed");
        assert_eq!(json["place"], "guest web-1");
        assert_eq!(json["help"], "first\nsecond");
        assert_eq!(json["causes"][1], "out of memory");
        let back: ErrorFields = serde_json::from_value(json).expect("and back");
        assert_eq!(back, fields);
    }
}
