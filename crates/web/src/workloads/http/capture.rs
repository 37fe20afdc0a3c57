//! What a regular expression takes from a body.
//!
//! Most patterns of captures begin with a text: `name="token" value="([0-9a-f]+)"`. Its places are
//! found by a search for a text, and only from there is the pattern matched, which saves the search
//! for where the leftmost match begins. Those of the commonest shape need no automaton even there
//! ([`Delimited`]).

use std::{cell::RefCell, fmt};

use memchr::memmem::Finder;
use regex::bytes::{CaptureLocations, Regex};
use regex_automata::{
    Anchored, Input, meta,
    util::{captures::Captures, syntax},
};
use regex_syntax::{ParserBuilder, hir::literal::Extractor};
use rookery_workload::http::pattern;

use super::delimited::{Delimited, LEAST_PREFIX_BYTES, MOST_PLACES, Place};

/// Largest memory of an automaton, bytes; as [`pattern`] has it.
const MOST_MEMORY: usize = 1 << 20;

/// A regular expression of which a part is taken.
pub(super) struct Capture {
    regex: Regex,
    /// Places of its groups, which are filled anew each time.
    places: RefCell<CaptureLocations>,
    shortcut: Shortcut,
}

/// How a pattern is found without a search for it.
enum Shortcut {
    Delimited(Box<Delimited>),
    BehindText(Box<BehindText>),
    None,
}

/// A pattern that is matched where a text stands.
struct BehindText {
    text: Finder<'static>,
    regex: meta::Regex,
    groups: RefCell<Captures>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Capture")
            .field(&self.regex.as_str())
            .finish()
    }
}

impl Capture {
    /// Of a pattern.
    ///
    /// # Errors
    /// When it is no regular expression, or takes too much memory.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let regex = pattern(text).map_err(|error| error.to_string())?;
        Ok(Self {
            places: RefCell::new(regex.capture_locations()),
            regex,
            shortcut: Shortcut::new(text),
        })
    }

    /// Where the first group of the leftmost match lies in `body`, or all of it where the pattern
    /// has no group or that one took no part.
    pub(super) fn find(&self, body: &[u8]) -> Option<(usize, usize)> {
        match &self.shortcut {
            Shortcut::Delimited(delimited) => match delimited.find(body, false) {
                Place::At(from, to) => Some((from, to)),
                Place::Nowhere => None,
                Place::Unknown => self.search(body),
            },
            Shortcut::BehindText(text) => text.find(body).unwrap_or_else(|| self.search(body)),
            Shortcut::None => self.search(body),
        }
    }

    fn search(&self, body: &[u8]) -> Option<(usize, usize)> {
        let places = &mut *self.places.borrow_mut();
        let whole = self.regex.captures_read(places, body)?;
        places.get(1).or(Some((whole.start(), whole.end())))
    }
}

impl Shortcut {
    fn new(pattern: &str) -> Self {
        if let Some(delimited) = Delimited::new(pattern) {
            return Self::Delimited(Box::new(delimited));
        }
        match BehindText::new(pattern) {
            Some(text) => Self::BehindText(Box::new(text)),
            None => Self::None,
        }
    }
}

impl BehindText {
    fn new(pattern: &str) -> Option<Self> {
        let text = literal_prefix(pattern)?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(MOST_MEMORY))
            .hybrid_cache_capacity(MOST_MEMORY);
        let regex = meta::Builder::new()
            .configure(config)
            // As regular expressions of bytes are built.
            .syntax(syntax::Config::new().utf8(false))
            .build(pattern)
            .ok()?;
        Some(Self {
            groups: RefCell::new(regex.create_captures()),
            regex,
            text,
        })
    }

    /// What a search would find; the outer `None` where the text stands so often that a search is
    /// better.
    ///
    /// A match begins where the text stands, so that the leftmost is at the first of these places
    /// that has one.
    fn find(&self, body: &[u8]) -> Option<Option<(usize, usize)>> {
        let groups = &mut *self.groups.borrow_mut();
        let mut from = 0;
        for _ in 0..MOST_PLACES {
            let Some(place) = self.text.find(&body[from..]) else {
                return Some(None);
            };
            let start = from + place;
            let input = Input::new(body).range(start..).anchored(Anchored::Yes);
            self.regex.search_captures(&input, groups);
            if let Some(whole) = groups.get_match() {
                let place = groups.get_group(1).unwrap_or(whole.span());
                return Some(Some((place.start, place.end)));
            }
            from = start + 1;
        }
        None
    }
}

/// The text that every match of a pattern begins with; nothing where there is none of some length.
pub(super) fn literal_prefix(pattern: &str) -> Option<Finder<'static>> {
    let parsed = ParserBuilder::new()
        .utf8(false)
        .build()
        .parse(pattern)
        .ok()?;
    let texts = Extractor::new().extract(&parsed);
    let text = texts.longest_common_prefix()?;
    (text.len() >= LEAST_PREFIX_BYTES).then(|| Finder::new(text).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_that_begin_with_a_text_are_known() {
        let text = |pattern| literal_prefix(pattern).map(|found| found.needle().to_vec());
        assert_eq!(text("token=([0-9a-f]+)"), Some(b"token=".to_vec()));
        assert_eq!(text("(?:token|tokens)=(.)"), Some(b"token".to_vec()));
        for none in ["[a-z]+=1", "(?i)token=", "a|bcd", "ab(c?)", "(token)?x"] {
            assert_eq!(text(none), None, "{none}");
        }
    }

    #[test]
    fn a_group_that_took_no_part_is_all_of_the_match() {
        let capture = Capture::new("abc(x)?").expect("a good one");
        assert_eq!(capture.find(b"..abc"), Some((2, 5)));
        assert_eq!(capture.find(b"..abcx"), Some((5, 6)));
        assert_eq!(capture.find(b"..ab"), None);
    }

    #[test]
    fn a_text_that_stands_often_ends_in_a_search() {
        let body = [b"aab".repeat(100), b"aabc".to_vec()].concat();
        let text = BehindText::new("aab([cd])").expect("it begins with a text");
        assert_eq!(text.find(&body), None);
        for pattern in ["aab([cd])", "aab([cd]+)"] {
            let capture = Capture::new(pattern).expect("a good one");
            assert_eq!(capture.find(&body), Some((303, 304)));
        }
    }

    proptest! {
        /// It is what an ordinary search finds.
        #[test]
        fn it_finds_what_a_search_finds(
            pattern in prop::sample::select(vec![
                "aaa(b*)", "aab(c)?", "aab(.*)c", r"\baab(c)", "^aab(c)", "(?m)^aab(.)", "aab(c|ca)b",
                "(?s)aba(.*?)a", "aab|aabc", r"aba\b(.)?", "(?:aab|aac)(b)", "aaa(b*)c", "aab([bc]{2,3})",
                "aab([^c]+)c", "aab([^c]{2})", "aab([bc]+)a", "aba(a*)b", "abb([^a]*)ac", "(?-u)aab([^c]+)",
            ]),
            body in "[abc \n\u{e4}]{0,40}",
        ) {
            let capture = Capture::new(pattern).expect("a good one");
            prop_assert_eq!(capture.find(body.as_bytes()), capture.search(body.as_bytes()));
        }
    }
}
