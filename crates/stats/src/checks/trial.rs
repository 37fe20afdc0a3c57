//! All checks of one trial, in one place: whoever conducts it applies them, and whoever reads it later finds the same again.

use super::{Remark, memory_growth, mix, orderentry, steadiness};
use crate::{Measurement, ResourceSample, faults, hidden_freezes};

/// What a trial was meant to be, as far as checks ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intent {
    /// Seconds before the window during which all users were at work already. `None` = no steady state was meant: the rate changes within the window.
    pub settle_s: Option<f64>,
    /// Share of orders that begin with a new customer, 0 to 1; `None` where nobody shops.
    pub new_customers: Option<f64>,
    /// Shares of the transactions of order entry, in the order of [`TRANSACTIONS`](crate::TRANSACTIONS); `None` of other workloads.
    pub transactions: Option<[f64; 5]>,
}

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// The driver: its CPUs, its punctuality, its books.
    Driver,
    /// Shares of operations.
    Mix,
    /// What transactions of order entry came to: failures, empty districts, the database's own numbers, its hit ratio.
    Transactions,
    /// Memory that grew.
    Memory,
    /// Whether there was a steady state.
    SteadyState,
    /// A freeze that the percentiles of a closed load hide.
    Freeze,
}

/// Every remark on a trial: those of [`faults::faults`] and [`faults::warnings`], and those of this module.
///
/// Of a trial that ended early only the former: its window has no end to judge.
#[must_use]
pub fn of_trial(
    measurement: &Measurement,
    resources: &[ResourceSample],
    intent: &Intent,
) -> Vec<(Matter, Remark)> {
    let about = |matter: Matter| move |remark: Remark| (matter, remark);
    let driver = faults::faults(measurement).into_iter().map(Remark::Fault);
    let driver = driver.chain(
        faults::warnings(measurement)
            .into_iter()
            .map(Remark::Warning),
    );
    let mut remarks: Vec<(Matter, Remark)> = driver.map(about(Matter::Driver)).collect();
    if measurement.aborted.is_some() {
        return remarks;
    }
    if let Some(share) = intent.new_customers {
        remarks.extend(
            openings(measurement, share)
                .into_iter()
                .map(about(Matter::Mix)),
        );
    }
    if let Some(shares) = &intent.transactions {
        remarks.extend(
            orderentry::transactions(measurement, shares)
                .into_iter()
                .map(about(Matter::Mix)),
        );
    }
    remarks.extend(
        orderentry::counters(measurement)
            .into_iter()
            .map(about(Matter::Transactions)),
    );
    remarks.extend(growth(measurement, resources).map(about(Matter::Memory)));
    if let Some(settle_s) = intent.settle_s {
        let unstable = faults::unstable(measurement).map(Remark::Fault);
        remarks.extend(
            unstable
                .into_iter()
                .chain(steadiness(measurement, settle_s))
                .map(about(Matter::SteadyState)),
        );
    }
    let freezes = hidden_freezes(measurement).into_iter();
    remarks.extend(freezes.map(|freeze| (Matter::Freeze, Remark::Warning(freeze.sentence()))));
    remarks
}

/// Each order begins with a login or a new customer. Searches are not judged: a login that fails has none.
fn openings(measurement: &Measurement, new_customers: f64) -> Vec<Remark> {
    let (mut logins, mut customers) = (0, 0);
    for guest in &measurement.guests {
        let of = |name: &str| {
            guest
                .operations
                .iter()
                .find(|operation| operation.name == name)
        };
        logins += of("login").map_or(0, |login| login.started);
        // A name that is taken was answered well, and another is tried: the new customer is still one.
        let again = |tries: &crate::OperationMeasurement| {
            tries.completed.saturating_sub(guest.shop.n_newcust_overall)
        };
        customers +=
            of("new-customer").map_or(0, |tries| tries.started.saturating_sub(again(tries)));
    }
    mix(
        &[("login", logins), ("new-customer", customers)],
        &[1.0 - new_customers, new_customers],
    )
}

