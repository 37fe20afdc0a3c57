//! The recorders of all threads become the measurement of a guest.

use rookery_stats::GuestMeasurement;

use super::{Delays, Operation, Recorder, operation::OperationRecord, second::Series, shop::ShopRecord, tally::Tallies};
use crate::clock::{Nanos, Span, seconds};

/// Merge the recorders of one guest. `always` lists the operations that are reported even when none was started; others appear only
/// when they touched the window.
pub(crate) fn guest(name: &str, users: u32, always: &[Operation], window: Span, recorders: Vec<Recorder>) -> GuestMeasurement {
    let mut operations: [OperationRecord; Operation::COUNT] = Default::default();
    let (mut series, mut tallies, mut shops) = (Vec::new(), Vec::new(), Vec::new());
    let (mut busy, mut idle) = (0, 0);
    let mut delays = Delays::default();
    for recorder in recorders {
        for (mine, other) in operations.iter_mut().zip(&recorder.operations) {
            mine.merge(other);
        }
        series.push(recorder.series);
        tallies.push(recorder.tallies);
        shops.push(recorder.shop);
        busy += recorder.busy;
        idle += recorder.idle;
        delays.count += recorder.delays.count;
        delays.drawn += recorder.delays.drawn;
        delays.actual += recorder.delays.actual;
    }
    let mean = |sum: Nanos| (delays.count > 0).then(|| seconds(sum) / delays.count as f64);
    let listed = Operation::ALL.into_iter().zip(operations);
    GuestMeasurement {
        guest: name.to_owned(),
        users,
        operations: listed
            .filter(|(operation, record)| always.contains(operation) || !record.is_empty())
            .map(|(operation, record)| record.measurement(operation))
            .collect(),
        series: Series::merge(series),
        errors: Tallies::merge(tallies),
        shop: ShopRecord::counters(shops, window),
        busy_s: seconds(busy),
        idle_s: seconds(idle),
        drawn_delay_mean_s: mean(delays.drawn),
        actual_delay_mean_s: mean(delays.actual),
    }
}
