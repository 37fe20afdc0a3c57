//! Operations of guests, and the histograms of their times.

use rookery_stats::{Latencies, OperationMeasurement};
use rookery_store::{Store, TrialRecord};

use super::{ms, number, text, whole};
use crate::{
    ExportError, Table,
    column::{self, RowVisitor, Source},
};

pub(super) const OPERATIONS: Table = Table {
    name: "operations",
    row: "operation of a guest; service time counts from the sending, response time from when it \
          was due",
    columns: &[
        column::whole("trial", "Number of the trial."),
        column::text("guest", "Name of the guest."),
        column::text("operation", "Name of the operation."),
        column::whole("started", "Operations started inside the window."),
        column::whole(
            "completed",
            "Successful operations completed inside the window.",
        ),
        column::whole("succeeded", "Of the started ones: ended well."),
        column::whole("failed", "Of the started ones: failed."),
        column::whole(
            "unfinished",
            "Of the started ones: not finished at the end.",
        ),
        column::number("service_mean_ms", "Service time: mean."),
        column::number("service_p50_ms", "Median."),
        column::number("service_p95_ms", "95th percentile."),
        column::number("service_p99_ms", "99th percentile."),
        column::number(
            "service_p999_ms",
            "99.9th percentile; nothing with fewer than ten times beyond it.",
        ),
        column::number("service_max_ms", "Largest."),
        column::number("response_mean_ms", "Response time: mean."),
        column::number("response_p50_ms", "Median."),
        column::number("response_p95_ms", "95th percentile."),
        column::number("response_p99_ms", "99th percentile."),
        column::number(
            "response_p999_ms",
            "99.9th percentile; nothing with fewer than ten times beyond it.",
        ),
        column::number("response_max_ms", "Largest."),
    ],
    source: Source::Computed(operations),
};

pub(super) const HISTOGRAMS: Table = Table {
    name: "histograms",
    row: "bucket of a histogram that is not empty",
    columns: &[
        column::whole("trial", "Number of the trial."),
        column::text("guest", "Name of the guest."),
        column::text("operation", "Name of the operation."),
        column::text("time", "`service` or `response`."),
        column::number(
            "up_to_ms",
            "Upper bound of the bucket, within 0.1 % of every time in it.",
        ),
        column::whole("count", "Number of times in it."),
    ],
    source: Source::Computed(histograms),
};

/// Mean, p50, p95, p99, p99.9 and largest of a histogram, ms.
pub(super) fn times(times: &Latencies) -> [rookery_store::Cell<'static>; 6] {
    let percentile = |p| ms(times.supported_percentile_us(p));
    [
        number(times.mean_us().map(|us| us / 1000.0)),
        percentile(50.0),
        percentile(95.0),
        percentile(99.0),
        percentile(99.9),
        ms(times.max_us()),
    ]
}

fn operations(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    each(store, &mut |trial, guest, operation| {
        let counts = [
            operation.started,
            operation.completed,
            operation.succeeded,
            operation.failed,
            operation.unfinished,
        ];
        let mut row = vec![whole(Some(trial)), text(guest), text(&operation.name)];
        row.extend(counts.map(|count| whole(Some(count))));
        row.extend(times(&operation.service));
        row.extend(times(&operation.response));
        visit(&row)
    })
}

fn histograms(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    each(store, &mut |trial, guest, operation| {
        let both = [
            ("service", &operation.service),
            ("response", &operation.response),
        ];
        for (time, latencies) in both {
            for (bound_us, count) in latencies.buckets_us() {
                visit(&[
                    whole(Some(trial)),
                    text(guest),
                    text(&operation.name),
                    text(time),
                    ms(Some(bound_us)),
                    whole(Some(count)),
                ])?;
            }
        }
        Ok(())
    })
}

/// Takes the trial, the guest and an operation of it.
type OperationVisitor<'v> =
    dyn FnMut(u32, &str, &OperationMeasurement) -> Result<(), ExportError> + 'v;

fn each(store: &Store, visit: &mut OperationVisitor<'_>) -> Result<(), ExportError> {
    for row in store.trials()? {
        let trial = row.trial.id;
        let record = store.outline(trial)?;
        let measured = record.iter().flat_map(TrialRecord::measurements);
        for guest in measured.flat_map(|measured| &measured.guests) {
            for operation in &guest.operations {
                visit(trial, &guest.guest, operation)?;
            }
        }
    }
    Ok(())
}
