//! Which page a user asks for next, and how long it thinks before.

use std::time::Duration;

use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};

use super::{Chain, Model};
use crate::{
    data_driven::Steps,
    random::RandomSource as _,
    streams::{UserDelays, UserStreams},
};

/// Think time: exponential, cut at a longest one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebThink {
    /// Its mean before it is cut.
    pub mean: Duration,
    /// The longest one.
    pub max: Duration,
}

impl WebThink {
    /// That of the original.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let (mean_s, max_s) = model.think_s();
        Self {
            mean: Duration::from_secs_f64(mean_s),
            max: Duration::from_secs_f64(max_s),
        }
    }
}

/// The walk of one user: session after session, without a gap between them.
#[derive(Clone, Debug)]
pub struct WebWalk {
    model: Model,
    choice: Pcg32,
    delays: UserDelays,
    /// The state that comes next; none where a session begins.
    next: Option<usize>,
}

/// A page that a user comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The state of the chain.
    pub state: usize,
    /// Its page type: an index of [`Model::pages`].
    pub page: usize,
    /// It is the first of a session.
    pub is_first: bool,
}

/// How it went on after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// This state follows.
    Next(usize),
    /// The session ended as it should.
    Ended,
    /// The user left without an end.
    Left,
    /// The page failed: the session is over.
    Broken,
}

impl WebWalk {
    /// That of the user `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`.
    #[must_use]
    pub fn new(model: Model, trial_seed: u64, guest: u32, user: u32) -> Self {
        let streams = UserStreams::new(trial_seed, guest, user);
        Self {
            model,
            choice: streams.choice(),
            delays: streams.delays(),
            next: None,
        }
    }

    /// The page that the user comes to.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        let state = self.next.unwrap_or_default();
        Arrival {
            state,
            page: self.model.states()[state].page,
            is_first: self.next.is_none(),
        }
    }

    /// Draws what comes after the page of `state`. A page that failed ends the session.
    pub fn advance(&mut self, state: usize, failed: bool) -> Onward {
        let onward = if failed {
            Onward::Broken
        } else {
            self.draw(state)
        };
        self.next = match onward {
            Onward::Next(state) => Some(state),
            Onward::Ended | Onward::Left | Onward::Broken => None,
        };
        onward
    }

    fn draw(&mut self, state: usize) -> Onward {
        let next = self.model.states()[state].next;
        if next.is_empty() {
            return Onward::Ended;
        }
        let mut left = self.choice.fraction();
        for &(to, probability) in next {
            left -= probability;
            if left < 0.0 {
                return Onward::Next(to);
            }
        }
        // Rounding may leave nothing of the end of a row that no one leaves.
        match next.last() {
            Some(&(to, _)) if left < ROUNDING => Onward::Next(to),
            _ => Onward::Left,
        }
    }

    /// The pause before the page that comes next, us: none before the first of a session and before
    /// what a browser loads by itself.
    pub fn think_us(&mut self, think: WebThink) -> u64 {
        let arrival = self.arrival();
        if arrival.is_first || !self.model.pages()[arrival.page].thinks() {
            return 0;
        }
        self.delays.exponential_us(think.mean, think.max)
    }

    /// The pause of a new user before its first session, us, uniform in `[0, longest)`.
    pub fn initial_us(&mut self, longest: Duration) -> u64 {
        self.delays.initial_us(longest)
    }
}

/// What sums of probabilities may miss of 1.
const ROUNDING: f64 = 1e-9;

impl Model {
    /// The name of a state of its chain: that of its page type, told apart where it has two.
    #[must_use]
    pub fn state_name(self, state: usize) -> String {
        let page = self.states()[state].page;
        let name = self.pages()[page].name;
        let same = |other: &usize| self.states()[*other].page == page;
        match (0..self.states().len()).filter(same).collect::<Vec<_>>()[..] {
            [_] => name.to_owned(),
            [first, ..] if first == state => format!("{name} (first)"),
            _ => format!("{name} (then)"),
        }
    }

