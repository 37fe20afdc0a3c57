//! The random streams of one emulated user, and its pauses: what users of web workloads share.

use std::time::Duration;

use rand_pcg::Pcg32;

use crate::{
    delay::{RandomDelay, microseconds},
    random::{RandomSource as _, mix},
};

/// The random streams of one user: what it chooses, how long it pauses, the data that it makes up.
///
/// A change of one does not shift the others. The same (trial seed, guest, user) gives the same
/// streams on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserStreams {
    identity: u64,
}

impl UserStreams {
    /// Those of the user `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`.
    pub(crate) fn new(trial_seed: u64, guest: u32, user: u32) -> Self {
        let identity = mix(trial_seed).wrapping_add(u64::from(guest) << 32 | u64::from(user));
        Self { identity }
    }

    pub(crate) fn choice(self) -> Pcg32 {
        self.stream(1)
    }

    pub(crate) fn delays(self) -> UserDelays {
        UserDelays(self.stream(2))
    }

    pub(crate) fn data(self) -> Pcg32 {
        self.stream(3)
    }

    fn stream(self, purpose: u64) -> Pcg32 {
        let state = mix(mix(self.identity).wrapping_add(purpose));
        Pcg32::new(state, mix(state))
    }
}

/// The random pauses of one user.
#[derive(Clone, Debug)]
pub struct UserDelays(Pcg32);

impl UserDelays {
    /// Those of the user `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`.
    #[must_use]
    pub fn new(trial_seed: u64, guest: u32, user: u32) -> Self {
        UserStreams::new(trial_seed, guest, user).delays()
    }

    /// A pause between two acts in microseconds.
    pub fn think_us(&mut self, delay: RandomDelay) -> u64 {
        delay.microseconds(&mut self.0)
    }

    /// An exponential pause in microseconds, cut at `longest`.
    pub(crate) fn exponential_us(&mut self, mean: Duration, longest: Duration) -> u64 {
        let drawn = self.0.exponential() * microseconds(mean) as f64;
        rookery_cast::truncate_u64(drawn).min(microseconds(longest))
    }

    /// The pause before the first act in microseconds, uniform in `[0, max)`.
    pub fn initial_us(&mut self, max: Duration) -> u64 {
        self.0.below(microseconds(max))
    }
}

/// Uniform integer, both ends included.
pub(crate) fn uniform<T: Copy + Into<u64> + TryFrom<u64>>(rng: &mut Pcg32, low: T, high: T) -> T {
    let (first, last) = (low.into(), high.into());
    // The draw is never above `high`, which fits.
    T::try_from(first + rng.below(last - first + 1)).unwrap_or(high)
}
