//! The load of a study in the words of the driver.

use rookery_driver::{Arrivals, Load, OpenLoad, Precision, Profile, Step, Visit};
use rookery_study::{Course, CourseStep, Point};

/// The driver's words for how load comes.
pub(crate) fn driver_load(load: &rookery_study::Load, point: &Point) -> Load {
    let (Some(open), Some(rate)) = (&load.open, point.rate_per_s) else {
        return Load::Closed;
    };
    Load::Open(OpenLoad {
        arrivals: match open.arrivals {
            rookery_study::Arrivals::Poisson => Arrivals::Poisson,
            rookery_study::Arrivals::Uniform => Arrivals::Uniform,
        },
        profile: profile(&open.course, rate / f64::from(point.guests)),
        weights: Vec::new(),
        max_in_flight: open.max_in_flight,
        precision: match open.precision {
            rookery_study::Precision::Exact => Precision::Exact,
            rookery_study::Precision::Batched => Precision::Batched,
        },
        visit: match open.visit {
            rookery_study::Visit::Single => Visit::Single,
            rookery_study::Visit::GoOn(probability) => Visit::Continue { probability },
            rookery_study::Visit::Acts(acts) => Visit::Acts(acts),
        },
    })
}

/// The rate at one guest over the measured window.
fn profile(course: &Course, rate: f64) -> Profile {
    match course {
        Course::Level => Profile::Constant(rate),
        Course::Ramp { from, to } => Profile::Ramp {
            from: from * rate,
            to: to * rate,
        },
        Course::Swing { amplitude, period } => Profile::Swing {
            mean: rate,
            amplitude: *amplitude,
            period: *period,
        },
        Course::Steps(steps) => {
            let step = |step: &CourseStep| Step {
                length: step.length,
                rate: step.share * rate,
                linear: step.linear,
            };
            Profile::Steps(steps.iter().map(step).collect())
        }
    }
}
