//! Means of what was sampled, over the measured window.

use rookery_stats::{Measurement, ResourceSample};

/// The subject that stands for the machine.
pub const HOST: &str = "host";
/// The subject that stands for the driver.
pub const DRIVER: &str = "driver";

/// Whether a sample is of a guest.
#[must_use]
pub fn is_guest(sample: &ResourceSample) -> bool {
    sample.subject != HOST && sample.subject != DRIVER
}

/// Sum over all guests of their means of some values; `None` where there is no guest, or one of
/// them has no such value.
pub(crate) fn over_guests<const N: usize>(
    resources: &[ResourceSample],
    measurement: &Measurement,
    of: impl Fn(&ResourceSample) -> Option<[f64; N]>,
) -> Option<[f64; N]> {
    let mut subjects: Vec<&str> = resources
        .iter()
        .filter(|sample| is_guest(sample))
        .map(|sample| sample.subject.as_str())
        .collect();
    subjects.sort_unstable();
    subjects.dedup();
    let mut sum = [0.0; N];
    for subject in &subjects {
        let means = mean(resources, subject, measurement, &of)?;
        sum.iter_mut()
            .zip(means)
            .for_each(|(sum, mean)| *sum += mean);
    }
    (!subjects.is_empty()).then_some(sum)
}

/// Means of some values of one subject, each sample weighted by the part of the window between it
/// and the one before; `None` without samples that have them.
pub(crate) fn mean<const N: usize>(
    resources: &[ResourceSample],
    subject: &str,
    measurement: &Measurement,
    of: impl Fn(&ResourceSample) -> Option<[f64; N]>,
) -> Option<[f64; N]> {
    let window = &measurement.window;
    let (mut sums, mut time, mut last) = ([0.0; N], 0.0, None);
    for sample in resources.iter().filter(|sample| sample.subject == subject) {
        let values = of(sample).filter(|values| values.iter().all(|value| value.is_finite()));
        if let (Some(previous), Some(values)) = (last, values) {
            let overlap = sample.at_s.min(window.end_s) - f64::max(previous, window.start_s);
            if overlap > 0.0 {
                sums.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum += value * overlap);
                time += overlap;
            }
        }
        last = Some(sample.at_s);
    }
    (time > 0.0).then(|| sums.map(|sum| sum / time))
}
