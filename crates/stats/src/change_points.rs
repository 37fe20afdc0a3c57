//! Where a series of values changes its level, and stays changed.
//!
//! The method is E-Divisive (Matteson, James, "A Nonparametric Approach for Multiple Change Point
//! Analysis of Multivariate Data", JASA 109 (2014) 334), which needs no distribution of the values:
//! the split is taken whose two sides have the largest energy distance, and kept if few of many
//! shufflings of the values have a split as good; then each side is searched in turn. Daly et al.
//! (ICPE 2020) use it for results of benchmarks.

use rookery_workload::random::{RandomSource as _, SplitMix64};

/// Fewest values on each side of a change: one or two that stand out are no new level.
const FEWEST: usize = 3;
/// Shufflings behind each probability.
const SHUFFLES: u32 = 999;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// The share of shufflings, with the series as it is among them, that have a split as good.
    pub p: f64,
}

/// The changes of level of a series in the order of time, those before them in the search being
/// given. Each is found with a probability of chance of at most `level`, 0 to 1; a series that does
/// not change shows one in a share of at most `level` of all cases. The same seed gives the same
/// changes. No change is found in values of which one is not finite.
///
/// A series needs some values before chance can be excluded: at a level of 0.05 at least 8, at
/// 0.0125 at least 10.
///
/// The time is that of the square of the number of values, 1,000 times for each change.
///
/// ```
/// use rookery_stats::change_points;
///
/// let values = [9.9, 10.1, 10.0, 10.2, 9.8, 12.1, 11.9, 12.0, 12.2, 11.8];
/// let changes = change_points(&values, 0.05, 1);
/// assert_eq!(changes.len(), 1);
/// assert_eq!(changes[0].at, 5);
/// ```
#[must_use]
pub fn change_points(values: &[f64], level: f64, seed: u64) -> Vec<ChangePoint> {
    if values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut stream = SplitMix64::new(seed);
    let mut found: Vec<ChangePoint> = Vec::new();
    loop {
        let segments = segments(values, &found);
        let Some(split) = best_of(&segments) else {
            return found;
        };
        let p = probability(&segments, split.distance, &mut stream);
        if p > level {
            return found;
        }
        found.push(ChangePoint { at: split.at, p });
        found.sort_by_key(|change| change.at);
    }
}

/// A part of the series between two changes.
struct Segment {
    start: usize,
    values: Vec<f64>,
}

/// A split of a segment.
#[derive(Clone, Copy)]
struct Split {
    /// Index in the series of the first value after it.
    at: usize,
    /// Scaled energy distance of its sides.
    distance: f64,
}

fn segments(values: &[f64], changes: &[ChangePoint]) -> Vec<Segment> {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(changes.iter().map(|change| change.at));
    let ends = starts.iter().skip(1).copied().chain([values.len()]);
    let parts = starts.iter().zip(ends);
    parts
        .map(|(&start, end)| Segment {
            start,
            values: values[start..end].to_vec(),
        })
        .collect()
}

fn best_of(segments: &[Segment]) -> Option<Split> {
    let splits = segments.iter().filter_map(|segment| {
        let split = best_split(&segment.values)?;
        Some(Split {
            at: segment.start + split.at,
            ..split
        })
    });
    splits.max_by(|a, b| a.distance.total_cmp(&b.distance))
}

/// The share of shufflings within segments whose best split is at least as good.
fn probability(segments: &[Segment], distance: f64, stream: &mut SplitMix64) -> f64 {
    let mut as_good = 1_u32;
    for _ in 0..SHUFFLES {
        let shuffled: Vec<Segment> = segments
            .iter()
            .map(|segment| Segment {
                start: segment.start,
                values: shuffled(&segment.values, stream),
            })
            .collect();
        let reaches = |split: Split| split.distance >= distance * (1.0 - 1e-9);
        as_good += u32::from(best_of(&shuffled).is_some_and(reaches));
    }
    f64::from(as_good) / f64::from(SHUFFLES + 1)
}

/// In an order of chance (Fisher, Yates).
fn shuffled(values: &[f64], stream: &mut SplitMix64) -> Vec<f64> {
    let mut values = values.to_vec();
    for last in (1..values.len()).rev() {
        values.swap(last, stream.index(last + 1));
    }
    values
}

/// The split with the largest n m / (n + m) E between the n values before it and the next m, over
/// all m: what comes after a second change must not hide the first. E = 2 mean |a - b| -
/// mean |a - a'| - mean |b - b'| over pairs of the sides. `None` of too few values.
fn best_split(values: &[f64]) -> Option<Split> {
    let count = values.len();
    if count < 2 * FEWEST {
        return None;
    }
    let sums = DistanceSums::new(values);
    let mut best: Option<Split> = None;
    for at in FEWEST..=count - FEWEST {
        for end in at + FEWEST..=count {
            let (n, m) = (at as f64, (end - at) as f64);
            let pairs = |side: f64| side * (side - 1.0) / 2.0;
            let between = sums.between(at, end);
            let energy = 2.0 * between / (n * m)
                - sums.within(0, at) / pairs(n)
                - sums.within(at, end) / pairs(m);
            let distance = n * m / (n + m) * energy;
            if best.is_none_or(|best| distance > best.distance) {
                best = Some(Split { at, distance });
            }
        }
    }
    best
}

/// Sums of the distances between values, over rectangles of pairs.
struct DistanceSums {
    width: usize,
    /// At `i * width + j`: over all pairs of the first `i` and the first `j` values.
    sums: Vec<f64>,
}

impl DistanceSums {
    fn new(values: &[f64]) -> Self {
        let width = values.len() + 1;
        let mut sums = vec![0.0; width * width];
        for (i, a) in values.iter().enumerate() {
            let mut row = 0.0;
            for (j, b) in values.iter().enumerate() {
                row += (a - b).abs();
                sums[(i + 1) * width + j + 1] = sums[i * width + j + 1] + row;
            }
        }
        Self { width, sums }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.sums[i * self.width + j]
    }

    /// Over the pairs of the values before `at` with those from there to `end`.
    fn between(&self, at: usize, end: usize) -> f64 {
        self.at(at, end) - self.at(at, at)
    }

    /// Over the pairs of the values from `start` to `end`, each once.
    fn within(&self, start: usize, end: usize) -> f64 {
        let all = self.at(end, end) - 2.0 * self.at(start, end) + self.at(start, start);
        all / 2.0
    }
}
