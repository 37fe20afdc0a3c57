//! Limits on response time and errors, and the verdict of a trial against them.

use serde::{Deserialize, Serialize};

use crate::{
    GuestMeasurement, Measurement, OperationMeasurement, Pacing, RankBounds,
    histogram::nearest_rank,
};

/// The 97.5 % quantile of the normal distribution.
const Z_975: f64 = 1.959_964;

/// One limit on a percentile of response time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentileLimit {
    /// Operation name, or `None` for every operation (the whole order is judged only by its own
    /// rule).
    pub operation: Option<String>,
    /// Percentile, 0 < p < 100.
    pub percentile: f64,
    /// Limit in microseconds.
    pub limit_us: u64,
}

/// The quality of service that a trial must keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Qos {
    /// Limits on percentiles.
    pub percentiles: Vec<PercentileLimit>,
    /// Largest allowed share of failed operations, 0 to 1, per operation and in total.
    pub error_ratio: Option<f64>,
    /// Fewest operations that make a percentile worth judging.
    pub min_operations: u64,
}

/// What became of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// The value keeps the limit.
    Passed,
    /// The value breaks the limit.
    Failed,
    /// Too few operations to say.
    NotJudged,
}

/// What a rule limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limited {
    /// This percentile of response time, in microseconds.
    Percentile(f64),
    /// The share of failed and unfinished operations, 0 to 1.
    ErrorRatio,
}

/// One rule applied to one operation of one guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleResult {
    /// Name of the guest.
    pub guest: String,
    /// Operation; `None` = all requests of the guest together.
    pub operation: Option<String>,
    /// What is limited.
    pub limited: Limited,
    /// The limit: microseconds, or a share.
    pub limit: f64,
    /// The measured value in the same unit; `None` when it was not judged, or lies among operations
    /// that never finished.
    pub value: Option<f64>,
    /// Number of operations behind the value.
    pub samples: u64,
    /// The verdict on this rule.
    pub outcome: RuleOutcome,
    /// The 95 % confidence bounds of the value lie on both sides of the limit (assumes independent
    /// operations).
    pub marginal: bool,
}

impl RuleResult {
    /// The rule in words: `g1 purchase p95 <= 250 ms`.
    #[must_use]
    pub fn text(&self) -> String {
        let operation = self.operation.as_deref().unwrap_or("all requests");
        match self.limited {
            Limited::Percentile(p) => format!(
                "{} {operation} p{p} <= {} ms",
                self.guest,
                self.limit / 1000.0
            ),
            Limited::ErrorRatio => format!(
                "{} {operation} errors <= {} %",
                self.guest,
                round(100.0 * self.limit)
            ),
        }
    }

    /// Value over limit: above 1 the rule is broken. Infinite for a value among operations that
    /// never finished; `None` when it was not judged.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        match (self.outcome, self.value) {
            (RuleOutcome::NotJudged, _) => None,
            (_, None) => Some(f64::INFINITY),
            (_, Some(value)) if value <= 0.0 => Some(0.0),
            (_, Some(value)) => Some(value / self.limit),
        }
    }
}

/// What a trial's measurement says about its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// No rule was broken and every guest could be judged.
    pub passed: bool,
    /// Every rule, guest by guest.
    pub rules: Vec<RuleResult>,
    /// Index of the rule that is nearest to its limit or farthest beyond it; `None` when none could
    /// be judged.
    pub binding: Option<usize>,
}

impl Verdict {
    /// The rule that is nearest to its limit or farthest beyond it.
    #[must_use]
    pub fn binding_rule(&self) -> Option<&RuleResult> {
        self.rules.get(self.binding?)
    }

    /// Whether a rule was broken.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.count(RuleOutcome::Failed) > 0
    }

    /// How many rules ended so.
    #[must_use]
    pub fn count(&self, outcome: RuleOutcome) -> usize {
        self.rules
            .iter()
            .filter(|rule| rule.outcome == outcome)
            .count()
    }

    /// One line: `passed`, `failed: ...`, `not judged: ...`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let unjudged = self.count(RuleOutcome::NotJudged);
        let aside = match unjudged {
            0 => String::new(),
            n => format!(
                " ({n} of {} rules not judged: too few operations)",
                self.rules.len()
            ),
        };
        if self.failed() {
            let binding = self
                .binding_rule()
                .map_or_else(String::new, |rule| format!(": {}", rule.text()));
            format!("failed{binding}{aside}")
        } else if self.passed {
            format!("passed{aside}")
        } else {
            format!("not judged{aside}")
        }
    }
}

