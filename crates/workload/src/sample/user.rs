//! What one user of the sample workload draws.

use std::time::Duration;

use rand_pcg::Pcg32;

use super::{SampleOperation, TransitionMatrix};
use crate::{
    delay::RandomDelay,
    random::RandomSource as _,
    streams::{UserDelays, UserStreams, uniform},
};

/// The random streams of one user, and the operation that it did last.
#[derive(Clone, Debug)]
pub struct SampleUser {
    choice: Pcg32,
    delays: UserDelays,
    text: Pcg32,
    last: SampleOperation,
}

impl SampleUser {
    /// The user `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`. A user begins as
    /// if it had just seen a list.
    #[must_use]
    pub fn new(trial_seed: u64, guest: u32, user: u32) -> Self {
        let streams = UserStreams::new(trial_seed, guest, user);
        Self {
            choice: streams.choice(),
            delays: streams.delays(),
            text: streams.data(),
            last: SampleOperation::List,
        }
    }

    /// Draws what the user does next; the operation before it, and the new one.
    pub fn step(&mut self, matrix: &TransitionMatrix) -> (SampleOperation, SampleOperation) {
        let next = matrix.next(self.last, self.choice.fraction());
        (std::mem::replace(&mut self.last, next), next)
    }

    /// A record of the loaded ones, `1..=records`.
    pub fn record(&mut self, records: u32) -> u32 {
        self.up_to(records)
    }

    /// The first of `length` loaded records in a row.
    pub fn list_start(&mut self, records: u32, length: u32) -> u32 {
        self.up_to(records.saturating_sub(length).saturating_add(1))
    }

    fn up_to(&mut self, most: u32) -> u32 {
        uniform(&mut self.choice, 1, most.max(1))
    }

    /// The text of a new record: `length` small letters.
    pub fn text(&mut self, length: u32) -> String {
        (0..length)
            .map(|_| char::from(uniform(&mut self.text, b'a', b'z')))
            .collect()
    }

    /// The pause after an operation in microseconds.
    pub fn think_us(&mut self, delay: RandomDelay) -> u64 {
        self.delays.think_us(delay)
    }

    /// The pause before the first operation in microseconds, uniform in `[0, max)`.
    pub fn initial_delay_us(&mut self, max: Duration) -> u64 {
        self.delays.initial_us(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_user_and_another_another() {
        let steps = |seed, user| {
            let mut drawn = SampleUser::new(seed, 0, user);
            let matrix = TransitionMatrix::default();
            let operations: Vec<_> = (0..20).map(|_| drawn.step(&matrix)).collect();
            (operations, drawn.record(1000), drawn.text(8))
        };
        assert_eq!(steps(1, 0), steps(1, 0));
        assert_ne!(steps(1, 0), steps(2, 0));
        assert_ne!(steps(1, 0), steps(1, 1));
    }

    #[test]
    fn a_step_begins_where_the_last_ended() {
        let mut user = SampleUser::new(7, 1, 3);
        let matrix = TransitionMatrix::default();
        let mut last = SampleOperation::List;
        for _ in 0..100 {
            let (from, to) = user.step(&matrix);
            assert_eq!(from, last);
            last = to;
        }
    }

    #[test]
    fn lists_end_within_the_loaded_records() {
        let mut user = SampleUser::new(7, 1, 3);
        for _ in 0..200 {
            assert!((1..=11).contains(&user.list_start(20, 10)));
            assert!((1..=20).contains(&user.record(20)));
        }
        assert_eq!(user.list_start(5, 10), 1);
    }
}
