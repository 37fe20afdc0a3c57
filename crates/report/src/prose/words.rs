//! Words that a simulated run must not use: what it computed was not measured.

use rookery_analysis::{Run, points::PointSummary};
use rookery_study::{StackKind, WorkloadKind};
use rookery_workload::{OperationRole, WorkloadInfo};

use super::format;

/// Whether the run was computed: no guest ran, and nothing was measured.
pub(crate) fn simulated(run: &Run) -> bool {
    run.header.study.stack.kind() == StackKind::Simulated
}

/// What generic prose needs to know of the run's workload.
pub(crate) fn workload(run: &Run) -> &'static WorkloadInfo {
    run.header.study.workload.kind().info()
}

/// Whether a unit of work is recorded as a whole beside the requests that it consists of.
pub(crate) fn has_whole_unit(run: &Run) -> bool {
    let operations = workload(run).operations;
    operations
        .iter()
        .any(|operation| operation.role == OperationRole::Whole)
}

/// Who makes the load of a closed loop: `users`, `terminals`.
pub(crate) fn people(run: &Run) -> &'static str {
    workload(run).clients.plural
}

/// One of them.
pub(crate) fn person(run: &Run) -> &'static str {
    workload(run).clients.singular
}

/// Units of work per minute, in the words of the run's workload: `orders/min`, `nopm`.
pub(crate) fn rate(run: &Run) -> &'static str {
    run.header.study.workload.kind().info().unit.rate
}

/// The same of a point.
pub(crate) fn rate_of(summary: &PointSummary) -> &'static str {
    WorkloadKind::ALL
        .into_iter()
        .map(WorkloadKind::info)
        .find(|info| info.main_operation() == summary.main_operation)
        .map_or(RATE, |info| info.unit.rate)
}

/// The same of many points, which have one workload.
pub(crate) fn rate_of_all<'a>(mut points: impl Iterator<Item = &'a PointSummary>) -> &'static str {
    points.next().map_or(RATE, rate_of)
}

/// The same where no workload is at hand.
pub(crate) const RATE: &str = "throughput/min";

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

/// The name of a value of a plain enumeration.
pub(crate) fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
