//! The dial of the buffer hit ratio: which size of the buffer pool gives the ratio that is asked
//! for.
//!
//! A first guess comes from measured curves; then the size is searched by a secant on the logarithm
//! of the misses against the share of the database that the pool holds, within a bracket that every
//! measurement narrows.

use rookery_cast::truncate_u64;

use super::dialect::Dialect;

/// Rounds at most.
pub const MOST_ROUNDS: usize = 6;

/// A ratio within so much of the target ends the search.
pub const NEAR: f64 = 0.01;

/// A ratio within so much of the target is taken for the target.
pub const REACHED: f64 = 0.02;

/// Measured on MariaDB 10.11 with pages of 16 KiB: pool as a share of the database, hit ratio.
/// Uniform binding, no pauses, four warehouses.
const INNODB: [(f64, f64); 10] = [
    (0.045, 0.734),
    (0.067, 0.793),
    (0.088, 0.818),
    (0.13, 0.867),
    (0.17, 0.907),
    (0.25, 0.952),
    (0.32, 0.972),
    (0.47, 0.989),
    (0.60, 0.996),
    (0.87, 0.999),
];

/// The same on PostgreSQL 15 with pages of 8 KiB.
const POSTGRESQL: [(f64, f64); 10] = [
    (0.018, 0.761),
    (0.034, 0.829),
    (0.067, 0.843),
    (0.12, 0.925),
    (0.18, 0.956),
    (0.24, 0.970),
    (0.35, 0.988),
    (0.46, 0.996),
    (0.67, 0.998),
    (1.1, 0.999),
];

/// One size that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Size of the pool, bytes.
    pub bytes: u64,
    /// Hit ratio that was measured, 0 to 1.
    pub hit: f64,
}

/// The search for one pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Dial {
    target: f64,
    dialect: Dialect,
    database: u64,
    least: u64,
    most: u64,
    /// The server takes sizes in steps of so many bytes.
    step: u64,
    tried: Vec<Tried>,
    /// How many sizes no server worked with.
    refused: usize,
    /// What is known from elsewhere.
    hints: Vec<Tried>,
}

impl Dial {
    /// A search for `target` (0 to 1) on a database of so many bytes; pools are multiples of `step`
    /// from `least` to `most`, all in bytes.
    #[must_use]
    pub fn new(
        target: f64,
        dialect: Dialect,
        database: u64,
        least: u64,
        most: u64,
        step: u64,
    ) -> Self {
        let step = step.max(1);
        let least = least.max(step).next_multiple_of(step);
        Self {
            target,
            dialect,
            database: database.max(1),
            least,
            most: (most / step * step).max(least),
            step,
            tried: Vec::new(),
            refused: 0,
            hints: Vec::new(),
        }
    }

    /// The same search, begun where measurements of the same data elsewhere point to.
    #[must_use]
    pub fn with_hints(mut self, hints: Vec<Tried>) -> Self {
        self.hints = hints;
        self
    }