    /// No step yet of its chain.
    #[must_use]
    pub fn steps(self) -> Steps {
        let states = self.states();
        let width = states.len() + 1;
        let mut expected = vec![vec![0.0; width]; width];
        for (row, state) in expected.iter_mut().zip(states) {
            let mut leaves = 1.0;
            for &(to, probability) in state.next {
                row[to] += probability;
                leaves -= probability;
            }
            row[width - 1] = if leaves < ROUNDING { 0.0 } else { leaves };
        }
        expected[width - 1][0] = 1.0;
        Steps {
            transitions: vec![vec![0; width]; width],
            expected,
            operations: (0..states.len())
                .map(|state| self.state_name(state))
                .collect(),
        }
    }

    /// The chain as numbers.
    #[must_use]
    pub fn chain(self) -> Chain {
        Chain::new(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of the simulated walks.
    const PAGES: u32 = 1_000_000;

    fn simulated(model: Model) -> (Vec<u64>, u64, u64) {
        let mut walk = WebWalk::new(model, 2005, 0, 7);
        let mut counts = vec![0; model.pages().len()];
        let (mut ended, mut left) = (0, 0);
        for _ in 0..PAGES {
            let arrival = walk.arrival();
            counts[arrival.page] += 1;
            match walk.advance(arrival.state, false) {
                Onward::Ended => ended += 1,
                Onward::Left => left += 1,
                Onward::Next(_) => {}
                Onward::Broken => panic!("no page failed"),
            }
        }
        (counts, ended, left)
    }

    #[test]
    fn shares_of_a_million_pages_are_those_of_the_chain() {
        for model in Model::ALL {
            let (counts, ended, left) = simulated(model);
            let chain = model.chain();
            for (place, count) in counts.iter().enumerate() {
                let share = chain.share(place);
                let error = (share * (1.0 - share) / f64::from(PAGES)).sqrt();
                let found = *count as f64 / f64::from(PAGES);
                let name = model.pages()[place].name;
                assert!(
                    (found - share).abs() < 4.0 * error,
                    "{name}: {found} of {share}"
                );
            }
            let sessions = (ended + left) as f64;
            assert!((f64::from(PAGES) / sessions / chain.pages_per_session - 1.0).abs() < 0.01);
            assert!((ended as f64 / sessions - chain.completed).abs() < 0.005);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_walk_and_another_another() {
        let states = |seed, user| -> Vec<usize> {
            let mut walk = WebWalk::new(Model::Ecommerce, seed, 0, user);
            let mut step = || {
                let state = walk.arrival().state;
                walk.advance(state, false);
                state
            };
            (0..50).map(|_| step()).collect()
        };
        assert_eq!(states(1, 0), states(1, 0));
        assert_ne!(states(1, 0), states(2, 0));
        assert_ne!(states(1, 0), states(1, 1));
    }

    #[test]
    fn no_one_thinks_before_a_first_page_or_a_check_image() {
        let think = WebThink::new(Model::Banking);
        let mut walk = WebWalk::new(Model::Banking, 3, 0, 0);
        let (mut thinking, mut sum, mut longest) = (0_u32, 0.0, 0);
        for _ in 0..50_000 {
            let pause = walk.think_us(think);
            let arrival = walk.arrival();
            let none =
                arrival.is_first || Model::Banking.pages()[arrival.page].name == "check_image";
            if none {
                assert_eq!(pause, 0);
            } else {
                thinking += 1;
                sum += pause as f64 / 1e6;
                longest = longest.max(pause);
            }
            walk.advance(arrival.state, false);
        }
        assert!((sum / f64::from(thinking) - 10.0).abs() < 0.25);
        assert!(longest <= 150_000_000);
        assert!((f64::from(thinking) / 50_000.0 - 0.61578).abs() < 0.01);
    }

    #[test]
    fn a_failed_page_ends_the_session() {
        let mut walk = WebWalk::new(Model::Support, 3, 0, 0);
        walk.advance(0, false);
        assert!(!walk.arrival().is_first);
        assert_eq!(walk.advance(walk.arrival().state, true), Onward::Broken);
        assert!(walk.arrival().is_first);
    }

    #[test]
    fn steps_expect_what_the_chain_draws() {
        for model in Model::ALL {
            let steps = model.steps();
            for (state, row) in model.states().iter().zip(&steps.expected) {
                let sum: f64 = row.iter().sum();
                assert!((sum - 1.0).abs() < 1e-9, "{state:?}: {row:?}");
            }
        }
        let names = Model::Banking.steps().operations;
        assert_eq!(
            (&*names[15], &*names[16]),
            ("check_image (first)", "check_image (then)")
        );
        assert_eq!(names[0], "login");
    }
}
