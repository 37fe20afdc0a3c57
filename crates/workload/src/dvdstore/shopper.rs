//! What one emulated shopper draws: the loop of the original driver, repeatable.

use std::time::Duration;

use rand_pcg::Pcg32;

use super::{
    ShopperParams, WordLists,
    data::{COUNTRIES, STATES},
    pages::{LineItem, Search},
};
use crate::{
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

/// The form of a new customer, without the user name. Names are capital letters, stored without
/// allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCustomer {
    /// First name.
    pub first_name: [u8; 6],
    /// Last name; the mail address is `<last>@dell.com`.
    pub last_name: [u8; 10],
    /// City.
    pub city: [u8; 7],
    /// Two-letter state, empty outside the United States.
    pub state: &'static str,
    /// `0..=99999` printed without padding; nothing outside the United States.
    pub zip: Option<u32>,
    /// `US` or the name of the country.
    pub country: &'static str,
    /// `100..=999`, the first digits of the phone number; the address is `<phone> Dell Way`.
    pub phone_area: u16,
    /// `0..=9999999`, the other digits, without padding.
    pub phone_number: u32,
    /// `1..=5`.
    pub card_type: u8,
    /// The two halves of the card number, eight digits each.
    pub card_halves: [u32; 2],
    /// `1..=12`.
    pub expiration_month: u8,
    /// `2008..=2012`.
    pub expiration_year: u16,
    /// Years, `18..=99`.
    pub age: u8,
    /// 20 000 to 100 000 in steps of 20 000.
    pub income: u32,
    /// `M` or `F`.
    pub gender: &'static str,
}

impl NewCustomer {
    /// The password of every new customer.
    pub const PASSWORD: &'static str = "password";

    /// First name as text.
    #[must_use]
    pub fn first_name(&self) -> &str {
        letters(&self.first_name)
    }

    /// Last name as text.
    #[must_use]
    pub fn last_name(&self) -> &str {
        letters(&self.last_name)
    }

    /// City as text.
    #[must_use]
    pub fn city(&self) -> &str {
        letters(&self.city)
    }
}

fn letters(bytes: &[u8]) -> &str {
    // A caller may fill the fields with other bytes; what is no text is then sent empty.
    std::str::from_utf8(bytes).unwrap_or_default()
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
        let (state, zip, country) = if uniform(rng, 0, 1) == 1 {
            let zip = uniform(rng, 0, 99_999) as u32;
            // The original never draws the last state.
            (STATES[uniform(rng, 0, 49) as usize], Some(zip), "US")
        } else {
            ("", None, COUNTRIES[uniform(rng, 0, 9) as usize])
        };
        NewCustomer {
            first_name,
            last_name,
            city,
            state,
            zip,
            country,
            phone_area: uniform(rng, 100, 999) as u16,
            phone_number: uniform(rng, 0, 9_999_999) as u32,
            card_type: uniform(rng, 1, 5) as u8,
            card_halves: [0; 2].map(|_| uniform(rng, 10_000_000, 99_999_999) as u32),
            expiration_month: uniform(rng, 1, 12) as u8,
            expiration_year: 2008 + uniform(rng, 0, 4) as u16,
            age: uniform(rng, 18, 99) as u8,
            income: 20_000 * uniform(rng, 1, 5) as u32,
            gender: if uniform(rng, 0, 1) == 1 { "M" } else { "F" },
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
        let search = match uniform(rng, 0, 2) {
            0 => Search::Category(uniform(rng, 1, 16) as u8),
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
            quantity: uniform(rng, 1, 3) as u32,
        }));
    }

    /// The pause after an order in microseconds, uniform in `[0, 2 * mean)`.
    pub fn think_us(&mut self, mean: Duration) -> u64 {
        self.delays.think_us(mean)
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
    [0; N].map(|_| uniform(rng, u64::from(b'A'), u64::from(b'Z')) as u8)
}

/// Uniform in `1..=2 * mean - 1`; a mean of 0 counts as 1.
fn around(rng: &mut Pcg32, mean: u32) -> u32 {
    uniform(rng, 1, 2 * u64::from(mean.max(1)) - 1).min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
