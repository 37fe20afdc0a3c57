//! The fields of a request: query and form, decoded and bounded.

use std::borrow::Cow;

use form_urlencoded::parse;

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
        for (name, value) in parse(query.as_bytes()).chain(parse(form.as_bytes())) {
            if fields.len() == MAX_FIELDS {
                return Err(TooManyFields);
            }
            fields.push((without_brackets(name), value));
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
