//! How far a run may be trusted: what its checks found, what the driver says of itself, which
//! change its repeats could have shown.

use rookery_cast::count_u32;
use rookery_stats::{
    GuestLink, Measurement, Mode, Surroundings,
    checks::Remark,
    detectable_between,
    trial_checks::{Intent, Matter, of_trial},
};
use rookery_store::{TrialRecord, TrialStatus, guest_links};
use rookery_study::Purpose;

use crate::{
    Run, TrialData, cpu_distance::CpuDistances, cpu_speed::CpuSpeeds, predict::HeldOutError,
    schema::data,
};

data! {
    /// Everything that says how far to trust a run.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Trust {
        /// The checks by kind.
        pub checks: Vec<Checked>,
        /// The worst of the driver's evidence; null without a good trial of this driver.
        pub driver: Option<DriverEvidence>,
        /// Repeats of the study's points; null where none has a good trial.
        pub repeats: Option<Repeats>,
        /// Whether the CPUs were equally fast; null where that was not looked at.
        pub cpu_speeds: Option<CpuSpeeds>,
        /// Whether the CPUs of driver and guests were equally far apart; null where that was not
        /// looked at.
        pub cpu_distances: Option<CpuDistances>,
        /// The error of predicting the upper loads from the lower ones, or why there is none.
        pub prediction: Prediction,
    }
}

data! {
    /// How well a model that knows the lower loads predicts the upper ones.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Prediction {
        /// It was tried.
        Tried {
            /// Mean absolute error of throughput at the held-out loads, a share.
            mean_error: f64,
            /// Largest absolute error, a share.
            largest_error: f64,
            /// Mean signed error, predicted less measured, a share.
            bias: f64,
            /// Share of held-out trials inside their 95 % intervals.
            inside: f64,
            /// Coefficient of variation of the held-out repeats: no error below it means anything;
            /// null without repeats.
            variation: Option<f64>,
            /// Whether the model beats carrying the last value forward.
            beats_last_value: bool,
            /// Name of the model.
            model: &'static str,
            /// What loads count: `users`, `arrivals/s`.
            unit: &'static str,
            /// Loads that were fitted.
            fitted_loads: Vec<f64>,
            /// Loads that were held out.
            held_out_loads: Vec<f64>,
        },
        /// It could not be tried.
        Refused {
            /// Why.
            reason: String,
        },
    }
}

data! {
    /// What the checks of one kind found in the trials that were measured.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Checked {
        /// The kind.
        pub check: CheckKind,
        /// What the workload's own checks look at; null for the other kinds.
        pub looks_at: Option<&'static str>,
        /// Trials with nothing to remark.
        pub passed: usize,
        /// Trials with a warning.
        pub warned: usize,
        /// Trials with a fault.
        pub faulty: usize,
        /// Trials of which it cannot be asked: there was no such thing to check.
        pub not_asked: usize,
        /// All remarks, trial by trial, faults of a trial before its warnings: its number, whether
        /// it counts, and the words.
        pub remarks: Vec<CheckRemark>,
    }
}

data! {
    /// What a check said of a trial.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CheckRemark {
        /// Number of the trial.
        pub trial: u32,
        /// Whether the trial counts all the same: it ended well.
        pub counts: bool,
        /// In words.
        pub text: String,
    }
}

data! {
    /// Worst values of what the driver says of itself, over the good trials.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct DriverEvidence {
        /// Scheduling lag: p99, us.
        pub lag_p99_us: u64,
        /// Use of its CPUs, a share.
        pub cpu_share: f64,
        /// Little's law: by how much mean concurrency and arrival rate times mean time differ, a
        /// share.
        pub little_error: f64,
    }
}

data! {
    /// How much repeats of the study's points scatter, and what they could have shown.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Repeats {
        /// Fewest good trials of a point.
        pub fewest: u32,
        /// Most good trials of a point.
        pub most: u32,
        /// Coefficient of variation of orders/min, pooled over the points; `None` without repeats.
        pub variation: Option<f64>,
        /// The smallest relative change between two points that is found in four of five cases, at
        /// the fewest repeats; `None` without repeats.
        pub detectable: Option<f64>,
    }
}

data! {
    /// What a check looks at.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CheckKind {
        /// The driver: lag, CPU, Little's law, pacing.
        Driver,
        /// Work on the host that is no part of the trial.
        OtherWork,
        /// Whether there was a steady state.
        SteadyState,
        /// What the kernel counted of networks, memory and CPUs.
        Kernel,
        /// Shares of operations.
        Mix,
        /// What the workload checks itself.
        Workload,
        /// Memory that grows.
        Memory,
        /// Freezes that the percentiles of a closed load hide.
        Freeze,
    }
}

