//! Words that a simulated run must not use: what it computed was not measured.

use rookery_analysis::{Run, groups::has_several_units, points::PointSummary};
use rookery_study::StackKind;
use rookery_workload::WorkloadInfo;

use super::format;

/// Whether the run was computed: no guest ran, and nothing was measured.
pub(crate) fn simulated(run: &Run) -> bool {
    run.header.study.stack.kind() == StackKind::Simulated
}

/// What generic prose needs to know of the run's workload.
pub(crate) fn workload(run: &Run) -> &'static WorkloadInfo {
    run.header.study.workload.kind().info()
}

/// Who makes the load of a closed loop: `users`, `terminals`.
pub(crate) fn people(run: &Run) -> &'static str {
    if has_several_units(&run.header.plan) {
        "clients"
    } else {
        workload(run).clients.plural
    }
}

/// One of them.
pub(crate) fn person(run: &Run) -> &'static str {
    if has_several_units(&run.header.plan) {
        "client"
    } else {
        workload(run).clients.singular
    }
}

/// Units of work per minute, in the words of the run's workload: `orders/min`, `nopm`.
pub(crate) fn rate(run: &Run) -> &'static str {
    if has_several_units(&run.header.plan) {
        UNITS_PER_MINUTE
    } else {
        workload(run).unit.rate
    }
}

/// Throughput of several workloads, each in its own units.
const UNITS_PER_MINUTE: &str = "units of work/min";

/// One unit of work, in the words of the run's workload: `order`.
pub(crate) fn unit(run: &Run) -> &'static str {
    workload(run).unit.singular
}

/// What the throughput of points counts, in general words where they have several workloads.
pub(crate) fn rate_of_all<'a>(mut points: impl Iterator<Item = &'a PointSummary>) -> &'static str {
    let first = points.next().map_or("", |summary| summary.rate);
    if points.all(|summary| summary.rate == first) {
        first
    } else {
        UNITS_PER_MINUTE
    }
}

/// A unit of work of points, in general words where they have several workloads.
pub(crate) fn unit_of_all<'a>(mut points: impl Iterator<Item = &'a PointSummary>) -> &'static str {
    let first = points.next().map_or("", |summary| summary.unit);
    if points.all(|summary| summary.unit == first) {
        first
    } else {
        "unit of work"
    }
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

/// The name of a value of a plain enumeration.
pub(crate) fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
