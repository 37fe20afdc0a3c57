//! What one user draws: its walk, its delays, its data.

use std::time::Duration;

use rand_pcg::Pcg32;

use super::{Drawn, Dry, Feeder, Per, Place, Population, Walk};
use crate::{
    RandomDelay,
    random::RandomSource as _,
    streams::{UserDelays, UserStreams},
};

/// The random streams of one user, and where it is on its walk.
#[derive(Clone, Debug)]
pub struct DescribedUser {
    choice: Pcg32,
    delays: UserDelays,
    data: Pcg32,
    place: Place,
    /// Draws from each feeder.
    drawn: Vec<u64>,
    identity: Identity,
}

#[derive(Clone, Copy, Debug)]
struct Identity {
    seed: u64,
    guest: u32,
    user: u32,
    population: Population,
}

impl DescribedUser {
    /// The user `user` (from 0) of the `population` of `guest` (from 0) in the trial of `seed`,
    /// with so many feeders.
    #[must_use]
    pub fn new(feeders: usize, seed: u64, guest: u32, user: u32, population: Population) -> Self {
        let streams = UserStreams::new(seed, guest, user);
        Self {
            choice: streams.choice(),
            delays: streams.delays(),
            data: streams.data(),
            place: Place::default(),
            drawn: vec![0; feeders],
            identity: Identity {
                seed,
                guest,
                user,
                population,
            },
        }
    }

    /// Its number at its guest.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.identity.user
    }

    /// The index of its guest.
    #[must_use]
    pub fn guest(&self) -> u32 {
        self.identity.guest
    }

    /// The next operation of the session; `None` when it ends here.
    pub fn step(&mut self, walk: &Walk) -> Option<usize> {
        walk.next(&mut self.place, self.choice.fraction())
    }

    /// The session ends, wherever it is.
    pub fn leave(&mut self) {
        self.place = Place::default();
    }

    /// A uniform number in `[0, 1)`.
    pub fn fraction(&mut self) -> f64 {
        self.choice.fraction()
    }

    /// Draws from a feeder and hands the value of each column over.
    ///
    /// # Errors
    /// [`Dry`] when it has no more.
    pub fn draw(
        &mut self,
        index: usize,
        feeder: &Feeder,
        give: impl FnMut(&[u8]),
    ) -> Result<(), Dry> {
        let Identity {
            seed,
            guest,
            user,
            population,
        } = self.identity;
        let before = self.drawn[index];
        self.drawn[index] += 1;
        let drawn = Drawn {
            seed,
            guest,
            user,
            population,
            before,
        };
        feeder.draw(&mut self.data, drawn, give)
    }

    /// A delay in microseconds.
    pub fn delay_us(&mut self, delay: RandomDelay) -> u64 {
        self.delays.think_us(delay)
    }

    /// The pause before the first operation in microseconds, uniform in `[0, max)`.
    pub fn initial_us(&mut self, max: Duration) -> u64 {
        self.delays.initial_us(max)
    }
}

impl Feeder {
    /// Whether what it gives is kept for a session.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.per == Per::Session
    }
}