/// Every kind of check, in the order in which they are reported.
const CHECKS: [(Matter, CheckKind); 8] = [
    (Matter::OtherWork, CheckKind::OtherWork),
    (Matter::Driver, CheckKind::Driver),
    (Matter::Kernel, CheckKind::Kernel),
    (Matter::SteadyState, CheckKind::SteadyState),
    (Matter::Mix, CheckKind::Mix),
    (Matter::Workload, CheckKind::Workload),
    (Matter::Memory, CheckKind::Memory),
    (Matter::Freeze, CheckKind::Freeze),
];

impl Trust {
    /// Of a run.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        Self {
            checks: checks(run),
            driver: driver(run),
            repeats: repeats(run),
            cpu_speeds: CpuSpeeds::from_run(run),
            cpu_distances: CpuDistances::from_run(run),
            prediction: prediction(run),
        }
    }
}

fn prediction(run: &Run) -> Prediction {
    match HeldOutError::from_run(run) {
        Ok(error) => Prediction::Tried {
            mean_error: error.mape,
            largest_error: error.largest,
            bias: error.bias,
            inside: error.inside,
            variation: error.variation,
            beats_last_value: error.beats_last_value,
            model: error.model,
            unit: error.unit,
            fitted_loads: error.fitted_loads,
            held_out_loads: error.held_out_loads,
        },
        Err(error) => Prediction::Refused {
            reason: error.to_string(),
        },
    }
}

/// What the checks of every kind found, over all trials that were measured, void ones included.
#[must_use]
pub fn checks(run: &Run) -> Vec<Checked> {
    let simulated = run.header.study.stack.simulated().is_some();
    let own_checks = run.header.study.workload.kind().info().own_checks;
    let mut all: Vec<Checked> = CHECKS
        .iter()
        .map(|(_, check)| Checked {
            check: *check,
            looks_at: own_checks.filter(|_| *check == CheckKind::Workload),
            passed: 0,
            warned: 0,
            faulty: 0,
            not_asked: 0,
            remarks: Vec::new(),
        })
        .collect();
    for trial in &run.trials {
        let ended = matches!(trial.row.status, TrialStatus::Done | TrialStatus::Void);
        // A pilot is there to show where it is not steady.
        let counts = ended && trial.row.trial.purpose != Purpose::Pilot;
        let Some(record) = trial.record.as_ref().filter(|_| counts) else {
            continue;
        };
        let Some(measured) = &record.measurement else {
            continue;
        };
        let intent = run.study_of(trial).intent();
        let links = links_of(run, trial, record);
        let surroundings = Surroundings {
            host: run.header.host.facts.size(),
            programs: &record.other_programs,
            kernel: &record.kernel,
            links: &links,
        };
        let surroundings = Some(&surroundings).filter(|_| !simulated);
        let remarks = of_trial(measured, &record.resources, &intent, surroundings);
        let counted = !record.kernel.is_empty();
        for (checked, (matter, _)) in all.iter_mut().zip(CHECKS) {
            if matter == Matter::Kernel && !counted {
                checked.not_asked += 1;
                continue;
            }
            checked.take(trial, measured, matter, &intent, &remarks);
        }
    }
    if simulated {
        all.retain(|checked| !matches!(checked.check, CheckKind::OtherWork | CheckKind::Kernel));
    }
    if own_checks.is_none() {
        all.retain(|checked| checked.check != CheckKind::Workload);
    }
    all
}

/// The links of all guests of a trial, once: where it has several groups, with the first of them.
/// The interrupts of one group may be served by another.
fn links_of(run: &Run, trial: &TrialData, record: &TrialRecord) -> Vec<GuestLink> {
    match (run.groups.is_empty(), trial.place) {
        (true, _) => guest_links(&record.tunings),
        (false, 0) => run
            .trials
            .iter()
            .filter(|other| other.row.trial.id == trial.row.trial.id)
            .filter_map(|other| other.record.as_ref())
            .flat_map(|record| guest_links(&record.tunings))
            .collect(),
        (false, _) => Vec::new(),
    }
}

