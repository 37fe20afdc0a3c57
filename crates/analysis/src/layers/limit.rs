//! What limited the throughput of a layer.

use rookery_stats::{Measurement, Mode};

use crate::{mean::mean, schema::data, units};

/// From this share of their time on which users spend pausing, or of cycles that were kept, the
/// offered load limits: were the layer infinitely fast, throughput would grow by a ninth at most.
const PAUSING: f64 = 0.9;
/// From this share of arrivals on that are served, an open load is.
const SERVED: f64 = 0.97;
/// From this share of the CPUs that guests may use on, these limit.
const BUSY: f64 = 0.9;

data! {
    /// What limited the throughput.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Limit {
        /// The load that was offered: the layer could have carried more, and its throughput says
        /// nothing of it.
        OfferedLoad,
        /// The CPUs that its guests may use: throughput is capacity.
        Cpu,
        /// Neither: users waited for answers, and throughput follows from response times.
        Waiting,
    }
}

/// How much of what may limit was in use in one trial, as shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// Of a closed load, the time of users in which they pause, or the length of cycles that
    /// answers did not add to; of an open one, the arrivals that were served, on the scale of
    /// [`PAUSING`].
    idle: Option<f64>,
    /// Of the CPUs that the guests may use.
    busy: Option<f64>,
}

impl Use {
    /// Of a trial whose guests used `cores` of `capacity`.
    pub(super) fn from_measurement(
        measured: &Measurement,
        cores: Option<f64>,
        capacity: f64,
    ) -> Self {
        Self {
            idle: match measured.mode {
                Mode::Closed => units::cycles_kept(measured).or_else(|| pausing(measured)),
                Mode::Open | Mode::PartlyOpen => {
                    served(measured).map(|share| share * PAUSING / SERVED)
                }
            },
            busy: cores
                .filter(|_| capacity > 0.0)
                .map(|cores| cores / capacity),
        }
    }
}

fn pausing(measured: &Measurement) -> Option<f64> {
    let (busy, idle) = measured
        .guests
        .iter()
        .fold((0.0, 0.0), |(busy, idle), guest| {
            (busy + guest.busy_s, idle + guest.idle_s)
        });
    let share = idle / (busy + idle);
    share.is_finite().then_some(share)
}

/// Started arrivals over drawn ones, and completed operations over started ones: the smaller of
/// both.
fn served(measured: &Measurement) -> Option<f64> {
    let arrivals = measured.driver.arrivals.as_ref()?;
    let operation = measured.main_operation();
    let own = measured
        .guests
        .iter()
        .filter_map(|guest| guest.operation(operation));
    let (started, completed) = own.fold((0u64, 0u64), |(started, completed), operation| {
        (
            started.saturating_add(operation.started),
            completed.saturating_add(operation.completed),
        )
    });
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    Some(share(arrivals.started, arrivals.drawn)?.min(share(completed, started)?))
}

/// Of all trials of a layer, by what each used.
pub(super) fn of(trials: &[&Use]) -> Option<Limit> {
    let over = |of: fn(&Use) -> Option<f64>| {
        mean(
            &trials
                .iter()
                .filter_map(|used| of(used))
                .collect::<Vec<f64>>(),
        )
    };
    let (idle, busy) = (over(|used| used.idle), over(|used| used.busy));
    if trials.is_empty() {
        return None;
    }
    Some(if busy.is_some_and(|busy| busy >= BUSY) {
        Limit::Cpu
    } else if idle.is_some_and(|idle| idle >= PAUSING) {
        Limit::OfferedLoad
    } else {
        Limit::Waiting
    })
}
