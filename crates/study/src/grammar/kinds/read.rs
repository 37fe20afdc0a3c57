//! Texts with a meaning of their own.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind, written},
    problem::Code,
};

/// Longest template or pattern.
pub(crate) const LONGEST_TEXT: usize = 16 * 1024;

/// A text with a meaning of its own.
pub(crate) struct Read<T> {
    /// What it is, in words.
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
    /// The value, or what is wrong with it.
    pub(crate) parse: fn(&str) -> Result<T, String>,
    pub(crate) write: fn(&T) -> String,
}

impl<T> Kind for Read<T> {
    type Value = T;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<T> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let read = if text.len() > LONGEST_TEXT {
            Err(format!("is longer than {LONGEST_TEXT} bytes"))
        } else {
            (self.parse)(text)
        };
        match read {
            Ok(value) => Some(value),
            Err(why) => {
                let help = format!(
                    "expected {}; for instance {}",
                    self.what,
                    at.line(&self.example())
                );
                context.refuse(Code::Malformed, value.span(), format!("{at}: {why}"), help)
            }
        }
    }

    fn write(&self, value: &T) -> String {
        written(&(self.write)(value))
    }

    fn describe(&self) -> String {
        self.what.to_owned()
    }

    fn example(&self) -> String {
        written(self.example)
    }

    fn schema(&self) -> Json {
        json!({"type": "string"})
    }
}
