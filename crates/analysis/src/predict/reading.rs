//! What the trials of a run say, in the words of queueing theory: load, throughput, response time,
//! busy cores.

use rookery_cast::truncate_u64;
use rookery_stats::{Measurement, Pacing, ResourceSample, qos::PercentileLimit};
use rookery_study::{Level, Point, Study};
use rookery_workload::WorkloadInfo;
use serde::Serialize;

use crate::{Run, TrialData, cpu, predict::shape::Shape, units};

/// A trial with a larger share of failed requests says nothing on how fast good ones are.
const MOST_ERRORS: f64 = 0.01;
/// Percentiles of the whole order that are predicted.
pub const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];

/// How load is offered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    /// So many users; each waits for its answer, then thinks for so many seconds.
    Closed {
        /// Mean think time, s; with `cycle` from start to start.
        think_s: f64,
        /// Whether users keep a cycle time instead of a pause.
        cycle: bool,
    },
    /// Arrivals that do not wait.
    Open {
        /// Orders of each visitor, or of each arriving transaction.
        acts: f64,
        /// Visitors for whom there is room at each guest.
        room: u32,
    },
}

impl Offer {
    /// How `study` offers load; what only a measurement tells is that of good trials.
    fn of_study(study: &Study, good: &[&Measurement]) -> Self {
        let mean = |of: &dyn Fn(&Measurement) -> Option<f64>| {
            let values: Vec<f64> = good.iter().filter_map(|measured| of(measured)).collect();
            crate::mean::mean(&values)
        };
        if let Some(open) = study.load.open() {
            return Self::Open {
                acts: mean(&|measured| Some(1.0 / measured.requests_per_unit()?))
                    .unwrap_or_else(|| open.visit.mean_acts()),
                room: open.max_in_flight,
            };
        }
        if let Some(think_s) = mean(&|measured| units::pause_s(study, measured)) {
            let pause = study.workload.think_time();
            return Self::Closed {
                think_s,
                cycle: pause.is_some_and(|pause| pause.pacing == Pacing::Cycle),
            };
        }
        // Where answers took longer than a cycle, so did the cycle.
        let cycles = good.iter().filter_map(|measured| units::cycle_s(measured));
        let cycle_s = cycles.reduce(f64::min);
        Self::Closed {
            think_s: cycle_s.unwrap_or(0.0),
            cycle: cycle_s.is_some(),
        }
    }

    /// What the load counts: `users` or `arrivals/s`.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Closed { .. } => "users",
            Self::Open { .. } => "arrivals/s",
        }
    }
}

/// A measured percentile of response time.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    /// Operation.
    pub operation: String,
    /// Percentile, 0 to 100.
    pub percentile: f64,
    /// Its value, s.
    pub seconds: f64,
}

/// One good trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Its number.
    pub trial: u32,
    /// Its layout.
    pub shape: Shape,
    /// Users, or arrivals per second, at all guests together.
    pub load: f64,
    /// Orders per second of all guests.
    pub x: f64,
    /// Mean time of an order without thinking, s; of order entry that of all transactions that go
    /// with a New-Order.
    pub response_s: f64,
    /// Cores that all guests used; `None` without counters.
    pub cores: Option<f64>,
    /// Percentiles of the order (of order entry those of the New-Order) and of every operation that
    /// a limit is set on.
    pub quantiles: Vec<Quantile>,
}

impl Reading {
    /// Load per core of the layout: by this, loads of layouts are put in order.
    #[must_use]
    pub fn load_per_core(&self) -> f64 {
        self.load / self.shape.capacity()
    }
}

/// All good trials of one variant.
#[derive(Clone, Debug)]
pub struct Readings {
    /// The variant.
    pub variant: u32,
    /// Its levels in words; empty in a study without factors.
    pub levels: String,
    /// How load is offered.
    pub offer: Offer,
    /// Limits on percentiles.
    pub limits: Vec<PercentileLimit>,
    /// The trials, by layout and load.
    pub all: Vec<Reading>,
    /// Trials that are left out, and why.
    pub left_out: Vec<String>,
    /// What users do.
    pub workload: &'static WorkloadInfo,
}

impl Readings {
    /// Of every variant of a run, in the order of the plan.
    #[must_use]
    pub fn from_run(run: &Run) -> Vec<Self> {
        run.header
            .plan
            .variants
            .iter()
            .map(|variant| Self::of_variant(run, variant.id))
            .collect()
    }

