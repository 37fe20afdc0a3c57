//! Latency histograms: 1 microsecond to one hour, three significant digits.

use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2Serializer},
};
use rookery_cast::truncate_u64;

/// Longest latency that is kept exactly, in microseconds (one hour); longer ones are clamped and
/// counted.
const HIGHEST_US: u64 = 3_600_000_000;
/// Significant decimal digits of a recorded value.
const DIGITS: u8 = 3;
/// First four bytes of an uncompressed V2 blob.
const V2_COOKIE: u32 = 0x1c84_9313;
/// Bytes before the counts of a V2 blob.
const V2_HEADER: usize = 40;
/// No histogram of this range and precision needs more bytes: 23 552 counters of at most nine bytes
/// each.
const MAX_BLOB: usize = V2_HEADER + 23_552 * 9;

/// A histogram of latencies in microseconds.
///
/// The relative error of a value read from it is at most 0.1 %.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    counts: Histogram<u32>,
    overflow: u64,
}

/// A stored histogram that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// Its head is not that of our histograms.
    #[error("not a latency histogram: {0}")]
    Header(&'static str),
    /// Its counts are damaged.
    #[error("damaged latency histogram: {0}")]
    Counts(String),
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// An empty histogram; it grows with the values that it is given.
    #[must_use]
    pub fn new() -> Self {
        let mut counts = Histogram::new(DIGITS).expect("three digits are a valid precision");
        counts.auto(true);
        Self {
            counts,
            overflow: 0,
        }
    }

    /// Record one latency in microseconds; 0 counts as 1.
    pub fn record_us(&mut self, value_us: u64) {
        if value_us > HIGHEST_US {
            self.overflow += 1;
        }
        // Not `saturating_record`: that one clamps to the present range instead of growing.
        self.counts
            .record(value_us.clamp(1, HIGHEST_US))
            .expect("a growing histogram takes every value up to one hour");
    }

    /// Add all values of `other`: the result equals a histogram of both lots of values.
    pub fn merge(&mut self, other: &Self) {
        self.counts
            .add(&other.counts)
            .expect("a growing histogram takes every value up to one hour");
        self.overflow = self.overflow.saturating_add(other.overflow);
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Number of values above one hour; they are kept as one hour.
    #[must_use]
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Smallest value, us: the lower bound of its bucket. `None` without values.
    #[must_use]
    pub fn min_us(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.counts.min())
    }

    /// Largest value, us: the upper bound of its bucket. `None` without values.
    #[must_use]
    pub fn max_us(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.counts.max())
    }

    /// Mean, us. `None` without values.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.counts.mean())
    }

    /// Standard deviation, us. `None` without values.
    #[must_use]
    pub fn sd_us(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.counts.stdev())
    }

    /// Mean of the values, of their squares and of their cubes: us, us^2, us^3; without the
    /// `slowest` largest. `None` without values.
    #[must_use]
    pub fn moments_us(&self, slowest: u64) -> Option<[f64; 3]> {
        let kept = self.count().saturating_sub(slowest);
        let (mut sums, mut left) = ([0.0; 3], kept);
        for bucket in self.counts.iter_recorded() {
            let value = self.counts.median_equivalent(bucket.value_iterated_to()) as f64;
            let taken = u64::from(bucket.count_at_value()).min(left);
            left -= taken;
            let mut product = taken as f64;
            for sum in &mut sums {
                product *= value;
                *sum += product;
            }
        }
        (kept > 0).then(|| sums.map(|sum| sum / kept as f64))
    }

    /// The percentile `p` (0 to 100), us, by nearest rank: the value at rank ceil(n p / 100),
    /// reported as the upper bound of its bucket. `None` without values.
    #[must_use]
    pub fn percentile_us(&self, p: f64) -> Option<u64> {
        self.value_at_rank(nearest_rank(self.count(), p))
    }

    /// [`Self::percentile_us`], but `None` also where the tail is too thin: a percentile above 99
    /// needs ten values beyond it.
    #[must_use]
    pub fn supported_percentile_us(&self, p: f64) -> Option<u64> {
        let beyond = self.count() as f64 * (100.0 - p) / 100.0;
        if p > 99.0 && beyond < 10.0 - 1e-9 {
            return None;
        }
        self.percentile_us(p)
    }

    /// The value at a 1-based rank in ascending order, us: the upper bound of its bucket. `None`
    /// beyond the ends.
    #[must_use]
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 {
            return None;
        }
        let mut seen = 0;
        for bucket in self.counts.iter_recorded() {
            seen += u64::from(bucket.count_at_value());
            if seen >= rank {
                return Some(self.counts.highest_equivalent(bucket.value_iterated_to()));
            }
        }
        None
    }

    /// Its buckets that hold values, in ascending order: upper bound, us, and number of values.
    pub fn buckets_us(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter_recorded().map(|bucket| {
            let bound = self.counts.highest_equivalent(bucket.value_iterated_to());
            (bound, u64::from(bucket.count_at_value()))
        })
    }

    /// The histogram in the V2 encoding of HdrHistogram; [`Self::overflow`] travels apart.
    #[must_use]
    pub fn to_blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        V2Serializer::new()
            .serialize(&self.counts, &mut blob)
            .expect("writing to memory does not fail, and the counters fit");
        blob
    }

    /// Read back what [`Self::to_blob`] wrote. The blob is not trusted: its length, range and
    /// counts are checked.
    ///
    /// # Errors
    /// When it is not a V2 histogram of our range and precision, or is damaged.
    pub fn from_blob(blob: &[u8], overflow: u64) -> Result<Self, BlobError> {
        check_header(blob)?;
        check_counts(&blob[V2_HEADER..])?;
        let read: Histogram<u32> = Deserializer::new()
            .deserialize(&mut &blob[..])
            .map_err(|error| BlobError::Counts(error.to_string()))?;
        if read.max()
            > Histogram::<u32>::new_with_max(HIGHEST_US, DIGITS)
                .map_or(HIGHEST_US, |h| h.highest_equivalent(HIGHEST_US))
        {
            return Err(BlobError::Counts("a value beyond one hour".to_owned()));
        }
        if overflow > read.len() {
            return Err(BlobError::Counts(
                "more overflowing values than values".to_owned(),
            ));
        }
        let mut latencies = Self::new();
        latencies
            .counts
            .add(&read)
            .map_err(|_| BlobError::Counts("its range cannot be merged".to_owned()))?;
        latencies.overflow = overflow;
        Ok(latencies)
    }
}

