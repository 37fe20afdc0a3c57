//! Checks of web workloads as data.

use rookery_workload::http::HttpCounters;

use crate::{
    Measurement,
    checks::{Remark, transitions},
};

/// The row of what a session begins with, and the column of its end.
const OUTSIDE: &str = "begin or end of a session";

/// Whether operations followed each other as the mix says, over all guests. Scripts draw nothing.
pub(super) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    let mut all = HttpCounters::default();
    for guest in &measurement.guests {
        if let Some(counters) = HttpCounters::from_counters(&guest.counters) {
            all.merge(counters);
        }
    }
    let mut names: Vec<&str> = all.operations.iter().map(String::as_str).collect();
    names.push(OUTSIDE);
    transitions(&names, &all.transitions, &all.expected)
}

#[cfg(test)]
mod tests {
    use rookery_workload::Counters;

    use super::*;
    use crate::faults::tests::healthy;

    /// A trial in which the only operation ended a session in half of all cases, and was `counted`.
    fn drawn(counted: Vec<u64>) -> Measurement {
        let mut measurement = healthy();
        for guest in &mut measurement.guests {
            guest.counters = Counters::Http(HttpCounters {
                operations: vec!["read".to_owned()],
                expected: vec![vec![0.5, 0.5], vec![1.0, 0.0]],
                transitions: vec![counted.clone(), vec![500, 0]],
                ..HttpCounters::default()
            });
        }
        measurement
    }

    #[test]
    fn steps_that_the_mix_does_not_give_are_a_fault() {
        assert_eq!(own_checks(&drawn(vec![500, 500])), Vec::new());
        let remarks = own_checks(&drawn(vec![700, 300]));
        assert!(
            matches!(&remarks[..], [Remark::Fault(fault), ..] if fault.text.starts_with("after `read`:")),
            "{remarks:?}"
        );
    }
}
