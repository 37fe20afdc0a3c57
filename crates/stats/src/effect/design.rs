//! Which combinations of levels a block holds, and what they confuse with each other.

use std::collections::BTreeSet;

use super::{Contrast, Observation};

/// Below this a correlation of two columns of a design is taken for rounding.
const NO_CORRELATION: f64 = 1e-9;

/// The distinct combinations of levels that every block of a study was planned with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    runs: BTreeSet<Vec<u32>>,
}

/// An interaction of two other factors that a main effect cannot be told from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alias {
    /// The two factors.
    pub factors: (usize, usize),
    /// How much of their interaction stands in the main effect, -1 to 1: all of it at 1 or -1.
    pub share: f64,
}

impl Design {
    /// A design of these combinations of levels.
    #[must_use]
    pub fn new(runs: impl IntoIterator<Item = Vec<u32>>) -> Self {
        Self {
            runs: runs.into_iter().collect(),
        }
    }

    /// Whether two of its combinations differ in this contrast alone, as in every full design.
    #[must_use]
    pub fn has_pairs(&self, contrast: Contrast) -> bool {
        let reference = |run: &Vec<u32>| {
            let mut other = run.clone();
            other[contrast.factor] = contrast.reference;
            self.runs.contains(&other)
        };
        self.runs
            .iter()
            .any(|run| run.get(contrast.factor) == Some(&contrast.level) && reference(run))
    }

    /// Whether a block holds every combination.
    pub(super) fn is_whole(&self, block: &[&Observation]) -> bool {
        self.runs
            .iter()
            .all(|run| block.iter().any(|trial| trial.levels == *run))
    }

    /// The two-factor interactions that stand in the main effect of a factor, the largest share
    /// first. Only factors of two levels are looked at: others are not screened.
    #[must_use]
    pub fn aliases(&self, factor: usize) -> Vec<Alias> {
        let factors = self.runs.first().map_or(0, Vec::len);
        let columns: Vec<Option<Vec<f64>>> = (0..factors).map(|index| self.column(index)).collect();
        let Some(Some(own)) = columns.get(factor) else {
            return Vec::new();
        };
        let others = || (0..factors).filter(|&other| other != factor);
        let mut found: Vec<Alias> = others()
            .flat_map(|one| {
                others()
                    .filter(move |&other| other > one)
                    .map(move |other| (one, other))
            })
            .filter_map(|(one, other)| {
                let (a, b) = (columns[one].as_ref()?, columns[other].as_ref()?);
                let product: f64 = own
                    .iter()
                    .zip(a)
                    .zip(b)
                    .map(|((own, a), b)| own * a * b)
                    .sum();
                let share = product / own.len() as f64;
                (share.abs() > NO_CORRELATION).then_some(Alias {
                    factors: (one, other),
                    share,
                })
            })
            .collect();
        found.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
        found
    }

    /// A factor of two levels as -1 and 1.
    fn column(&self, factor: usize) -> Option<Vec<f64>> {
        let own: Vec<u32> = self
            .runs
            .iter()
            .map(|run| run.get(factor).copied())
            .collect::<Option<_>>()?;
        let levels: BTreeSet<u32> = own.iter().copied().collect();
        let low = *levels.first().filter(|_| levels.len() == 2)?;
        Some(
            own.iter()
                .map(|level| if *level == low { -1.0 } else { 1.0 })
                .collect(),
        )
    }
}
