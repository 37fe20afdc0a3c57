//! The three word lists that name products and actors; shoppers search with the same lists.

use std::sync::LazyLock;

use rookery_diagnosis::Diagnosis;
use serde::{Deserialize, Serialize};

mod crawl;
mod learn;

pub use crawl::{Crawl, TooFewWords};
pub use learn::{LearnError, Learner};

/// The longest word: two of them and a space fit into a column of 50 characters.
const LONGEST: usize = 24;

/// Which of the three lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordList {
    /// Words of product titles.
    Titles,
    /// First names of actors.
    FirstNames,
    /// Last names of actors.
    LastNames,
}

impl WordList {
    /// How many words the list must hold.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::Titles => 1000,
            Self::FirstNames | Self::LastNames => 200,
        }
    }
}

impl std::fmt::Display for WordList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Titles => "title words",
            Self::FirstNames => "first names",
            Self::LastNames => "last names",
        })
    }
}

/// The words of one catalogue. Words are distinct: capital letters and hyphens, at most 24
/// characters.
///
/// Data and shoppers must use the same lists, else searches find nothing. Shoppers can do with
/// fewer words than data need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordLists {
    /// 1000 title words, or those that a [`Crawl`] found.
    pub titles: Vec<String>,
    /// 200 first names, or those that a [`Crawl`] found.
    pub first_names: Vec<String>,
    /// 200 last names, or those that a [`Crawl`] found.
    pub last_names: Vec<String>,
}

impl WordLists {
    /// The lists that come with Rookery: same shape as the kit's, other words.
    #[must_use]
    pub fn own() -> &'static Self {
        static OWN: LazyLock<WordLists> = LazyLock::new(|| {
            let own = |list, text: &str| {
                parse_list(list, text).expect("the lists that come with the crate are valid")
            };
            WordLists {
                titles: own(WordList::Titles, include_str!("words/title_words.txt")),
                first_names: own(WordList::FirstNames, include_str!("words/first_names.txt")),
                last_names: own(WordList::LastNames, include_str!("words/last_names.txt")),
            }
        });
        &OWN
    }

    /// Reads all three lists from texts with one word a line.
    ///
    /// # Errors
    /// The first thing that is wrong with a list; see [`parse_list`].
    pub fn parse(titles: &str, first_names: &str, last_names: &str) -> Result<Self, WordsError> {
        Ok(Self {
            titles: parse_list(WordList::Titles, titles)?,
            first_names: parse_list(WordList::FirstNames, first_names)?,
            last_names: parse_list(WordList::LastNames, last_names)?,
        })
    }

    /// Recovers the lists from the bytes of a `prod.csv`, which needs about 10 000 products.
    ///
    /// # Errors
    /// When the file is not a catalogue of this shape, or is too small to hold every word.
    pub fn learn(prod_csv: &[u8]) -> Result<Self, LearnError> {
        learn::learn(prod_csv)
    }

    /// Replaces one list with the words of a text, one a line.
    ///
    /// # Errors
    /// See [`parse_list`]; the lists are then unchanged.
    pub fn replace(&mut self, list: WordList, text: &str) -> Result<(), WordsError> {
        let words = parse_list(list, text)?;
        match list {
            WordList::Titles => self.titles = words,
            WordList::FirstNames => self.first_names = words,
            WordList::LastNames => self.last_names = words,
        }
        Ok(())
    }
}

/// What is wrong with a list of words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A line is not a word.
    #[error("{list}, line {line}: `{word}` {problem}")]
    Word {
        /// The list.
        list: WordList,
        /// Line number, from 1.
        line: usize,
        /// The line, cut to a readable length.
        word: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A word occurs twice.
    #[error("{list}, line {line}: `{word}` already stands in line {first}")]
    Duplicate {
        /// The list.
        list: WordList,
        /// Line of the second occurrence, from 1.
        line: usize,
        /// The word.
        word: String,
        /// Line of the first occurrence.
        first: usize,
    },
    /// Too few or too many words.
    #[error("{list}: {found} words, but the list needs exactly {}", list.count())]
    Count {
        /// The list.
        list: WordList,
        /// Words found.
        found: usize,
    },
}

impl Diagnosis for WordsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Word { .. } => "workload::word",
            Self::Duplicate { .. } => "workload::duplicate-word",
            Self::Count { .. } => "workload::word-count",
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Word { .. } => format!(
                "write one word a line, of capital letters A-Z and hyphens, at most {LONGEST} \
                 characters"
            ),
            Self::Duplicate { .. } => "remove one of them, the words must be distinct".to_owned(),
            Self::Count { .. } => "add or remove lines".to_owned(),
        })
    }
}