    fn of_variant(run: &Run, variant: u32) -> Self {
        let plan = &run.header.plan;
        let known = plan.variants.iter().find(|known| known.id == variant);
        let study = known.map_or(&run.header.study, |known| &known.study);
        let levels = known.map_or_else(String::new, |known| {
            let words: Vec<String> = known.levels.iter().map(Level::words).collect();
            words.join(", ")
        });
        let of_variant = |trial: &&TrialData| {
            let point = trial.row.trial.point;
            let mut points = plan.points.iter();
            points.any(|known| known.id == point && known.variant == variant)
        };
        let good: Vec<&Measurement> = run
            .trials
            .iter()
            .filter(of_variant)
            .filter_map(|trial| Some(trial.valid()?.1))
            .collect();
        let mut readings = Self {
            variant,
            levels,
            offer: Offer::of_study(study, &good),
            limits: study.qos.percentiles.clone(),
            all: Vec::new(),
            left_out: Vec::new(),
            workload: study.workload.kind().info(),
        };
        for trial in &run.trials {
            let point = plan
                .points
                .iter()
                .find(|point| point.id == trial.row.trial.point && point.variant == variant)
                .filter(|point| !plan.varies_memory(point));
            let (Some(point), Some((record, measured))) = (point, trial.valid()) else {
                continue;
            };
            match reading(
                trial.row.trial.id,
                point,
                study,
                &record.resources,
                measured,
            ) {
                Ok(reading) => readings.all.push(reading),
                Err(reason) => readings
                    .left_out
                    .push(format!("trial {}: {reason}", trial.row.trial.id)),
            }
        }
        readings.all.sort_by(|a, b| {
            let key = |reading: &Reading| {
                (
                    reading.shape.guests,
                    truncate_u64(reading.shape.vcpus * 1000.0),
                )
            };
            key(a)
                .cmp(&key(b))
                .then(a.load.total_cmp(&b.load))
                .then(a.trial.cmp(&b.trial))
        });
        readings
    }

    /// The same variant with some of its trials.
    #[must_use]
    pub fn with(&self, all: Vec<Reading>) -> Self {
        Self {
            all,
            ..self.clone()
        }
    }

    /// The layouts, in order.
    #[must_use]
    pub fn shapes(&self) -> Vec<Shape> {
        let mut shapes: Vec<Shape> = Vec::new();
        for reading in &self.all {
            if !shapes.iter().any(|known| known.same(&reading.shape)) {
                shapes.push(reading.shape.clone());
            }
        }
        shapes
    }

    /// The trials of one layout.
    pub fn of_shape<'a>(&'a self, shape: &'a Shape) -> impl Iterator<Item = &'a Reading> {
        self.all.iter().filter(|reading| reading.shape.same(shape))
    }

    /// Largest load of a layout; `None` when it was not measured.
    #[must_use]
    pub fn largest(&self, shape: &Shape) -> Option<f64> {
        self.of_shape(shape)
            .map(|reading| reading.load)
            .reduce(f64::max)
    }

    /// The trials in lots of one layout and load, in order.
    #[must_use]
    pub fn lots(&self) -> Vec<&[Reading]> {
        self.all
            .chunk_by(|a, b| a.load == b.load && a.shape.same(&b.shape))
            .collect()
    }

    /// Mean over repeated lots of standard deviation over mean of throughput; `None` without
    /// repeats.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        let of = |lot: &&[Reading]| {
            let mean = lot.iter().map(|reading| reading.x).sum::<f64>() / lot.len() as f64;
            let squares: f64 = lot.iter().map(|reading| (reading.x - mean).powi(2)).sum();
            (lot.len() > 1).then(|| (squares / (lot.len() - 1) as f64).sqrt() / mean)
        };
        let found: Vec<f64> = self.lots().iter().filter_map(of).collect();
        (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
    }
}

/// Why a trial is not fitted.
#[derive(Debug, thiserror::Error)]
enum UnfitTrial {
    #[error("{:.1} % of its requests failed", 100.0 * share)]
    Errors { share: f64 },
    #[error("no order ended within its window")]
    NothingDone,
}

