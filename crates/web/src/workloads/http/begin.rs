//! Whether the begin of a body is enough: all that is looked for stands in it, and nothing that may
//! follow changes what was found there.
//!
//! Then the rest of the body need not be copied out of the kernel. For texts this is plain. For a
//! regular expression it is known from its automaton: once that has matched and can go nowhere from
//! where it is, the leftmost match is what it is, whatever follows. Patterns of the commonest shape
//! tell it without one ([`Delimited`]).

use std::cell::{Cell, RefCell};

use memchr::memmem::Finder;
use regex_automata::{
    Input,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson,
    util::syntax,
};

use super::{
    capture::literal_prefix,
    delimited::{Delimited, Place},
};

/// So much of a body is looked at; what stands further down is found in the whole of it.
const MOST_BYTES: usize = 1024;
/// Largest memory of an automaton, bytes.
const MOST_MEMORY: usize = 1 << 20;
/// So many answers are taken whole after one whose begin was not enough.
const PAUSE: u32 = 32;

/// What must be found in the begin of a body beside the texts among its checks.
#[derive(Debug)]
pub(super) struct BeginCheck {
    scans: Vec<Scan>,
    /// Answers that are still taken whole.
    pause: Cell<u32>,
}

/// A regular expression that is looked for.
#[derive(Debug)]
pub(super) enum Scan {
    Delimited(Box<Delimited>),
    Automaton(Box<Automaton>),
}

/// Any regular expression.
#[derive(Debug)]
pub(super) struct Automaton {
    /// What every match begins with, where there is such a text.
    text: Option<Finder<'static>>,
    automaton: DFA,
    cache: RefCell<Cache>,
    /// Its first match is taken from the answer; else any will do.
    is_taken: bool,
}

impl Scan {
    /// Nothing where its automaton would be too large. The first match is taken from the answer, or
    /// any will do.
    pub(super) fn new(pattern: &str, is_taken: bool) -> Option<Self> {
        match Delimited::new(pattern) {
            Some(delimited) => Some(Self::Delimited(Box::new(delimited))),
            None => Automaton::new(pattern, is_taken).map(|any| Self::Automaton(Box::new(any))),
        }
    }

    /// Whether it is found in `begin`, and what follows does not matter.
    fn is_settled(&self, begin: &[u8]) -> bool {
        match self {
            Self::Delimited(pattern) => matches!(pattern.find(begin, true), Place::At(..)),
            Self::Automaton(automaton) => automaton.is_settled(begin),
        }
    }
}

impl Automaton {
    fn new(pattern: &str, is_taken: bool) -> Option<Self> {
        let memory = thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(MOST_MEMORY));
        let automaton = DFA::builder()
            .configure(
                DFA::config()
                    .cache_capacity(MOST_MEMORY)
                    .unicode_word_boundary(true),
            )
            // As regular expressions of bytes are built.
            .syntax(syntax::Config::new().utf8(false))
            .thompson(memory)
            .build(pattern)
            .ok()?;
        Some(Self {
            text: literal_prefix(pattern),
            cache: RefCell::new(automaton.create_cache()),
            automaton,
            is_taken,
        })
    }

    fn is_settled(&self, begin: &[u8]) -> bool {
        let first = match &self.text {
            Some(text) => match text.find(begin) {
                Some(place) => place,
                None => return false,
            },
            None => 0,
        };
        let input = Input::new(begin).range(first..);
        let cache = &mut *self.cache.borrow_mut();
        let Ok(mut state) = self.automaton.start_state_forward(cache, &input) else {
            return false;
        };
        let mut has_matched = false;
        for byte in &begin[first..] {
            // A match is told one byte behind its end: what is at its end was seen.
            match self.automaton.next_state(cache, state, *byte) {
                Ok(next) => state = next,
                Err(_) => return false,
            }
            if state.is_match() {
                has_matched = true;
                if !self.is_taken {
                    return true;
                }
            } else if state.is_dead() {
                return has_matched;
            } else if state.is_quit() {
                return false;
            }
        }
        false
    }
}

impl BeginCheck {
    /// With these regular expressions.
    pub(super) fn new(scans: Vec<Scan>) -> Self {
        Self {
            scans,
            pause: Cell::new(0),
        }
    }

    /// Whether the next answer is looked at from its begin.
    pub(super) fn is_due(&self) -> bool {
        let pause = self.pause.get();
        self.pause.set(pause.saturating_sub(1));
        pause == 0
    }

    /// The begin of an answer was not enough: trying costs more than it gives.
    pub(super) fn missed(&self) {
        self.pause.set(PAUSE);
    }

    /// Whether the begin of a body is enough for all of it to be judged; `has_texts` says whether
    /// the texts among its checks stand there.
    pub(super) fn is_enough(&self, body: &[u8], has_texts: impl FnOnce(&[u8]) -> bool) -> bool {
        let begin = &body[..body.len().min(MOST_BYTES)];
        has_texts(begin) && self.scans.iter().all(|scan| scan.is_settled(begin))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::bytes::Regex;

    use super::*;

    fn is_settled(pattern: &str, is_taken: bool, begin: &str) -> bool {
        let scan = Scan::new(pattern, is_taken).expect("a small automaton");
        scan.is_settled(begin.as_bytes())
    }

    #[test]
    fn a_match_is_settled_when_nothing_that_follows_changes_it() {
        let taken = |pattern, begin| is_settled(pattern, true, begin);
        assert!(taken("t=([a-z]+)", "<t=abc> x"));
        assert!(!taken("t=([a-z]+)", "<t=abc"), "it may go on");
        assert!(!taken("a.*z|b", "a b "), "an earlier one may come about");
        assert!(taken("a.*?z|b", "a b z  "));
        assert!(!taken("(?s)a.*", "abc "), "it goes on to the end");
        assert!(!taken("c$", "abc"), "the end is not here");
        let found = |pattern, begin| is_settled(pattern, false, begin);
        assert!(found("t=([a-z]+)", "<t=abc"), "any match will do");
        assert!(!found("^a$", "a"));
        assert!(!found("x", "abc"));
    }

    proptest! {
        /// Whatever follows, the whole is matched as its begin was.
        #[test]
        fn what_follows_a_settled_begin_does_not_matter(
            pattern in prop::sample::select(vec![
                "a+b?", "a.*b|c", "(a|ab)(c|bcd)?", "b*?c", r"\bab\b", "^a|c$", "(?m)^b.", "[^a]c{1,2}",
                "(?s)a.*c", "a(b*)c|b", "aab*", r"\bbca+", "abc|abd*", "(?m)^aab",
                "aab(c+)", "aab([^c]*)c", "aab(c{1,2})", "aab([bc]{2})",
            ]),
            begin in "[abc \n\u{e4}]{0,12}",
            rest in "[abc \n\u{e4}]{0,12}",
        ) {
            let regex = Regex::new(pattern).expect("a good one");
            let all = format!("{begin}{rest}");
            if is_settled(pattern, true, &begin) {
                let groups = |text: &str| {
                    let captures = regex.captures(text.as_bytes()).expect("it was found");
                    captures.iter().map(|group| group.map(|group| group.range())).collect::<Vec<_>>()
                };
                prop_assert_eq!(groups(&begin), groups(&all));
            }
            if is_settled(pattern, false, &begin) {
                prop_assert!(regex.is_match(begin.as_bytes()) && regex.is_match(all.as_bytes()));
            }
        }
    }
}
