//! Which download directory a user goes to.

use crate::random::RandomSource;

/// Exponent of the popularity of directories (fixed property of the benchmark of 2005).
const ALPHA: f64 = 1.2;

/// The popularity of directories 1..=D: the k-th is chosen with a probability proportional to
/// k^-1.2 (G. K. Zipf, "Human Behavior and the Principle of Least Effort", 1949).
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    /// Sums of the weights of all directories up to each.
    sums: Vec<f64>,
}

impl Popularity {
    /// That of so many directories, at least one.
    #[must_use]
    pub fn new(directories: u32) -> Self {
        let weights = (1..=directories.max(1)).map(|rank| f64::from(rank).powf(-ALPHA));
        let sums = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self {
            sums: sums.collect(),
        }
    }

    /// A directory, from 1 on.
    pub fn draw(&self, source: &mut impl RandomSource) -> u32 {
        let all = self.sums.last().copied().unwrap_or_default();
        let drawn = source.fraction() * all;
        let place = self.sums.partition_point(|sum| *sum <= drawn);
        rookery_cast::count_u32(place.min(self.sums.len() - 1)) + 1
    }

    /// Share of all downloads that go to the `first` most popular directories, 0 to 1.
    #[must_use]
    pub fn share_of_first(&self, first: usize) -> f64 {
        let all = self.sums.last().copied().unwrap_or_default();
        match first.min(self.sums.len()) {
            0 => 0.0,
            count => self.sums[count - 1] / all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn shares_are_those_of_the_specification() {
        for (directories, first, ten) in [
            (25, 0.336, 0.829),
            (125, 0.271, 0.669),
            (250, 0.254, 0.627),
            (1625, 0.225, 0.554),
        ] {
            let popularity = Popularity::new(directories);
            assert!((popularity.share_of_first(1) - first).abs() < 6e-4);
            assert!((popularity.share_of_first(10) - ten).abs() < 6e-4);
            assert!((popularity.share_of_first(usize::MAX) - 1.0).abs() < 1e-12);
        }
        assert_eq!(Popularity::new(0), Popularity::new(1));
        assert_eq!(Popularity::new(1).share_of_first(0), 0.0);
    }

    #[test]
    fn draws_have_these_shares_and_stay_in_range() {
        let popularity = Popularity::new(125);
        let mut source = SplitMix64::new(7);
        let mut first = 0;
        for _ in 0..100_000 {
            let drawn = popularity.draw(&mut source);
            assert!((1..=125).contains(&drawn));
            first += u32::from(drawn == 1);
        }
        // Four standard errors of a share of 0.271.
        assert!((f64::from(first) / 1e5 - popularity.share_of_first(1)).abs() < 0.0057);
        assert_eq!(Popularity::new(1).draw(&mut source), 1);
    }
}
