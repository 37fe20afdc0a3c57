//! How much more an operation costs in one layer than in the one below.

use std::collections::BTreeMap;

use rookery_cast::truncate_u32;
use rookery_stats::t_975;

use crate::{mean::mean, schema::data};

data! {
    /// A difference of two means.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AddedCost {
        /// Above less below.
        pub value: f64,
        /// 95 % interval; `None` where the trials carry none.
        pub interval: Option<(f64, f64)>,
        /// Whether it is taken within blocks, of trials that ran back to back.
        pub paired: bool,
    }
}

/// The difference of two lots of trials, each with its block: within blocks where two or more hold
/// both, else between the means.
///
/// Within blocks: mean d -+ t(0.975, n-1) s / sqrt(n), d = one difference per block. Between means:
/// after Welch, Biometrika 34 (1947) 28.
pub(super) fn of(below: &[(u64, f64)], above: &[(u64, f64)]) -> Option<AddedCost> {
    let (one, other) = (by_block(below), by_block(above));
    let differences: Vec<f64> = other
        .iter()
        .filter_map(|(block, values)| Some(mean(values)? - mean(one.get(block)?)?))
        .collect();
    if differences.len() > 1 {
        let centre = mean(&differences)?;
        let (count, variance) = (differences.len() as f64, variance(&differences));
        let half = t_975(u32::try_from(differences.len() - 1).ok()?)? * (variance / count).sqrt();
        return Some(AddedCost {
            value: centre,
            interval: Some((centre - half, centre + half)),
            paired: true,
        });
    }
    let values = |lot: &[(u64, f64)]| lot.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let (below, above) = (values(below), values(above));
    let value = mean(&above)? - mean(&below)?;
    Some(AddedCost {
        value,
        interval: welch(&below, &above).map(|half| (value - half, value + half)),
        paired: false,
    })
}

fn by_block(lot: &[(u64, f64)]) -> BTreeMap<u64, Vec<f64>> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (block, value) in lot {
        blocks.entry(*block).or_default().push(*value);
    }
    blocks
}

/// Sample variance of two or more values.
fn variance(values: &[f64]) -> f64 {
    let centre = mean(values).unwrap_or(0.0);
    values
        .iter()
        .map(|value| (value - centre).powi(2))
        .sum::<f64>()
        / (values.len() as f64 - 1.0)
}

/// Half of the interval; `None` unless each side has two values.
fn welch(below: &[f64], above: &[f64]) -> Option<f64> {
    let fewest = below.len().min(above.len());
    if fewest < 2 {
        return None;
    }
    let part = |values: &[f64]| {
        (
            variance(values) / values.len() as f64,
            values.len() as f64 - 1.0,
        )
    };
    let parts = [part(below), part(above)];
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let under: f64 = parts
        .iter()
        .map(|(variance, df)| variance * variance / df)
        .sum();
    // Where nothing scatters the fewest decide.
    let df = if under > 0.0 {
        sum * sum / under
    } else {
        fewest as f64 - 1.0
    };
    Some(t_975(truncate_u32(df.floor()).max(1))? * sum.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_take_out_what_their_trials_share() {
        // Blocks differ by hundreds, the layers within them by 10 +- 1.
        let below = [(1, 100.0), (2, 500.0), (3, 900.0)];
        let above = [(1, 109.0), (2, 510.0), (3, 911.0)];
        let found = of(&below, &above).expect("three pairs");
        assert!(found.paired && (found.value - 10.0).abs() < 1e-9);
        // t(0.975, 2) = 4.302653, s = 1, n = 3.
        let (low, high) = found.interval.expect("three pairs");
        assert!(
            (low - (10.0 - 2.484_138)).abs() < 1e-5 && (high - (10.0 + 2.484_138)).abs() < 1e-5,
            "{low} {high}"
        );
    }

    #[test]
    fn trials_of_different_runs_are_compared_by_their_means() {
        let below = [(1, 10.0), (2, 12.0), (3, 14.0)];
        let above = [(11, 20.0), (12, 22.0), (13, 24.0)];
        let found = of(&below, &above).expect("three on each side");
        // Equal variances: df = 4, t = 2.776445, standard error = sqrt(4/3 + 4/3).
        let (low, _) = found.interval.expect("three on each side");
        assert!(
            !found.paired
                && (found.value - 10.0).abs() < 1e-9
                && (low - (10.0 - 4.533_894)).abs() < 1e-4,
            "{low}"
        );
        let single = of(&[(1, 10.0)], &[(11, 20.0)]).expect("one on each side");
        assert_eq!((single.value, single.interval), (10.0, None));
        assert_eq!(of(&[], &above), None);
    }
}
