//! True or false.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::grammar::{At, Context, Kind};

/// `true` or `false`, without quotes.
pub(crate) struct Truth;

impl Kind for Truth {
    type Value = bool;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<bool> {
        match value.get_ref() {
            DeValue::Boolean(truth) => Some(*truth),
            _ => context.wrong_type(value, at, self),
        }
    }

    fn write(&self, value: &bool) -> String {
        value.to_string()
    }

    fn describe(&self) -> String {
        "true or false".to_owned()
    }

    fn example(&self) -> String {
        "true".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "boolean"})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::problem::Code;

    #[test]
    fn words_are_no_truths() {
        assert_eq!(read(&Truth, "true"), Ok(true));
        assert_eq!(read(&Truth, "false"), Ok(false));
        for text in ["'true'", "1", "'on'"] {
            assert_eq!(code(&Truth, text), Code::WrongType, "{text}");
        }
    }
}
