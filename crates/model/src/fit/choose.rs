//! The choice of a law: fit every candidate, refuse what the data cannot carry, compare on held-out
//! loads.

use crate::fit::{
    closed::{ClosedFit, fit_closed},
    data::Observations,
    goodness::{Goodness, PredictionError, nested_f_test},
    options::Options,
    trust::{self, Finding, Rule, Severity},
    usl::{Family, Prediction, UslFit, fit_usl},
};

/// A candidate's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// X = lambda N.
    Linear,
    /// Amdahl's law.
    Amdahl,
    /// The universal scalability law.
    Usl,
    /// One station and a delay.
    Closed,
}

impl Model {
    /// Every candidate, fewest parameters first.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Amdahl, Self::Usl, Self::Closed];

    /// Its name in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
            Self::Closed => "closed queue",
        }
    }
}

/// A fitted curve.
#[derive(Clone, Debug)]
pub enum Fitted {
    /// A law of the universal family.
    Law(UslFit),
    /// The closed model.
    Closed(ClosedFit),
}

impl Fitted {
    /// X(N), 1/s.
    #[must_use]
    pub fn throughput(&self, n: f64) -> f64 {
        match self {
            Self::Law(fit) => fit.law.throughput(n),
            Self::Closed(fit) => fit.model.throughput(n),
        }
    }

    /// Expected throughput at `n` with intervals, where there are degrees of freedom.
    #[must_use]
    pub fn predict(&self, n: f64, observations: &Observations) -> Option<Prediction> {
        match self {
            Self::Law(fit) => fit.predict(n, observations),
            Self::Closed(fit) => fit.predict(n),
        }
    }

    /// Number of estimated parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        match self {
            Self::Law(fit) => fit.parameters(),
            Self::Closed(fit) => fit.parameters,
        }
    }
}

/// One law and what became of it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which.
    pub model: Model,
    /// Fitted to all runs; `None` when that is impossible. Not to be shown when refused.
    pub fitted: Option<Fitted>,
    /// How well it meets the runs, by the study's weights.
    pub goodness: Option<Goodness>,
    /// Reasons to doubt or refuse it.
    pub findings: Vec<Finding>,
    /// Errors on the held-out loads of a fit to the other loads.
    pub held_out: Option<PredictionError>,
    /// Share of the held-out runs within the 95 % interval of a new run.
    pub inside: Option<f64>,
}

impl Candidate {
    /// Whether the data cannot carry it.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.fitted.is_none()
            || self
                .findings
                .iter()
                .any(|finding| finding.severity == Severity::Refuse)
    }
}

/// The loads that were held out, and how far the naive answers are off there.
#[derive(Clone, Debug)]
pub struct HeldOut {
    /// Held-out loads.
    pub loads: Vec<f64>,
    /// Coefficient of variation of the held-out loads' repeats; `None` without repeats.
    pub variation: Option<f64>,
    /// Errors of the naive answers.
    pub baselines: Baselines,
}

/// Naive answers.
#[derive(Clone, Copy, Debug)]
pub struct Baselines {
    /// The last measured value carried forward.
    pub last: PredictionError,
    /// The last measured value in proportion to the load.
    pub linear: PredictionError,
}

/// The whole judgement.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Every candidate, in the order of [`Model::ALL`].
    pub candidates: Vec<Candidate>,
    /// Place of the chosen one; `None` when every law was refused.
    pub chosen: Option<usize>,
    /// What was held out; `None` with too few loads.
    pub held_out: Option<HeldOut>,
    /// Findings on the data as a whole.
    pub findings: Vec<Finding>,
    /// Largest measured load.
    pub largest: f64,
}

impl Judgement {
    /// The chosen candidate.
    #[must_use]
    pub fn choice(&self) -> Option<&Candidate> {
        self.candidates.get(self.chosen?)
    }

    /// Whether a number may be given at `n`: not beyond twice the largest load.
    #[must_use]
    pub fn may_predict(&self, n: f64) -> bool {
        n > 0.0 && self.refuse_prediction(n).is_none()
    }

    /// Why no number may be given at `n`, if so.
    #[must_use]
    pub fn refuse_prediction(&self, n: f64) -> Option<Finding> {
        trust::beyond(n, self.largest)
    }

    /// Whether the chosen law was no better on the held-out loads than carrying the last value
    /// forward.
    #[must_use]
    pub fn worse_than_naive(&self) -> bool {
        let error = self.choice().and_then(|choice| choice.held_out);
        matches!((error, &self.held_out), (Some(error), Some(held)) if error.mape >= held.baselines.last.mape)
    }
}

/// Fit, refuse, compare, choose.
///
/// Candidates whose held-out errors differ by less than the scatter of repeats (1 % without
/// repeats) are told apart by AICc.
#[must_use]
pub fn judge(observations: &Observations, options: &Options) -> Judgement {
    let mut candidates: Vec<Candidate> = Model::ALL
        .iter()
        .map(|model| candidate(*model, observations, options))
        .collect();
    refuse_curvature(&mut candidates, observations.runs().len());
    let held_out = observations.hold_out().and_then(|(below, above)| {
        for candidate in &mut candidates {
            predict_held_out(candidate, &below, &above, options);
        }
        held_out(&below, &above)
    });
    let chosen = choose(&candidates, observations.repeat_variation().unwrap_or(0.01));
    let mut findings = trust::unit(observations);
    findings.extend(trust::ceiling(observations, options.busiest));
    findings.extend(trust::excluded(observations));
    Judgement {
        candidates,
        chosen,
        held_out,
        findings,
        largest: observations.largest(),
    }
}

