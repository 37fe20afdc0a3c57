//! Text with a meaning of its own: `bridge:br0`, `192.168.1.50/24`.

use std::{fmt::Display, marker::PhantomData, str::FromStr};

use serde_json::Value as Json;
use toml::{Spanned, de::DeValue};

use super::Text;
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// A text that is read by `T` itself, whose error says what to write instead.
pub(crate) struct Worded<T> {
    meaning: &'static str,
    example: &'static str,
    of: PhantomData<T>,
}

impl<T> Worded<T> {
    /// `meaning` in words, `example` without its quotes.
    pub(crate) const fn new(meaning: &'static str, example: &'static str) -> Self {
        Self {
            meaning,
            example,
            of: PhantomData,
        }
    }

    fn text(&self) -> Text {
        Text {
            most: 4096,
            lines: false,
            example: self.example,
        }
    }
}

impl<T> Kind for Worded<T>
where
    T: FromStr + Display,
    T::Err: Display,
{
    type Value = T;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<T> {
        let text = self.text().read(value, at, context)?;
        match text.parse::<T>() {
            Ok(value) => Some(value),
            Err(error) => {
                let message = format!("{at} is not {}", self.meaning);
                context.refuse(Code::Malformed, value.span(), message, error.to_string())
            }
        }
    }

    fn write(&self, value: &T) -> String {
        self.text().write(&value.to_string())
    }

    fn describe(&self) -> String {
        self.meaning.to_owned()
    }

    fn example(&self) -> String {
        self.text().example()
    }

    fn schema(&self) -> Json {
        self.text().schema()
    }
}
