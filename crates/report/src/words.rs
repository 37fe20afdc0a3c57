//! Words that a simulated run must not use: what it computed was not measured.

use rookery_study::{StackKind, WorkloadKind};

use crate::{Run, format};

/// Whether the run was computed: no guest ran, and nothing was measured.
pub(crate) fn simulated(run: &Run) -> bool {
    run.header.study.stack.kind == StackKind::Simulated
}

/// Whether the run's workload is order entry: no shop, no pages.
pub(crate) fn order_entry(run: &Run) -> bool {
    run.header.study.workload.kind == WorkloadKind::Orderentry
}

/// Who makes the load of a closed loop: `users`, at order entry `terminals`.
pub(crate) fn people(run: &Run) -> &'static str {
    if order_entry(run) {
        "terminals"
    } else {
        "users"
    }
}

/// One of them.
pub(crate) fn person(run: &Run) -> &'static str {
    people(run).trim_end_matches('s')
}

/// What a simulated run is, for its cover.
pub(crate) const SIMULATED: &str =
    "SIMULATED: no guest ran. All numbers were computed by a queueing model, in virtual time.";

/// Text of others, who speak of measuring, as it stands in this report.
pub(crate) fn own(run: &Run, text: String) -> String {
    if simulated(run) {
        text.replace("measured", "simulated")
    } else {
        text
    }
}

/// How many trials have numbers: `12 measured trials`.
pub(crate) fn measured_trials(run: &Run) -> String {
    let records = run.trials.iter().filter_map(|trial| trial.record.as_ref());
    let count = records
        .filter(|record| record.measurement.is_some())
        .count();
    own(run, format::counted(count, "measured trial"))
}
