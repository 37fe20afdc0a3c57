//! Learning words from the pages of a store that nobody knows more about: search, read the titles
//! and actors found, search for these.

use std::collections::{BTreeSet, VecDeque};

use rookery_diagnosis::Diagnosis;

use super::{WordList, WordLists, problem};
use crate::dvdstore::pages::{PageFault, Search, read_products};

/// The categories of every store.
const CATEGORIES: u8 = 16;
/// Fewer words than this of a list would make all users search for the same few products.
const FEWEST_TITLES: usize = 50;
const FEWEST_NAMES: usize = 20;

/// The pages did not show enough words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{requests} searches showed {titles} title words, {first_names} first and {last_names} last \
     names; at least {FEWEST_TITLES}, {FEWEST_NAMES} and \
     {FEWEST_NAMES} are needed"
)]
pub struct TooFewWords {
    /// Searches made.
    pub requests: u32,
    /// Distinct title words found.
    pub titles: usize,
    /// Distinct first names found.
    pub first_names: usize,
    /// Distinct last names found.
    pub last_names: usize,
}

impl Diagnosis for TooFewWords {
    fn code(&self) -> &'static str {
        "workload::few-words"
    }

    fn help(&self) -> Option<String> {
        Some(
            "give the words by --learn-words or --title-words, --first-names and --last-names"
                .to_owned(),
        )
    }
}

/// What is to be searched for next; the words are the crawl's own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Lead {
    Category(u8),
    Actor(String, String),
    Title(String, String),
}

/// A bounded walk through a store: first its categories, then the actors and titles that turned up.
///
/// ```
/// # use rookery_workload::dvdstore::{Crawl, pages::Search};
/// let mut crawl = Crawl::new(400);
/// assert_eq!(crawl.next_search(), Some(Search::Category(1)));
/// let rows: String = (1..=3).map(|id| format!(
///     "<TR><TD><INPUT NAME=selected_item[] TYPE=CHECKBOX VALUE={id}></TD><TD>OLD FILM</TD><TD>ANN LEE</TD><TD>9.99</TD></TR>"
/// )).collect();
/// assert_eq!(crawl.read(format!("<TABLE border=2><TR><TH>Title</TH></TR>{rows}</TABLE>").as_bytes()), Ok(3));
/// assert_eq!(crawl.found(), (2, 1, 1));
/// ```
#[derive(Debug)]
pub struct Crawl {
    left: u32,
    requests: u32,
    titles: BTreeSet<String>,
    first_names: BTreeSet<String>,
    last_names: BTreeSet<String>,
    /// To be searched for, in order: categories, then actors, whose products have all kinds of
    /// titles.
    leads: VecDeque<Lead>,
    /// To be searched for when no other lead is left: titles, which share their first word with a
    /// thousand others.
    title_leads: VecDeque<Lead>,
    present: Option<Lead>,
}

impl Crawl {
    /// A crawl of at most `most_requests` searches.
    #[must_use]
    pub fn new(most_requests: u32) -> Self {
        Self {
            left: most_requests,
            requests: 0,
            titles: BTreeSet::new(),
            first_names: BTreeSet::new(),
            last_names: BTreeSet::new(),
            leads: (1..=CATEGORIES).map(Lead::Category).collect(),
            title_leads: VecDeque::new(),
            present: None,
        }
    }

    /// The next search; `None` when every word is known, nothing is left to search for, or enough
    /// was asked.
    pub fn next_search(&mut self) -> Option<Search<'_>> {
        if self.complete() || self.left == 0 {
            return None;
        }
        self.present = Some(
            self.leads
                .pop_front()
                .or_else(|| self.title_leads.pop_front())?,
        );
        self.left -= 1;
        self.requests += 1;
        self.present.as_ref().map(|lead| match lead {
            Lead::Category(category) => Search::Category(*category),
            Lead::Actor(first, last) => Search::Actor { first, last },
            Lead::Title(first, second) => Search::Title { first, second },
        })
    }

    /// Learn from the answer to a search; returns the number of products that it shows.
    ///
    /// # Errors
    /// When it is no page of results. Titles and names that are not two words of capital letters
    /// are passed over.
    pub fn read(&mut self, body: &[u8]) -> Result<u32, PageFault> {
        let mut products = Vec::new();
        let rows = read_products(body, |_, title, actor| {
            products.push((two_words(title), two_words(actor)))
        })?;
        for (title, actor) in products {
            if let Some((first, second)) = title {
                let news =
                    [&first, &second].map(|word| add(WordList::Titles, &mut self.titles, word));
                if news.contains(&true) {
                    self.title_leads.push_back(Lead::Title(first, second));
                }
            }
            if let Some((first, last)) = actor {
                let news = [
                    add(WordList::FirstNames, &mut self.first_names, &first),
                    add(WordList::LastNames, &mut self.last_names, &last),
                ];
                if news.contains(&true) {
                    self.leads.push_back(Lead::Actor(first, last));
                }
            }
        }
        Ok(rows)
    }

    /// Distinct title words, first names and last names found so far.
    #[must_use]
    pub fn found(&self) -> (usize, usize, usize) {
        (
            self.titles.len(),
            self.first_names.len(),
            self.last_names.len(),
        )
    }

    /// Searches asked for so far.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    fn complete(&self) -> bool {
        self.found()
            == (
                WordList::Titles.count(),
                WordList::FirstNames.count(),
                WordList::LastNames.count(),
            )
    }

    /// The words, sorted.
    ///
    /// # Errors
    /// When there are too few for users to search like those who know the lists.
    pub fn finish(self) -> Result<WordLists, TooFewWords> {
        let (titles, first_names, last_names) = self.found();
        if titles < FEWEST_TITLES || first_names < FEWEST_NAMES || last_names < FEWEST_NAMES {
            return Err(TooFewWords {
                requests: self.requests,
                titles,
                first_names,
                last_names,
            });
        }
        let list = |words: BTreeSet<String>| words.into_iter().collect();
        Ok(WordLists {
            titles: list(self.titles),
            first_names: list(self.first_names),
            last_names: list(self.last_names),
        })
    }
}

