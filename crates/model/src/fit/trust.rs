//! When a fit must be refused or qualified: the rules that turn numbers into a verdict.

use crate::fit::{
    data::Observations,
    goodness::{Goodness, lack_of_fit},
    options::Options,
    usl::{KAPPA, UslFit},
};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The curve may be shown, with this warning.
    Qualify,
    /// No parameters, no curve.
    Refuse,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Too few distinct loads for the parameters.
    FewLoads,
    /// Largest over smallest load is below 4.
    NarrowRange,
    /// The smallest load is above 4 and lambda is extrapolated.
    NoUnit,
    /// Nothing bent beats the straight line.
    NoCurvature,
    /// kappa is not above 0 with certainty: no peak.
    NoCoherency,
    /// The peak lies beyond the measured loads.
    PeakExtrapolated,
    /// The peak lies so far beyond that no number may be given.
    PeakFar,
    /// Parameters cannot be told apart.
    IllConditioned,
    /// Throughput per unit grows.
    Superlinear,
    /// The curve does not meet the runs.
    LackOfFit,
    /// Throughput is flat at the end.
    Ceiling,
    /// Runs that do not count.
    Excluded,
    /// Loads below one unit.
    BelowOne,
    /// A prediction beyond twice the largest load.
    Beyond,
}

impl Rule {
    /// Its short name in reports.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::FewLoads => "F1",
            Self::NarrowRange => "F2",
            Self::NoUnit => "F3",
            Self::NoCurvature => "F4",
            Self::NoCoherency => "F5",
            Self::PeakExtrapolated | Self::PeakFar => "F6",
            Self::IllConditioned => "F7",
            Self::Superlinear => "F8",
            Self::LackOfFit => "F9",
            Self::Ceiling => "F10",
            Self::Excluded => "F11",
            Self::BelowOne => "F12",
            Self::Beyond => "F13",
        }
    }
}

/// One reason to doubt or refuse a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub rule: Rule,
    /// How grave it is.
    pub severity: Severity,
    /// In words, with the numbers.
    pub text: String,
}

impl Finding {
    pub(crate) fn refuse(rule: Rule, text: String) -> Self {
        Self {
            rule,
            severity: Severity::Refuse,
            text,
        }
    }

    pub(crate) fn qualify(rule: Rule, text: String) -> Self {
        Self {
            rule,
            severity: Severity::Qualify,
            text,
        }
    }
}

/// F1: distinct loads, at least two more than parameters; a straight line through nothing needs two
/// in all.
pub(crate) fn few_loads(observations: &Observations, parameters: usize) -> Option<Finding> {
    let loads = observations.loads().len();
    let needed = if parameters <= 1 { 2 } else { parameters + 2 };
    let noun = if loads == 1 { "load" } else { "loads" };
    (loads < needed).then(|| {
        let what = if parameters == 1 {
            format!("1 parameter needs {needed}")
        } else {
            format!("{parameters} parameters need {needed}")
        };
        Finding::refuse(Rule::FewLoads, format!("{loads} distinct {noun}; {what}"))
    })
}

/// F11: runs that do not count, by their reasons.
pub(crate) fn excluded(observations: &Observations) -> Option<Finding> {
    let excluded = observations.excluded();
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for exclusion in excluded {
        let load = exclusion.run.n.to_string();
        match reasons
            .iter_mut()
            .find(|(reason, _)| *reason == exclusion.reason)
        {
            Some((_, loads)) => loads.push(load),
            None => reasons.push((&exclusion.reason, vec![load])),
        }
    }
    let reasons: Vec<String> = reasons
        .iter()
        .take(6)
        .map(|(reason, loads)| format!("{reason} (at {})", loads[..loads.len().min(8)].join(", ")))
        .collect();
    (!excluded.is_empty()).then(|| {
        let (count, noun) = (
            excluded.len(),
            if excluded.len() == 1 {
                "run does"
            } else {
                "runs do"
            },
        );
        Finding::qualify(
            Rule::Excluded,
            format!("{count} {noun} not count: {}", reasons.join("; ")),
        )
    })
}

/// F13: no numbers far beyond what was measured.
pub(crate) fn beyond(n: f64, largest: f64) -> Option<Finding> {
    (n > 2.0 * largest).then(|| {
        Finding::refuse(
            Rule::Beyond,
            format!("it is more than twice the largest load of {largest}"),
        )
    })
}

/// F2: the range of loads, for laws that bend.
pub(crate) fn narrow_range(observations: &Observations) -> Option<Finding> {
    let ratio = observations.largest() / observations.smallest();
    (ratio < 4.0).then(|| {
        Finding::refuse(
            Rule::NarrowRange,
            format!("the largest load is {ratio:.2} times the smallest; a law that bends needs 4"),
        )
    })
}

/// F3 and F12: loads from which the unit cannot be seen.
pub(crate) fn unit(observations: &Observations) -> Vec<Finding> {
    let smallest = observations.smallest();
    let mut findings = Vec::new();
    if smallest > 4.0 {
        findings.push(Finding::qualify(
            Rule::NoUnit,
            format!("the smallest load is {smallest}: the throughput of one unit is extrapolated"),
        ));
    }
    if smallest < 1.0 {
        findings.push(Finding::qualify(
            Rule::BelowOne,
            format!(
                "the smallest load is {smallest}: below 1 the law lies above the straight line"
            ),
        ));
    }
    findings
}

