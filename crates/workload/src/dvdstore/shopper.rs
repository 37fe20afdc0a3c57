//! What one emulated shopper draws: the loop of the original driver, repeatable.

use std::time::Duration;

use rand_pcg::Pcg32;
use rookery_cast::low_u32;

use super::{
    ShopperParams, WordLists,
    data::{COUNTRIES, STATES},
    pages::{LineItem, NewCustomer, Search},
};
use crate::{
    delay::RandomDelay,
    random::RandomSource as _,
    streams::{UserDelays, UserStreams, uniform},
};

/// How an order begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A customer of the loaded database logs in as `user<customer>`.
    Login {
        /// `1..=customers`.
        customer: u64,
    },
    /// A new customer registers.
    NewCustomer,
}

/// The random streams of one emulated user.
///
/// Three streams, so that a change of one does not shift the others: what is chosen, how long the
/// user pauses, and the data of new customers. The same (trial seed, guest, user) gives the same
/// sequence on every machine.
#[derive(Clone, Debug)]
pub struct Shopper {
    choice: Pcg32,
    delays: UserDelays,
    data: Pcg32,
}

impl Shopper {
    /// The shopper `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`.
    #[must_use]
    pub fn new(trial_seed: u64, guest: u32, user: u32) -> Self {
        let streams = UserStreams::new(trial_seed, guest, user);
        Self {
            choice: streams.choice(),
            delays: streams.delays(),
            data: streams.data(),
        }
    }

    /// How the next order begins.
    pub fn opening(&mut self, p: &ShopperParams) -> Opening {
        if self.choice.fraction() >= p.new_customers {
            Opening::Login {
                customer: uniform(&mut self.choice, 1, p.size.rows().customers),
            }
        } else {
            Opening::NewCustomer
        }
    }

    /// The personal data of a new customer.
    pub fn person(&mut self) -> NewCustomer {
        let rng = &mut self.data;
        let (first_name, last_name, city) = (word(rng), word(rng), word(rng));
        let (state, zip, country) = if uniform(rng, 0_u8, 1) == 1 {
            let zip = uniform::<u32>(rng, 0, 99_999);
            // The original never draws the last state.
            (STATES[usize::from(uniform(rng, 0_u8, 49))], Some(zip), "US")
        } else {
            ("", None, COUNTRIES[usize::from(uniform(rng, 0_u8, 9))])
        };
        NewCustomer {
            first_name,
            last_name,
            city,
            state,
            zip,
            country,
            phone_area: uniform::<u16>(rng, 100, 999),
            phone_number: uniform::<u32>(rng, 0, 9_999_999),
            card_type: uniform::<u8>(rng, 1, 5),
            card_halves: [0; 2].map(|_| uniform::<u32>(rng, 10_000_000, 99_999_999)),
            expiration_month: uniform::<u8>(rng, 1, 12),
            expiration_year: 2008 + uniform::<u16>(rng, 0, 4),
            age: uniform::<u8>(rng, 18, 99),
            income: 20_000 * uniform::<u32>(rng, 1, 5),
            gender: if uniform(rng, 0_u8, 1) == 1 { "M" } else { "F" },
        }
    }

    /// The number `n` of the next user name to try, `newuser<n>`; draw again while the name is in
    /// use.
    pub fn new_name_number(&mut self, p: &ShopperParams) -> u64 {
        uniform(&mut self.data, 1, p.size.rows().customers)
    }

    /// How many searches the order has, `1..=2n-1`.
    pub fn search_count(&mut self, p: &ShopperParams) -> u32 {
        around(&mut self.choice, p.searches)
    }

    /// The next search and the rows it asks for, `1..=2n-1`.
    pub fn search<'w>(&mut self, p: &ShopperParams, words: &'w WordLists) -> (Search<'w>, u32) {
        let rng = &mut self.choice;
        let limit = around(rng, p.search_batch);
        let search = match uniform(rng, 0_u8, 2) {
            0 => Search::Category(uniform::<u8>(rng, 1, 16)),
            1 => Search::Actor {
                first: one_of(rng, &words.first_names),
                last: one_of(rng, &words.last_names),
            },
            _ => Search::Title {
                first: one_of(rng, &words.titles),
                second: one_of(rng, &words.titles),
            },
        };
        (search, limit)
    }

    /// Replaces `out` with the items of the order, `1..=2n-1` of them; a product may occur twice.
    ///
    /// Products whose id is a multiple of 10 000 are drawn ten times as often as the others.
    pub fn basket(&mut self, p: &ShopperParams, out: &mut Vec<LineItem>) {
        out.clear();
        let rng = &mut self.choice;
        let products = p.size.rows().products;
        let count = around(rng, p.line_items);
        out.extend((0..count).map(|_| LineItem {
            product: weighted_product(rng, products),
            quantity: uniform::<u32>(rng, 1, 3),
        }));
    }

    /// The pause after an order in microseconds.
    pub fn think_us(&mut self, delay: RandomDelay) -> u64 {
        self.delays.think_us(delay)
    }

    /// The pause before the first order in microseconds, uniform in `[0, max)`.
    pub fn initial_delay_us(&mut self, max: Duration) -> u64 {
        self.delays.initial_us(max)
    }
}

/// A product from the weighted list: every product once, then each multiple of 10 000 nine times
/// more.
fn weighted_product(rng: &mut Pcg32, products: u64) -> u64 {
    let places = products + 9 * (products / 10_000);
    product_at(rng.below(places), products)
}

/// The product at a place of the weighted list, counted from 0.
fn product_at(place: u64, products: u64) -> u64 {
    if place < products {
        place + 1
    } else {
        ((place - products) / 9 + 1) * 10_000
    }
}

fn one_of<'w>(rng: &mut Pcg32, words: &'w [String]) -> &'w str {
    words.get(rng.index(words.len())).map_or("", String::as_str)
}

fn word<const N: usize>(rng: &mut Pcg32) -> [u8; N] {
    [0; N].map(|_| uniform(rng, b'A', b'Z'))
}

/// Uniform in `1..=2 * mean - 1`; a mean of 0 counts as 1.
fn around(rng: &mut Pcg32, mean: u32) -> u32 {
    low_u32(uniform(rng, 1, 2 * u64::from(mean.max(1)) - 1).min(u64::from(u32::MAX)))
}

#[cfg(test)]
mod tests;
