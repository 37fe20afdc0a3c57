//! The series: what happened in each second.

use rookery_cast::{count_u16, index};
use rookery_stats::SecondSample;
use serde::{Deserialize, Serialize};

use super::operation::Outcome;
use crate::clock::Nanos;

const SECOND: Nanos = 1_000_000_000;
/// Sub-buckets of each power of two: a relative error below 1 % (two significant digits).
const SUB_BITS: u32 = 7;
const SUB_BUCKETS: u64 = 1 << SUB_BITS;
/// Buckets up to 2^32 us (72 minutes); longer values share the last.
const BUCKETS: usize = ((32 - SUB_BITS + 1) << SUB_BITS) as usize;

/// One second of one guest on one thread: counters, and the buckets that are not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) second: u32,
    requests: u32,
    units: u32,
    errors: u32,
    max_us: u64,
    buckets: Vec<(u16, u32)>,
}

impl Second {
    /// Whether it lies before `last`, and its buckets are in the table.
    pub(crate) fn is_sound(&self, last: u32) -> bool {
        let inside = |(index, _): &(u16, u32)| usize::from(*index) < BUCKETS;
        self.second <= last && self.buckets.iter().all(inside)
    }
}

/// The seconds of one guest on one thread, ascending; seconds without events are left out.
#[derive(Debug)]
pub(crate) struct Series {
    past: Vec<Second>,
    present: Second,
    counts: Box<[u32]>,
    /// How many of the past were shown while the load ran.
    shown: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            past: Vec::new(),
            present: Second::default(),
            counts: vec![0; BUCKETS].into_boxed_slice(),
            shown: 0,
        }
    }
}

impl Series {
    /// A request ended at `done` after `time`.
    pub(crate) fn request(&mut self, done: Nanos, time: Nanos, outcome: Outcome) {
        self.turn_to(done);
        match outcome {
            Outcome::Success | Outcome::Void => {
                let us = time / 1_000;
                let index = bucket(us);
                if self.counts[index] == 0 {
                    // The list of touched buckets makes closing a second cheap when the second was
                    // quiet.
                    self.present.buckets.push((count_u16(index), 0));
                }
                self.counts[index] += 1;
                self.present.requests += 1;
                self.present.max_us = self.present.max_us.max(us);
            }
            Outcome::Failure => self.present.errors += 1,
        }
    }

    pub(crate) fn unit(&mut self, done: Nanos) {
        self.turn_to(done);
        self.present.units += 1;
    }

    /// The seconds before `second` that were not shown yet.
    pub(crate) fn show_before(&mut self, second: u32) -> &[Second] {
        if self.present.second < second {
            self.close();
            self.present.second = second;
        }
        let from = std::mem::replace(&mut self.shown, self.past.len());
        &self.past[from..]
    }

    /// The same, and forget them.
    pub(crate) fn take_before(&mut self, second: u32) -> Vec<Second> {
        let taken = self.show_before(second).to_vec();
        self.past.clear();
        self.shown = 0;
        taken
    }

    fn turn_to(&mut self, at: Nanos) {
        let second = second_of(at);
        if second != self.present.second {
            self.close();
            self.present.second = second;
        }
    }

    fn close(&mut self) {
        let mut second = std::mem::take(&mut self.present);
        for (index, count) in &mut second.buckets {
            *count = std::mem::take(&mut self.counts[usize::from(*index)]);
        }
        second.buckets.shrink_to_fit();
        if second.requests + second.units + second.errors > 0 {
            self.past.push(second);
        }
    }

    /// Its seconds, ascending.
    pub(crate) fn into_seconds(mut self) -> Vec<Second> {
        self.close();
        self.past
    }
}

/// The seconds of all threads together: one sample for each from the first to the last event of
/// any.
pub(crate) fn samples(mut all: Vec<Second>) -> Vec<SecondSample> {
    all.sort_by_key(|second| second.second);
    let length = all.last().map_or(0, |last| last.second + 1);
    let mut samples: Vec<SecondSample> = (0..length)
        .map(|second| SecondSample {
            second,
            ..SecondSample::default()
        })
        .collect();
    for together in all.chunk_by(|a, b| a.second == b.second) {
        let second = together[0].second;
        samples[second as usize] = sample(second, together.iter());
    }
    samples
}

