//! What one emulated shopper draws: the loop of the original driver, repeatable.

use std::time::Duration;

use rand_core::Rng;
use rand_pcg::Pcg32;
use rookery_cast::{index, low_u32};

use super::{
    ShopperParams, WordLists,
    data::{COUNTRIES, STATES},
    pages::{LineItem, NewCustomer, Search},
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
    pacing: Pcg32,
    data: Pcg32,
}

impl Shopper {
    /// The shopper `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`.
    #[must_use]
    pub fn new(trial_seed: u64, guest: u32, user: u32) -> Self {
        let identity = mix(trial_seed).wrapping_add(u64::from(guest) << 32 | u64::from(user));
        let stream = |purpose: u64| {
            let state = mix(mix(identity).wrapping_add(purpose));
            Pcg32::new(state, mix(state))
        };
        Self {
            choice: stream(1),
            pacing: stream(2),
            data: stream(3),
        }
    }

    /// How the next order begins.
    pub fn opening(&mut self, p: &ShopperParams) -> Opening {
        if fraction(&mut self.choice) >= p.new_customers {
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

    /// The pause after an order in microseconds, uniform in `[0, 2 * mean)`.
    pub fn think_us(&mut self, mean: Duration) -> u64 {
        below(&mut self.pacing, 2 * microseconds(mean))
    }

    /// The pause before the first order in microseconds, uniform in `[0, max)`.
    pub fn initial_delay_us(&mut self, max: Duration) -> u64 {
        below(&mut self.pacing, microseconds(max))
    }
}

/// Whole microseconds, bounded so that twice the value cannot overflow.
fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros())
        .unwrap_or(u64::MAX)
        .min(u64::MAX / 2)
}

/// A product from the weighted list: every product once, then each multiple of 10 000 nine times
/// more.
fn weighted_product(rng: &mut Pcg32, products: u64) -> u64 {
    let places = products + 9 * (products / 10_000);
    product_at(below(rng, places), products)
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
    words
        .get(index(below(rng, words.len() as u64)))
        .map_or("", String::as_str)
}

fn word<const N: usize>(rng: &mut Pcg32) -> [u8; N] {
    [0; N].map(|_| uniform(rng, b'A', b'Z'))
}

/// Uniform in `1..=2 * mean - 1`; a mean of 0 counts as 1.
fn around(rng: &mut Pcg32, mean: u32) -> u32 {
    low_u32(uniform(rng, 1, 2 * u64::from(mean.max(1)) - 1).min(u64::from(u32::MAX)))
}

/// Uniform integer, both ends included.
fn uniform<T: Copy + Into<u64> + TryFrom<u64>>(rng: &mut Pcg32, low: T, high: T) -> T {
    let (first, last) = (low.into(), high.into());
    // The draw is never above `high`, which fits.
    T::try_from(first + below(rng, last - first + 1)).unwrap_or(high)
}

/// Uniform in `0..bound`, 0 when `bound` is 0: the upper half of a 64-bit draw times the bound
/// (Lemire 2019, without the rejection step, whose bias is below 2^-32 for every range used here).
fn below(rng: &mut Pcg32, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Uniform in `[0, 1)` with 53 random bits.
fn fraction(rng: &mut Pcg32) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbouring numbers give unrelated ones.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
