//! Regions, products, options and prices of the shop.

use super::{
    money::Cents,
    state::{State, Tag},
    words::{capitalized, noun},
};
use crate::web2005::Day;

/// Regions, numbered from 1.
pub const REGIONS: u32 = 20;
/// Customer types, numbered from 1.
pub const CUSTOMER_TYPES: u32 = 4;
/// Segments of the search form, numbered from 1.
pub const SEGMENTS: u32 = 5;
/// Words of the search form, numbered from 1.
pub const SEARCH_WORDS: u32 = 19;
/// Products of a line.
pub const MODELS_PER_LINE: u32 = 10;
/// Stages of customization, numbered from 1.
pub const STAGES: u32 = 3;
/// Groups of options of a stage, numbered from 1, and options of a group, numbered from 0.
pub const GROUPS: u32 = 5;
/// See [`GROUPS`].
pub const OPTIONS: u32 = 5;
/// Ways of shipping, numbered from 1.
pub const SHIPPING_METHODS: u32 = 3;
/// Kinds of cards, numbered from 1.
pub const CARDS: u32 = 3;
/// Most of a product that a cart line holds.
pub const MOST_QUANTITY: u32 = 9;

/// What product values are drawn for: the second argument, above all numbers of products.
const REGION_FIELD: u64 = 1 << 40;
const SEARCH_FIELD: u64 = 2 << 40;
const BROWSE_FIELD: u64 = 3 << 40;
const LINE_FIELD: u64 = 4 << 40;
const SHIPPING_FIELD: u64 = 5 << 40;

/// Chosen options of a stage: one of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice([u8; GROUPS as usize]);

impl Choice {
    /// Five digits from 0 to 4; nothing for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: [u8; GROUPS as usize] = text.as_bytes().try_into().ok()?;
        let right = digits.iter().all(|digit| (b'0'..b'5').contains(digit));
        right.then(|| Self(digits.map(|digit| digit - b'0')))
    }

    /// Group from 1 and option of every choice.
    fn options(self) -> impl Iterator<Item = (u32, u32)> {
        (1..).zip(self.0.map(u32::from))
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|digit| write!(f, "{digit}"))
    }
}

/// Choices of the three stages; a stage may be without.
pub type Choices = [Option<Choice>; STAGES as usize];

/// Whether the back-end knows a customer.
#[must_use]
pub fn is_customer(state: &State, customer: u32) -> bool {
    let known = state.ecommerce.min_customer..=state.ecommerce.max_customer;
    known.contains(&customer)
}

/// How many models there are; they are numbered from 0.
#[must_use]
pub fn models(state: &State) -> u32 {
    state.ecommerce.lines.saturating_mul(MODELS_PER_LINE)
}

/// The line of a model.
#[must_use]
pub fn line_of(model: u32) -> u32 {
    model / MODELS_PER_LINE + 1
}

fn product(state: &State, thing: u64, field: u64) -> u64 {
    state.value(Tag::Products, thing, field)
}

/// Code of a region.
#[must_use]
pub fn region_code(region: u32) -> String {
    format!("R{region:02}")
}

/// Tax of a region in hundredths of a per cent.
#[must_use]
pub fn tax_rate(state: &State, region: u32) -> u64 {
    500 + product(state, REGION_FIELD | u64::from(region), 0) % 500
}

/// Name of a model.
#[must_use]
pub fn model_name(state: &State, model: u32) -> String {
    let value = product(state, u64::from(model), 0);
    format!("{} {}", capitalized(noun(value)), 100 + (value >> 32) % 900)
}

/// Price of a model without options.
#[must_use]
pub fn model_price(state: &State, model: u32) -> Cents {
    Cents(10_000 + product(state, u64::from(model), 1) % 200_000)
}

/// Name of a product line.
#[must_use]
pub fn line_name(state: &State, line: u32) -> String {
    let value = product(state, LINE_FIELD | u64::from(line), 0);
    format!(
        "{} {}",
        capitalized(noun(value)),
        capitalized(noun(value >> 32))
    )
}

/// The ten models that a search finds.
pub fn search(
    state: &State,
    segment: u32,
    word: u32,
    region: u32,
) -> impl Iterator<Item = u32> + '_ {
    let thing = SEARCH_FIELD | u64::from(segment) << 16 | u64::from(word) << 8 | u64::from(region);
    let models = u64::from(models(state).max(1));
    (0..10).map(move |row| small(product(state, thing, row) % models))
}

/// The twenty lines that are shown to a type of customer. With fewer than twenty lines some are
/// shown more than once.
pub fn lines(state: &State, customer_type: u32, region: u32) -> impl Iterator<Item = u32> + '_ {
    let thing = BROWSE_FIELD | u64::from(customer_type) << 8 | u64::from(region);
    let lines = u64::from(state.ecommerce.lines.max(1));
    let first = product(state, thing, 0) % lines;
    (0..20).map(move |row| small((first + row) % lines) + 1)
}

/// The three models that are shown of a line.
pub fn line_models(state: &State, line: u32, region: u32) -> impl Iterator<Item = u32> + '_ {
    let first = product(state, LINE_FIELD | u64::from(line), 1 + u64::from(region));
    let first = small(first % u64::from(MODELS_PER_LINE));
    (0..3).map(move |row| {
        line.saturating_sub(1).saturating_mul(MODELS_PER_LINE) + (first + 3 * row) % MODELS_PER_LINE
    })
}

/// Path of an image of a model; `class` is 0 to 2.
#[must_use]
pub fn image_path(state: &State, model: u32, class: u32) -> String {
    format!(
        "{}/line{:010}/p{}_{class}",
        state.ecommerce.image_base,
        line_of(model),
        model % MODELS_PER_LINE
    )
}

