//! Checks of the sample workload.

use rookery_workload::sample::{SampleCounters, SampleOperation};

use crate::{
    Measurement,
    checks::{Remark, transitions},
};

/// Whether operations followed each other as the matrix says, over all guests.
pub(super) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    let mut all = SampleCounters::default();
    for guest in &measurement.guests {
        if let Some(counters) = guest.counters.sample() {
            all.merge(counters);
        }
    }
    let names = SampleOperation::ALL.map(SampleOperation::name);
    let counts = all.transitions.map(Vec::from);
    let matrix = all.matrix.rows().map(Vec::from);
    transitions(&names, &counts, &matrix)
}

#[cfg(test)]
mod tests {
    use rookery_workload::Counters;

    use super::*;
    use crate::faults::tests::healthy;

    /// A trial whose users drew these transitions from the default matrix.
    fn drawn(transitions: [[u64; 3]; 3]) -> Measurement {
        let mut measurement = healthy();
        for guest in &mut measurement.guests {
            guest.counters = Counters::Sample(SampleCounters {
                transitions,
                ..SampleCounters::default()
            });
        }
        measurement
    }

    #[test]
    fn transitions_that_the_matrix_does_not_give_are_a_fault() {
        let right = [[600, 200, 200], [700, 100, 200], [400, 400, 200]];
        assert_eq!(own_checks(&drawn(right)), Vec::new());
        let wrong = [[600, 200, 200], [700, 100, 200], [600, 200, 200]];
        let remarks = own_checks(&drawn(wrong));
        assert!(
            matches!(&remarks[..], [Remark::Fault(fault)] if fault.text.starts_with("after `write`:")),
            "{remarks:?}"
        );
    }
}
