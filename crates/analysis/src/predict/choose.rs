//! The choice between methods: by their errors on held-out loads, mechanisms first where errors
//! cannot be told apart.

use rookery_model::fit::PredictionError;

use crate::mean::mean;
use crate::predict::{
    candidates::{Candidates, Method},
    error::PredictError,
    reading::{Reading, Readings},
    split::Split,
};

/// Noise where no trial is repeated.
const NOISE: f64 = 0.01;

/// Errors of one method on held-out readings.
#[derive(Clone, Debug)]
pub struct Trialled {
    /// The method.
    pub method: Method,
    /// (measured, predicted) throughput of each lot of trials, orders/s.
    pub throughput: Vec<(f64, f64)>,
    /// The same of mean response times, s; empty for laws.
    pub response: Vec<(f64, f64)>,
}

impl Trialled {
    /// Of a method on held-out readings; `None` when it does not predict all of them.
    #[must_use]
    pub fn score(method: Method, candidates: &Candidates, held: &Readings) -> Option<Self> {
        let lots = held.lots();
        let throughput = lots.iter().map(|lot| {
            let predicted = candidates.throughput(method, &lot[0].shape, lot[0].load)?;
            Some((over(lot, |reading| reading.x), predicted))
        });
        let response = lots.iter().filter_map(|lot| {
            let predicted = candidates
                .state(method, &lot[0].shape, lot[0].load)?
                .response_s;
            Some((over(lot, |reading| reading.response_s), predicted))
        });
        let throughput: Option<Vec<(f64, f64)>> = throughput.collect();
        Some(Self {
            method,
            throughput: throughput.filter(|pairs| !pairs.is_empty())?,
            response: response.collect(),
        })
    }

    /// Mean absolute error of throughput, as a share.
    #[must_use]
    pub fn mape(&self) -> f64 {
        PredictionError::from_pairs(&self.throughput).map_or(f64::INFINITY, |error| error.mape)
    }
}

/// A chosen method and how far it was off.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The method.
    pub method: Method,
    /// Why, in a sentence.
    pub reason: String,
    /// How it did on the loads that were held out for the choice; `None` when none could be held
    /// out.
    pub trialled: Option<Trialled>,
}

impl Choice {
    /// Choose a method from readings alone; `any_layout` asks for one that holds for layouts that
    /// were not measured.
    ///
    /// # Errors
    /// When every method is refused.
    pub fn choose(
        readings: &Readings,
        candidates: &Candidates,
        any_layout: bool,
    ) -> Result<Self, PredictError> {
        let usable = |method: &Method| {
            (!any_layout || method.holds_for_any_layout()) && candidates.refusal(*method).is_none()
        };
        let methods: Vec<Method> = Method::ALL.into_iter().filter(usable).collect();
        let first = *methods
            .first()
            .ok_or_else(|| no_model(candidates, any_layout))?;
        let split = match Split::for_choice(readings) {
            Ok(split) => split,
            Err(reason) => {
                return Ok(Self {
                    method: first,
                    reason: format!(
                        "nothing could be held out to compare models ({reason}); this one knows \
                         most of the mechanism"
                    ),
                    trialled: None,
                });
            }
        };
        let below = Candidates::fit(&split.fitted);
        let trialled: Vec<Trialled> = methods
            .iter()
            .filter_map(|method| Trialled::score(*method, &below, &split.held))
            .collect();
        // A straight line knows no ceiling, and below the knee nothing tells that it is wrong.
        let bent = |trialled: &&Trialled| trialled.method != Method::Linear;
        let open: Vec<&Trialled> = if trialled.iter().any(|t| bent(&t)) {
            trialled.iter().filter(bent).collect()
        } else {
            trialled.iter().collect()
        };
        let best = open
            .iter()
            .map(|trialled| trialled.mape())
            .fold(f64::INFINITY, f64::min);
        let noise = readings.variation().unwrap_or(NOISE).max(NOISE);
        let Some(chosen) = open
            .iter()
            .copied()
            .find(|trialled| trialled.mape() <= best + noise)
        else {
            return Ok(Self {
                method: first,
                reason:
                    "no model could be fitted below the held-out loads; this one knows most of \
                         the mechanism"
                        .to_owned(),
                trialled: None,
            });
        };
        let reason = format!(
            "it missed the {} largest loads by {:.1} % when fitted to the others; the best of {} \
             models by {:.1} %",
            split.held.lots().len(),
            100.0 * chosen.mape(),
            open.len(),
            100.0 * best
        );
        Ok(Self {
            method: chosen.method,
            reason,
            trialled: Some(chosen.clone()),
        })
    }
}

fn no_model(candidates: &Candidates, any_layout: bool) -> PredictError {
    let methods = Method::ALL
        .into_iter()
        .filter(|method| !any_layout || method.holds_for_any_layout());
    let refused = methods
        .filter_map(|method| Some((method.name(), candidates.refusal(method)?)))
        .collect();
    PredictError::NoModel { refused }
}

/// The mean over trials.
pub(crate) fn over(readings: &[Reading], value: impl Fn(&Reading) -> f64) -> f64 {
    mean(&readings.iter().map(value).collect::<Vec<_>>()).unwrap_or(0.0)
}
