//! The sample workload, as a study uses it.

mod keys;

use std::time::Duration;

use rookery_cast::truncate_u32;
use rookery_stats::Pacing;
use rookery_workload::{
    DelayDistribution, MixShare,
    sample::{SampleData, SampleOperation, TransitionMatrix},
};
use serde::{Deserialize, Serialize};

use super::{DataRequest, Pace, PointData, WorkloadUse, is_usual, scatter, web_pace};
use crate::{
    Amount, StackKind, expression::NO_UNITS, grammar::Context, names::Named as _, problem::Code,
    time_text::plain_time,
};

pub(super) use keys::SampleKeys;

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 2] = [StackKind::Bundled, StackKind::External];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "Sample: `read`, `list` and `write`, one request each.";

/// What its figures mean.
pub(super) const CAVEAT: &str = "The sample workload is an example: its figures say nothing about \
                                 a server stack that is in use.";

/// Loading a template, MiB/s: lines of a file.
pub(super) const LOAD_MIB_PER_S: f64 = 100.0;

/// MiB on disk per MiB of records under load.
pub(super) const USED_MIB_PER_MIB: f64 = 2.0;

/// The most records of a guest.
const MOST_RECORDS: f64 = 10_000_000.0;

/// Keys of the sample workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleUse {
    /// Records that each guest holds before the load.
    pub records: Amount,
    /// Length of each record, bytes.
    pub record_bytes: u32,
    /// Records in a list.
    pub list_length: u32,
    /// Memory that the requests to a server touch in turn, MiB; 0 for none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub working_set_mib: u64,
    /// Mean time between operations (or cycle time).
    pub think_time: Duration,
    /// How think times scatter about their mean.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub think_distribution: DelayDistribution,
    /// Think or cycle pacing.
    pub pacing: Pacing,
    /// Which operation follows which.
    pub matrix: TransitionMatrix,
}

fn is_none(mib: &u64) -> bool {
    *mib == 0
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &SampleUse) -> Pace {
    web_pace(wanted.pacing)
}

impl WorkloadUse for SampleUse {
    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData> {
        let why = match self.records.each(request.guest, &NO_UNITS) {
            Ok(records) if records > 0.0 && records <= MOST_RECORDS => {
                return Some(PointData::Sample(SampleData {
                    records: truncate_u32(records.ceil()),
                    record_bytes: self.record_bytes,
                }));
            }
            Ok(records) => format!("{records} records, where 1 to {MOST_RECORDS} are possible"),
            Err(error) => error.to_string(),
        };
        let span = context.spans.nearest(self.size_key());
        let message = format!("the records of {}: {why}", request.guests);
        context.refuse(
            Code::Database,
            span,
            message,
            "change the number of records",
        )
    }

    fn size_key(&self) -> &'static str {
        "workload.records"
    }

    fn pace(&self) -> String {
        let pacing = self.pacing.name();
        format!(
            "{pacing} time {}{} ({pacing} pacing)",
            plain_time(self.think_time),
            scatter(self.think_distribution, DelayDistribution::default())
        )
    }

    fn describe(&self) -> String {
        let rows = SampleOperation::ALL
            .into_iter()
            .zip(self.matrix.rows())
            .map(|(last, row)| {
                let next: Vec<String> = SampleOperation::ALL
                    .into_iter()
                    .zip(row)
                    .map(|(next, share)| {
                        format!("{} % {}", (1e5 * share).round() / 1e3, next.name())
                    })
                    .collect();
                format!("after {}: {}", last.name(), next.join(", "))
            });
        let touched = match self.working_set_mib {
            0 => String::new(),
            mib => format!("; a working set of {mib} MiB"),
        };
        format!(
            "lists of {}; {}{touched}",
            self.list_length,
            rows.collect::<Vec<_>>().join("; ")
        )
    }

    fn pauses(&self) -> String {
        format!(
            "{} s after each operation ({:?}{})",
            self.think_time.as_secs_f64(),
            self.pacing,
            scatter(self.think_distribution, DelayDistribution::default())
        )
    }

    fn unit_of_work(&self) -> String {
        format!(
            "sample, records of {} bytes, lists of {}, matrix {:?}{}",
            self.record_bytes,
            self.list_length,
            self.matrix.rows(),
            match self.working_set_mib {
                0 => String::new(),
                mib => format!(", working set of {mib} MiB"),
            }
        )
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        megabytes / super::COPY_MIB_PER_S
    }

    /// Operations follow each other: the matrix is checked transition by transition.
    fn mix(&self) -> Vec<MixShare> {
        Vec::new()
    }
}
