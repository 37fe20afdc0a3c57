//! Random streams: one per (seed, purpose), so that the same seed gives the same numbers and
//! purposes do not disturb each other.

use std::sync::LazyLock;

use rand_core::Rng;
use rand_pcg::Pcg64;
use rookery_cast::{index, low_u64};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    source: Pcg64,
    ziggurat: &'static Ziggurat,
}

impl Stream {
    /// The stream of `purpose` under `seed`.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut source = Pcg64::new(
            u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15,
            u128::from(purpose),
        );
        // Neighbouring seeds start alike; a few steps part them.
        for _ in 0..4 {
            source.next_u64();
        }
        Self {
            source,
            ziggurat: &ZIGGURAT,
        }
    }

    /// Uniform in (0, 1], so that its logarithm is finite.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        unit(self.source.next_u64())
    }

    /// Exponential with mean 1.
    ///
    /// Source: Marsaglia, Tsang, The Ziggurat Method for Generating Random Variables, J.
    /// Statistical Software 5(8) (2000).
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        loop {
            // The layer takes the lowest bits, the place in it the highest.
            let bits = self.source.next_u64();
            let layer = index(bits & (LAYERS as u64 - 1));
            let x = unit(bits) * self.ziggurat.x[layer];
            if x < self.ziggurat.x[layer + 1] {
                return x;
            }
            if let Some(x) = self.outside(layer, x) {
                return x;
            }
        }
    }

    /// Beside the part of a layer that lies wholly below the curve: one draw of a hundred.
    #[cold]
    fn outside(&mut self, layer: usize, x: f64) -> Option<f64> {
        if layer == 0 {
            // The tail of an exponential is an exponential.
            return Some(TAIL - self.uniform().ln());
        }
        let (low, high) = (self.ziggurat.f[layer], self.ziggurat.f[layer + 1]);
        (low + (high - low) * self.uniform() < (-x).exp()).then_some(x)
    }

    /// Uniform over 0..`count`, `count` > 0; the bias is below `count`/2^64.
    #[inline]
    pub(crate) fn below(&mut self, count: usize) -> usize {
        index(low_u64(
            (u128::from(self.source.next_u64()) * count as u128) >> 64,
        ))
    }
}

#[inline]
fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Layers of equal area under the curve.
const LAYERS: usize = 256;
/// Where the tail begins, and the area of a layer, for 256 layers.
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 0.003_949_659_822_581_557;

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(Ziggurat::new);

/// Right ends of the layers, widest first, and the curve e^-x there. The first is as wide as a
/// rectangle of the base's area.
#[derive(Debug)]
struct Ziggurat {
    x: [f64; LAYERS + 1],
    f: [f64; LAYERS + 1],
}

impl Ziggurat {
    fn new() -> Self {
        let mut x = [0.0; LAYERS + 1];
        x[0] = AREA * TAIL.exp();
        x[1] = TAIL;
        for layer in 2..LAYERS {
            x[layer] = -(AREA / x[layer - 1] + (-x[layer - 1]).exp()).ln();
        }
        Self {
            f: x.map(|x| (-x).exp()),
            x,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_right_and_streams_differ() {
        let mut stream = Stream::new(7, 1);
        let mut counts = [0_u32; 5];
        (0..50_000).for_each(|_| counts[stream.below(5)] += 1);
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 400),
            "{counts:?}"
        );
        assert_ne!(Stream::new(7, 1).uniform(), Stream::new(7, 2).uniform());
        assert_ne!(Stream::new(7, 1).uniform(), Stream::new(8, 1).uniform());
        assert_eq!(Stream::new(7, 1).uniform(), Stream::new(7, 1).uniform());
    }

    /// Mean, and the share above each of several times, tail included, within five standard errors.
    #[test]
    fn exponential_times_are_exponential() {
        const DRAWS: u32 = 2_000_000;
        let mut stream = Stream::new(9, 1);
        let times = [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 7.0, 7.6, 7.8, 9.0, 11.0];
        let (mut sum, mut above) = (0.0, [0_u32; 12]);
        for _ in 0..DRAWS {
            let draw = stream.exponential();
            sum += draw;
            for (count, time) in above.iter_mut().zip(times) {
                *count += u32::from(draw > time);
            }
        }
        let n = f64::from(DRAWS);
        assert!((sum / n - 1.0).abs() < 5.0 / n.sqrt(), "{}", sum / n);
        for (count, time) in above.into_iter().zip(times) {
            let share = (-time).exp();
            let error = (share * (1.0 - share) / n).sqrt();
            assert!(
                (f64::from(count) / n - share).abs() <= 5.0 * error,
                "above {time}: {count}"
            );
        }
    }

    #[test]
    fn layers_have_one_area_and_close_at_the_top() {
        let Ziggurat { x, f } = &*ZIGGURAT;
        for layer in 1..LAYERS {
            assert!(
                (x[layer] * (f[layer + 1] - f[layer]) / AREA - 1.0).abs() < 1e-9,
                "layer {layer}"
            );
        }
        assert!((x[0] * f[1] / AREA - 1.0).abs() < 1e-12 && x[LAYERS] == 0.0);
    }
}
