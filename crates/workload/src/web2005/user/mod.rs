//! What one user draws: who it is, and the arguments of its requests.

mod banking;
mod ecommerce;
mod support;

use rand_pcg::Pcg32;

use super::{Arrival, Model, PageRequest, WebData};
use crate::{random::RandomSource, streams::UserStreams};

use banking::BankingSession;
use ecommerce::EcommerceSession;
use support::SupportSession;

/// The draws of one user beside its walk.
#[derive(Clone, Debug)]
pub struct WebUser {
    slot: u32,
    data: Pcg32,
    /// What browsers do by chance: a stream of its own.
    cache: Pcg32,
    session: Session,
}

/// What a user has of its session.
#[derive(Clone, Debug)]
enum Session {
    Banking(BankingSession),
    Ecommerce(Box<EcommerceSession>),
    Support(SupportSession),
}

impl WebUser {
    /// The user `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`. Its session slot
    /// is its number; beyond the sessions that the file set is for, slots are shared.
    #[must_use]
    pub fn new(data: &WebData, trial_seed: u64, guest: u32, user: u32) -> Self {
        let streams = UserStreams::new(trial_seed, guest, user);
        let mut source = streams.data();
        let cache = Pcg32::new(source.bits(), source.bits());
        Self {
            slot: user % data.shape.sessions().max(1),
            data: source,
            cache,
            session: Session::new(data.shape.model()),
        }
    }

    /// The request of the page that the user comes to. The first of a session picks who it is.
    pub fn request(&mut self, data: &WebData, arrival: Arrival) -> PageRequest {
        if arrival.is_first {
            self.session = Session::new(data.shape.model());
        }
        let mut draw = Draw {
            data,
            slot: self.slot,
            source: &mut self.data,
        };
        match &mut self.session {
            Session::Banking(session) => session.request(&mut draw, arrival),
            Session::Ecommerce(session) => session.request(&mut draw, arrival),
            Session::Support(session) => session.request(&mut draw, arrival),
        }
    }

    /// The page came as it should: what the session has from it.
    pub fn answered(&mut self, arrival: Arrival) {
        if let Session::Ecommerce(session) = &mut self.session {
            session.answered(arrival);
        }
    }

    /// Whether what a browser does in so many of a hundred cases is done this time.
    pub fn browser_does(&mut self, percent: u8) -> bool {
        self.cache.fraction() * 100.0 < f64::from(percent)
    }
}

impl Session {
    fn new(model: Model) -> Self {
        match model {
            Model::Banking => Self::Banking(BankingSession::default()),
            Model::Ecommerce => Self::Ecommerce(Box::default()),
            Model::Support => Self::Support(SupportSession::default()),
        }
    }
}

/// What arguments are drawn from.
struct Draw<'d> {
    data: &'d WebData,
    slot: u32,
    source: &'d mut Pcg32,
}

impl Draw<'_> {
    /// A number from 0 on, below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        // Below a number of 32 bits.
        rookery_cast::low_u32(self.source.below(u64::from(bound.max(1))))
    }

    /// A number from 1 to `count`.
    fn one_of(&mut self, count: u32) -> u32 {
        self.below(count) + 1
    }

    /// An identity of the pool of the user's session slot, which has so many.
    fn identity(&mut self, pool: u32) -> u32 {
        self.slot
            .saturating_mul(pool)
            .saturating_add(self.one_of(pool))
    }

    /// Letters of a word that someone types.
    fn word(&mut self, letters: u32) -> String {
        (0..letters)
            .map(|_| {
                char::from(
                    b'a' + rookery_cast::count_u8(rookery_cast::index(self.source.below(26))),
                )
            })
            .collect()
    }

    /// So many decimal digits.
    fn digits(&mut self, count: u32) -> String {
        (0..count)
            .map(|_| char::from_digit(self.below(10), 10).unwrap_or('0'))
            .collect()
    }

    /// Address and telephone of someone.
    fn address(&mut self) -> Address {
        Address {
            name: format!("{} {}", self.word(6), self.word(8)),
            street: format!("{} {} street", self.one_of(999), self.word(7)),
            city: self.word(9),
            state: self.word(2).to_ascii_uppercase(),
            zip: self.digits(5),
            phone: format!("{}-{}-{}", self.digits(3), self.digits(3), self.digits(4)),
        }
    }
}

/// Address and telephone that a user types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Address {
    name: String,
    street: String,
    city: String,
    state: String,
    zip: String,
    phone: String,
}

#[cfg(test)]
mod tests;
