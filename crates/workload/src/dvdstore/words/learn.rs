//! Learning the word lists from a catalogue: titles and actors are made of nothing else.

use std::collections::BTreeSet;

use rookery_cast::index;
use rookery_diagnosis::Diagnosis;

use super::{WordList, WordLists, problem};

/// Why a catalogue does not give the word lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// A row is not a product.
    #[error("catalogue, line {line}: {problem}")]
    Row {
        /// Line number, from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The title of a product does not follow from its id.
    #[error("product {id}: the title word `{found}` should be `{expected}`")]
    OtherShape {
        /// The product.
        id: u64,
        /// The word in the catalogue.
        found: String,
        /// The word that earlier products imply.
        expected: String,
    },
    /// Not all words occur.
    #[error("the catalogue is too small: it shows {found} of {} {list}", list.count())]
    TooSmall {
        /// The list with missing words.
        list: WordList,
        /// Distinct words seen.
        found: usize,
    },
    /// More names than the generator knows.
    #[error("the catalogue has more than {} {list}", list.count())]
    TooMany {
        /// The list.
        list: WordList,
    },
}

impl Diagnosis for LearnError {
    fn code(&self) -> &'static str {
        match self {
            Self::Row { .. } => "workload::catalogue-row",
            Self::OtherShape { .. } | Self::TooMany { .. } => "workload::other-catalogue",
            Self::TooSmall { .. } => "workload::small-catalogue",
        }
    }

    fn help(&self) -> Option<String> {
        Some(
            match self {
                Self::Row { .. } => {
                    "write `id,category,title,actor,price,special,common id` with a title and an \
                     actor of two words each"
                }
                Self::OtherShape { .. } | Self::TooMany { .. } => {
                    "it was not made by the DVD Store generator: supply the word lists as files"
                }
                Self::TooSmall { .. } => {
                    "learn from one of 10 000 products or more, or supply the lists as files"
                }
            }
            .to_owned(),
        )
    }
}

/// Collects word lists from products in any order: from the rows of a `prod.csv` or of a PRODUCTS
/// table.
#[derive(Debug)]
pub struct Learner {
    titles: Vec<Option<String>>,
    first_names: BTreeSet<String>,
    last_names: BTreeSet<String>,
    rows: u64,
}

impl Default for Learner {
    fn default() -> Self {
        Self {
            titles: vec![None; WordList::Titles.count()],
            first_names: BTreeSet::new(),
            last_names: BTreeSet::new(),
            rows: 0,
        }
    }
}

impl Learner {
    /// Learns from one product: `id` counts from 1, `title` and `actor` are two words each.
    ///
    /// # Errors
    /// When the row is not a product of this shape or contradicts an earlier one.
    pub fn add(&mut self, id: u64, title: &str, actor: &str) -> Result<(), LearnError> {
        self.rows += 1;
        let line = self.rows;
        let row = |problem| LearnError::Row { line, problem };
        let index = index(id.checked_sub(1).ok_or_else(|| row("the id is 0"))?);
        let (first, second) =
            two_words(title).ok_or_else(|| row("the title is not two words of capital letters"))?;
        self.title_word(id, index / 1000 % 1000, first)?;
        self.title_word(id, index % 1000, second)?;
        let (first, last) =
            two_words(actor).ok_or_else(|| row("the actor is not two words of capital letters"))?;
        name(WordList::FirstNames, &mut self.first_names, first)?;
        name(WordList::LastNames, &mut self.last_names, last)
    }

    fn title_word(&mut self, id: u64, index: usize, word: &str) -> Result<(), LearnError> {
        match &self.titles[index] {
            None => self.titles[index] = Some(word.to_owned()),
            Some(expected) if expected == word => {}
            Some(expected) => {
                return Err(LearnError::OtherShape {
                    id,
                    found: word.to_owned(),
                    expected: expected.clone(),
                });
            }
        }
        Ok(())
    }

