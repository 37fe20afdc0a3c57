//! Distributions of times.

use crate::random::Stream;

/// How times scatter around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    /// Always the mean: variation 0.
    Constant,
    /// Variation 1.
    Exponential,
    /// The sum of so many exponential phases: variation 1/phases.
    Erlang(u32),
    /// Two exponential branches of balanced means with this squared coefficient of variation, > 1.
    Hyperexponential(f64),
}

impl Times {
    /// A time of mean 1.
    #[inline]
    pub(crate) fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => stream.exponential(),
            Self::Erlang(phases) => {
                (0..phases).map(|_| stream.exponential()).sum::<f64>() / f64::from(phases)
            }
            Self::Hyperexponential(scv) => {
                let share = f64::midpoint(1.0, ((scv - 1.0) / (scv + 1.0)).sqrt());
                let branch = if stream.uniform() <= share {
                    share
                } else {
                    1.0 - share
                };
                stream.exponential() / (2.0 * branch)
            }
        }
    }

    /// Whether the parameter makes sense.
    pub(crate) fn valid(self) -> bool {
        match self {
            Self::Constant | Self::Exponential => true,
            Self::Erlang(phases) => (1..=1000).contains(&phases),
            Self::Hyperexponential(scv) => scv.is_finite() && scv > 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_variations_are_as_named() {
        for (times, scv) in [
            (Times::Constant, 0.0),
            (Times::Exponential, 1.0),
            (Times::Erlang(4), 0.25),
            (Times::Hyperexponential(4.0), 4.0),
        ] {
            let mut stream = Stream::new(11, 5);
            let draws: Vec<f64> = (0..200_000).map(|_| times.draw(&mut stream)).collect();
            let mean = draws.iter().sum::<f64>() / 2e5;
            let variance = draws.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / 2e5;
            assert!(
                (mean - 1.0).abs() < 0.02 && (variance - scv).abs() < 0.05 * scv.max(0.01) + 0.02,
                "{times:?} {mean} {variance}"
            );
        }
        assert!(!Times::Erlang(0).valid() && !Times::Hyperexponential(1.0).valid());
    }
}
