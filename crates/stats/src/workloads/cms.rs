//! Checks of content management.

use rookery_workload::cms::CmsCounters;

use crate::{
    Measurement,
    checks::{Remark, transitions},
};

/// The row of what users begin with, and the column of an end that a walk never has.
const OUTSIDE: &str = "begin of a walk";

/// Whether operations followed each other as the matrix says, over all guests; a sentence on
/// failures that followed from others.
pub(super) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    let Some(all) = together(measurement) else {
        return Vec::new();
    };
    let steps = &all.steps;
    let mut names: Vec<&str> = steps.operations.iter().map(String::as_str).collect();
    names.push(OUTSIDE);
    let mut remarks = transitions(&names, &steps.transitions, &steps.expected);
    let total = all.total();
    if total.consequential > 0 {
        remarks.push(Remark::Warning(format!(
            "{} of {} failed operations failed because an earlier one of the same user had failed",
            total.consequential,
            total.primary.saturating_add(total.consequential)
        )));
    }
    remarks
}

/// What the guests counted together.
fn together(measurement: &Measurement) -> Option<CmsCounters> {
    let mut guests = measurement
        .guests
        .iter()
        .filter_map(|guest| CmsCounters::from_counters(&guest.counters));
    let mut all = guests.next()?.clone();
    guests.for_each(|guest| all.merge(guest));
    Some(all)
}

#[cfg(test)]
mod tests {
    use rookery_workload::{
        Counters,
        cms::{CmsMatrix, CmsOperation},
    };

    use super::*;
    use crate::faults::tests::healthy;

    /// A trial in which so many of a thousand logins were followed by a logout.
    fn trial(logouts: u64, change: fn(&mut CmsCounters)) -> Measurement {
        let mut measurement = healthy();
        for guest in &mut measurement.guests {
            let mut counters = CmsCounters::new(&CmsMatrix::default());
            let row = &mut counters.steps.transitions[CmsOperation::UserLogin.index()];
            row[CmsOperation::CreatePage.index()] = 400;
            row[CmsOperation::CreateStory.index()] = 600 - logouts;
            row[CmsOperation::Logout.index()] = logouts;
            change(&mut counters);
            guest.counters = Counters::Cms(counters);
        }
        measurement
    }

    fn fault(remarks: &[Remark]) -> Option<&str> {
        remarks.iter().find_map(|one| match one {
            Remark::Fault(fault) => Some(fault.text.as_str()),
            Remark::Warning(_) => None,
        })
    }

    #[test]
    fn operations_that_the_matrix_does_not_give_are_a_fault() {
        assert_eq!(own_checks(&trial(300, |_| ())), Vec::new());
        let remarks = own_checks(&trial(400, |_| ()));
        let text = fault(&remarks).expect("a fault");
        assert!(text.starts_with("after `user-login`:"), "{text}");
        // A cell of probability zero must be empty.
        let never = own_checks(&trial(300, |counters| {
            counters.steps.transitions[CmsOperation::Logout.index()]
                [CmsOperation::CreateStory.index()] = 1;
        }));
        let text = fault(&never).expect("a fault");
        assert!(text.contains("which the mix never draws"), "{text}");
    }

    #[test]
    fn failures_that_follow_from_others_are_said() {
        let remarks = own_checks(&trial(300, |counters| {
            counters.failed(CmsOperation::UserLogin, "submit", "status 500", false);
            counters.failed(CmsOperation::Logout, "submit", "status 403", true);
        }));
        let guests = healthy().guests.len();
        assert_eq!(
            remarks,
            [Remark::Warning(format!(
                "{guests} of {} failed operations failed because an earlier one of the same user \
                 had failed",
                2 * guests
            ))]
        );
    }
}