/// The second since the common start that `at` lies in.
pub(crate) fn second_of(at: Nanos) -> u32 {
    u32::try_from(at / SECOND).unwrap_or(u32::MAX)
}

/// The parts of one second together.
pub(crate) fn sample<'p>(
    second: u32,
    parts: impl Iterator<Item = &'p Second> + Clone,
) -> SecondSample {
    let mut buckets: Vec<(u16, u32)> = parts
        .clone()
        .flat_map(|part| part.buckets.iter().copied())
        .collect();
    buckets.sort_unstable();
    let requests: u32 = parts.clone().map(|part| part.requests).sum();
    let max_us = parts.clone().map(|part| part.max_us).max().unwrap_or(0);
    // Nearest rank; the upper bound of a bucket may lie above the largest value, which is known
    // exactly.
    let percentile = |p: u64| {
        let rank = (u64::from(requests) * p).div_ceil(100).max(1);
        let mut seen = 0;
        let found = buckets.iter().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map_or(0, |(index, _)| upper_bound(usize::from(*index)).min(max_us))
    };
    SecondSample {
        second,
        requests,
        orders: parts.clone().map(|part| part.units).sum(),
        errors: parts.map(|part| part.errors).sum(),
        p50_us: percentile(50),
        p95_us: percentile(95),
        p99_us: percentile(99),
        max_us,
    }
}

/// The bucket of a value: exact below 256 us, then 128 buckets for each power of two.
fn bucket(us: u64) -> usize {
    let us = us.min(u64::from(u32::MAX));
    let shift = u64::BITS - (us | (2 * SUB_BUCKETS - 1)).leading_zeros() - (SUB_BITS + 1);
    index(u64::from(shift) * SUB_BUCKETS + (us >> shift))
}

/// The largest value of a bucket.
fn upper_bound(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / SUB_BUCKETS).saturating_sub(1);
    ((index - shift * SUB_BUCKETS + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_second_has_the_percentiles_of_its_requests() {
        let mut series = Series::default();
        for n in 1..=100u64 {
            series.request(3 * SECOND + n, n * 1_000, Outcome::Success);
        }
        series.unit(3 * SECOND + 200);
        series.request(5 * SECOND, 1_000, Outcome::Failure);
        let samples = samples(series.into_seconds());
        assert_eq!(samples.len(), 6);
        let third = samples[3];
        assert_eq!(
            (third.second, third.requests, third.orders, third.errors),
            (3, 100, 1, 0)
        );
        assert_eq!(
            (third.p50_us, third.p95_us, third.p99_us, third.max_us),
            (50, 95, 99, 100)
        );
        assert_eq!((samples[5].errors, samples[5].p99_us), (1, 0));
        assert_eq!(
            samples[4],
            SecondSample {
                second: 4,
                ..SecondSample::default()
            }
        );
    }

    #[test]
    fn each_second_is_shown_once_when_it_is_over() {
        let mut series = Series::default();
        series.request(SECOND, 1_000, Outcome::Success);
        assert!(series.show_before(1).is_empty(), "it is not over");
        series.request(2 * SECOND, 1_000, Outcome::Failure);
        let shown: Vec<u32> = series.show_before(3).iter().map(|one| one.second).collect();
        assert_eq!(shown, [1, 2]);
        assert!(series.show_before(3).is_empty());
        // One that comes late belongs to its second all the same.
        series.request(2 * SECOND + 1, 1_000, Outcome::Success);
        let merged = samples(series.into_seconds());
        assert_eq!((merged[2].requests, merged[2].errors), (1, 1));
        let mut series = Series::default();
        series.request(SECOND, 1_000, Outcome::Success);
        assert_eq!(series.take_before(2).len(), 1);
        assert!(samples(series.into_seconds()).is_empty());
    }

    #[test]
    fn every_bucket_is_inside_the_table() {
        assert_eq!(bucket(0), 0);
        assert!(bucket(u64::MAX) < BUCKETS);
        assert!(BUCKETS <= usize::from(u16::MAX));
    }

    proptest! {
        #[test]
        fn buckets_ascend_and_are_within_one_percent(us in 0u64..u64::from(u32::MAX)) {
            let index = bucket(us);
            let upper = upper_bound(index);
            prop_assert!(bucket(us + 1) >= index);
            prop_assert!(upper >= us && upper as f64 <= us as f64 * 1.008, "{us} -> {upper}");
        }
    }
}