/// ceil(n p / 100), at least 1 and at most n, 0 for n = 0; a product that is whole but for rounding
/// is not pushed up.
pub(crate) fn nearest_rank(n: u64, p: f64) -> u64 {
    let exact = n as f64 * p / 100.0;
    let rank = (exact - exact * 1e-12).ceil();
    truncate_u64(rank.max(1.0)).min(n)
}

fn check_header(blob: &[u8]) -> Result<(), BlobError> {
    if blob.len() < V2_HEADER {
        return Err(BlobError::Header("it is shorter than its head"));
    }
    if blob.len() > MAX_BLOB {
        return Err(BlobError::Header(
            "it is longer than any histogram of this range",
        ));
    }
    let word = |at: usize| u32::from_be_bytes([blob[at], blob[at + 1], blob[at + 2], blob[at + 3]]);
    let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
    let checks = [
        (word(0) == V2_COOKIE, "it is not in the V2 encoding"),
        (
            word(4) as usize == blob.len() - V2_HEADER,
            "its length is not the one it states",
        ),
        (
            word(12) == u32::from(DIGITS),
            "its precision is not three digits",
        ),
        (long(16) == 1, "its unit is not one microsecond"),
        (
            long(24) <= 2 * HIGHEST_US,
            "its range goes far beyond one hour",
        ),
    ];
    match checks.iter().find(|(holds, _)| !holds) {
        Some((_, reason)) => Err(BlobError::Header(reason)),
        None => Ok(()),
    }
}

