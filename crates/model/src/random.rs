//! Random streams of simulations and of resampling.

use rookery_workload::random::{ExponentialTable, PurposeStream, RandomSource as _};

/// A stream of random numbers, one per (seed, purpose).
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    source: PurposeStream,
    table: ExponentialTable,
}

impl Stream {
    /// The stream of `purpose` under `seed`.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        Self {
            source: PurposeStream::new(seed, purpose),
            table: ExponentialTable::shared(),
        }
    }

    /// Uniform in (0, 1], so that its logarithm is finite.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.source.unit()
    }

    /// Exponential with mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        self.table.draw(&mut self.source)
    }

    /// Uniform over 0..`count`, `count` > 0.
    #[inline]
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.source.index(count)
    }
}
