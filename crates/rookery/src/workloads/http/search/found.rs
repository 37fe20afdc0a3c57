//! What a search found.

use std::time::Duration;

use rookery_model::search::{Answer, Ending, Outcome, Probe};

use super::begin::Begin;
use crate::exit::Code;

/// A probe that was made.
#[derive(Clone, Debug)]
pub(super) struct Probed {
    pub(super) probe: Probe,
    pub(super) outcome: Outcome,
    /// Throughput, units of work per minute.
    pub(super) per_minute: f64,
    /// The rule that is nearest to its limit, or farthest beyond it: value over limit.
    pub(super) binding: Option<(String, f64)>,
}

/// What a search found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) begin: Begin,
    pub(super) limits: Vec<String>,
    /// The rate of the workload in words.
    pub(super) rate: &'static str,
    pub(super) answer: Answer,
    pub(super) probed: Vec<Probed>,
    pub(super) took: Duration,
    /// The time was over before the search was.
    pub(super) time_over: bool,
}

impl Found {
    /// The smallest load above the answer that broke a limit, and which.
    pub(super) fn broke(&self) -> Option<(f64, &str)> {
        let above = self.answer.load.unwrap_or_default();
        let broken = self
            .probed
            .iter()
            .filter_map(|probed| match &probed.outcome {
                Outcome::Fail { rule } if probed.probe.load > above => {
                    Some((probed.probe.load, rule.as_str()))
                }
                _ => None,
            });
        broken.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The throughput at the answer: the median of the full runs that kept the limits there, or of
    /// all that did.
    pub(super) fn per_minute(&self) -> Option<f64> {
        let load = self.answer.load?;
        let kept = self
            .probed
            .iter()
            .filter(|probed| probed.probe.load == load && probed.outcome == Outcome::Pass);
        let full = kept.clone().filter(|probed| probed.probe.purpose.full());
        let mut rates: Vec<f64> = full.map(|probed| probed.per_minute).collect();
        if rates.is_empty() {
            rates = kept.map(|probed| probed.per_minute).collect();
        }
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    /// How the command ends.
    pub(super) fn code(&self) -> Code {
        match (&self.answer.ending, self.answer.load) {
            (_, Some(_)) => Code::Done,
            (Ending::NothingPasses, None) => Code::QosNeverMet,
            (Ending::Invalid { .. }, None) => Code::Driver,
            (_, None) => Code::Nothing,
        }
    }
}
