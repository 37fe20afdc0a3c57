//! Use of CPU inside the measured window.

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

/// Mean cores that all guests together used inside the window; `None` without samples.
#[must_use]
pub fn guest_cores(resources: &[ResourceSample], measurement: &Measurement) -> Option<f64> {
    let mut subjects: Vec<&str> = resources
        .iter()
        .filter(|sample| is_guest(sample))
        .map(|sample| sample.subject.as_str())
        .collect();
    subjects.sort_unstable();
    subjects.dedup();
    let means: Option<Vec<f64>> = subjects.iter().map(|subject| mean_cores(resources, subject, measurement)).collect();
    means.filter(|means| !means.is_empty()).map(|means| means.iter().sum())
}

/// Mean cores that one subject used inside the window, each sample weighted by the time since the one before; `None` without
/// samples.
#[must_use]
pub fn mean_cores(resources: &[ResourceSample], subject: &str, measurement: &Measurement) -> Option<f64> {
    let window = &measurement.window;
    let (mut used, mut time, mut last) = (0.0, 0.0, None);
    for sample in resources.iter().filter(|sample| sample.subject == subject) {
        if let Some(previous) = last {
            let overlap = sample.at_s.min(window.end_s) - f64::max(previous, window.start_s);
            if overlap > 0.0 && sample.cpu_cores.is_finite() {
                used += sample.cpu_cores * overlap;
                time += overlap;
            }
        }
        last = Some(sample.at_s);
    }
    (time > 0.0).then(|| used / time)
}
