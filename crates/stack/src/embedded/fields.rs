//! The fields of a request: query and form, decoded and bounded.

use std::borrow::Cow;

/// Most fields of one request, as PHP's `max_input_vars`.
pub(crate) const MAX_FIELDS: usize = 1_000;

/// More than [`MAX_FIELDS`] fields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyFields;

/// Decoded fields in the order in which they came. `item[]` and `item` are the same name.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Fields<'a> {
    /// The fields of the query, then those of a form's body; either may be empty.
    pub(crate) fn parse(query: &'a str, form: &'a str) -> Result<Self, TooManyFields> {
        let mut fields = Vec::with_capacity(24);
        for pair in query
            .split('&')
            .chain(form.split('&'))
            .filter(|pair| !pair.is_empty())
        {
            if fields.len() == MAX_FIELDS {
                return Err(TooManyFields);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            fields.push((without_brackets(decode(name)), decode(value)));
        }
        Ok(Self(fields))
    }

    /// The last value of `name`, as PHP has it; empty when there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }

    /// The value of `name` as a whole number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.text(name).trim().parse().ok()
    }

    /// All values of `name` in order; what is no whole number becomes `None`.
    pub(crate) fn numbers(&self, name: &str) -> impl Iterator<Item = Option<i64>> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.trim().parse().ok())
    }
}

/// `item[]` -> `item`.
fn without_brackets(name: Cow<'_, str>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix("[]").unwrap_or(text)),
        Cow::Owned(mut text) => {
            if text.ends_with("[]") {
                text.truncate(text.len() - 2);
            }
            Cow::Owned(text)
        }
    }
}

/// Undo the encoding of form fields: `+` is a space, `%41` is `A`; a `%` that no two hexadecimal
/// digits follow stays. What is not UTF-8 afterwards is replaced.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte == b'+' || byte == b'%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = match bytes[at..] {
            [b'+', ..] => (b' ', 1),
            [b'%', high, low, ..] => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'%', 1),
            },
            _ => (bytes[at], 1),
        };
        out.push(byte);
        at += length;
    }
    Cow::Owned(
        String::from_utf8(out)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

/// Value of a hexadecimal digit.
fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(query: &str) -> Fields<'_> {
        Fields::parse(query, "").expect("few fields")
    }

    #[test]
    fn both_spellings_of_arrays_are_read() {
        for query in [
            "item%5B%5D=7&quan%5B%5D=2&item%5B%5D=x",
            "item[]=7&item[]=x",
            "item=7&item=",
        ] {
            assert_eq!(
                fields(query).numbers("item").collect::<Vec<_>>(),
                [Some(7), None],
                "{query}"
            );
        }
    }

    #[test]
    fn values_are_decoded_and_the_last_one_counts() {
        let fields = fields("a=1&a=x%20y+z%2B%&b=%e2%82%ac&c&=d");
        assert_eq!(
            [
                fields.text("a"),
                fields.text("b"),
                fields.text("c"),
                fields.text("no")
            ],
            ["x y z+%", "\u{20ac}", "", ""]
        );
        assert_eq!(Fields::parse("a=%ff", "a=%4").expect("few").text("a"), "%4");
    }

    #[test]
    fn fields_are_bounded() {
        let query = "a&".repeat(MAX_FIELDS);
        assert!(Fields::parse(&query, "").is_ok());
        assert_eq!(Fields::parse(&query, "b=1").err(), Some(TooManyFields));
    }
}
