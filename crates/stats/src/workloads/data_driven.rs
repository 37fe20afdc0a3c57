//! Checks of workloads as data.

use rookery_workload::{Counters, data_driven::Steps};

use crate::{
    Measurement,
    checks::{Remark, transitions},
};

/// The row of what a session begins with, and the column of its end.
const OUTSIDE: &str = "begin or end of a session";

/// Whether operations followed each other as the mix says, over all guests. Scripts draw nothing.
pub(super) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    let mut all = Steps::default();
    for guest in &measurement.guests {
        match &guest.counters {
            Counters::Http(counters) => all.merge(&counters.steps),
            Counters::Sql(counters) => all.merge(&counters.steps),
            _ => {}
        }
    }
    let mut names: Vec<&str> = all.operations.iter().map(String::as_str).collect();
    names.push(OUTSIDE);
    transitions(&names, &all.transitions, &all.expected)
}

#[cfg(test)]
mod tests {
    use rookery_workload::{http::HttpCounters, sql::SqlCounters};

    use super::*;
    use crate::faults::tests::healthy;

    /// A trial in which the only operation ended a session in half of all cases, and was `counted`.
    fn drawn(counted: Vec<u64>, counters: fn(Steps) -> Counters) -> Measurement {
        let mut measurement = healthy();
        for guest in &mut measurement.guests {
            guest.counters = counters(Steps {
                operations: vec!["read".to_owned()],
                expected: vec![vec![0.5, 0.5], vec![1.0, 0.0]],
                transitions: vec![counted.clone(), vec![500, 0]],
            });
        }
        measurement
    }

    #[test]
    fn steps_that_the_mix_does_not_give_are_a_fault() {
        let of_pages = |steps| {
            Counters::Http(HttpCounters {
                steps,
                ..HttpCounters::default()
            })
        };
        let of_statements = |steps| {
            Counters::Sql(SqlCounters {
                steps,
                ..SqlCounters::default()
            })
        };
        for counters in [of_pages as fn(Steps) -> Counters, of_statements] {
            assert_eq!(own_checks(&drawn(vec![500, 500], counters)), Vec::new());
            let remarks = own_checks(&drawn(vec![700, 300], counters));
            assert!(
                matches!(&remarks[..], [Remark::Fault(fault), ..] if fault.text.starts_with("after `read`:")),
                "{remarks:?}"
            );
        }
    }
}