/// Judge a measurement: percentile limits and error ratio, per operation and per guest.
///
/// Response time is `service` for think pacing and `response` for cycle pacing and arrivals.
/// Operations that never finished count as slower than every other. A limit without an operation
/// holds for every single request but not for the whole order; operations that were never started
/// are left out. A percentile over fewer than `min_operations` operations is not judged; a rule
/// that names its operation must be judged for a verdict to pass, and so must one percentile of
/// each guest when there are percentile limits.
#[must_use]
pub fn judge(qos: &Qos, measurement: &Measurement) -> Verdict {
    let mut rules = Vec::new();
    let mut complete = !measurement.guests.is_empty();
    for guest in &measurement.guests {
        let before = rules.len();
        for limit in &qos.percentiles {
            complete &= judge_percentile(qos, limit, guest, measurement.pacing, &mut rules);
        }
        let percentile_judged = rules[before..]
            .iter()
            .any(|rule| rule.outcome != RuleOutcome::NotJudged);
        complete &= qos.percentiles.is_empty() || percentile_judged;
        if let Some(limit) = qos.error_ratio {
            complete &= judge_errors(limit, guest, &mut rules);
        }
    }
    let failed = rules.iter().any(|rule| rule.outcome == RuleOutcome::Failed);
    let binding = rules
        .iter()
        .enumerate()
        .filter_map(|(index, rule)| Some((index, rule.load()?)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(index, _)| index);
    Verdict {
        passed: complete && !failed && binding.is_some(),
        rules,
        binding,
    }
}

/// Applies one limit; false when it names an operation that could not be judged.
fn judge_percentile(
    qos: &Qos,
    limit: &PercentileLimit,
    guest: &GuestMeasurement,
    pacing: Pacing,
    rules: &mut Vec<RuleResult>,
) -> bool {
    let Some(name) = &limit.operation else {
        for operation in guest.requests().filter(|operation| operation.started > 0) {
            rules.push(percentile_rule(qos, limit, guest, operation, pacing));
        }
        return true;
    };
    let rule = match guest.operation(name) {
        Some(operation) => percentile_rule(qos, limit, guest, operation, pacing),
        None => percentile_rule(
            qos,
            limit,
            guest,
            &OperationMeasurement::empty(name),
            pacing,
        ),
    };
    let judged = rule.outcome != RuleOutcome::NotJudged;
    rules.push(rule);
    judged
}

fn percentile_rule(
    qos: &Qos,
    limit: &PercentileLimit,
    guest: &GuestMeasurement,
    operation: &OperationMeasurement,
    pacing: Pacing,
) -> RuleResult {
    let latencies = operation.headline(pacing);
    let samples = latencies.count();
    // The slowest were still under way: their times are lower bounds, and keep no limit.
    let known = samples.saturating_sub(operation.unfinished);
    let thin_tail = limit.percentile > 99.0
        && samples as f64 * (100.0 - limit.percentile) / 100.0 < 10.0 - 1e-9;
    let mut rule = RuleResult {
        guest: guest.guest.clone(),
        operation: Some(operation.name.clone()),
        limited: Limited::Percentile(limit.percentile),
        limit: limit.limit_us as f64,
        value: None,
        samples,
        outcome: RuleOutcome::NotJudged,
        marginal: false,
    };
    if samples < qos.min_operations.max(1) || thin_tail {
        return rule;
    }
    let at = |rank: u64| latencies.value_at_rank(rank).filter(|_| rank <= known);
    let keeps = |value: Option<u64>| value.is_some_and(|value| value <= limit.limit_us);
    let value = at(nearest_rank(samples, limit.percentile));
    let bounds = RankBounds::normal(samples, limit.percentile / 100.0);
    rule.value = value.map(|value| value as f64);
    rule.outcome = if keeps(value) {
        RuleOutcome::Passed
    } else {
        RuleOutcome::Failed
    };
    rule.marginal =
        keeps(at(bounds.low.unwrap_or(1))) && !bounds.high.is_some_and(|high| keeps(at(high)));
    rule
}

/// Judges the errors of every request and of all together; false when the guest was never asked
/// anything.
fn judge_errors(limit: f64, guest: &GuestMeasurement, rules: &mut Vec<RuleResult>) -> bool {
    let mut total = (0u64, 0u64);
    for operation in guest.requests().filter(|operation| operation.started > 0) {
        total = (
            total.0.saturating_add(operation.started),
            total.1.saturating_add(operation.bad()),
        );
        rules.push(error_rule(
            limit,
            guest,
            Some(&operation.name),
            operation.started,
            operation.bad(),
        ));
    }
    rules.push(error_rule(limit, guest, None, total.0, total.1));
    total.0 > 0
}

fn error_rule(
    limit: f64,
    guest: &GuestMeasurement,
    operation: Option<&str>,
    started: u64,
    bad: u64,
) -> RuleResult {
    let value = (started > 0).then(|| bad as f64 / started as f64);
    let (low, high) = wilson(bad, started);
    RuleResult {
        guest: guest.guest.clone(),
        operation: operation.map(str::to_owned),
        limited: Limited::ErrorRatio,
        limit,
        value,
        samples: started,
        outcome: match value {
            None => RuleOutcome::NotJudged,
            Some(value) if value <= limit => RuleOutcome::Passed,
            Some(_) => RuleOutcome::Failed,
        },
        marginal: started > 0 && low <= limit && limit < high,
    }
}

/// The 95 % score interval of a share (Wilson 1927); (0, 1) without trials.
fn wilson(hits: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, share, z2) = (trials as f64, hits as f64 / trials as f64, Z_975 * Z_975);
    let centre = share + z2 / (2.0 * n);
    let reach = Z_975 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    (
        ((centre - reach) / scale).max(0.0),
        (centre + reach) / scale,
    )
}

/// Without the digits that a percentage of a share owes to binary arithmetic.
fn round(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests;
