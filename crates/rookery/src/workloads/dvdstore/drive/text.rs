//! What a load on a DVD Store measured, as tables for people.

use rookery_stats::Measurement;
use rookery_workload::dvdstore::lines;

use super::original;
use crate::{output, workloads::measured};

/// Print the tables, each with the lines of the original driver.
pub(super) fn print(measurement: &Measurement, faults: &[String]) {
    let seconds = measurement.window.end_s - measurement.window.start_s;
    measured::print(measurement, faults, &|guest| {
        if let Some(shop) = guest.counters.dvdstore() {
            let totals = original::window_totals(shop, seconds);
            output::text(lines::final_line(None, &totals, &original::calls(shop)));
            output::text(lines::from_start_line(
                shop.n_purchase_from_start,
                shop.n_rollbacks_from_start,
            ));
        }
    });
}
