//! The recorders of all threads become the measurement of a guest.

use rookery_stats::{GuestMeasurement, Pacing};

use super::{
    Operation, Population, Recorder, operation::OperationRecord, second::Series, shop::ShopRecord,
    tally::Tallies, wait::Waits,
};
use crate::clock::{Span, seconds};

/// Merge the recorders of one guest. `always` lists the operations that are reported even when none was started; others appear only
/// when they touched the window.
pub(crate) fn guest(
    name: &str,
    users: u32,
    always: &[Operation],
    window: Span,
    pacing: Pacing,
    recorders: Vec<Recorder>,
) -> (GuestMeasurement, Population) {
    let mut operations: [OperationRecord; Operation::COUNT] = Default::default();
    let (mut series, mut tallies, mut shops) = (Vec::new(), Vec::new(), Vec::new());
    let (mut busy, mut idle, mut active) = (0, 0, 0);
    let (mut delays, mut waits) = (Waits::default(), Waits::default());
    for recorder in recorders {
        for (mine, other) in operations.iter_mut().zip(&recorder.operations) {
            if let Some(other) = other {
                mine.merge(other);
            }
        }
        series.push(recorder.series);
        tallies.push(recorder.tallies);
        shops.push(recorder.shop);
        busy += recorder.busy;
        idle += recorder.idle;
        active += recorder.active;
        delays.merge(recorder.delays);
        waits.merge(recorder.other_waits);
    }
    // A drawn think time is the wait between two acts itself; a cycle time begins with the act.
    if pacing == Pacing::Think {
        waits.merge(delays);
    }
    // What users go through again and again: whole orders, else each operation that the script names.
    let is_act = |operation: &Operation| {
        let has_orders = always.contains(&Operation::Order);
        if has_orders {
            *operation == Operation::Order
        } else {
            always.contains(operation)
        }
    };
    let acts: Vec<&OperationRecord> = Operation::ALL
        .iter()
        .zip(&operations)
        .filter(|(operation, _)| is_act(operation))
        .map(|(_, record)| record)
        .collect();
    let population = if pacing == Pacing::Arrivals {
        Population::of_acts(window, &acts, busy)
    } else {
        Population::of_users(window, &acts, waits, active)
    };
    let listed = Operation::ALL.into_iter().zip(operations);
    let measurement = GuestMeasurement {
        guest: name.to_owned(),
        users,
        operations: listed
            .filter(|(operation, record)| always.contains(operation) || !record.is_empty())
            .map(|(operation, record)| record.measurement(operation))
            .collect(),
        series: Series::merge(series),
        errors: Tallies::merge(tallies),
        orderentry: None,
        shop: ShopRecord::counters(shops, window),
        busy_s: seconds(busy),
        idle_s: seconds(idle),
        drawn_delay_mean_s: delays.drawn_mean_s(),
        actual_delay_mean_s: delays.actual_mean_s(),
    };
    (measurement, population)
}