/// F5 and F6: is there a peak, and may it be named?
pub(crate) fn peak(fit: &UslFit, observations: &Observations) -> Vec<Finding> {
    let no_peak = |text: &str| {
        vec![Finding::refuse(
            Rule::NoCoherency,
            format!("{text}: no peak can be named, use the law without it"),
        )]
    };
    if !fit.free[KAPPA] {
        return no_peak("kappa ended at its bound 0");
    }
    if fit
        .interval(KAPPA)
        .is_none_or(|interval| interval.low <= 0.0)
    {
        return no_peak("the 95 % interval of kappa reaches 0");
    }
    let (Some(peak), Some((_, interval))) = (fit.law.peak(), fit.peak_interval()) else {
        return Vec::new();
    };
    let largest = observations.largest();
    if peak.n > 2.0 * largest || interval.high > 4.0 * largest {
        return vec![Finding::qualify(
            Rule::PeakFar,
            format!("the peak lies too far beyond the largest load of {largest} to be named"),
        )];
    }
    if peak.n > largest {
        return vec![Finding::qualify(
            Rule::PeakExtrapolated,
            format!(
                "the peak at {:.1} is extrapolated: the largest load is {largest}",
                peak.n
            ),
        )];
    }
    Vec::new()
}

/// F7: can the parameters be told apart?
pub(crate) fn condition(fit: &UslFit) -> Option<Finding> {
    let text = || {
        format!(
            "the parameters hang together: condition number {:.0}",
            fit.condition
        )
    };
    if fit.condition > 1000.0 {
        Some(Finding::refuse(Rule::IllConditioned, text()))
    } else if fit.condition > 100.0 {
        Some(Finding::qualify(Rule::IllConditioned, text()))
    } else {
        None
    }
}

/// F8: throughput per unit above that of the smallest load, beyond what repeats scatter.
pub(crate) fn superlinear(observations: &Observations) -> Option<Finding> {
    let loads = observations.loads();
    let first = loads.first()?;
    let error = |load: &super::data::Load| {
        load.variance().map_or(0.0, |variance| {
            2.0 * (variance / load.runs.len() as f64).sqrt() / load.mean()
        })
    };
    loads[1..].iter().find_map(|load| {
        let ratio = (load.mean() / load.n) / (first.mean() / first.n);
        let scatter = (error(load).powi(2) + error(first).powi(2)).sqrt();
        (ratio > 1.05 && ratio - 1.0 > scatter).then(|| {
            Finding::refuse(
                Rule::Superlinear,
                format!(
                    "throughput per unit at {} is {ratio:.2} times that at {}: look for caches, \
                     turbo, warm-up, or a wrong first value",
                    load.n, first.n
                ),
            )
        })
    })
}

/// F9: does the curve meet the runs?
pub(crate) fn misfit(
    observations: &Observations,
    goodness: &Goodness,
    parameters: usize,
    options: &Options,
    curve: impl Fn(f64) -> f64,
) -> Option<Finding> {
    let variation = observations.repeat_variation().unwrap_or(0.0);
    let loads = observations.loads();
    let mut reasons = Vec::new();
    if goodness.mape > 0.1 && goodness.mape > 2.0 * variation {
        reasons.push(format!("mean error {:.1} %", goodness.mape * 100.0));
    }
    let worst = loads
        .iter()
        .map(|load| ((load.mean() - curve(load.n)) / load.mean()).abs())
        .fold(0.0, f64::max);
    if worst > 0.2 {
        reasons.push(format!("a load is missed by {:.0} %", worst * 100.0));
    }
    if let Some(test) = lack_of_fit(observations, parameters, &curve).filter(|test| test.p < 0.01) {
        reasons.push(format!(
            "the curve misses loads by more than the repeats scatter (p = {:.1e})",
            test.p
        ));
    }
    // Residuals below the noise of rounding have no signs that mean anything.
    if observations.runs().len() >= options.sign_runs_from
        && goodness.sign_runs() <= 2
        && goodness.mape > 1e-4
    {
        reasons.push("residuals lie on one side over long stretches".to_owned());
    }
    (!reasons.is_empty()).then(|| {
        Finding::qualify(
            Rule::LackOfFit,
            format!("{}: do not extrapolate", reasons.join("; ")),
        )
    })
}

/// F10: is throughput flat while the load at least doubles? `busiest` is the utilisation of the
/// busiest resource at the largest loads, if it is known.
pub(crate) fn ceiling(observations: &Observations, busiest: Option<f64>) -> Option<Finding> {
    let loads = observations.loads();
    let flat = (0..loads.len().saturating_sub(2)).find_map(|from| {
        let means: Vec<f64> = loads[from..].iter().map(super::data::Load::mean).collect();
        let (low, high) = means
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), mean| {
                (low.min(*mean), high.max(*mean))
            });
        let doubled = loads[loads.len() - 1].n >= 2.0 * loads[from].n;
        (doubled && high <= 1.05 * low).then_some(loads[from].n)
    })?;
    let text = match busiest {
        None => "where a resource is at 90 % or more, this is a ceiling, and laws with a peak do \
                 not hold"
            .to_owned(),
        Some(busy) if busy >= 0.9 => format!(
            "a resource is at {:.0} %: a ceiling, and laws with a peak do not hold",
            100.0 * busy
        ),
        Some(busy) => format!(
            "though the busiest resource is at {:.0} %: something unmeasured limits (a lock, a \
             pool of connections, the load generator)",
            100.0 * busy
        ),
    };
    Some(Finding::qualify(
        Rule::Ceiling,
        format!("throughput is flat from {flat} on: {text}"),
    ))
}
