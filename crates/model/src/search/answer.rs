//! What a search has found.

use super::{Goal, Outcome, Probe};

/// The end of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which load was searched.
    pub goal: Goal,
    /// The largest load that keeps the limits, or the smallest: confirmed by fresh full runs if
    /// [`Self::confirmed`], else the best guess of what most (85 %) of the runs keep. `None` when
    /// even the easiest load of the range does not.
    pub load: Option<f64>,
    /// Whether fresh full runs at [`Self::load`] kept the limits. Report an unconfirmed load as
    /// such: it is an extreme value.
    pub confirmed: bool,
    /// The load that half of the runs keep: the best estimate of the knee, within the range
    /// searched.
    pub knee: f64,
    /// 95 % interval of the knee. An end is `None` where it lies outside the range searched.
    pub interval: (Option<f64>, Option<f64>),
    /// From the load that nine of ten runs keep to that which one of ten keeps, as a share of the
    /// load: how noisy the edge is.
    pub blur: f64,
    /// The rule that bound first at a load that was harder; `None` when no probe failed.
    pub binding: Option<String>,
    /// Every probe with its outcome, in order.
    pub probes: Vec<(Probe, Outcome)>,
    /// Why the search ended.
    pub ending: Ending,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The load is confirmed (unless no confirmation was asked for), and runs above it fail, or
    /// pass by luck alone.
    Found,
    /// The budget of probes is spent.
    Budget,
    /// Even the easiest load fails: the lowest one, or the highest where the smallest is searched.
    NothingPasses,
    /// Even the hardest load passes.
    EverythingPasses,
    /// Probes were invalid three times running: the driver or the environment, not the system under
    /// test, is the limit.
    Invalid {
        /// At which load.
        load: f64,
        /// Why, in the words of the last one.
        reason: String,
    },
    /// [`finish`](super::Search::finish) was called before the search had ended.
    Interrupted,
}

impl Answer {
    /// Loads at which a run passed although another failed at an easier one: (passed, failed), the
    /// widest such pair. It shows noise, or a system that is not slower under more load.
    #[must_use]
    pub fn contradiction(&self) -> Option<(f64, f64)> {
        edges(&self.probes, self.goal).filter(|(passed, failed)| match self.goal {
            Goal::Largest => passed > failed,
            Goal::Smallest => passed < failed,
        })
    }

    /// The answer in a sentence; `unit` is what the load counts: `users`, `orders/s`, `guests`,
    /// `MiB`.
    #[must_use]
    pub fn sentence(&self, unit: &str) -> String {
        let probes = self.probes.len();
        let (easiest, hardest, further) = match self.goal {
            Goal::Largest => ("lowest load", "highest load", "higher"),
            Goal::Smallest => ("largest amount", "smallest amount", "lower"),
        };
        let why = match &self.ending {
            Ending::Found => String::new(),
            Ending::Budget => "; the budget of probes is spent".to_owned(),
            Ending::NothingPasses => format!("; even the {easiest} fails"),
            Ending::EverythingPasses => format!("; even the {hardest} passes: search {further}"),
            Ending::Invalid { load, reason } => {
                format!("; stopped at {} {unit}: {reason}", text(*load))
            }
            Ending::Interrupted => "; interrupted".to_owned(),
        };
        let Some(load) = self.load else {
            let found = if self.ending == Ending::NothingPasses {
                "keeps"
            } else {
                "is known to keep"
            };
            let what = match self.goal {
                Goal::Largest => "load",
                Goal::Smallest => "amount",
            };
            return format!("no {what} {found} the limits ({probes} probes{why})");
        };
        let state = if self.confirmed {
            "confirmed"
        } else {
            "not confirmed"
        };
        let knee = match self.interval {
            (Some(low), Some(high)) => {
                format!("edge between {} and {} with 95 %", text(low), text(high))
            }
            (None, Some(high)) => format!("edge below {} with 95 %", text(high)),
            (Some(low), None) => format!("edge above {} with 95 %", text(low)),
            (None, None) => "edge unknown".to_owned(),
        };
        let binding = self
            .binding
            .as_ref()
            .map_or_else(String::new, |rule| format!("; first to break: {rule}"));
        format!(
            "{} {unit}, {state}; {knee}{binding} ({probes} probes{why})",
            text(load)
        )
    }
}

/// The hardest load that passed and the easiest that failed: of [`Goal::Largest`] the largest and
/// the smallest.
pub(super) fn edges(probes: &[(Probe, Outcome)], goal: Goal) -> Option<(f64, f64)> {
    let loads = |wanted: bool| {
        let judged = probes
            .iter()
            .filter(move |(_, outcome)| outcome.passed() == Some(wanted));
        judged.map(|(probe, _)| probe.load)
    };
    let (passed, failed) = (loads(true), loads(false));
    match goal {
        Goal::Largest => Some((passed.reduce(f64::max)?, failed.reduce(f64::min)?)),
        Goal::Smallest => Some((passed.reduce(f64::min)?, failed.reduce(f64::max)?)),
    }
}

/// A load without digits that nobody asked for.
fn text(load: f64) -> String {
    let digits = if load >= 1000.0 || load.fract() == 0.0 {
        0
    } else if load >= 10.0 {
        1
    } else {
        3
    };
    format!("{load:.digits$}")
}