    /// The lists: title words in the order of the catalogue, names sorted.
    ///
    /// # Errors
    /// When the products did not show every word.
    pub fn finish(self) -> Result<WordLists, LearnError> {
        let complete = |list: WordList, words: Vec<String>| {
            let found = words.len();
            if found == list.count() {
                Ok(words)
            } else {
                Err(LearnError::TooSmall { list, found })
            }
        };
        Ok(WordLists {
            titles: complete(
                WordList::Titles,
                self.titles.into_iter().flatten().collect(),
            )?,
            first_names: complete(WordList::FirstNames, self.first_names.into_iter().collect())?,
            last_names: complete(WordList::LastNames, self.last_names.into_iter().collect())?,
        })
    }
}

fn name(list: WordList, names: &mut BTreeSet<String>, name: &str) -> Result<(), LearnError> {
    if !names.contains(name) {
        if names.len() == list.count() {
            return Err(LearnError::TooMany { list });
        }
        names.insert(name.to_owned());
    }
    Ok(())
}

fn two_words(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ')
        .filter(|(a, b)| problem(a).is_none() && problem(b).is_none())
}

/// Learns from the bytes of a `prod.csv`.
pub(super) fn learn(prod_csv: &[u8]) -> Result<WordLists, LearnError> {
    let mut learner = Learner::default();
    let lines = prod_csv
        .strip_suffix(b"\n")
        .unwrap_or(prod_csv)
        .split(|&byte| byte == b'\n');
    for (bytes, line) in lines.zip(1..) {
        let row = |problem| LearnError::Row { line, problem };
        let text = std::str::from_utf8(bytes).map_err(|_| row("the row is not text"))?;
        let mut fields = text.split(',');
        let id = fields
            .next()
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| row("the id is not a number"))?;
        let (Some(title), Some(actor)) = (fields.nth(1), fields.next()) else {
            return Err(row("the row has fewer than four fields"));
        };
        learner.add(id, title, actor)?;
    }
    learner.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dvdstore::{
        Size,
        data::{LineEnd, Products, csv},
    };

    fn catalogue(megabytes: u32, words: &WordLists, end: LineEnd) -> Vec<u8> {
        let mut out = Vec::new();
        for product in Products::new(Size::Mb(megabytes).rows(), words) {
            csv::write_product(&product, end, &mut out);
        }
        out
    }

    #[test]
    fn a_catalogue_gives_back_its_lists_in_order() {
        let own = WordLists::own();
        assert_eq!(
            WordLists::learn(&catalogue(10, own, LineEnd::Unix)).as_ref(),
            Ok(own)
        );
        assert_eq!(
            WordLists::learn(&catalogue(10, own, LineEnd::Windows)).as_ref(),
            Ok(own)
        );
        // Title words in another order are learnt in that order; names come back sorted.
        let mut reversed = own.clone();
        reversed.titles.reverse();
        assert_eq!(
            WordLists::learn(&catalogue(20, &reversed, LineEnd::Unix)),
            Ok(reversed)
        );
    }

    #[test]
    fn what_is_no_catalogue_is_refused_with_the_reason() {
        let message = |csv: &[u8]| {
            let error = WordLists::learn(csv).expect_err("not a catalogue");
            format!("{error}; {}", error.help().unwrap_or_default())
        };
        let small = catalogue(1, WordLists::own(), LineEnd::Unix);
        let few: Vec<u8> = small
            .split_inclusive(|&b| b == b'\n')
            .take(500)
            .flatten()
            .copied()
            .collect();
        assert_eq!(
            message(&few),
            "the catalogue is too small: it shows 500 of 1000 title words; learn from one of 10 \
             000 products or more, or supply the lists as files"
        );
        assert!(message(b"").contains("line 1: the id is not a number"));
        assert!(message(b"1,2,AB CD\n").contains("fewer than four fields"));
        assert!(message(b"0,2,AB CD,EF GH\n").contains("the id is 0"));
        assert!(message(b"1,2,AB,EF GH\n").contains("the title is not two words"));
        assert!(message(b"1,2,A A,C d\n").contains("the actor is not two words"));
        assert!(
            message(b"1,2,A A,C D\n2,2,X B,C D\n")
                .contains("product 2: the title word `X` should be `A`")
        );
        assert!(message(b"1,2,A A,C D\n\xff\n").contains("line 2: the row is not text"));
    }
}