/// Adds a word; true when it is new. A list does not grow beyond its size: a store that shows more
/// is no DVD Store.
fn add(list: WordList, words: &mut BTreeSet<String>, word: &str) -> bool {
    words.len() < list.count() && words.insert(word.to_owned())
}

fn two_words(text: &[u8]) -> Option<(String, String)> {
    let (first, second) = std::str::from_utf8(text).ok()?.trim().split_once(' ')?;
    (problem(first).is_none() && problem(second).is_none())
        .then(|| (first.to_owned(), second.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dvdstore::{
        Size,
        data::{Product, Products},
    };

    /// Answers as a store does: at most 100 products; categories show their special offers, the
    /// others match either word.
    fn answer(products: &[Product<'_>], search: &Search<'_>) -> String {
        let has = |words: &[&str; 2], one: &str, other: &str| {
            words.iter().any(|word| *word == one || *word == other)
        };
        let matches = |product: &&Product<'_>| match search {
            Search::Category(category) => product.category == *category && product.special,
            Search::Actor { first, last } => has(&product.actor_names, first, last),
            Search::Title { first, second } => has(&product.title_words, first, second),
        };
        let rows = products.iter().filter(matches).take(100).map(|product| {
            let (id, title, actor) = (
                product.id,
                product.title_words.join(" "),
                product.actor_names.join(" "),
            );
            format!(
                "<TR><TD><INPUT VALUE={id}></TD><TD>{title}</TD><TD>{actor}</TD><TD>9.99</TD></TR>"
            )
        });
        let rows: String = rows.collect();
        if rows.is_empty() {
            "No DVDs Found".to_owned()
        } else {
            format!("<TABLE border=2><TR><TH>Title</TH></TR>{rows}</TABLE>")
        }
    }

    fn crawled(megabytes: u32, most: u32) -> Crawl {
        let products: Vec<Product<'_>> =
            Products::new(Size::Mb(megabytes).rows(), WordLists::own()).collect();
        let mut crawl = Crawl::new(most);
        while let Some(page) = crawl.next_search().map(|search| answer(&products, &search)) {
            crawl.read(page.as_bytes()).expect("a page of results");
        }
        crawl
    }

    #[test]
    fn a_store_shows_all_its_words() {
        let crawl = crawled(10, 400);
        assert!(crawl.requests() < 400, "{} searches", crawl.requests());
        let (words, own) = (crawl.finish().expect("enough words"), WordLists::own());
        assert_eq!(
            (&words.titles, &words.first_names, &words.last_names),
            (&own.titles, &own.first_names, &own.last_names)
        );
    }

    #[test]
    fn it_stops_when_told_and_says_when_that_was_too_early() {
        let crawl = crawled(10, 5);
        assert_eq!(crawl.requests(), 5);
        let (titles, first, last) = crawl.found();
        assert!((20..100).contains(&titles) && first > 10 && last > 10);
        let error = crawled(10, 1)
            .finish()
            .expect_err("one category is not enough")
            .to_string();
        assert!(
            error.starts_with("1 searches showed") && error.contains("are needed"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_word_is_passed_over() {
        let row = |title: &str, actor: &str| {
            format!("<TR><TD VALUE=1></TD><TD>{title}</TD><TD>{actor}</TD><TD>9.99</TD></TR>")
        };
        let rows = row("&lt;b", "Ann Lee") + &row("A B C", "JO X") + &row("\u{1b}[31m Y", "ANN");
        let mut crawl = Crawl::new(9);
        assert_eq!(
            crawl.read(format!("<TABLE><TR></TR>{rows}</TABLE>").as_bytes()),
            Ok(3)
        );
        assert_eq!(crawl.found(), (0, 1, 1), "JO X alone");
        assert!(crawl.read(b"<html>something else</html>").is_err());
    }
}
