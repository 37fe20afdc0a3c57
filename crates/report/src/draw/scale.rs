//! Where values lie in a picture.

/// A range of values over a range of pixels.
pub(super) struct Scale {
    from: f64,
    to: f64,
    log: bool,
    pixels: (f64, f64),
}

impl Scale {
    /// From 0, or on a logarithmic scale from the least value above it, to the largest value or to
    /// `top`.
    pub(super) fn new(
        values: impl Iterator<Item = f64>,
        log: bool,
        top: Option<f64>,
        pixels: (f64, f64),
    ) -> Self {
        let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && (!log || *value > 0.0)) {
            least = least.min(value);
            largest = largest.max(value);
        }
        let largest = top.unwrap_or(largest * 1.06);
        if log {
            let from = if least.is_finite() { least * 0.8 } else { 0.1 };
            return Self {
                from: from.log10(),
                to: largest.max(from * 10.0).log10(),
                log,
                pixels,
            };
        }
        let to = if largest > 0.0 { largest } else { 1.0 };
        Self::linear((least.min(0.0), to), pixels)
    }

    /// Exactly this range.
    pub(super) fn linear((from, to): (f64, f64), pixels: (f64, f64)) -> Self {
        Self {
            from,
            to,
            log: false,
            pixels,
        }
    }

    /// The pixel of a value; values beyond the range lie at its ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.log {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Round values within the range: powers of ten on a logarithmic scale, else about five steps.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            return (-6..=12)
                .map(f64::from)
                .filter(|power| *power >= self.from && *power <= self.to)
                .map(|power| 10_f64.powf(power))
                .collect();
        }
        let rough = (self.to - self.from) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|step| step * power)
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(power);
        let first = (self.from / step).ceil();
        (0..12)
            .map(|i| (first + f64::from(i)) * step)
            .take_while(|value| *value <= self.to)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let scale = Scale::linear((0.0, 230.0), (0.0, 100.0));
        assert_eq!(scale.ticks(), [0.0, 50.0, 100.0, 150.0, 200.0]);
        let scale = Scale::new([2.0, 700.0].into_iter(), true, None, (0.0, 100.0));
        assert_eq!(scale.ticks(), [10.0, 100.0]);
    }

    #[test]
    fn nothing_lies_outside() {
        let scale = Scale::new([5.0].into_iter(), false, Some(10.0), (100.0, 0.0));
        assert_eq!(scale.at(5.0), 50.0);
        assert_eq!(scale.at(-3.0), 100.0);
        assert_eq!(scale.at(30.0), 0.0);
    }
}
