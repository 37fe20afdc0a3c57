//! The load of a study in the words of the driver.

use std::time::Duration;

use rookery_driver::{Load, OpenLoad, Phases, Profile};
use rookery_study::Point;

/// The driver's words for how load comes.
pub(crate) fn driver_load(load: &rookery_study::Load, point: &Point) -> Load {
    let (Some(open), Some(rate)) = (load.open(), point.rate_per_s()) else {
        return Load::Closed;
    };
    Load::Open(OpenLoad {
        arrivals: open.arrivals,
        profile: Profile {
            rate_per_s: rate / f64::from(point.guests()),
            course: open.course.clone(),
        },
        weights: Vec::new(),
        max_in_flight: open.max_in_flight,
        precision: open.precision,
        visit: open.visit,
    })
}

/// The phases of a trial with this window.
pub(crate) fn phases(load: &rookery_study::Load, point: &Point, steady: Duration) -> Phases {
    Phases {
        ramp_up: load.ramp_up.lasting(point.total_users(), point.guests()),
        settle: load.settle,
        steady,
        ramp_down: load.ramp_down,
        drain: load.drain,
    }
}
