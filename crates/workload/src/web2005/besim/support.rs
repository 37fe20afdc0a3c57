//! Categories, products and files of support.

use super::{
    state::{State, Tag, fold},
    words::{capitalized, noun, text},
};
use crate::web2005::files::DOWNLOADS;

/// Categories, numbered from 1.
pub const CATEGORIES: u32 = 12;
/// Products of a category.
pub const PRODUCTS_PER_CATEGORY: u32 = 20;
/// Products, numbered from 1.
pub const PRODUCTS: u32 = CATEGORIES * PRODUCTS_PER_CATEGORY;
/// Languages of the form of a product, numbered from 1.
pub const LANGUAGES: u32 = 30;
/// Operating systems of the form, numbered from 1.
pub const SYSTEMS: u32 = 10;
/// Download categories of the form, numbered from 1.
pub const FILE_CATEGORIES: u32 = 20;
/// Files of a download directory.
pub const FILES_PER_DIRECTORY: u32 = 16;
/// Most bytes of a file's description.
pub const DESCRIPTION_BYTES: usize = 2_000;
/// Most bytes of a line about a file in a list.
const LINE_BYTES: usize = 100;

/// What values are drawn for: the first argument, above all numbers of products.
const NAME_FIELD: u64 = 1 << 40;
const FILE_FIELD: u64 = 2 << 40;
const SEARCH_FIELD: u64 = 3 << 40;
const LIST_FIELD: u64 = 4 << 40;

/// A file that can be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportFile {
    /// Its number, from 0.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its path in the URL.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

fn value(state: &State, thing: u64, field: u64) -> u64 {
    state.value(Tag::Support, thing, field)
}

fn name(state: &State, kind: u64, number: u32) -> String {
    let value = value(state, NAME_FIELD | kind << 32 | u64::from(number), 0);
    format!(
        "{} {}",
        capitalized(noun(value)),
        capitalized(noun(value >> 32))
    )
}

/// Name of a category.
#[must_use]
pub fn category_name(state: &State, category: u32) -> String {
    name(state, 1, category)
}

/// Name of a product.
#[must_use]
pub fn product_name(state: &State, product: u32) -> String {
    name(state, 2, product)
}

/// Names of the languages, systems or download categories of the form: kinds 3, 4 and 5.
fn names(state: &State, kind: u64, count: u32) -> String {
    let names = (1..=count).map(|number| name(state, kind, number));
    names.collect::<Vec<_>>().join("&")
}

/// The three lists of the form of a product, each as one row.
#[must_use]
pub fn form(state: &State) -> [String; 3] {
    [
        names(state, 3, LANGUAGES),
        names(state, 4, SYSTEMS),
        names(state, 5, FILE_CATEGORIES),
    ]
}

/// The ten products that a search for these words finds.
pub fn search<'a>(
    state: &'a State,
    words: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = u32> + 'a {
    let sum = words.fold(value(state, SEARCH_FIELD, 0), fold);
    (0..10).map(move |row| within(value(state, SEARCH_FIELD.wrapping_add(sum), row), PRODUCTS))
}

/// The products of a category.
pub fn category_products(category: u32) -> impl Iterator<Item = u32> {
    let first = category
        .saturating_sub(1)
        .saturating_mul(PRODUCTS_PER_CATEGORY);
    (1..=PRODUCTS_PER_CATEGORY).map(move |row| first.saturating_add(row))
}

/// The sixteen files for a product, a download category, a system and a language.
pub fn files(
    state: &State,
    product: u32,
    category: u32,
    system: u32,
    language: u32,
) -> impl Iterator<Item = SupportFile> + '_ {
    let thing = LIST_FIELD | u64::from(product) << 8 | u64::from(category);
    let field = u64::from(system) << 8 | u64::from(language);
    let directory = within(value(state, thing, field), state.support.directories.max(1));
    let first = (directory - 1).saturating_mul(FILES_PER_DIRECTORY);
    (0..FILES_PER_DIRECTORY).filter_map(move |index| file(state, first.saturating_add(index)))
}

/// The file of a number; nothing where there is none.
#[must_use]
pub fn file(state: &State, id: u32) -> Option<SupportFile> {
    let directory = id / FILES_PER_DIRECTORY + 1;
    if directory > state.support.directories {
        return None;
    }
    let download = &DOWNLOADS[(id % FILES_PER_DIRECTORY) as usize];
    let drawn = value(state, FILE_FIELD | u64::from(id), 0);
    Some(SupportFile {
        id,
        name: format!("{}-{}", noun(drawn), 1_000 + (drawn >> 32) % 9_000),
        path: format!(
            "/support/downloads/dir{directory:010}/download{}_{}",
            download.class, download.file
        ),
        size: download.size,
    })
}

/// A line about a file.
#[must_use]
pub fn file_line(state: &State, id: u32) -> String {
    text(value(state, FILE_FIELD | u64::from(id), 1), LINE_BYTES)
}

/// The description of a file.
#[must_use]
pub fn description(state: &State, id: u32) -> String {
    text(
        value(state, FILE_FIELD | u64::from(id), 2),
        DESCRIPTION_BYTES,
    )
}

/// From 1 to `count`.
fn within(value: u64, count: u32) -> u32 {
    u32::try_from(value % u64::from(count.max(1))).unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_shown_exists() {
        let state = State::tiny(7);
        let found: Vec<u32> = search(&state, ["a", "b", "c"].into_iter()).collect();
        assert!(found.len() == 10 && found.iter().all(|id| (1..=PRODUCTS).contains(id)));
        assert_ne!(
            found,
            search(&state, ["a", "bc"].into_iter()).collect::<Vec<_>>()
        );
        assert_eq!(category_products(12).last(), Some(PRODUCTS));
        let listed: Vec<SupportFile> = files(&state, 1, 2, 3, 4).collect();
        assert_eq!(listed.len(), 16);
        for (index, listed) in listed.iter().enumerate() {
            assert_eq!(listed.size, DOWNLOADS[index].size);
            assert_eq!(file(&state, listed.id).as_ref(), Some(listed));
        }
        assert_eq!(file(&state, 160), None, "ten directories have 160 files");
        let last = file(&state, 159).expect("a file");
        assert_eq!(last.path, "/support/downloads/dir0000000010/download5_0");
        assert_eq!(file(&state, u32::MAX), None);
    }

    #[test]
    fn lists_of_the_form_have_their_lengths() {
        let state = State::tiny(7);
        let lengths = form(&state).map(|row| row.split('&').count());
        assert_eq!(lengths, [30, 10, 20]);
        assert!(description(&state, 3).len() > DESCRIPTION_BYTES - 12);
        assert!(file_line(&state, 3).len() <= LINE_BYTES);
    }
}
