//! Faults of open loads: arrivals that never came.

use super::{Fault, FaultCode};
use crate::{Measurement, Mode};

/// Largest share of arrivals that may be dropped.
const DROPPED_LIMIT: f64 = 0.001;

/// Where arrivals were dropped, those that suffered most are missing from the response times.
pub(super) fn dropped(measurement: &Measurement) -> Option<Fault> {
    let arrivals = measurement.driver.arrivals.as_ref()?;
    let share = arrivals.dropped as f64 / arrivals.drawn.max(1) as f64;
    (share > DROPPED_LIMIT).then(|| {
        Fault::new(FaultCode::ArrivalsDropped, format!(
            "{} of {} arrivals ({:.2} %, limit 0.1 %) were dropped, because as many visitors as \
             allowed were present: the system does not \
             keep up with this load, or max_in_flight is too small",
            arrivals.dropped,
            arrivals.drawn,
            100.0 * share
        ))
    })
}

/// Share of the orders that began in the window by which those that ended in it may fall short.
const UNSERVED_LIMIT: f64 = 0.05;

/// More arrives than is served: the number outstanding grows over the window, so that no steady
/// state exists and response times are those of its length. In steady state as many orders end in a
/// window as begin in it, but for chance (three deviations of a count).
pub(super) fn unserved(measurement: &Measurement) -> Option<Fault> {
    if measurement.mode == Mode::Closed {
        return None;
    }
    let main = measurement.main_operation();
    let orders = measurement
        .guests
        .iter()
        .filter_map(|guest| guest.operation(main));
    let (begun, ended) = orders.fold((0_u64, 0_u64), |(begun, ended), order| {
        (
            begun + order.started,
            ended + order.completed + order.failed,
        )
    });
    let short = begun.saturating_sub(ended) as f64;
    let chance = 3.0 * (begun as f64).sqrt();
    let units = measurement.info()?.unit.plural;
    (short > chance && short > UNSERVED_LIMIT * begun as f64).then(|| {
        Fault::new(
            FaultCode::Overload,
            format!(
                "unstable: {begun} {units} began in the window and {ended} ended, so that more and \
                 more waited: the system does not keep up with this load"
            ),
        )
    })
}

/// Every arrival is started or dropped.
pub(super) fn lost(measurement: &Measurement) -> Option<Fault> {
    let arrivals = measurement.driver.arrivals.as_ref()?;
    let accounted = arrivals.started + arrivals.dropped;
    (accounted != arrivals.drawn).then(|| {
        Fault::new(
            FaultCode::ArrivalsLost,
            format!(
                "{} arrivals were drawn, but {accounted} started or dropped",
                arrivals.drawn
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, faults, tests::healthy};
    use crate::{ArrivalCounts, Latencies, Mode, Pacing};

    /// 100 orders/s of 10 ms for 60 s.
    fn open() -> crate::Measurement {
        let mut open = healthy();
        (open.mode, open.pacing) = (Mode::Open, Pacing::Arrivals);
        let guest = &mut open.guests[0];
        (guest.users, guest.busy_s, guest.idle_s) = (0, 60.0, 0.0);
        (guest.drawn_delay_mean_s, guest.actual_delay_mean_s) = (None, None);
        let mut latencies = Latencies::new();
        (0..6_000).for_each(|_| latencies.record_us(10_000));
        let order = &mut guest.operations[0];
        (order.started, order.completed, order.succeeded) = (6_000, 6_000, 6_000);
        (order.service, order.response) = (latencies.clone(), latencies);
        open.driver.arrivals = Some(ArrivalCounts {
            spacing: "poisson".to_owned(),
            precision: "exact".to_owned(),
            drawn: 6_000,
            started: 6_000,
            dropped: 0,
        });
        open
    }

    #[test]
    fn dropped_arrivals_void_a_trial_above_one_in_a_thousand() {
        let with = |drawn, started, dropped| {
            let mut open = open();
            let arrivals = open.driver.arrivals.as_mut().expect("an open load");
            (arrivals.drawn, arrivals.started, arrivals.dropped) = (drawn, started, dropped);
            faults(&open)
        };
        assert_eq!(with(6_000, 6_000, 0), Vec::<Fault>::new());
        assert_eq!(with(6_000, 5_994, 6), Vec::<Fault>::new());
        let faults = with(6_000, 5_993, 7);
        assert!(
            faults.len() == 1 && faults[0].text.contains("7 of 6000 arrivals (0.12 %"),
            "{faults:?}"
        );
        let faults = with(6_000, 5_999, 0);
        assert!(
            faults.len() == 1 && faults[0].text.contains("5999 started or dropped"),
            "{faults:?}"
        );
        assert_eq!(with(0, 0, 0), Vec::<Fault>::new());
    }

    #[test]
    fn a_backlog_that_grows_is_overload_and_chance_is_not() {
        let with = |ended: u64, failed: u64| {
            let mut open = open();
            let order = &mut open.guests[0].operations[0];
            (order.completed, order.failed) = (ended, failed);
            crate::faults::overload(&open)
        };
        assert_eq!(
            (with(6_000, 0), with(5_800, 0), with(5_500, 400)),
            (None, None, None)
        );
        assert!(
            with(5_600, 0)
                .expect("a growing backlog")
                .text
                .contains("6000 orders began in the window and 5600 ended")
        );
    }

    #[test]
    fn open_loads_are_judged_by_their_own_law_and_have_no_population() {
        let mut open = open();
        open.driver.little_error = 0.019;
        assert_eq!(faults(&open), Vec::<Fault>::new());
        open.driver.little_error = 0.021;
        let faults = faults(&open);
        assert!(
            faults.len() == 1
                && faults[0]
                    .text
                    .contains("Little's law is off by 2.1 % (limit 2 %)"),
            "{faults:?}"
        );
    }
}
