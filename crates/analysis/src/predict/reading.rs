//! What the trials of a run say, in the words of queueing theory: load, throughput, response time,
//! busy cores.

use rookery_cast::truncate_u64;
use rookery_stats::{Measurement, Pacing, ResourceSample, qos::PercentileLimit};
use rookery_study::{Level, Load, Point, Study};
use rookery_workload::WorkloadInfo;
use serde::Serialize;

use crate::{Run, cpu, predict::shape::Shape};

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
    fn from_load(load: &Load, study: &Study) -> Self {
        match load.open() {
            Some(open) => Self::Open {
                acts: open.visit.mean_acts(),
                room: open.max_in_flight,
            },
            None => {
                let pause = study.workload.think_time();
                Self::Closed {
                    think_s: pause.map_or(0.0, |pause| pause.mean.as_secs_f64()),
                    cycle: pause.is_some_and(|pause| pause.pacing == Pacing::Cycle),
                }
            }
        }
    }

    /// Of order entry by what good trials show: pauses belong to transactions, of which several go
    /// with an order.
    fn as_measured(self, run: &Run, variant: u32) -> Self {
        let good: Vec<&Measurement> = run
            .trials
            .iter()
            .filter(|trial| {
                run.header
                    .plan
                    .points
                    .iter()
                    .any(|point| point.id == trial.row.trial.point && point.variant == variant)
            })
            .filter_map(|trial| Some(trial.valid()?.1))
            .collect();
        let mean = |of: fn(&Measurement) -> Option<f64>| {
            crate::mean::mean(
                &good
                    .iter()
                    .filter_map(|measured| of(measured))
                    .collect::<Vec<_>>(),
            )
        };
        match self {
            Self::Closed { think_s, cycle } => match mean(Measurement::pause_per_unit_s) {
                Some(think_s) => Self::Closed {
                    think_s,
                    cycle: false,
                },
                None => Self::Closed { think_s, cycle },
            },
            Self::Open { acts, room } => Self::Open {
                acts: mean(|measured| Some(1.0 / measured.requests_per_unit()?)).unwrap_or(acts),
                room,
            },
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
        let mut readings = Self {
            variant,
            levels,
            offer: Offer::from_load(&study.load, study).as_measured(run, variant),
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
