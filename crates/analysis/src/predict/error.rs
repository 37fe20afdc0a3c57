//! Why there is no prediction.

use serde::{Serialize, Serializer};

/// Why a layout or load is not predicted, or a model is not fitted. Serialises as its text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// No trial can be fitted.
    #[error("no trial is good enough to fit")]
    NoTrials,
    /// One load says nothing of a curve.
    #[error(
        "only one load per core was measured, and a curve needs {needed} different ones or more"
    )]
    OneLoad {
        /// Loads that are needed.
        needed: usize,
    },
    /// Too few loads to hold some of them out.
    #[error(
        "only {measured} different loads per core were measured, and {needed} are needed to hold \
         out {held}"
    )]
    FewLoads {
        /// Loads that were measured.
        measured: usize,
        /// Loads that are needed.
        needed: usize,
        /// Loads that would be held out.
        held: usize,
    },
    /// All layouts have the same number of guests.
    #[error("one number of guests only: no layout can be held out")]
    OneNumberOfGuests,
    /// The chosen model has no value for a held-out load.
    #[error("the chosen model says nothing of a held-out load")]
    HeldOutLoad,
    /// No model has a value for the layout and load.
    #[error("no model says anything of this layout and load")]
    NoValue,
    /// The busy cores of the trials show no demand.
    #[error("no trial counted the busy cores of its guests, or they do not grow with throughput")]
    NoDemand,
    /// A queueing model has no solution at the measured loads.
    #[error("the loads are beyond what can be solved")]
    Unsolvable,
    /// Throughput far below the ceiling does not show the demand.
    #[error(
        "no load comes near the ceiling (the largest is {:.0} % of the knee): throughput does not \
         show the demand",
        100.0 * share
    )]
    FarFromCeiling {
        /// The largest load over that of the knee.
        share: f64,
    },
    /// A hidden queue explains no more than the counters do.
    #[error("the counted demands explain throughput as well: no hidden queue shows")]
    NoHiddenQueue,
    /// The model expects another use of the CPUs than was counted.
    #[error(
        "it expects {:.0} % of the guests' CPUs in use at {} {unit}, and {:.0} % were measured",
        100.0 * expected,
        short(*load),
        100.0 * measured
    )]
    Contradicted {
        /// The load at which they are farthest apart.
        load: f64,
        /// What the load counts.
        unit: &'static str,
        /// Expected use, a share.
        expected: f64,
        /// Measured use, a share.
        measured: f64,
    },
    /// Neither CPU nor load limited what was measured.
    #[error(
        "at {} {unit} neither the CPU of the guests ({:.0} %) nor the load limited {layout}, and no \
         counter shows what did, nor whether guests share it: measure this layout, or the loads of \
         two different numbers of guests",
        short(*load),
        100.0 * measured
    )]
    NotTheCpu {
        /// The load.
        load: f64,
        /// What the load counts.
        unit: &'static str,
        /// The layout in words.
        layout: String,
        /// Measured use of the CPUs, a share.
        measured: f64,
    },
    /// A law was asked for the parameters of a queueing model.
    #[error("it is no queueing model")]
    NotQueueing,
    /// A law holds for the layouts alone that it was fitted to.
    #[error("it says nothing of layouts that were not fitted")]
    OtherLayout,
    /// Laws of throughput say nothing of an open load.
    #[error("the throughput of an open load is its rate")]
    OpenLoad,
    /// A rule refuses the fit of a law.
    #[error("{rule}: {finding}")]
    Law {
        /// The rule's name, such as `F2`.
        rule: &'static str,
        /// What it found.
        finding: String,
    },
    /// A law needs more trials.
    #[error("too few trials")]
    FewTrials,
    /// Every model was refused.
    #[error("no model can be fitted ({})", reasons(refused))]
    NoModel {
        /// The names of the models, each with its reason.
        refused: Vec<(&'static str, PredictError)>,
    },
    /// None of the variants of a run can be predicted.
    #[error("{}", joined(.0))]
    Variants(
        /// The different reasons.
        Vec<PredictError>,
    ),
    /// No number is given so far from the measured ones.
    #[error("F13: more than twice the largest measured {what} ({})", short(*largest))]
    TooFar {
        /// Of what there is too much.
        what: String,
        /// The largest that was measured.
        largest: f64,
    },
    /// The layout cannot be planned on the host.
    #[error("{}", problems.join("; "))]
    NotPlanned {
        /// What the plan would refuse.
        problems: Vec<String>,
    },
    /// Some guests would have no user.
    #[error("fewer users than guests")]
    FewUsers,
    /// No load of the layout keeps the limits.
    #[error("the limits are not kept at any load, or cannot be predicted")]
    LimitsNotKept,
}

impl Serialize for PredictError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn reasons(refused: &[(&str, PredictError)]) -> String {
    let texts: Vec<String> = refused
        .iter()
        .map(|(method, reason)| format!("{method}: {reason}"))
        .collect();
    texts.join("; ")
}

fn joined(errors: &[PredictError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn short(value: f64) -> String {
    format!("{}", (value * 100.0).round() / 100.0)
}
