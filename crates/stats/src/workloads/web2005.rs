//! Checks of banking, e-commerce and support.

use rookery_workload::web2005::{Model, Web2005Counters};

use crate::{
    Measurement,
    checks::{Remark, transitions},
};

/// The row of what a session begins with, and the column of its end.
const OUTSIDE: &str = "begin or end of a session";

/// Whether pages followed each other as the chain says, over all guests, and which criteria of a
/// passing window are not met. The latter judge the server: they are warnings.
pub(super) fn own_checks(model: Model, measurement: &Measurement) -> Vec<Remark> {
    let mut all = Web2005Counters::new(model);
    for guest in &measurement.guests {
        if let Some(counters) = Web2005Counters::from_counters(&guest.counters) {
            all.merge(counters);
        }
    }
    let steps = &all.steps;
    let mut names: Vec<&str> = steps.operations.iter().map(String::as_str).collect();
    names.push(OUTSIDE);
    let mut remarks = transitions(&names, &steps.transitions, &steps.expected);
    let broken = all.criteria().into_iter().filter(|one| !one.met);
    remarks.extend(broken.map(|one| {
        Remark::Warning(format!(
            "the window does not pass: {}: {}",
            one.name, one.found
        ))
    }));
    remarks
}

#[cfg(test)]
mod tests {
    use rookery_workload::{
        Counters,
        web2005::{Band, Delivered, PageOutcome},
    };

    use super::*;
    use crate::faults::tests::healthy;

    /// A trial of support in which so many of a thousand sessions searched first.
    fn trial(searched: u64) -> Measurement {
        let mut measurement = healthy();
        for guest in &mut measurement.guests {
            let mut counters = Web2005Counters::new(Model::Support);
            counters.steps.transitions[0][1] = searched;
            counters.steps.transitions[0][2] = 1_000 - searched;
            counters.rules.min_requests = 0;
            counters.pages[0].count(PageOutcome::Right {
                band: Band::Good,
                delivered: Delivered {
                    bytes: 60_000,
                    response_us: 100_000,
                    objects: 10,
                    not_modified: 7,
                    ..Delivered::default()
                },
            });
            guest.counters = Counters::from(counters);
        }
        measurement
    }

    fn faults(remarks: &[Remark]) -> usize {
        let faults = remarks.iter().filter(|one| matches!(one, Remark::Fault(_)));
        faults.count()
    }

    #[test]
    fn pages_that_the_chain_does_not_give_are_a_fault() {
        assert_eq!(faults(&own_checks(Model::Support, &trial(250))), 0);
        let remarks = own_checks(Model::Support, &trial(400));
        assert_eq!(faults(&remarks), 1);
        assert!(
            matches!(&remarks[0], Remark::Fault(fault) if fault.text.starts_with("after `home`:")),
            "{remarks:?}"
        );
    }

    #[test]
    fn what_a_window_does_not_keep_is_said() {
        let remarks = own_checks(Model::Support, &trial(250));
        let said = |name: &str| {
            let wanted = format!("the window does not pass: {name}: ");
            remarks
                .iter()
                .any(|one| matches!(one, Remark::Warning(text) if text.starts_with(&wanted)))
        };
        // A window of no length has no offered load; two pages say nothing of the mix.
        assert!(said("offered load"), "{remarks:?}");
        assert!(!said("response times") && !said("mix of pages"));
    }
}