fn growth(measurement: &Measurement, resources: &[ResourceSample]) -> impl Iterator<Item = Remark> {
    let mut subjects: Vec<&str> = resources
        .iter()
        .map(|sample| sample.subject.as_str())
        .collect();
    subjects.sort_unstable();
    subjects.dedup();
    subjects
        .into_iter()
        .filter_map(|subject| memory_growth(subject, resources, &measurement.window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Latencies, OperationMeasurement, SecondSample, faults::tests::healthy};

    const INTENT: Intent = Intent {
        settle_s: Some(0.0),
        new_customers: Some(0.2),
        transactions: None,
    };

    fn operation(name: &str, started: u64) -> OperationMeasurement {
        OperationMeasurement {
            name: name.to_owned(),
            started,
            completed: started,
            succeeded: started,
            failed: 0,
            unfinished: 0,
            service: Latencies::new(),
            response: Latencies::new(),
        }
    }

    fn shopping(logins: u64, tries: u64, customers: u64) -> Measurement {
        let mut measurement = healthy();
        let guest = &mut measurement.guests[0];
        guest
            .operations
            .extend([operation("login", logins), operation("new-customer", tries)]);
        guest.shop.n_newcust_overall = customers;
        measurement
    }

    #[test]
    fn names_that_are_taken_make_no_customers() {
        assert_eq!(of_trial(&shopping(800, 450, 200), &[], &INTENT), Vec::new());
        let remarks = of_trial(&shopping(800, 450, 450), &[], &INTENT);
        assert!(
            matches!(&remarks[..], [(Matter::Mix, Remark::Fault(text))] if text.contains("64.0 % of the mix instead of 80.0 %")),
            "{remarks:?}"
        );
        let unknown = Intent {
            new_customers: None,
            ..INTENT
        };
        assert_eq!(
            of_trial(&shopping(800, 450, 450), &[], &unknown),
            Vec::new()
        );
    }

    #[test]
    fn every_matter_is_judged_unless_the_trial_ended_early() {
        let mut measurement = shopping(600, 400, 400);
        measurement.driver.cpu_share = 0.9;
        // The rate doubles in the middle of the window, and once nobody is answered for three seconds.
        let sample = |second: u32| SecondSample {
            second,
            requests: match second {
                20..23 => 0,
                ..40 => 500,
                _ => 1_000,
            },
            p50_us: 20_000,
            max_us: if second == 23 { 3_020_000 } else { 40_000 },
            ..SecondSample::default()
        };
        measurement.guests[0].series = (0..80).map(sample).collect();
        let mut quick = operation("purchase", 100_000);
        (0..100_000).for_each(|_| quick.service.record_us(20_000));
        measurement.guests[0].operations.push(quick);
        let memory = |second: u32| ResourceSample {
            subject: "driver".to_owned(),
            at_s: f64::from(second),
            cpu_cores: 0.1,
            memory_bytes: u64::from(100 + second) << 20,
            io: None,
            parts: None,
        };
        let resources: Vec<ResourceSample> = (0..80).map(memory).collect();
        let matters = |intent: &Intent, measurement: &Measurement| {
            let mut matters: Vec<Matter> = of_trial(measurement, &resources, intent)
                .into_iter()
                .map(|(matter, _)| matter)
                .collect();
            matters.dedup();
            matters
        };
        use Matter::{Driver, Freeze, Memory, Mix, SteadyState};
        assert_eq!(
            matters(&INTENT, &measurement),
            [Driver, Mix, Memory, SteadyState, Freeze]
        );
        let changing = Intent {
            settle_s: None,
            ..INTENT
        };
        assert_eq!(
            matters(&changing, &measurement),
            [Driver, Mix, Memory, Freeze]
        );
        measurement.aborted = Some("stopped".to_owned());
        assert_eq!(matters(&INTENT, &measurement), [Driver]);
    }
}
