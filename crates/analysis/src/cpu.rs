//! Use of CPU inside the measured window.

use rookery_stats::{CpuParts, Measurement, ResourceSample};

use crate::window;
pub use crate::window::{DRIVER, HOST, is_guest};

/// Mean cores that all guests together used inside the window; `None` without samples.
#[must_use]
pub fn guest_cores(resources: &[ResourceSample], measurement: &Measurement) -> Option<f64> {
    window::over_guests(resources, measurement, cores).map(|[cores]| cores)
}

/// Mean CPUs of all guests together that stood still inside the window because quotas were used up;
/// `None` where it is not counted of each.
#[must_use]
pub fn throttled(resources: &[ResourceSample], measurement: &Measurement) -> Option<f64> {
    let of = |sample: &ResourceSample| sample.throttled_cores.map(|cores| [cores]);
    window::over_guests(resources, measurement, of).map(|[cores]| cores)
}

/// Where the cores of all guests together went; `None` where it is not known of each.
#[must_use]
pub fn guest_parts(resources: &[ResourceSample], measurement: &Measurement) -> Option<CpuParts> {
    let of = |sample: &ResourceSample| {
        sample
            .parts
            .map(|parts| [parts.user, parts.system, parts.guest, parts.emulator])
    };
    let [user, system, guest, emulator] = window::over_guests(resources, measurement, of)?;
    Some(CpuParts {
        user,
        system,
        guest,
        emulator,
    })
}

/// Mean cores that one subject used inside the window, each sample weighted by the time since the
/// one before; `None` without samples.
#[must_use]
pub fn mean_cores(
    resources: &[ResourceSample],
    subject: &str,
    measurement: &Measurement,
) -> Option<f64> {
    window::mean(resources, subject, measurement, cores).map(|[cores]| cores)
}

fn cores(sample: &ResourceSample) -> Option<[f64; 1]> {
    Some([sample.cpu_cores])
}