impl Checked {
    fn take(
        &mut self,
        trial: &TrialData,
        measured: &Measurement,
        matter: Matter,
        intent: &Intent,
        remarks: &[(Matter, Remark)],
    ) {
        let own = || remarks.iter().filter(|(of, _)| *of == matter);
        let faults = own().filter_map(|(_, remark)| match remark {
            Remark::Fault(fault) => Some(fault.text.as_str()),
            Remark::Warning(_) => None,
        });
        let faults: Vec<&str> = faults.collect();
        let warnings = own().filter_map(|(_, remark)| match remark {
            Remark::Fault(_) => None,
            Remark::Warning(text) => Some(text.as_str()),
        });
        let warnings: Vec<&str> = warnings.collect();
        match (faults.is_empty(), warnings.is_empty()) {
            (false, _) => self.faulty += 1,
            (true, false) => self.warned += 1,
            (true, true) if asked(matter, trial, measured, intent) => self.passed += 1,
            (true, true) => self.not_asked += 1,
        }
        for text in faults.into_iter().chain(warnings) {
            self.remark(trial, text);
        }
    }

    fn remark(&mut self, trial: &TrialData, text: &str) {
        self.remarks.push(CheckRemark {
            trial: trial.row.trial.id,
            counts: trial.row.status == TrialStatus::Done,
            text: text.to_owned(),
        });
    }
}

/// Whether a check of this kind has anything to look at.
fn asked(matter: Matter, trial: &TrialData, measured: &Measurement, intent: &Intent) -> bool {
    let whole = measured.aborted.is_none();
    match matter {
        Matter::Driver => !is_by_another_program(trial),
        Matter::OtherWork | Matter::Kernel => whole,
        Matter::Mix => whole && !intent.mix.is_empty(),
        Matter::Workload => {
            whole
                && measured
                    .info()
                    .is_some_and(|info| info.own_checks.is_some())
        }
        Matter::Memory => whole,
        Matter::SteadyState => whole && intent.settle_s.is_some(),
        Matter::Freeze => whole && measured.mode == Mode::Closed,
    }
}

/// Whether another program put the load on: of its punctuality and its books nothing is known.
fn is_by_another_program(trial: &TrialData) -> bool {
    let outputs = trial.record.as_ref().map(|record| &record.outputs);
    outputs.is_some_and(|outputs| !outputs.is_empty())
}

/// The worst of the driver's evidence; `None` without a good trial of this driver.
#[must_use]
pub fn driver(run: &Run) -> Option<DriverEvidence> {
    let quality = run
        .trials
        .iter()
        .filter(|trial| !is_by_another_program(trial))
        .filter_map(|trial| Some(&trial.valid()?.1.driver));
    quality
        .map(|driver| DriverEvidence {
            lag_p99_us: driver.lag_p99_us,
            cpu_share: driver.cpu_share,
            little_error: driver.little_error,
        })
        .reduce(|a, b| DriverEvidence {
            lag_p99_us: a.lag_p99_us.max(b.lag_p99_us),
            cpu_share: a.cpu_share.max(b.cpu_share),
            little_error: a.little_error.max(b.little_error),
        })
}

/// Repeats of the study's own points; `None` where it has none with a good trial.
#[must_use]
pub fn repeats(run: &Run) -> Option<Repeats> {
    let lots: Vec<Vec<f64>> = run
        .header
        .plan
        .study_points()
        .map(|point| {
            let own = run.trials.iter().filter(|trial| {
                trial.row.trial.point == point.id && trial.row.trial.purpose == Purpose::Study
            });
            own.filter_map(|trial| Some(trial.valid()?.1.units_per_minute()))
                .collect()
        })
        .filter(|lot: &Vec<f64>| !lot.is_empty())
        .collect();
    let counts = || lots.iter().map(|lot| count_u32(lot.len()));
    let (fewest, most) = (counts().min()?, counts().max()?);
    let (squares, freedom) = lots
        .iter()
        .map(|lot| relative_squares(lot))
        .fold((0.0, 0), |sum, (squares, freedom)| {
            (sum.0 + squares, sum.1 + freedom)
        });
    let variation = (freedom > 0)
        .then(|| (squares / f64::from(freedom)).sqrt())
        .filter(|variation| variation.is_finite());
    Some(Repeats {
        fewest,
        most,
        variation,
        detectable: variation.and_then(|variation| detectable_between(variation, fewest, fewest)),
    })
}

/// Sum of squared relative deviations from the mean, and its degrees of freedom.
fn relative_squares(lot: &[f64]) -> (f64, u32) {
    let mean = lot.iter().sum::<f64>() / lot.len() as f64;
    if mean <= 0.0 {
        return (0.0, 0);
    }
    (
        lot.iter().map(|value| (value / mean - 1.0).powi(2)).sum(),
        count_u32(lot.len()) - 1,
    )
}