/// Walk the variable-length numbers: every one complete, no run of zeros or count that the
/// decoder's arithmetic cannot hold.
fn check_counts(mut bytes: &[u8]) -> Result<(), BlobError> {
    while !bytes.is_empty() {
        let mut value = 0u64;
        let mut used = 0;
        loop {
            let Some(&byte) = bytes.get(used) else {
                return Err(BlobError::Counts("its last number is cut off".to_owned()));
            };
            let last = used == 8;
            value |= u64::from(if last { byte } else { byte & 0x7f }) << (7 * used);
            used += 1;
            if last || byte & 0x80 == 0 {
                break;
            }
        }
        // Zigzag: 2^33 holds every 32-bit count and every run of zeros.
        if value >= 1 << 33 {
            return Err(BlobError::Counts(
                "a count or a gap out of range".to_owned(),
            ));
        }
        bytes = &bytes[used..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        values
            .into_iter()
            .for_each(|value| latencies.record_us(value));
        latencies
    }

    fn merged(parts: &[&Latencies]) -> Latencies {
        let mut all = Latencies::new();
        parts.iter().for_each(|part| all.merge(part));
        all
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred = of(1..=100);
        assert_eq!(hundred.percentile_us(90.0), Some(90));
        assert_eq!(hundred.percentile_us(99.0), Some(99));
        assert_eq!(hundred.percentile_us(7.0), Some(7));
        assert_eq!(hundred.percentile_us(0.0), Some(1));
        assert_eq!(hundred.percentile_us(100.0), Some(100));
        let ten = of([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
        assert_eq!(
            (ten.percentile_us(90.0), ten.percentile_us(95.0)),
            (Some(90), Some(100))
        );
        assert_eq!(of([5]).percentile_us(50.0), Some(5));
        assert_eq!(Latencies::new().percentile_us(50.0), None);
    }

    #[test]
    fn moments_are_means_of_powers() {
        let four = of([1, 2, 3, 900]);
        assert_eq!(four.moments_us(1), Some([2.0, 14.0 / 3.0, 12.0]));
        assert_eq!(four.moments_us(4), None);
        assert_eq!(four.moments_us(5), None);
        assert_eq!(Latencies::new().moments_us(0), None);
    }

    #[test]
    fn a_thin_tail_is_not_reported() {
        assert_eq!(of(1..=9_999).supported_percentile_us(99.9), None);
        assert!(of(1..=10_000).supported_percentile_us(99.9).is_some());
        assert_eq!(of([5]).supported_percentile_us(99.0), Some(5));
    }

    #[test]
    fn values_beyond_an_hour_are_clamped_and_counted() {
        let latencies = of([0, 5, u64::MAX]);
        assert_eq!(
            (latencies.count(), latencies.overflow(), latencies.min_us()),
            (3, 1, Some(1))
        );
        let back = Latencies::from_blob(&latencies.to_blob(), 1).expect("our own blob");
        assert_eq!(back, latencies);
        assert!(back.max_us().expect("values") >= HIGHEST_US);
    }

    #[test]
    fn damaged_blobs_are_refused_with_the_reason() {
        let blob = of([1, 1_000, 1_000_000]).to_blob();
        let refusal = |blob: &[u8]| {
            Latencies::from_blob(blob, 0)
                .expect_err("a damaged blob")
                .to_string()
        };
        insta::assert_snapshot!(refusal(&blob[..20]), @"not a latency histogram: it is shorter \
            than its head");
        insta::assert_snapshot!(refusal(&blob[..blob.len() - 1]), @"not a latency histogram: its \
            length is not the one it states");
        let mut most_negative = blob[..V2_HEADER].to_vec();
        most_negative[4..8].copy_from_slice(&9u32.to_be_bytes());
        most_negative.extend([0xff; 9]);
        insta::assert_snapshot!(refusal(&most_negative), @"damaged latency histogram: a count or a \
            gap out of range");
        assert!(
            Latencies::from_blob(&blob, 4).is_err(),
            "more overflowing values than values"
        );
    }

    proptest! {
        #[test]
        fn merging_is_associative_commutative_and_exact(
            a in prop::collection::vec(0u64..10_000_000_000, 0..50),
            b in prop::collection::vec(0u64..100_000, 0..50),
            c in prop::collection::vec(0u64..5_000, 0..50),
        ) {
            let (x, y, z) = (of(a.clone()), of(b.clone()), of(c.clone()));
            let together = of(a.into_iter().chain(b).chain(c));
            prop_assert_eq!(&merged(&[&merged(&[&x, &y]), &z]), &together);
            prop_assert_eq!(&merged(&[&x, &merged(&[&y, &z])]), &together);
            prop_assert_eq!(&merged(&[&z, &y, &x]), &together);
            prop_assert_eq!(together.count(), x.count() + y.count() + z.count());
        }

        #[test]
        fn a_merged_percentile_lies_between_those_of_the_parts(
            a in prop::collection::vec(1u64..100_000_000, 1..50),
            b in prop::collection::vec(1u64..100_000_000, 1..50),
            p in 0.0..100.0f64,
        ) {
            let (x, y) = (of(a), of(b));
            let ends = [x.percentile_us(p), y.percentile_us(p)];
            let whole = merged(&[&x, &y]).percentile_us(p);
            prop_assert!(ends.iter().min() <= Some(&whole) && Some(&whole) <= ends.iter().max());
        }

        #[test]
        fn a_percentile_is_within_a_thousandth_of_the_sorted_value(
            mut values in prop::collection::vec(1u64..HIGHEST_US, 1..100),
            p in 0.0..100.0f64,
        ) {
            let read = of(values.clone()).percentile_us(p).expect("values") as f64;
            values.sort_unstable();
            let exact = values[nearest_rank(values.len() as u64, p) as usize - 1] as f64;
            prop_assert!(read >= exact && read <= exact * 1.001 + 1.0, "{read} for {exact}");
        }

        #[test]
        fn a_blob_comes_back_as_it_was(values in prop::collection::vec(0u64..10_000_000_000, 0..100)) {
            let latencies = of(values);
            prop_assert_eq!(Latencies::from_blob(&latencies.to_blob(), latencies.overflow()).expect("our \
                own \
                blob"), latencies);
        }

        #[test]
        fn no_blob_makes_it_panic(at in 0usize..1_000, with in any::<u8>(), tail in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut blob = of([1, 50, 1_000, 70_000, 1_000_000]).to_blob();
            let place = at % blob.len();
            blob[place] = with;
            let _ = Latencies::from_blob(&blob, 0);
            blob.truncate(V2_HEADER);
            blob.extend(&tail);
            blob[4..8].copy_from_slice(&(tail.len() as u32).to_be_bytes());
            let _ = Latencies::from_blob(&blob, 0);
            let _ = Latencies::from_blob(&tail, 0);
        }
    }
}
