//! Words of which one is chosen.

use std::marker::PhantomData;

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind},
    names::{Named, nearest},
    problem::Code,
    source::quoted,
};

/// One of the names of `T`.
pub(crate) struct Choice<T>(PhantomData<T>);

impl<T: Named> Choice<T> {
    pub(crate) const NEW: Self = Self(PhantomData);

    fn names() -> Vec<&'static str> {
        T::NAMES.iter().map(|(name, _, _)| *name).collect()
    }
}

impl<T: Named> Kind for Choice<T> {
    type Value = T;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<T> {
        let DeValue::String(word) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        if let Some((_, choice, _)) = T::NAMES.iter().find(|(name, _, _)| name == word) {
            return Some(*choice);
        }
        let names = Self::names();
        let message = format!(
            "{at} cannot be {}, expected {}",
            quoted(word),
            self.describe()
        );
        let meant = |(written, right): &(&str, &'static str)| {
            written.eq_ignore_ascii_case(word).then_some(*right)
        };
        let best = T::MEANT
            .iter()
            .find_map(meant)
            .or_else(|| nearest(word, &names));
        let help = match best {
            Some(best) => at.write(&format!("\"{best}\"")),
            // A guess would be taken for advice.
            None => format!("it is one of {}", names.join(", ")),
        };
        context.refuse(Code::UnknownChoice, value.span(), message, help)
    }

    fn write(&self, value: &T) -> String {
        format!("\"{}\"", value.name())
    }

    fn describe(&self) -> String {
        let words: Vec<String> = T::NAMES
            .iter()
            .map(|(name, _, meaning)| format!("\"{name}\" ({meaning})"))
            .collect();
        words.join(" or ")
    }

    fn example(&self) -> String {
        format!("\"{}\"", T::NAMES[0].0)
    }

    fn schema(&self) -> Json {
        json!({"enum": Self::names()})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::values::Pin;

    #[test]
    fn the_nearest_word_is_offered() {
        let kind = Choice::<Pin>::NEW;
        assert_eq!(read(&kind, "'pack'"), Ok(Pin::Pack));
        let (code, message) = refusal(&kind, "'spred'");
        assert_eq!(code, Code::UnknownChoice);
        assert!(
            message.starts_with("`s.key` cannot be `spred`, expected \"spread\""),
            "{message}"
        );
    }
}
