//! All models that compete for a prediction, fitted to the same readings.

use rookery_model::fit::{self, Judgement, Model, Observation, Observations, Options};
use serde::Serialize;

use crate::{
    mean::mean,
    predict::{
        error::PredictError,
        estimate::{self, Free},
        reading::{Offer, Reading, Readings},
        shape::Shape,
        structure::{State, Structure},
    },
};

/// Expected and measured use of the CPUs that lie farther apart than this share of them contradict
/// each other.
const CONTRADICTED: f64 = 0.1;

/// A way to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Queueing model; demands from CPU counters.
    Counters,
    /// Queueing model; the size of the demand from throughput.
    Throughput,
    /// Queueing model; demands from CPU counters, and a queue that no counter shows.
    Hidden,
    /// One station and a delay, fitted to throughput of one layout.
    Closed,
    /// Universal scalability law of one layout.
    Usl,
    /// Amdahl's law of one layout.
    Amdahl,
    /// Throughput in proportion to the load.
    Linear,
}

impl Method {
    /// All, those first that know most of the mechanism.
    pub const ALL: [Self; 7] = [
        Self::Counters,
        Self::Hidden,
        Self::Throughput,
        Self::Closed,
        Self::Usl,
        Self::Amdahl,
        Self::Linear,
    ];

    /// Its name in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counters => "queueing, CPU counters",
            Self::Throughput => "queueing, throughput",
            Self::Hidden => "queueing, hidden queue",
            Self::Closed => "closed queue",
            Self::Usl => "USL",
            Self::Amdahl => "Amdahl",
            Self::Linear => "linear",
        }
    }

    fn law(self) -> Option<Model> {
        match self {
            Self::Counters | Self::Throughput | Self::Hidden => None,
            Self::Closed => Some(Model::Closed),
            Self::Usl => Some(Model::Usl),
            Self::Amdahl => Some(Model::Amdahl),
            Self::Linear => Some(Model::Linear),
        }
    }

    /// Whether it holds for layouts that were not measured.
    #[must_use]
    pub fn holds_for_any_layout(self) -> bool {
        self.law().is_none()
    }

    fn free(self) -> Free {
        match self {
            Self::Counters => Free::Nothing,
            Self::Hidden => Free::Hidden,
            _ => Free::Scale,
        }
    }
}

/// Every method, fitted or refused.
#[derive(Clone, Debug)]
pub struct Candidates {
    offer: Offer,
    structures: Vec<(Method, Result<Structure, PredictError>)>,
    laws: Vec<(Shape, Judgement)>,
}

impl Candidates {
    /// Fit all.
    #[must_use]
    pub fn fit(readings: &Readings) -> Self {
        let structures = Method::ALL
            .into_iter()
            .filter(|method| method.holds_for_any_layout());
        Self {
            offer: readings.offer,
            structures: structures
                .map(|method| {
                    let fitted = estimate::fit(method.free(), readings, None);
                    (
                        method,
                        fitted.and_then(|fitted| not_contradicted(fitted, readings)),
                    )
                })
                .collect(),
            laws: laws(readings),
        }
    }

    /// Fit one queueing model anew, to readings like those of `near`; `None` when that fails.
    pub(crate) fn refit(
        method: Method,
        readings: &Readings,
        near: &Structure,
    ) -> Option<Structure> {
        estimate::fit(method.free(), readings, Some(near)).ok()
    }