    /// The ratio that is asked for, 0 to 1.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.target
    }

    /// What was measured with a pool of `bytes`.
    pub fn tell(&mut self, bytes: u64, hit: f64) {
        self.tried.push(Tried {
            bytes,
            hit: hit.clamp(0.0, 1.0),
        });
    }

    /// A server does not work with a pool of `bytes`: only larger ones are tried from now on.
    /// Counts as a round.
    pub fn refuse(&mut self, bytes: u64) {
        self.refused += 1;
        self.least = self.least.max((bytes + self.step).min(self.most));
    }

    /// Every size that was tried, in order.
    #[must_use]
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// The size whose ratio came closest; nothing before the first measurement.
    #[must_use]
    pub fn best(&self) -> Option<Tried> {
        let distance = |tried: &Tried| (tried.hit - self.target).abs();
        self.tried
            .iter()
            .copied()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Whether the best size is as near as was asked for.
    #[must_use]
    pub fn reached(&self) -> bool {
        self.best()
            .is_some_and(|best| (best.hit - self.target).abs() <= REACHED)
    }

    /// The next size to try; nothing when the search is at its end.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        if self.tried.len() + self.refused >= MOST_ROUNDS {
            return None;
        }
        let Some(best) = self.best() else {
            return Some(self.rounded(self.first()));
        };
        if (best.hit - self.target).abs() <= NEAR {
            return None;
        }
        let (low, high) = self.bracket();
        let guess = self.rounded(self.guess(low, high));
        if self.is_new(guess) {
            return Some(guess);
        }
        let middle = self.rounded((low.bytes() * high.bytes()).sqrt());
        self.is_new(middle).then_some(middle)
    }

    /// The first size: what came closest elsewhere, or is likely by it; by the measured curves
    /// where nothing is known.
    fn first(&self) -> f64 {
        let mut elsewhere = self.clone();
        elsewhere.tried = std::mem::take(&mut elsewhere.hints);
        match elsewhere.best() {
            Some(best) if (best.hit - self.target).abs() <= NEAR => best.bytes as f64,
            Some(_) => {
                let (low, high) = elsewhere.bracket();
                elsewhere.guess(low, high)
            }
            None => first_share(self.dialect, self.target) * self.database as f64,
        }
    }

    fn is_new(&self, bytes: u64) -> bool {
        self.tried.iter().all(|tried| tried.bytes != bytes)
    }

    fn rounded(&self, bytes: f64) -> u64 {
        let steps = truncate_u64((bytes.max(0.0) / self.step as f64).round());
        (steps.saturating_mul(self.step)).clamp(self.least, self.most)
    }

    /// The largest size below the target and the smallest above it; the ends of the range where
    /// there is none.
    fn bracket(&self) -> (End, End) {
        let below = self
            .tried
            .iter()
            .filter(|tried| tried.hit < self.target)
            .max_by_key(|tried| tried.bytes);
        let above = self
            .tried
            .iter()
            .filter(|tried| tried.hit >= self.target)
            .min_by_key(|tried| tried.bytes);
        (
            below.map_or(End::Range(self.least), |tried| End::Tried(*tried)),
            above.map_or(End::Range(self.most), |tried| End::Tried(*tried)),
        )
    }

    fn guess(&self, low: End, high: End) -> f64 {
        let wanted = miss(self.target).ln();
        match (low, high) {
            (End::Tried(low), End::Tried(high)) if low.bytes < high.bytes => {
                let (from, to) = (miss(low.hit).ln(), miss(high.hit).ln());
                let part = if from > to {
                    (from - wanted) / (from - to)
                } else {
                    0.5
                };
                // A secant that stays at one end learns little.
                low.bytes as f64 + part.clamp(0.1, 0.9) * (high.bytes - low.bytes) as f64
            }
            // Only one side is known: as far as the measured curve is off here, it is there.
            (End::Tried(known), _) | (_, End::Tried(known)) => {
                let shares =
                    first_share(self.dialect, self.target) / first_share(self.dialect, known.hit);
                // Where the curve is far off, ever larger steps.
                let step =
                    (1.0 + 0.25 * f64::from(1u32 << (self.tried.len().clamp(1, 5) - 1))).min(4.0);
                let far = if known.hit < self.target {
                    shares.clamp(step, 4.0)
                } else {
                    shares.clamp(0.25, 1.0 / step)
                };
                known.bytes as f64 * far
            }
            (End::Range(low), End::Range(high)) => (low as f64 * high as f64).sqrt(),
        }
    }
}

/// An end of the bracket.
#[derive(Clone, Copy)]
enum End {
    Tried(Tried),
    Range(u64),
}

impl End {
    fn bytes(self) -> f64 {
        match self {
            Self::Tried(tried) => tried.bytes as f64,
            Self::Range(bytes) => bytes as f64,
        }
    }
}

/// Share of misses, never nothing.
fn miss(hit: f64) -> f64 {
    (1.0 - hit).max(1e-6)
}

