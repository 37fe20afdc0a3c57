//! DVD Store 2.1 over HTTP, as a study uses it.

mod keys;
mod plan;

use std::time::Duration;

use rookery_stats::Pacing;
use rookery_workload::{DelayDistribution, MixShare, dvdstore::opening_shares};
use serde::{Deserialize, Serialize};

use super::{DataRequest, Pace, PointData, ThinkTime, WorkloadUse, is_usual, scatter, web_pace};
use crate::{Amount, StackKind, grammar::Context, names::Named as _, time_text::plain_time};

pub(super) use keys::DvdstoreKeys;
pub(super) use plan::{size, size_notes};

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 4] = [
    StackKind::Embedded,
    StackKind::Lamp,
    StackKind::External,
    StackKind::Simulated,
];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "DVD Store: `order` is the whole order, from login to purchase, \
                                 the four before it are its pages.";

/// Loading a template, nominal MB/s: some 11 000 rows per MB with their indexes, through one
/// connection.
pub(super) const LOAD_MB_PER_S: f64 = 10.0;

/// MiB on disk per nominal MB of a loaded database: tables, indexes and full text come to about
/// twice the nominal size.
const LOADED_MIB_PER_MB: f64 = 2.0;

/// MiB on disk per nominal MB of a database under load: half as much again for new orders and the
/// write-ahead log.
pub(super) const USED_MIB_PER_MB: f64 = 2.5;

/// Keys of the DVD Store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DvdstoreUse {
    /// Nominal megabytes of database; the size of a guest is rounded up to whole megabytes.
    pub database: Amount,
    /// Mean time between orders (or cycle time).
    pub think_time: Duration,
    /// How think times scatter about their mean.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub think_distribution: DelayDistribution,
    /// Think or cycle pacing.
    pub pacing: Pacing,
    /// Share of orders that start with a new customer, 0 to 1.
    pub new_customers: f64,
    /// Mean searches per order.
    pub searches: u32,
    /// Mean rows asked for per search.
    pub search_batch: u32,
    /// Mean items per order.
    pub line_items: u32,
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &DvdstoreUse) -> Pace {
    web_pace(wanted.pacing)
}

impl WorkloadUse for DvdstoreUse {
    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData> {
        plan::size(&self.database, request, context).map(PointData::Dvdstore)
    }

    fn size_key(&self) -> &'static str {
        "workload.database"
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
        format!(
            "{} % new customers, {} searches of {} rows and {} items per order on average",
            (1e5 * self.new_customers).round() / 1e3,
            self.searches,
            self.search_batch,
            self.line_items
        )
    }

    fn think_time(&self) -> Option<ThinkTime> {
        Some(ThinkTime {
            mean: self.think_time,
            pacing: self.pacing,
            distribution: self.think_distribution,
        })
    }

    fn pauses(&self) -> String {
        format!(
            "{} s ({:?}{})",
            self.think_time.as_secs_f64(),
            self.pacing,
            scatter(self.think_distribution, DelayDistribution::default())
        )
    }

    fn unit_of_work(&self) -> String {
        format!(
            "Dvdstore, {} searches of {} rows, {} items, {} new customers",
            self.searches, self.search_batch, self.line_items, self.new_customers
        )
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        megabytes * LOADED_MIB_PER_MB / super::COPY_MIB_PER_S
    }

    fn mix(&self) -> Vec<MixShare> {
        opening_shares(self.new_customers)
    }
}
