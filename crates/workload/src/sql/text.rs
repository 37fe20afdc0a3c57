//! Statements with places for values, which are bound and never pasted.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::data_driven::{Part, Template, TemplateError};

/// A statement in which `${name}` is a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StatementText(Template);

/// A text that is no statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementTextError {
    /// A place for a value is not written as it should be.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A value would be pasted into the statement.
    #[error(
        "`${{{0}:raw}}` would be pasted into the statement; values are bound: write `${{{0}}}`"
    )]
    Raw(String),
    /// There is nothing in it.
    #[error("there is no statement in it")]
    Empty,
    /// The statement begins or ends a transaction.
    #[error("`{0}` belongs to the driver: write `transaction = true`")]
    Control(&'static str),
}

/// How a database writes parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// `?`
    Question,
    /// `$1`, `$2`, ...
    Numbered,
}

/// Words by which statements begin and end transactions.
const CONTROL: [&str; 6] = ["BEGIN", "START", "COMMIT", "ROLLBACK", "END", "SAVEPOINT"];

impl StatementText {
    /// Reads a statement.
    ///
    /// # Errors
    /// When it is none, or would have values pasted into it.
    pub fn parse(text: &str) -> Result<Self, StatementTextError> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let template = Template::parse(text)?;
        for part in template.parts() {
            if let Part::Value { name, raw: true } = part {
                return Err(StatementTextError::Raw(name.clone()));
            }
        }
        let first = template.beginning().split_whitespace().next();
        let Some(first) = first else {
            return Err(StatementTextError::Empty);
        };
        let control = CONTROL
            .into_iter()
            .find(|word| first.eq_ignore_ascii_case(word));
        match control {
            Some(word) => Err(StatementTextError::Control(word)),
            None => Ok(Self(template)),
        }
    }

    /// The names of its parameters, in the order in which they are bound.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names()
    }

    /// The statement with marks in the places of its parameters.
    #[must_use]
    pub fn with_marks(&self, marks: Marks) -> String {
        let mut out = String::new();
        let mut number = 0;
        for part in self.0.parts() {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Value { .. } => {
                    number += 1;
                    match marks {
                        Marks::Question => out.push('?'),
                        Marks::Numbered => out.push_str(&format!("${number}")),
                    }
                }
            }
        }
        out
    }

    /// Whether it only reads, by its first word. It says how a transaction begins.
    #[must_use]
    pub fn reads(&self) -> bool {
        let first = self.0.beginning().split_whitespace().next();
        let locks = self
            .0
            .texts()
            .any(|text| text.to_ascii_uppercase().contains("FOR UPDATE"));
        first.is_some_and(|word| word.eq_ignore_ascii_case("SELECT")) && !locks
    }
}

impl TryFrom<String> for StatementText {
    type Error = StatementTextError;

    fn try_from(text: String) -> Result<Self, StatementTextError> {
        Self::parse(&text)
    }
}

impl From<StatementText> for String {
    fn from(text: StatementText) -> Self {
        text.to_string()
    }
}

impl fmt::Display for StatementText {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_marks_of_the_database() {
        let text = StatementText::parse("SELECT a FROM t WHERE b = ${x} AND c = ${y.z};");
        let text = text.expect("a statement");
        assert_eq!(
            text.with_marks(Marks::Question),
            "SELECT a FROM t WHERE b = ? AND c = ?"
        );
        assert_eq!(
            text.with_marks(Marks::Numbered),
            "SELECT a FROM t WHERE b = $1 AND c = $2"
        );
        assert_eq!(text.names().collect::<Vec<_>>(), ["x", "y.z"]);
        assert!(text.reads());
        let locking = StatementText::parse("select a from t for update").expect("a statement");
        assert!(!locking.reads());
    }

    #[test]
    fn nothing_is_pasted_and_transactions_are_the_drivers() {
        let said = |text: &str| StatementText::parse(text).expect_err("refused").to_string();
        assert!(said("SELECT ${x:raw}").contains("values are bound"));
        assert!(said("commit").contains("transaction = true"));
        assert!(said(" ; ").contains("no statement"));
        assert!(
            said("${x}").contains("no statement"),
            "a value is no statement"
        );
    }
}
