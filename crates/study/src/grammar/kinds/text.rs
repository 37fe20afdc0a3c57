//! Words of the user: titles, names, questions.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// A text that is not blank.
pub(crate) struct Text {
    /// Most characters.
    pub(crate) most: usize,
    /// Whether it may have several lines.
    pub(crate) lines: bool,
    pub(crate) example: &'static str,
}

impl Kind for Text {
    type Value = String;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<String> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        if text.trim().is_empty() {
            return context.out_of_range(value, at, "is blank", self);
        }
        if text.chars().count() > self.most {
            return context.out_of_range(
                value,
                at,
                &format!("is longer than {} characters", self.most),
                self,
            );
        }
        let strange = |c: char| c.is_control() && !(self.lines && c == '\n');
        if text.contains(strange) {
            let message = format!("{at} contains control characters");
            return context.refuse(
                Code::Malformed,
                value.span(),
                message,
                "remove tabs, line breaks and escapes from it",
            );
        }
        Some(text.to_string())
    }

    fn write(&self, value: &String) -> String {
        toml::Value::String(value.clone()).to_string()
    }

    fn describe(&self) -> String {
        format!("text of up to {} characters", self.most)
    }

    fn example(&self) -> String {
        format!("\"{}\"", self.example)
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "minLength": 1, "maxLength": self.most})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    const NAME: Text = Text {
        most: 5,
        lines: false,
        example: "one",
    };

    #[test]
    fn texts() {
        assert_eq!(read(&NAME, "'größe'").as_deref(), Ok("größe"));
        assert_eq!(code(&NAME, "'  '"), Code::OutOfRange);
        assert_eq!(code(&NAME, "'sixsix'"), Code::OutOfRange);
        assert_eq!(code(&NAME, "\"a\\u001b\""), Code::Malformed);
        assert_eq!(code(&NAME, "\"a\\nb\""), Code::Malformed);
        assert_eq!(code(&NAME, "5"), Code::WrongType);
    }
}