    /// A fitted queueing model.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn structure(&self, method: Method) -> Result<&Structure, &PredictError> {
        let found = self.structures.iter().find(|(known, _)| *known == method);
        found.map_or(Err(&PredictError::NotQueueing), |(_, result)| {
            result.as_ref()
        })
    }

    /// The first queueing model that was fitted, by [`Method::ALL`].
    #[must_use]
    pub fn first_structure(&self) -> Option<(Method, &Structure)> {
        self.structures
            .iter()
            .find_map(|(method, result)| Some((*method, result.as_ref().ok()?)))
    }

    /// Why a method may not be used; `None` when it may, for some layout.
    #[must_use]
    pub fn refusal(&self, method: Method) -> Option<PredictError> {
        let Some(model) = method.law() else {
            return self.structure(method).err().cloned();
        };
        if matches!(self.offer, Offer::Open { .. }) {
            return Some(PredictError::OpenLoad);
        }
        let candidates = || {
            let of = |(_, judgement): &(Shape, Judgement)| {
                judgement
                    .candidates
                    .iter()
                    .find(|candidate| candidate.model == model)
                    .cloned()
            };
            self.laws.iter().filter_map(of)
        };
        if candidates().any(|candidate| !candidate.refused()) {
            return None;
        }
        let reason = candidates().find_map(|candidate| {
            let finding = candidate
                .findings
                .iter()
                .find(|finding| finding.severity == fit::Severity::Refuse)?;
            Some(PredictError::Law {
                rule: finding.rule.id(),
                finding: finding.text.clone(),
            })
        });
        Some(reason.unwrap_or(PredictError::FewTrials))
    }

    /// Throughput of a layout at a load, orders/s; `None` where the method says nothing.
    #[must_use]
    pub fn throughput(&self, method: Method, shape: &Shape, load: f64) -> Option<f64> {
        match method.law() {
            None => Some(self.structure(method).ok()?.at(shape, load)?.x),
            Some(model) => {
                let (_, judgement) = self.laws.iter().find(|(known, _)| known.same(shape))?;
                let candidate = judgement
                    .candidates
                    .iter()
                    .find(|candidate| candidate.model == model)?;
                let fitted = candidate.fitted.as_ref().filter(|_| !candidate.refused())?;
                Some(fitted.throughput(load))
            }
        }
    }

    /// The whole state of a layout at a load, by a queueing model.
    #[must_use]
    pub fn state(&self, method: Method, shape: &Shape, load: f64) -> Option<State> {
        self.structure(method).ok()?.at(shape, load)
    }
}

/// The model, unless it expects a use of the CPUs that a counter contradicts: then it has the wrong
/// resource for the limit.
fn not_contradicted(model: Structure, readings: &Readings) -> Result<Structure, PredictError> {
    let apart = |lot: &[Reading]| {
        let (shape, load) = (&lot[0].shape, lot[0].load);
        let cores: Option<Vec<f64>> = lot.iter().map(|reading| reading.cores).collect();
        let measured = mean(&cores?)? / shape.capacity();
        let expected = model.at(shape, load)?.utilisation;
        Some((load, expected, measured))
    };
    let lots = readings.lots().into_iter().filter_map(apart);
    let distance = |(_, expected, measured): &(f64, f64, f64)| (expected - measured).abs();
    let farthest = lots.max_by(|a, b| distance(a).total_cmp(&distance(b)));
    match farthest.filter(|found| distance(found) > CONTRADICTED) {
        None => Ok(model),
        Some((load, expected, measured)) => Err(PredictError::Contradicted {
            load,
            unit: readings.offer.unit(),
            expected,
            measured,
        }),
    }
}

/// The laws of every layout with a closed load.
fn laws(readings: &Readings) -> Vec<(Shape, Judgement)> {
    let Offer::Closed { think_s, .. } = readings.offer else {
        return Vec::new();
    };
    let judged = |shape: Shape| {
        let runs = readings.of_shape(&shape).map(|reading| Observation {
            n: reading.load,
            x: reading.x,
        });
        let observations = Observations::new(runs.collect()).ok()?;
        let options = Options {
            think: think_s,
            max_servers: shape
                .groups
                .iter()
                .map(|group| group.cpus)
                .sum::<u32>()
                .max(1),
            ..Options::default()
        };
        let judgement = fit::judge(&observations, &options);
        Some((shape, judgement))
    };
    readings.shapes().into_iter().filter_map(judged).collect()
}
