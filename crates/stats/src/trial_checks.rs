//! All checks of one trial, in one place: whoever conducts it applies them, and whoever reads it
//! later finds the same again.

use rookery_workload::MixShare;

use crate::{
    Measurement, ResourceSample, Surroundings,
    checks::{Remark, memory_growth, mix, steadiness},
    faults, hidden_freezes, interrupt_remarks, kernel_remarks, link_remarks, other_work, workloads,
};

/// What a trial was meant to be, as far as checks ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// Seconds before the window during which all users were at work already. `None` = no steady
    /// state was meant: the rate changes within the window.
    pub settle_s: Option<f64>,
    /// How often operations were meant to be drawn; empty where that is not known.
    pub mix: Vec<MixShare>,
    /// Largest share of the host's CPUs that other work may use while none is left.
    pub other_work: f64,
}

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// The driver: its CPUs, its punctuality, its books.
    Driver,
    /// Work on the host that is no part of the trial.
    OtherWork,
    /// What the kernel counted of networks, memory and CPUs, and what the links of guests let
    /// through.
    Kernel,
    /// Shares of operations.
    Mix,
    /// What the workload checks itself, see
    /// [`WorkloadInfo::own_checks`](rookery_workload::WorkloadInfo).
    Workload,
    /// Memory that grew.
    Memory,
    /// Whether there was a steady state.
    SteadyState,
    /// A freeze that the percentiles of a closed load hide.
    Freeze,
}

/// Every remark on a trial: those of [`faults::faults`] and [`faults::warnings`], and those of this
/// module.
///
/// Of a trial that ended early only the former: its window has no end to judge. `surroundings` is
/// `None` where no machine was at work: simulated.
#[must_use]
pub fn of_trial(
    measurement: &Measurement,
    resources: &[ResourceSample],
    intent: &Intent,
    surroundings: Option<&Surroundings<'_>>,
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
    let others = surroundings
        .into_iter()
        .flat_map(|beside| other_work(measurement, resources, intent.other_work, beside));
    remarks.extend(others.map(about(Matter::OtherWork)));
    let counted = surroundings.into_iter().flat_map(|beside| {
        let mut remarks = link_remarks(beside.links, beside.kernel, &measurement.window);
        remarks.extend(kernel_remarks(beside.kernel, &measurement.window));
        remarks.extend(interrupt_remarks(
            beside.links,
            beside.kernel,
            &measurement.window,
        ));
        remarks
    });
    remarks.extend(counted.map(about(Matter::Kernel)));
    if !intent.mix.is_empty() {
        remarks.extend(
            drawn_as_meant(measurement, &intent.mix)
                .into_iter()
                .chain(workloads::mix_remarks(measurement))
                .map(about(Matter::Mix)),
        );
    }
    remarks.extend(
        workloads::own_checks(measurement)
            .into_iter()
            .map(about(Matter::Workload)),
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

/// Whether operations were drawn in the shares that were meant, over all guests. Operations outside
/// of the mix are not judged.
pub(crate) fn drawn_as_meant(measurement: &Measurement, shares: &[MixShare]) -> Vec<Remark> {
    let started: Vec<(&str, u64)> = shares
        .iter()
        .map(|share| {
            let counts = measurement
                .guests
                .iter()
                .map(|guest| workloads::drawn(guest, &share.operation));
            (
                share.operation.as_str(),
                counts.fold(0, u64::saturating_add),
            )
        })
        .collect();
    let targets: Vec<f64> = shares.iter().map(|share| share.share).collect();
    mix(&started, &targets)
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
    use rookery_workload::{Counters, dvdstore::ShopCounters};

    use super::*;
    use crate::{Latencies, OperationMeasurement, SecondSample, faults::tests::healthy};

    fn intent() -> Intent {
        Intent {
            settle_s: Some(0.0),
            mix: vec![
                MixShare::new("login", 0.8),
                MixShare::new("new-customer", 0.2),
            ],
            other_work: 0.25,
        }
    }

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
        guest.counters = Counters::Dvdstore(ShopCounters {
            n_newcust_overall: customers,
            ..ShopCounters::default()
        });
        measurement
    }

    #[test]
    fn names_that_are_taken_make_no_customers() {
        assert_eq!(
            of_trial(&shopping(800, 450, 200), &[], &intent(), None),
            Vec::new()
        );
        let remarks = of_trial(&shopping(800, 450, 450), &[], &intent(), None);
        assert!(
            matches!(&remarks[..], [(Matter::Mix, Remark::Fault(fault))] if fault.text.contains("64.0 % \
                of the mix instead of 80.0 %")),
            "{remarks:?}"
        );
        let unknown = Intent {
            mix: Vec::new(),
            ..intent()
        };
        assert_eq!(
            of_trial(&shopping(800, 450, 450), &[], &unknown, None),
            Vec::new()
        );
    }

    #[test]
    fn every_matter_is_judged_unless_the_trial_ended_early() {
        let mut measurement = shopping(600, 400, 400);
        measurement.driver.cpu_share = 0.9;
        // The rate doubles in the middle of the window, and once nobody is answered for three
        // seconds.
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
            throttled_cores: None,
            memory: None,
        };
        let resources: Vec<ResourceSample> = (0..80).map(memory).collect();
        let matters = |intent: &Intent, measurement: &Measurement| {
            let mut matters: Vec<Matter> = of_trial(measurement, &resources, intent, None)
                .into_iter()
                .map(|(matter, _)| matter)
                .collect();
            matters.dedup();
            matters
        };
        use Matter::{Driver, Freeze, Memory, Mix, SteadyState};
        assert_eq!(
            matters(&intent(), &measurement),
            [Driver, Mix, Memory, SteadyState, Freeze]
        );
        let changing = Intent {
            settle_s: None,
            ..intent()
        };
        assert_eq!(
            matters(&changing, &measurement),
            [Driver, Mix, Memory, Freeze]
        );
        measurement.aborted = Some("stopped".to_owned());
        assert_eq!(matters(&intent(), &measurement), [Driver]);
    }
}