/// Names of what a model is specified by.
const KEYS: [&str; 8] = [
    "weight", "height", "width", "depth", "memory", "disk", "ports", "warranty",
];

/// The specification of a model.
pub fn details(state: &State, model: u32) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let value = move |row: u64| product(state, u64::from(model), 100 + row) % 1_000;
    KEYS.into_iter()
        .zip(0..)
        .map(move |(key, row)| (key, value(row)))
}

/// Price of an option of a stage.
#[must_use]
pub fn option_price(state: &State, model: u32, stage: u32, group: u32, option: u32) -> Cents {
    let field = 1_000 + u64::from(stage) * 100 + u64::from(group) * 10 + u64::from(option);
    Cents(product(state, u64::from(model), field) % 20_000)
}

/// A cart line without and with tax apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePrice {
    /// Of all pieces, options included.
    pub total: Cents,
    /// Tax on it, rounded to whole cents.
    pub tax: Cents,
}

/// Price of so many pieces of a model with these choices, in a region.
#[must_use]
pub fn price(
    state: &State,
    model: u32,
    choices: &Choices,
    quantity: u32,
    region: u32,
) -> LinePrice {
    let chosen: u64 = (1..)
        .zip(choices)
        .filter_map(|(stage, choice)| Some((stage, (*choice)?)))
        .flat_map(|(stage, choice)| {
            choice
                .options()
                .map(move |(group, option)| option_price(state, model, stage, group, option).0)
        })
        .sum();
    let total = (model_price(state, model).0 + chosen) * u64::from(quantity.min(MOST_QUANTITY));
    LinePrice {
        total: Cents(total),
        tax: Cents((total * tax_rate(state, region) + 5_000) / 10_000),
    }
}

/// Cost of shipping to a customer.
#[must_use]
pub fn shipping_cost(state: &State, customer: u32, method: u32) -> Cents {
    let value = product(
        state,
        SHIPPING_FIELD | u64::from(customer),
        u64::from(method),
    );
    Cents(500 * u64::from(method.min(SHIPPING_METHODS)) + value % 500)
}

/// Day of the arrival.
#[must_use]
pub fn shipping_day(state: &State, method: u32) -> Day {
    Day::of_time(state.ecommerce.time_s).plus(9 - 2 * method.min(SHIPPING_METHODS))
}

/// The number of a card without all but its last four digits, which are given.
#[must_use]
pub fn masked(last_four: u32) -> String {
    format!("xxxxxxxxxxxx{:04}", last_four % 10_000)
}

/// What fits 32 bits because its modulus did.
fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_shown_exists() {
        let state = State::tiny(7);
        assert_eq!(models(&state), 2_000);
        for region in 1..=REGIONS {
            assert!((500..1_000).contains(&tax_rate(&state, region)));
            let found: Vec<u32> = search(&state, 1, 2, region).collect();
            assert!(found.len() == 10 && found.iter().all(|model| *model < 2_000));
            let lines: Vec<u32> = lines(&state, 1, region).collect();
            assert!(lines.len() == 20 && lines.iter().all(|line| (1..=200).contains(line)));
            for line in [1, 200] {
                let models: Vec<u32> = line_models(&state, line, region).collect();
                assert!(
                    models.iter().all(|model| line_of(*model) == line),
                    "{models:?}"
                );
                assert_eq!(models.len(), 3);
                assert_ne!(models[0], models[1]);
                assert_ne!(models[1], models[2]);
            }
        }
        assert_eq!(
            image_path(&state, 1_999, 1),
            "/ecommerce/images/line0000000200/p9_1"
        );
        assert_eq!(details(&state, 0).count(), 8);
    }

    #[test]
    fn the_smallest_shop_shows_what_it_has() {
        let mut state = State::tiny(7);
        state.ecommerce.lines = 1;
        assert!(lines(&state, 1, 1).all(|line| line == 1));
        assert!(search(&state, 1, 1, 1).all(|model| model < 10));
    }

    #[test]
    fn a_price_is_the_sum_of_its_parts() {
        let state = State::tiny(7);
        let choice = Choice::parse("01234").expect("a choice");
        let base = model_price(&state, 5);
        let plain = price(&state, 5, &[None; 3], 1, 4);
        assert_eq!(plain.total, base);
        let options: u64 = (1..=5)
            .map(|group| option_price(&state, 5, 2, group, group - 1).0)
            .sum();
        let chosen = price(&state, 5, &[None, Some(choice), None], 3, 4);
        assert_eq!(chosen.total.0, 3 * (base.0 + options));
        let exact = chosen.total.0 as f64 * tax_rate(&state, 4) as f64 / 10_000.0;
        assert!((chosen.tax.0 as f64 - exact).abs() <= 0.5);
    }

    #[test]
    fn choices_are_five_digits() {
        assert_eq!(
            Choice::parse("01234")
                .map(|choice| choice.to_string())
                .as_deref(),
            Some("01234")
        );
        for text in ["", "0123", "012345", "01235", "0123x", "-1234", "０1"] {
            assert_eq!(Choice::parse(text), None, "{text}");
        }
    }

    #[test]
    fn shipping_is_dearer_and_faster_by_method() {
        let state = State::tiny(7);
        let days = [1, 2, 3].map(|method| shipping_day(&state, method).to_string());
        assert_eq!(days, ["20041014", "20041012", "20041010"]);
        for method in 1..=3 {
            let cost = shipping_cost(&state, 9, method).0;
            assert!((500 * u64::from(method)..500 * u64::from(method) + 500).contains(&cost));
        }
        assert_eq!(masked(42), "xxxxxxxxxxxx0042");
    }
}