fn fit(model: Model, observations: &Observations, options: &Options) -> Option<Fitted> {
    let family = match model {
        Model::Linear => Family::Linear,
        Model::Amdahl => Family::Amdahl,
        Model::Usl => Family::Usl,
        Model::Closed => {
            return fit_closed(observations, options.think, options.max_servers)
                .map(Fitted::Closed);
        }
    };
    let first = &observations.loads()[0];
    let lambda = (options.two_parameter && first.n == 1.0).then(|| first.mean());
    fit_usl(observations, family, options.weights, lambda).map(Fitted::Law)
}

fn candidate(model: Model, observations: &Observations, options: &Options) -> Candidate {
    let fitted = fit(model, observations, options);
    let goodness = fitted.as_ref().map(|fitted| {
        Goodness::judge(observations, options.weights, fitted.parameters(), |n| {
            fitted.throughput(n)
        })
    });
    let held = usize::from(options.two_parameter);
    let parameters = match model {
        Model::Linear => 1,
        Model::Amdahl => 2 - held,
        Model::Usl => 3 - held,
        Model::Closed => 2,
    };
    let mut findings: Vec<Finding> = trust::few_loads(observations, parameters)
        .into_iter()
        .collect();
    if model != Model::Linear {
        findings.extend(trust::narrow_range(observations));
    }
    if let (Some(fitted), Some(goodness)) = (&fitted, &goodness) {
        if let Fitted::Law(fit) = fitted {
            findings.extend(trust::condition(fit));
            if model == Model::Usl {
                findings.extend(trust::peak(fit, observations));
                findings.extend(trust::superlinear(observations));
            }
        }
        findings.extend(trust::misfit(
            observations,
            goodness,
            fitted.parameters(),
            options,
            |n| fitted.throughput(n),
        ));
    }
    Candidate {
        model,
        fitted,
        goodness,
        findings,
        held_out: None,
        inside: None,
    }
}

/// F4: where nothing bent beats the straight line by the F test and by AICc, the line is the
/// answer.
fn refuse_curvature(candidates: &mut [Candidate], runs: usize) {
    let straight = candidates.first().and_then(|linear| {
        Some((
            linear.goodness.clone()?,
            linear.fitted.as_ref()?.parameters(),
        ))
    });
    let Some((straight, straight_parameters)) = straight else {
        return;
    };
    let beats = |candidate: &Candidate| {
        let (Some(fitted), Some(goodness)) = (&candidate.fitted, &candidate.goodness) else {
            return false;
        };
        let test = nested_f_test(
            (straight.rss, straight_parameters),
            (goodness.rss, fitted.parameters()),
            runs,
        );
        let gain = straight.aicc - goodness.aicc;
        test.is_some_and(|test| test.p <= 0.05) && (gain >= 2.0 || !goodness.aicc.is_finite())
    };
    if candidates[1..].iter().any(beats) {
        return;
    }
    // With too few loads, nobody could have seen curvature.
    let blind = |finding: &Finding| matches!(finding.rule, Rule::FewLoads | Rule::NarrowRange);
    for candidate in candidates[1..]
        .iter_mut()
        .filter(|candidate| !candidate.findings.iter().any(blind))
    {
        let text = "no curvature in the range: no limit can be named".to_owned();
        candidate
            .findings
            .push(Finding::refuse(Rule::NoCurvature, text));
    }
}

fn predict_held_out(
    candidate: &mut Candidate,
    below: &Observations,
    above: &Observations,
    options: &Options,
) {
    if candidate.fitted.is_none() {
        return;
    }
    let Some(fitted) = fit(candidate.model, below, options)
        .filter(|fitted| below.loads().len() > fitted.parameters())
    else {
        return;
    };
    let pairs: Vec<(f64, f64)> = above
        .runs()
        .iter()
        .map(|run| (run.x, fitted.throughput(run.n)))
        .collect();
    candidate.held_out = PredictionError::from_pairs(&pairs);
    let within = above.runs().iter().map(|run| {
        let interval = fitted.predict(run.n, below)?.run;
        Some(f64::from(u8::from(
            interval.low <= run.x && run.x <= interval.high,
        )))
    });
    let within: Option<Vec<f64>> = within.collect();
    candidate.inside = within.map(|within| within.iter().sum::<f64>() / within.len() as f64);
}

fn held_out(below: &Observations, above: &Observations) -> Option<HeldOut> {
    let last = below.loads().pop()?;
    let errors = |value: &dyn Fn(f64) -> f64| {
        let pairs: Vec<(f64, f64)> = above
            .runs()
            .iter()
            .map(|run| (run.x, value(run.n)))
            .collect();
        PredictionError::from_pairs(&pairs)
    };
    Some(HeldOut {
        loads: above.loads().iter().map(|load| load.n).collect(),
        variation: above.repeat_variation(),
        baselines: Baselines {
            last: errors(&|_| last.mean())?,
            linear: errors(&|n| last.mean() / last.n * n)?,
        },
    })
}

fn choose(candidates: &[Candidate], noise: f64) -> Option<usize> {
    let open: Vec<usize> = (0..candidates.len())
        .filter(|i| !candidates[*i].refused())
        .collect();
    let error = |i: usize| {
        candidates[i]
            .held_out
            .map_or(f64::INFINITY, |error| error.mape)
    };
    let best = open.iter().map(|i| error(*i)).fold(f64::INFINITY, f64::min);
    let aicc = |i: usize| {
        candidates[i]
            .goodness
            .as_ref()
            .map_or(f64::INFINITY, |goodness| goodness.aicc)
    };
    // Without any held-out error all are alike, and AICc decides.
    open.into_iter()
        .filter(|i| error(*i) <= best + noise || best.is_infinite())
        .min_by(|a, b| aicc(*a).total_cmp(&aicc(*b)))
}
