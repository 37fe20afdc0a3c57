//! What units of work cost and ask for, whatever the workload.

use rookery_stats::{Measurement, Pacing};
use rookery_study::Study;

/// Mean pause of a client for each unit of work, s; `None` where it cannot be told.
pub(crate) fn pause_s(study: &Study, measured: &Measurement) -> Option<f64> {
    match study.workload.think_time() {
        Some(pause) => Some(pause.mean.as_secs_f64()),
        None => measured
            .pause_per_unit_s()
            .or_else(|| idle_per_unit_s(measured)),
    }
}

/// The pause of a client for each unit of work as it was; `None` where pauses fill up cycles, so
/// that they are the shorter the longer answers take.
fn idle_per_unit_s(measured: &Measurement) -> Option<f64> {
    let idle_s: f64 = measured.guests.iter().map(|guest| guest.idle_s).sum();
    let units = units(measured);
    (measured.pacing == Pacing::Think && units > 0.0).then(|| idle_s / units)
}

/// Time from a unit of work of a client to its next, s, where pauses fill up cycles; it is longer
/// than the cycle where answers take longer. `None` with other pauses.
pub(crate) fn cycle_s(measured: &Measurement) -> Option<f64> {
    let guests = measured.guests.iter();
    let all_s: f64 = guests.map(|guest| guest.busy_s + guest.idle_s).sum();
    let units = units(measured);
    (measured.pacing == Pacing::Cycle && units > 0.0).then(|| all_s / units)
}

/// Length of the cycles that were asked for, as a share of those that were made, which are longer
/// where answers took longer. `None` where pauses fill up no cycles.
pub(crate) fn cycles_kept(measured: &Measurement) -> Option<f64> {
    let cycles = measured.guests.iter().filter_map(|guest| {
        let (asked_s, made_s) = (guest.drawn_delay_mean_s?, guest.actual_delay_mean_s?);
        let users_s = guest.busy_s + guest.idle_s;
        (made_s > 0.0).then_some((users_s, users_s * asked_s / made_s))
    });
    let sum =
        |(all, asked): (f64, f64), (users_s, asked_s): (f64, f64)| (all + users_s, asked + asked_s);
    let (all, asked) = cycles.fold((0.0, 0.0), sum);
    (measured.pacing == Pacing::Cycle && all > 0.0).then(|| asked / all)
}

/// Units of work within the window.
fn units(measured: &Measurement) -> f64 {
    measured.units_per_minute() * measured.window.seconds() / 60.0
}

/// Units of work that an arrival of an open load asks for; `None` where it cannot be told.
pub(crate) fn units_per_arrival(study: &Study, measured: &Measurement) -> Option<f64> {
    let open = study.load.open()?;
    match study.workload.think_time() {
        Some(_) => Some(open.visit.mean_acts()),
        // Of several operations that go with a unit of work, one arrives at a time.
        None => Some(1.0 / measured.requests_per_unit()?),
    }
}

/// Rolled-back units of work as a share of all; `None` without any.
pub(crate) fn rollback_share<'a>(all: impl Iterator<Item = &'a Measurement>) -> Option<f64> {
    let (rolled, all) = all
        .flat_map(|measured| &measured.guests)
        .filter_map(|guest| guest.counters.rollbacks())
        .fold((0_u64, 0_u64), |sum, next| {
            (sum.0.saturating_add(next.0), sum.1.saturating_add(next.1))
        });
    (all > 0).then(|| rolled as f64 / all as f64)
}