fn reading(
    trial: u32,
    point: &Point,
    study: &Study,
    resources: &[ResourceSample],
    measured: &Measurement,
) -> Result<Reading, UnfitTrial> {
    let (started, bad) = measured.started_and_bad();
    if started > 0 && bad as f64 > MOST_ERRORS * started as f64 {
        return Err(UnfitTrial::Errors {
            share: bad as f64 / started as f64,
        });
    }
    let x = measured.units_per_minute() / 60.0;
    let response_s = measured.mean_unit_s().unwrap_or(0.0);
    let load = point.load();
    if !(x.is_finite() && x > 0.0 && response_s > 0.0 && load > 0.0) {
        return Err(UnfitTrial::NothingDone);
    }
    let mut quantiles: Vec<Quantile> = Vec::new();
    let mut add = |operation: &str, percentile: f64| {
        let known = quantiles
            .iter()
            .any(|q| q.operation == operation && q.percentile == percentile);
        let value = measured
            .latencies(operation)
            .supported_percentile_us(percentile);
        if let (false, Some(us)) = (known, value) {
            quantiles.push(Quantile {
                operation: operation.to_owned(),
                percentile,
                seconds: us as f64 / 1e6,
            });
        }
    };
    PERCENTILES
        .into_iter()
        .for_each(|percentile| add(measured.main_operation(), percentile));
    for limit in &study.qos.percentiles {
        for operation in limited(measured, limit) {
            add(operation, limit.percentile);
        }
    }
    Ok(Reading {
        trial,
        shape: Shape::from_point(point, &study.guest),
        load,
        x,
        response_s,
        cores: cpu::guest_cores(resources, measured),
        quantiles,
    })
}

/// The operations that a limit is set on: its own, or every single request.
fn limited<'a>(measured: &'a Measurement, limit: &'a PercentileLimit) -> Vec<&'a str> {
    match &limit.operation {
        Some(name) => vec![name.as_str()],
        None => measured.request_names(),
    }
}

#[cfg(test)]
mod tests {
    use rookery_stats::{DriverQuality, GuestMeasurement, Mode, OperationMeasurement, Window};
    use rookery_workload::Counters;

    use super::*;

    /// Of a workload whose pauses belong to operations.
    const STUDY: &str = r#"
title = "Own"
[workload]
kind = "http"
think_time = "50ms"
[[workload.operation]]
name = "read"
path = "/"
[load]
users = [5, 10]
steady = "20s"
[stack]
kind = "external"
target = "http://127.0.0.1:8080"
[[layout]]
name = "as it is"
"#;

    /// Five users for 20 s, of which they waited `busy_s` for so many pages.
    fn measured(pacing: Pacing, pages: u64, busy_s: f64) -> Measurement {
        let operation = |name: &str| OperationMeasurement {
            completed: pages,
            ..OperationMeasurement::empty(name)
        };
        let study = study();
        let main = study.workload.kind().info().main_operation();
        Measurement {
            mode: Mode::Closed,
            pacing,
            window: Window {
                start_s: 0.0,
                end_s: 20.0,
            },
            guests: vec![GuestMeasurement {
                guest: "g1".to_owned(),
                users: 5,
                operations: vec![operation(main)],
                series: Vec::new(),
                errors: Vec::new(),
                counters: Counters::empty(study.workload.kind()),
                busy_s,
                idle_s: 100.0 - busy_s,
                drawn_delay_mean_s: None,
                actual_delay_mean_s: None,
            }],
            driver: DriverQuality::default(),
            aborted: None,
        }
    }

    fn study() -> Study {
        Study::parse("own.toml", STUDY).expect("a good study")
    }

    #[test]
    fn pauses_of_operations_are_those_that_users_made() {
        let good = [measured(Pacing::Think, 1_000, 20.0)];
        let offer = Offer::of_study(&study(), &good.iter().collect::<Vec<_>>());
        assert_eq!(
            offer,
            Offer::Closed {
                think_s: 0.08,
                cycle: false
            }
        );
    }

    #[test]
    fn cycles_are_kept_as_far_as_answers_leave_them() {
        let trial = |pacing, asked_s, made_s| {
            let mut trial = measured(pacing, 1_000, 20.0);
            let guest = &mut trial.guests[0];
            (guest.drawn_delay_mean_s, guest.actual_delay_mean_s) = (asked_s, made_s);
            trial
        };
        let kept = |asked_s, made_s| {
            units::cycles_kept(&trial(Pacing::Cycle, Some(asked_s), Some(made_s)))
        };
        assert_eq!(kept(0.1, 0.1), Some(1.0));
        assert_eq!(kept(0.1, 0.4), Some(0.25));
        assert_eq!(units::cycles_kept(&trial(Pacing::Cycle, None, None)), None);
        assert_eq!(
            units::cycles_kept(&trial(Pacing::Think, Some(0.1), Some(0.1))),
            None
        );
    }

    #[test]
    fn a_cycle_is_that_of_the_trial_in_which_answers_did_not_make_it_longer() {
        let good = [
            measured(Pacing::Cycle, 1_000, 20.0),
            measured(Pacing::Cycle, 500, 100.0),
        ];
        let offer = Offer::of_study(&study(), &good.iter().collect::<Vec<_>>());
        assert_eq!(
            offer,
            Offer::Closed {
                think_s: 0.1,
                cycle: true
            }
        );
    }
}
