//! How far Little's law may be off, and when a window is too short to tell.

use super::{cycle_s, cycles, delays_s, is_short, service_moments, users, window_s};
use crate::{Measurement, Mode, Pacing};

/// Largest error of Little's law with at least [`MANY`] operations in a window of at least 20
/// cycles.
const LITTLE_LIMIT: f64 = 0.02;
/// Otherwise.
const LITTLE_LIMIT_FEW: f64 = 0.05;
/// A limit is applied where it is at least so many standard errors wide.
const STANDARD_ERRORS: f64 = 3.0;
/// Operations that make a check of means strict.
const MANY: u64 = 1_000;

/// The limit of the error of Little's law; `None` = the window is too short to judge.
pub(super) fn limit(measurement: &Measurement) -> Option<f64> {
    let strict = cycles(measurement) >= MANY && !is_short(measurement);
    let noise = STANDARD_ERRORS * standard_error(measurement)?;
    [(strict, LITTLE_LIMIT), (true, LITTLE_LIMIT_FEW)]
        .into_iter()
        .find(|&(applies, limit)| applies && noise <= limit)
        .map(|(_, limit)| limit)
}

/// Standard error of X (R + Z) / N of a healthy trial; `None` without acts. There is none in an
/// open load: the driver counts out what the ends of the window cut.
///
/// X counts the acts that end inside a window of length T, and R and Z come from the very same
/// cycles, so that for each user the sum of the cycles c is T but for the pieces of cycle at the
/// two ends. Each piece is a recurrence time, of variance V = E(c^3) / (3 E(c)) - (E(c^2) / (2
/// E(c)))^2 (D. R. Cox, "Renewal Theory", 1962, chapter 5). The two ends and the users are
/// independent: the error is sqrt(2 V / N) / T. Think times are uniform from 0 to twice their mean;
/// R and Z are taken as independent.
///
/// Worked example: 10 users, R = 0.15 s without variance, Z = 0.45 s, T = 60 s: E(c^2) = 0.4275,
/// E(c^3) = 0.3375, V = 0.0606 s^2: 0.18 %.
fn standard_error(measurement: &Measurement) -> Option<f64> {
    let [service, squares, cubes] = service_moments(measurement)?;
    if measurement.mode != Mode::Closed {
        return Some(0.0);
    }
    let (drawn_s, _) = delays_s(measurement).unwrap_or_default();
    let think_variance = match measurement.pacing {
        Pacing::Think => drawn_s.powi(2) / 3.0,
        Pacing::Cycle | Pacing::Arrivals => 0.0,
    };
    // Cumulants of independent times add; the third one of a uniform time is 0.
    let (mean, variance) = (
        cycle_s(measurement)?,
        squares - service.powi(2) + think_variance,
    );
    let third = cubes - 3.0 * service * squares + 2.0 * service.powi(3);
    let (square, cube) = (
        mean.powi(2) + variance,
        mean.powi(3) + 3.0 * mean * variance + third,
    );
    let recurrence = (cube / (3.0 * mean) - (square / (2.0 * mean)).powi(2)).max(0.0);
    let (users, window_s) = (users(measurement), window_s(measurement));
    (mean > 0.0 && users > 0.0 && window_s > 0.0)
        .then(|| (2.0 * recurrence / users).sqrt() / window_s)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::healthy, *};

    #[test]
    fn little_is_judged_by_what_the_window_can_tell() {
        let healthy = healthy();
        let error = standard_error(&healthy).expect("acts");
        assert!((error - 0.00184).abs() < 1e-5, "{error}");
        assert_eq!(limit(&healthy), Some(0.02));
        let at = |end_s, users| {
            let mut measurement = healthy.clone();
            measurement.window.end_s = end_s;
            measurement.guests[0].users = users;
            limit(&measurement)
        };
        assert_eq!(at(22.1, 1_000), Some(0.02), "20 cycles of 0.6 s");
        assert_eq!(at(21.9, 1_000), Some(0.05), "fewer");
        assert_eq!(at(40.0, 2), Some(0.05), "too noisy for 2 %");
        assert_eq!(at(20.0, 1), None);
        let mut nothing = healthy.clone();
        nothing.guests[0].operations.clear();
        assert_eq!(limit(&nothing), None);
    }

    #[test]
    fn an_open_trial_is_judged_however_short() {
        let mut open = healthy();
        open.mode = Mode::PartlyOpen;
        open.window.end_s = open.window.start_s + 1.0;
        open.guests[0].operations[0].completed = 60;
        assert_eq!(limit(&open), Some(0.05));
        open.guests[0].operations.clear();
        assert_eq!(limit(&open), None, "no acts");
    }
}
