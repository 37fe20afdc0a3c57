//! Patterns of one shape: a text, a group of bytes of one kind, and a text that ends it, as
//! `name="token" value="([0-9a-f]+)"`, or without the text that ends it.
//!
//! Most captures are such. They need no automaton: the first text is searched for, and the group is
//! what follows it.

use memchr::memmem::Finder;
use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind},
};

/// A shorter text stands too often in a body.
pub(super) const LEAST_PREFIX_BYTES: usize = 3;
/// So many places of the text are tried before the pattern is searched for as any other: what
/// follows each may be looked at to the end of the body.
pub(super) const MOST_PLACES: usize = 4;

/// A pattern of this shape.
#[derive(Debug)]
pub(super) struct Delimited {
    before: Finder<'static>,
    /// The bytes of the group, without those of characters of several bytes.
    is_inside: [bool; 256],
    /// Whether its class has more than ASCII; then characters of several bytes are left to an
    /// automaton.
    beyond_ascii: bool,
    /// The fewest and the most characters of the group.
    min: usize,
    max: usize,
    after: Vec<u8>,
}

/// Where a pattern matches first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where its group lies.
    At(usize, usize),
    Nowhere,
    /// What was looked at does not tell.
    Unknown,
}

impl Delimited {
    /// Nothing for a pattern of another shape.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let parsed = ParserBuilder::new().utf8(false).build().parse(pattern);
        let parsed = parsed.ok()?;
        let HirKind::Concat(parts) = parsed.kind() else {
            return None;
        };
        let (before, group, after) = match &parts[..] {
            [before, group] => (text(before)?, group, &[][..]),
            [before, group, after] => (text(before)?, group, text(after)?),
            _ => return None,
        };
        let HirKind::Capture(group) = group.kind() else {
            return None;
        };
        let HirKind::Repetition(run) = group.sub.kind() else {
            return None;
        };
        let (is_inside, beyond_ascii) = bytes_of(&run.sub)?;
        // Where the text that ends the group could be part of it, a shorter group may be the match.
        let is_ended = |first: &u8| first.is_ascii() && !is_inside[usize::from(*first)];
        let is_simple =
            before.len() >= LEAST_PREFIX_BYTES && run.greedy && after.first().is_none_or(is_ended);
        is_simple.then(|| Self {
            before: Finder::new(before).into_owned(),
            is_inside,
            beyond_ascii,
            min: run.min as usize,
            max: run.max.map_or(usize::MAX, |max| max as usize),
            after: after.to_vec(),
        })
    }

    /// Where it matches first in `body`, which may be the begin of a longer one where it `goes_on`.
    pub(super) fn find(&self, body: &[u8], goes_on: bool) -> Place {
        let mut from = 0;
        for _ in 0..MOST_PLACES {
            let Some(place) = self.before.find(&body[from..]) else {
                return if goes_on {
                    Place::Unknown
                } else {
                    Place::Nowhere
                };
            };
            let begin = from + place + self.before.needle().len();
            let rest = &body[begin..];
            let most = rest.len().min(self.max);
            let run = rest[..most]
                .iter()
                .position(|byte| !self.is_inside[usize::from(*byte)])
                .unwrap_or(most);
            let behind = &rest[run..];
            let is_longer = run < self.max
                && match behind.first() {
                    Some(byte) => self.beyond_ascii && !byte.is_ascii(),
                    None => goes_on,
                };
            let is_cut =
                goes_on && behind.len() < self.after.len() && self.after.starts_with(behind);
            if is_longer || is_cut {
                return Place::Unknown;
            }
            if run >= self.min && behind.starts_with(&self.after) {
                return Place::At(begin, begin + run);
            }
            from += place + 1;
        }
        Place::Unknown
    }
}

/// A part that is a text.
fn text(part: &Hir) -> Option<&[u8]> {
    match part.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        _ => None,
    }
}

/// The bytes of a class, and whether it has characters beyond ASCII, which are none of them.
fn bytes_of(class: &Hir) -> Option<([bool; 256], bool)> {
    let mut inside = [false; 256];
    let mut beyond_ascii = false;
    match class.kind() {
        HirKind::Class(Class::Bytes(class)) => {
            for range in class.iter() {
                inside[usize::from(range.start())..=usize::from(range.end())].fill(true);
            }
        }
        HirKind::Class(Class::Unicode(class)) => {
            for range in class.iter() {
                beyond_ascii |= !range.end().is_ascii();
                if range.start().is_ascii() {
                    let last = range.end().min('\x7f');
                    inside[range.start() as usize..=last as usize].fill(true);
                }
            }
        }
        HirKind::Literal(literal) => match literal.0[..] {
            [byte] => inside[usize::from(byte)] = true,
            _ => return None,
        },
        _ => return None,
    }
    Some((inside, beyond_ascii))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, body: &str, goes_on: bool) -> Place {
        let pattern = Delimited::new(pattern).expect("of this shape");
        pattern.find(body.as_bytes(), goes_on)
    }

    #[test]
    fn patterns_of_this_shape_are_known() {
        for pattern in [
            "token=([0-9a-f]+)",
            r#"value="([^"]*)""#,
            "id=(a{2,5});",
            r"id=(\w+)",
            r"(?-u:id=([a-z]+))",
        ] {
            assert!(Delimited::new(pattern).is_some(), "{pattern}");
        }
        for pattern in [
            "token=([0-9a-f]+?)",
            "a=([0-9]+)",
            "token=([0-9a-f]+)a",
            "token=[0-9a-f]+",
            "token=([0-9]+|none)",
            "token=([0-9]+)([a-z]+)",
            "(?i)token=([0-9]+)",
            "^token=([0-9]+)",
            "token=(.)",
            "token=",
            "token=(",
        ] {
            assert!(Delimited::new(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn what_follows_is_waited_for() {
        let find = |pattern, body| find(pattern, body, true);
        assert_eq!(find("id=([a-z]+)", "..id=abc;"), Place::At(5, 8));
        assert_eq!(find("id=([a-z]+)", "..id=abc"), Place::Unknown);
        assert_eq!(find("id=([a-z]{3})", "..id=abc"), Place::At(5, 8));
        assert_eq!(find("id=([a-z]+);;", "..id=abc;"), Place::Unknown);
        assert_eq!(find("id=([a-z]+);;", "id=; id=a;;"), Place::At(8, 9));
        assert_eq!(find("id=([^;]+)", "id=a\u{e4};"), Place::Unknown);
        assert_eq!(find("id=([a-z]+)", "none"), Place::Unknown);
    }

    #[test]
    fn all_that_there_is_tells() {
        let find = |pattern, body| find(pattern, body, false);
        assert_eq!(find("id=([a-z]+)", "id=abc"), Place::At(3, 6));
        assert_eq!(find("id=([a-z]+);;", "id=abc;"), Place::Nowhere);
        assert_eq!(find("id=([a-z]*)", "id="), Place::At(3, 3));
        assert_eq!(find("id=([0-9]+)", &"id=".repeat(9)), Place::Unknown);
    }
}