/// Reads one list from a text with one word a line. LF and CR LF both end a line; the order of the
/// words is kept.
///
/// # Errors
/// The first line that is not a word of capital letters and hyphens or occurs twice, or a wrong
/// number of words.
pub fn parse_list(list: WordList, text: &str) -> Result<Vec<String>, WordsError> {
    let mut lines = std::collections::HashMap::new();
    let mut words = Vec::with_capacity(list.count());
    for (word, line) in text.trim_end().lines().zip(1..) {
        if let Some(problem) = problem(word) {
            return Err(WordsError::Word {
                list,
                line,
                word: word.chars().take(40).collect(),
                problem,
            });
        }
        if let Some(first) = lines.insert(word, line) {
            return Err(WordsError::Duplicate {
                list,
                line,
                word: word.to_owned(),
                first,
            });
        }
        words.push(word.to_owned());
    }
    if words.len() == list.count() {
        Ok(words)
    } else {
        Err(WordsError::Count {
            list,
            found: words.len(),
        })
    }
}

/// Why `word` is not a word, if it is not.
fn problem(word: &str) -> Option<&'static str> {
    match word {
        "" => Some("is an empty line"),
        _ if word.len() > LONGEST => Some("is too long"),
        _ if word.bytes().any(|b| b.is_ascii_lowercase()) => Some("has small letters"),
        _ if !word.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') => {
            Some("has a character that is no letter or hyphen")
        }
        _ if !word.bytes().any(|b| b.is_ascii_uppercase()) => Some("has no letter"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn shape(words: &[String]) -> Vec<(usize, usize)> {
        let mut lengths = BTreeMap::new();
        for word in words {
            *lengths.entry(word.len()).or_insert(0) += 1;
        }
        lengths.into_iter().collect()
    }

    #[test]
    fn own_lists_have_the_shape_of_the_kit() {
        let own = WordLists::own();
        let titles = [
            (2, 2),
            (3, 22),
            (4, 134),
            (5, 187),
            (6, 180),
            (7, 163),
            (8, 134),
            (9, 92),
            (10, 47),
            (11, 19),
            (12, 15),
            (13, 5),
        ];
        assert_eq!(shape(&own.titles), titles);
        let first_names = [
            (2, 2),
            (3, 19),
            (4, 50),
            (5, 43),
            (6, 38),
            (7, 26),
            (8, 16),
            (9, 5),
            (11, 1),
        ];
        assert_eq!(shape(&own.first_names), first_names);
        let last_names = [
            (3, 3),
            (4, 24),
            (5, 41),
            (6, 54),
            (7, 43),
            (8, 20),
            (9, 10),
            (10, 1),
            (11, 3),
            (12, 1),
        ];
        assert_eq!(shape(&own.last_names), last_names);
        for words in [&own.titles, &own.first_names, &own.last_names] {
            assert!(words.is_sorted());
            assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        }
        let hyphens = |words: &[String]| words.iter().filter(|word| word.contains('-')).count();
        assert_eq!(
            (
                hyphens(&own.titles),
                hyphens(&own.first_names),
                hyphens(&own.last_names)
            ),
            (0, 0, 1)
        );
    }

    #[test]
    fn broken_lists_are_refused_with_line_and_help() {
        let names: Vec<String> = (0..200u8)
            .map(|n| {
                format!(
                    "A{}{}",
                    char::from(b'A' + n / 26),
                    char::from(b'A' + n % 26)
                )
            })
            .collect();
        let text = |change: &dyn Fn(&mut Vec<String>)| {
            let mut names = names.clone();
            change(&mut names);
            parse_list(WordList::FirstNames, &names.join("\r\n"))
                .map_err(|error| format!("{error}; {}", error.help().unwrap_or_default()))
        };
        assert_eq!(text(&|_| ()), Ok(names.clone()));
        let error = |change: &dyn Fn(&mut Vec<String>)| text(change).expect_err("a broken list");
        assert_eq!(
            error(&|names| names[4] = "Abe".into()),
            "first names, line 5: `Abe` has small letters; write one word a line, of capital \
             letters A-Z and hyphens, at most 24 characters"
        );
        assert!(error(&|names| names[4] = String::new()).contains("line 5: `` is an empty line"));
        assert!(error(&|names| names[4] = "A B".into()).contains("no letter or hyphen"));
        assert!(error(&|names| names[4] = "-".into()).contains("has no letter"));
        assert!(error(&|names| names[4] = "X".repeat(25)).contains("is too long"));
        assert_eq!(
            error(&|names| names[4] = "AAA".into()),
            "first names, line 5: `AAA` already stands in line 1; remove one of them, the words \
             must be distinct"
        );
        assert_eq!(
            error(&|names| names.truncate(199)),
            "first names: 199 words, but the list needs exactly 200; add or remove lines"
        );
    }
}
