//! Customers: one row of CUSTOMERS, drawn in the order of the kit.

use rookery_cast::{index, low_u32};

use super::{COUNTRIES, STATES};
use crate::dvdstore::{
    Rows,
    random::{CRand, GnuRand, NewlibRand},
};

/// The half of the customers that one load file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CustomerHalf {
    /// Ids `1..=C/2`, in the United States: `us_cust.csv`.
    Us,
    /// Ids `C/2+1..=C`, in the rest of the world: `row_cust.csv`.
    RestOfWorld,
}

impl CustomerHalf {
    /// Both halves, in the order of their ids.
    pub const ALL: [Self; 2] = [Self::Us, Self::RestOfWorld];

    /// First and last customer id of this half.
    #[must_use]
    pub fn ids(self, rows: Rows) -> (u64, u64) {
        let half = rows.customers / 2;
        match self {
            Self::Us => (1, half),
            Self::RestOfWorld => (half + 1, rows.customers),
        }
    }
}

/// Which C library's `rand` draws the customers. Both give equally valid data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CustomerRandom {
    /// newlib: the published customer files.
    #[default]
    Newlib,
    /// GNU libc: what the kit's generator makes when it is compiled on Linux.
    Gnu,
}

/// One row of CUSTOMERS. Names are capital letters, stored without allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customer {
    /// `1..=customers`; the user name is `user<id>`.
    pub id: u64,
    /// First name.
    pub first_name: [u8; 6],
    /// Last name.
    pub last_name: [u8; 10],
    /// City.
    pub city: [u8; 7],
    /// Two-letter state, empty outside the United States.
    pub state: &'static str,
    /// `10000..=99999`, or 0 outside the United States; printed as five digits.
    pub zip: u32,
    /// `US` or the name of the country.
    pub country: &'static str,
    /// 1 in the United States, else 2.
    pub region: u8,
    /// Ten digits.
    pub phone: u64,
    /// `1..=5`.
    pub card_type: u8,
    /// Sixteen digits.
    pub card: u64,
    /// Year of the card's expiration, `2008..=2012`.
    pub expiration_year: u16,
    /// Month of the card's expiration, `1..=12`.
    pub expiration_month: u8,
    /// Years, `18..=90`.
    pub age: u8,
    /// 20 000 to 100 000 in steps of 20 000.
    pub income: u32,
    /// `M` or `F`.
    pub gender: &'static str,
}

impl Customer {
    /// The password of every loaded customer.
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

    /// First line of the address; the second line is always empty.
    #[must_use]
    pub fn address1(&self) -> String {
        format!("{} Dell Way", self.phone)
    }

    /// Mail address.
    #[must_use]
    pub fn email(&self) -> String {
        format!("{}@dell.com", self.last_name())
    }

    /// Card expiration as `YYYY/MM`.
    #[must_use]
    pub fn expiration(&self) -> String {
        format!("{}/{:02}", self.expiration_year, self.expiration_month)
    }

    /// User name for the login.
    #[must_use]
    pub fn username(&self) -> String {
        format!("user{}", self.id)
    }
}

fn letters(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("drawn names are ASCII letters")
}

/// The customers of one load file, in order of their ids.
#[derive(Clone, Debug)]
pub struct Customers {
    source: Source,
    half: CustomerHalf,
    next: u64,
    last: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Newlib(NewlibRand),
    Gnu(GnuRand),
}

impl Customers {
    /// The customers of `half` in a database of `rows`; the stream is seeded by the first id.
    #[must_use]
    pub fn new(rows: Rows, half: CustomerHalf, random: CustomerRandom) -> Self {
        let (next, last) = half.ids(rows);
        let source = match random {
            CustomerRandom::Newlib => Source::Newlib(NewlibRand::new(low_u32(next))),
            CustomerRandom::Gnu => Source::Gnu(GnuRand::new(low_u32(next))),
        };
        Self {
            source,
            half,
            next,
            last,
        }
    }
}

impl Iterator for Customers {
    type Item = Customer;

    #[inline]
    fn next(&mut self) -> Option<Customer> {
        if self.next > self.last {
            return None;
        }
        let id = self.next;
        self.next += 1;
        Some(match &mut self.source {
            Source::Newlib(rand) => draw(rand, id, self.half),
            Source::Gnu(rand) => draw(rand, id, self.half),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = index(self.last + 1 - self.next);
        (left, Some(left))
    }
}

/// Draws one customer; the order of the draws is part of the format, and fields are evaluated as
/// written.
#[inline]
fn draw(rand: &mut impl CRand, id: u64, half: CustomerHalf) -> Customer {
    let first_name = rand.letters();
    let last_name = rand.letters();
    let city = rand.letters();
    let (state, zip, country, region) = match half {
        CustomerHalf::Us => {
            let state = STATES[usize::from(rand.pick_as(0_u8, 50))];
            (state, rand.pick_as::<u32>(10_000, 99_999), "US", 1)
        }
        CustomerHalf::RestOfWorld => ("", 0, COUNTRIES[usize::from(rand.pick_as(0_u8, 9))], 2),
    };
    Customer {
        id,
        first_name,
        last_name,
        city,
        state,
        zip,
        country,
        region,
        phone: rand.pick(1_000_000_000, 9_999_999_999),
        card_type: rand.pick_as::<u8>(1, 5),
        card: rand.pick(1_000_000_000_000_000, 9_999_999_999_999_999),
        expiration_year: 2007 + rand.pick_as::<u16>(1, 5),
        expiration_month: rand.pick_as::<u8>(1, 12),
        age: rand.pick_as::<u8>(18, 90),
        income: 20_000 * rand.pick_as::<u32>(1, 5),
        gender: if rand.pick(0, 1) == 1 { "M" } else { "F" },
    }
}
