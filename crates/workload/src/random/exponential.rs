//! Exponential numbers at the price of a multiplication and a comparison.

use std::sync::LazyLock;

use rookery_cast::index;

use super::{RandomSource, unit};

/// Draws exponential numbers of mean 1 from tables, several times as fast as by a logarithm; from
/// the same bits it gives other numbers than [`RandomSource::exponential`].
///
/// Source: G. Marsaglia, W. W. Tsang, "The Ziggurat Method for Generating Random Variables", J.
/// Statistical Software 5(8), 2000.
#[derive(Clone, Copy, Debug)]
pub struct ExponentialTable(&'static Layers);

impl ExponentialTable {
    /// The tables, which are computed once in a process.
    #[must_use]
    pub fn shared() -> Self {
        Self(&LAYERS_OF_EXPONENTIAL)
    }

    /// The next exponential number of mean 1.
    #[inline]
    pub fn draw(self, source: &mut impl RandomSource) -> f64 {
        loop {
            // The layer takes the lowest bits, the place in it the highest.
            let bits = source.bits();
            let layer = index(bits & (LAYERS as u64 - 1));
            let x = unit(bits) * self.0.x[layer];
            if x < self.0.x[layer + 1] {
                return x;
            }
            if let Some(x) = self.outside(layer, x, source) {
                return x;
            }
        }
    }

    /// Beside the part of a layer that lies wholly below the curve: one draw of a hundred.
    #[cold]
    fn outside(self, layer: usize, x: f64, source: &mut impl RandomSource) -> Option<f64> {
        if layer == 0 {
            // The tail of an exponential is an exponential.
            return Some(TAIL - source.unit().ln());
        }
        let (low, high) = (self.0.f[layer], self.0.f[layer + 1]);
        (low + (high - low) * source.unit() < (-x).exp()).then_some(x)
    }
}

/// Layers of equal area under the curve.
const LAYERS: usize = 256;
/// Where the tail begins, and the area of a layer, for 256 layers.
const TAIL: f64 = 7.697_117_470_131_05;
const AREA: f64 = 0.003_949_659_822_581_557;

static LAYERS_OF_EXPONENTIAL: LazyLock<Layers> = LazyLock::new(Layers::new);

/// Right ends of the layers, widest first, and the curve e^-x there. The first is as wide as a
/// rectangle of the base's area.
#[derive(Debug)]
struct Layers {
    x: [f64; LAYERS + 1],
    f: [f64; LAYERS + 1],
}

impl Layers {
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
    use super::{super::PurposeStream, *};

    /// Mean, and the share above each of several times, tail included, within five standard errors.
    #[test]
    fn exponential_times_are_exponential() {
        const DRAWS: u32 = 2_000_000;
        let mut stream = PurposeStream::new(9, 1);
        let table = ExponentialTable::shared();
        let times = [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 7.0, 7.6, 7.8, 9.0, 11.0];
        let (mut sum, mut above) = (0.0, [0_u32; 12]);
        for _ in 0..DRAWS {
            let draw = table.draw(&mut stream);
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
        let Layers { x, f } = &*LAYERS_OF_EXPONENTIAL;
        for layer in 1..LAYERS {
            assert!(
                (x[layer] * (f[layer + 1] - f[layer]) / AREA - 1.0).abs() < 1e-9,
                "layer {layer}"
            );
        }
        assert!((x[0] * f[1] / AREA - 1.0).abs() < 1e-12 && x[LAYERS] == 0.0);
    }
}
