//! Random streams of the simulated system: one for each purpose, so that a change of one station
//! does not shift the draws of another.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Stream(Pcg64);

impl Stream {
    /// The stream of `purpose` under `seed`: the same pair gives the same numbers.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        let mut source = Pcg64::new(
            u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15,
            u128::from(purpose),
        );
        // Neighbouring seeds start alike; a few steps part them.
        for _ in 0..4 {
            source.next_u64();
        }
        Self(source)
    }

    /// Uniform in (0, 1], so that its logarithm is finite.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Log-normal with median 1: the exponential of a normal number of deviation `sigma` (Box,
    /// Muller, Annals of Mathematical Statistics 29, 1958).
    pub(super) fn log_normal(&mut self, sigma: f64) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        (sigma * radius * (std::f64::consts::TAU * self.uniform()).cos()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_as_named() {
        let mut stream = Stream::new(3, 1);
        let n = 200_000;
        let mean = (0..n).map(|_| stream.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let squares = (0..n)
            .map(|_| stream.log_normal(0.1).ln().powi(2))
            .sum::<f64>()
            / f64::from(n);
        assert!((squares.sqrt() - 0.1).abs() < 0.001, "{squares}");
        assert_eq!(Stream::new(3, 1).log_normal(0.0), 1.0);
        assert_ne!(Stream::new(3, 1).uniform(), Stream::new(3, 2).uniform());
    }
}
