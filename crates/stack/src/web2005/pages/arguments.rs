//! Arguments of pages: decoded, bounded, and of the form that each must have.

use std::borrow::Cow;

use form_urlencoded::parse;
use rookery_workload::web2005::{Day, besim::Cents, besim::ecommerce::Choice};

/// Most arguments of a request.
const MOST_ARGUMENTS: usize = 32;

/// Most bytes of an argument after decoding.
const MOST_BYTES: usize = 64;

/// An argument that is missing, malformed or out of range, or too many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadInput;

/// Decoded arguments.
#[derive(Debug)]
pub(super) struct Arguments<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Arguments<'a> {
    /// Those of a query, or of a form.
    pub(super) fn parse(text: &'a str) -> Result<Self, BadInput> {
        let mut arguments = Vec::with_capacity(8);
        for (name, value) in parse(text.as_bytes()) {
            let right = value.len() <= MOST_BYTES && value.bytes().all(is_printable);
            if arguments.len() == MOST_ARGUMENTS || !right {
                return Err(BadInput);
            }
            arguments.push((name, value));
        }
        Ok(Self(arguments))
    }

    /// The first value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| &**value)
    }

    /// A value that must be there and satisfy `right`.
    fn checked(&self, name: &str, right: impl Fn(&str) -> bool) -> Result<&str, BadInput> {
        self.get(name).filter(|value| right(value)).ok_or(BadInput)
    }

    /// Printable text of 1 to 64 bytes.
    pub(super) fn text(&self, name: &str) -> Result<&str, BadInput> {
        // What would be a separator in the back-end's rows is no part of a name or an address.
        self.checked(name, |text| !text.is_empty() && !text.contains(['&', '<']))
    }

    /// Anything of 1 to 64 bytes.
    pub(super) fn password(&self, name: &str) -> Result<&str, BadInput> {
        self.checked(name, |text| !text.is_empty())
    }

    /// A number of at most nine digits within a range.
    pub(super) fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, BadInput> {
        let text = self.digits(name, 1..=9)?;
        let number = text.parse().map_err(|_| BadInput)?;
        range.contains(&number).then_some(number).ok_or(BadInput)
    }

    /// So many digits.
    pub(super) fn digits(
        &self,
        name: &str,
        count: std::ops::RangeInclusive<usize>,
    ) -> Result<&str, BadInput> {
        self.checked(name, |text| {
            count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// A payee: letters and digits.
    pub(super) fn payee(&self, name: &str) -> Result<&str, BadInput> {
        self.checked(name, |text| {
            (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }

    /// An amount of money, more than none, as it was typed.
    pub(super) fn amount(&self, name: &str) -> Result<(&str, Cents), BadInput> {
        let text = self.password(name)?;
        Ok((text, Cents::parse_typed(text).ok_or(BadInput)?))
    }

    /// A day, as it was typed.
    pub(super) fn day(&self, name: &str) -> Result<&str, BadInput> {
        self.checked(name, |text| Day::parse(text).is_some())
    }

    /// Two letters.
    pub(super) fn state(&self, name: &str) -> Result<&str, BadInput> {
        self.checked(name, |text| {
            text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
    }

    /// Digits and hyphens.
    pub(super) fn phone(&self, name: &str) -> Result<&str, BadInput> {
        self.checked(name, |text| {
            (7..=14).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'-')
        })
    }

    /// Three bytes or more with one `@`.
    pub(super) fn email(&self, name: &str) -> Result<&str, BadInput> {
        let text = self.text(name)?;
        let right = text.len() >= 3 && text.matches('@').count() == 1;
        right.then_some(text).ok_or(BadInput)
    }

    /// Chosen options of a stage.
    pub(super) fn choice(&self, name: &str) -> Result<Choice, BadInput> {
        self.get(name).and_then(Choice::parse).ok_or(BadInput)
    }
}

fn is_printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Arguments<'_> {
        Arguments::parse(text).expect("arguments")
    }

    #[test]
    fn the_first_value_counts_decoded() {
        let arguments = read("a=1%202+3&a=4&payee%5B0%5D=x&b");
        assert_eq!(arguments.get("a"), Some("1 2 3"));
        assert_eq!(arguments.payee("payee[0]"), Ok("x"));
        assert_eq!(arguments.get("b"), Some(""));
        assert_eq!(arguments.get("c"), None);
    }

    #[test]
    fn what_is_too_much_or_unprintable_is_bad() {
        let many = "a=1&".repeat(MOST_ARGUMENTS + 1);
        let long = format!("a={}", "x".repeat(MOST_BYTES + 1));
        for text in [many.as_str(), &long, "a=%00", "a=%ff", "a=\u{e9}", "a=%0a"] {
            assert_eq!(Arguments::parse(text).err(), Some(BadInput), "{text}");
        }
    }

    #[test]
    fn every_form_has_its_bounds() {
        let arguments = read(
            "n=12&big=9999999999&neg=-1&plus=%2B1&amount=12.50&none=0.00&day=20041007&bad=20041332\
             &state=WA&phone=206-555-0100&email=a@b&two=a@b@c&choice=01234&high=01235&amp=a%26b&empty=",
        );
        assert_eq!(arguments.number("n", 1..=12), Ok(12));
        assert_eq!(arguments.number("n", 1..=11), Err(BadInput));
        for name in ["big", "neg", "plus", "empty", "absent"] {
            assert_eq!(
                arguments.number(name, 0..=u32::MAX),
                Err(BadInput),
                "{name}"
            );
        }
        assert_eq!(arguments.amount("amount"), Ok(("12.50", Cents(1_250))));
        assert_eq!(arguments.amount("none"), Err(BadInput));
        assert_eq!(arguments.day("day"), Ok("20041007"));
        assert_eq!(arguments.day("bad"), Err(BadInput));
        assert_eq!(arguments.state("state"), Ok("WA"));
        assert_eq!(arguments.phone("phone"), Ok("206-555-0100"));
        assert_eq!(arguments.phone("state"), Err(BadInput));
        assert_eq!(arguments.email("email"), Ok("a@b"));
        assert_eq!(arguments.email("two"), Err(BadInput));
        assert!(arguments.choice("choice").is_ok());
        assert_eq!(arguments.choice("high"), Err(BadInput));
        assert_eq!(arguments.text("amp"), Err(BadInput));
        assert_eq!(arguments.text("empty"), Err(BadInput));
    }
}
