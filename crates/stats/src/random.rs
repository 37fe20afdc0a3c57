//! A stream of random numbers for resampling and for the simulations that test this crate.

use rookery_cast::{index, low_u64};

/// Splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform over 0..`count`, `count` > 0; the bias is below `count`/2^64.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        index(low_u64((u128::from(self.next()) * count as u128) >> 64))
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller, 1958).
    #[cfg(test)]
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Uniform in (0, 1], so that its logarithm is finite.
    #[cfg(test)]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_right_and_seeds_differ() {
        let mut stream = Stream::new(7);
        let normals: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let mean = normals.iter().sum::<f64>() / 1e5;
        let square = normals.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(
            mean.abs() < 0.02 && (square - 1.0).abs() < 0.02,
            "{mean} {square}"
        );
        let mut counts = [0_u32; 5];
        (0..50_000).for_each(|_| counts[stream.below(5)] += 1);
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
        assert_ne!(Stream::new(7).next(), Stream::new(8).next());
    }
}
