//! The constants C of the non-uniform distribution, and the rule that ties those of load and run.

use serde::{Deserialize, Serialize};

use super::random::{Purpose, Stream};

/// A of last names.
pub(crate) const A_LAST_NAME: u32 = 255;
/// A of customer numbers.
pub(crate) const A_CUSTOMER: u32 = 1023;
/// A of item numbers.
pub(crate) const A_ITEM: u32 = 8191;

/// The constant of last names in the population of `seed`, `0..=255`. The loader stores it; the
/// runner needs it.
#[must_use]
pub fn load_constant(seed: u64) -> u32 {
    Stream::new(seed, Purpose::LoadConstant, 0).between(0, A_LAST_NAME)
}

/// Whether the distance of the constants of load and run is allowed: 65 to 119, and neither 96 nor
/// 112.
#[must_use]
pub fn constants_fit(load: u32, run: u32) -> bool {
    let distance = load.abs_diff(run);
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

/// The constants of one run, the same for all of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunConstants {
    /// C of last names, `0..=255`.
    pub last_name: u32,
    /// C of customer numbers, `0..=1023`.
    pub customer: u32,
    /// C of item numbers, `0..=8191`.
    pub item: u32,
}

impl RunConstants {
    /// The constants of a run with `seed` over a population that was loaded with the constant
    /// `load`, `0..=255`.
    #[must_use]
    pub fn new(seed: u64, load: u32) -> Self {
        let load = load.min(A_LAST_NAME);
        let mut stream = Stream::new(seed, Purpose::RunConstants, 0);
        let mut last_name = stream.between(0, A_LAST_NAME);
        // From every `load` at least 53 of the 256 values fit, so this ends soon.
        while !constants_fit(load, last_name) {
            last_name = stream.between(0, A_LAST_NAME);
        }
        Self {
            last_name,
            customer: stream.between(0, A_CUSTOMER),
            item: stream.between(0, A_ITEM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_keeps_the_rule_over_many_seeds() {
        let mut runs = std::collections::BTreeSet::new();
        for seed in 0..10_000 {
            let load = load_constant(seed);
            let run = RunConstants::new(seed ^ 0x5eed, load);
            assert!(
                load <= 255 && run.last_name <= 255 && run.customer <= 1023 && run.item <= 8191
            );
            assert!(
                constants_fit(load, run.last_name),
                "{load} and {}",
                run.last_name
            );
            runs.insert(run.last_name);
        }
        assert_eq!(runs.len(), 256, "every constant is drawn");
    }

    #[test]
    fn forbidden_distances_do_not_fit() {
        for (load, run) in [(0, 64), (0, 120), (0, 96), (0, 112), (123, 123), (200, 104)] {
            assert!(!constants_fit(load, run), "{load} and {run}");
        }
        for (load, run) in [(0, 65), (119, 0), (157, 223)] {
            assert!(constants_fit(load, run), "{load} and {run}");
        }
    }

    #[test]
    fn every_load_constant_has_partners() {
        for load in 0..=255 {
            assert!(
                (0..=255).filter(|&run| constants_fit(load, run)).count() >= 53,
                "{load}"
            );
        }
    }
}
