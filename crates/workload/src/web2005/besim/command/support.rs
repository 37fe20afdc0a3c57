//! Commands of support.

use super::{Arguments, Effect, Outcome};
use crate::web2005::{
    besim::{
        state::{State, SupportReset},
        support::{
            CATEGORIES, FILE_CATEGORIES, LANGUAGES, PRODUCTS, SYSTEMS, category_name,
            category_products, description, file, file_line, files, form, product_name, search,
        },
        wire::Rows,
    },
    files::LARGEST_IDENTITY,
};

/// Most words of a search, and most letters of a word.
const MOST_WORDS: usize = 3;
const MOST_LETTERS: usize = 20;

pub(super) fn run(state: &State, command: u8, arguments: &Arguments<'_>) -> Outcome {
    let mut rows = Rows::default();
    match command {
        0 => return reset(state, arguments),
        1 => {
            arguments.count(0)?;
            for category in 1..=CATEGORIES {
                rows.push(&[&category, &category_name(state, category)]);
            }
        }
        2 => {
            let words = words(arguments)?;
            for product in search(state, words.iter().copied()) {
                rows.push(&[&product, &product_name(state, product)]);
            }
        }
        3 => {
            arguments.count(1)?;
            for product in category_products(arguments.within(0, CATEGORIES)?) {
                rows.push(&[&product, &product_name(state, product)]);
            }
        }
        4 => {
            arguments.count(1)?;
            let product = arguments.within(0, PRODUCTS)?;
            rows.push(&[&product_name(state, product)]);
            for row in form(state) {
                rows.push_line(&row);
            }
        }
        5 => rows = list(state, arguments)?,
        6 => rows = one(state, arguments)?,
        _ => return None,
    }
    Some((rows, Effect::None))
}

fn reset(state: &State, arguments: &Arguments<'_>) -> Outcome {
    arguments.count(3)?;
    let support = SupportReset {
        time_s: arguments.time(0)?,
        load: arguments.number(1)?,
        directories: arguments.within(2, LARGEST_IDENTITY)?,
    };
    let state = State {
        support,
        ..state.clone()
    };
    Some((arguments.echo(), Effect::Reset(Box::new(state))))
}

/// One to three words of small letters.
fn words<'a>(arguments: &'a Arguments<'_>) -> Option<Vec<&'a str>> {
    let words: Vec<&str> = arguments.0.iter().map(AsRef::as_ref).collect();
    let word = |text: &&str| {
        (1..=MOST_LETTERS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    ((1..=MOST_WORDS).contains(&words.len()) && words.iter().all(word)).then_some(words)
}

fn list(state: &State, arguments: &Arguments<'_>) -> Option<Rows> {
    arguments.count(4)?;
    let product = arguments.within(0, PRODUCTS)?;
    let category = arguments.within(1, FILE_CATEGORIES)?;
    let system = arguments.within(2, SYSTEMS)?;
    let language = arguments.within(3, LANGUAGES)?;
    let mut rows = Rows::default();
    for file in files(state, product, category, system, language) {
        rows.push(&[&file.id, &file.name, &file.size, &file_line(state, file.id)]);
    }
    Some(rows)
}

fn one(state: &State, arguments: &Arguments<'_>) -> Option<Rows> {
    arguments.count(1)?;
    let file = file(state, arguments.number(0)?)?;
    let mut rows = Rows::default();
    rows.push(&[
        &file.path,
        &file.size,
        &file.name,
        &description(state, file.id),
    ]);
    Some(rows)
}