/// The pool as a share of the database that gives about this hit ratio, by the measured curves:
/// straight lines in the logarithm of the misses.
#[must_use]
pub fn first_share(dialect: Dialect, hit: f64) -> f64 {
    let curve = if dialect.is_mysql_like() {
        &INNODB
    } else {
        &POSTGRESQL
    };
    let wanted = miss(hit).ln();
    let pairs = curve.windows(2).map(|pair| (pair[0], pair[1]));
    let (low, high) = pairs
        .clone()
        .find(|(_, high)| miss(high.1).ln() <= wanted)
        .or_else(|| pairs.clone().next_back())
        .unwrap_or((curve[0], curve[1]));
    let (from, to) = (miss(low.1).ln(), miss(high.1).ln());
    let share = low.0 + (from - wanted) / (from - to) * (high.0 - low.0);
    share.clamp(curve[0].0 / 4.0, 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Turns the dial on a database that follows `truth` (share of the pool to hit ratio); rounds,
    /// size and ratio.
    fn turn(target: f64, dialect: Dialect, truth: impl Fn(f64) -> f64) -> (usize, Tried, bool) {
        let mut dial = Dial::new(target, dialect, 400 * MIB, 5 * MIB, 800 * MIB, MIB);
        while let Some(bytes) = dial.next() {
            assert!((5 * MIB..=800 * MIB).contains(&bytes) && bytes % MIB == 0);
            dial.tell(bytes, truth(bytes as f64 / (400 * MIB) as f64));
        }
        (
            dial.tried().len(),
            dial.best().expect("at least one round"),
            dial.reached(),
        )
    }

    #[test]
    fn first_guesses_are_those_of_the_curves() {
        for (dialect, hit, share) in [
            (Dialect::Mariadb, 0.80, 0.073),
            (Dialect::Mariadb, 0.90, 0.163),
            (Dialect::Mariadb, 0.95, 0.245),
            (Dialect::Postgresql, 0.80, 0.026),
            (Dialect::Postgresql, 0.95, 0.168),
        ] {
            let found = first_share(dialect, hit);
            assert!((found - share).abs() < 0.006, "{dialect:?} {hit}: {found}");
        }
        assert!(first_share(Dialect::Mariadb, 0.1) > 0.0);
    }

    #[test]
    fn other_curves_are_found_in_few_rounds() {
        for target in [0.6, 0.8, 0.9, 0.95, 0.99] {
            for steep in [4.0, 10.0, 25.0] {
                let (rounds, best, reached) = turn(target, Dialect::Mariadb, |share| {
                    1.0 - 0.6 * (-steep * share).exp()
                });
                assert!(
                    reached && rounds <= MOST_ROUNDS,
                    "{target} {steep}: {rounds} rounds, {best:?}"
                );
            }
        }
    }

    #[test]
    fn a_ratio_that_no_pool_gives_ends_all_the_same() {
        let (rounds, best, reached) = turn(0.8, Dialect::Postgresql, |_| 0.97);
        assert!(!reached && rounds <= MOST_ROUNDS && (best.hit - 0.97).abs() < 1e-9);
    }

    #[test]
    fn a_pool_that_no_server_works_with_is_the_new_least() {
        let mut dial = Dial::new(
            0.8,
            Dialect::Postgresql,
            400 * MIB,
            MIB / 8,
            800 * MIB,
            MIB / 8,
        );
        dial.tell(2 * MIB, 0.9);
        let small = dial.next().expect("a smaller one");
        assert!(small < 2 * MIB);
        dial.refuse(small);
        while let Some(bytes) = dial.next() {
            assert!(bytes > small, "{bytes}");
            dial.tell(bytes, 0.88);
        }
        assert!(!dial.reached() && dial.best().is_some_and(|best| best.bytes > small));
        let mut hopeless = Dial::new(0.8, Dialect::Postgresql, 400 * MIB, MIB, 800 * MIB, MIB);
        let mut rounds = 0;
        while let Some(bytes) = hopeless.next() {
            hopeless.refuse(bytes);
            rounds += 1;
        }
        assert!(rounds == MOST_ROUNDS && hopeless.best().is_none());
    }

    #[test]
    fn a_first_guess_that_is_right_is_the_last() {
        assert_eq!(turn(0.9, Dialect::Mariadb, |_| 0.905).0, 1);
    }

    #[test]
    fn what_is_known_of_the_same_data_is_begun_with() {
        let dial = |target| Dial::new(target, Dialect::Postgresql, 400 * MIB, MIB, 800 * MIB, MIB);
        let known = |bytes, hit| Tried {
            bytes: bytes * MIB,
            hit,
        };
        let hints = || vec![known(30, 0.78), known(50, 0.92)];
        assert_eq!(dial(0.915).with_hints(hints()).next(), Some(50 * MIB));
        let between = dial(0.85).with_hints(hints()).next().expect("a first size");
        assert!((30 * MIB..50 * MIB).contains(&between), "{between}");
        assert!(dial(0.95).with_hints(hints()).next() > Some(50 * MIB));
    }
}
