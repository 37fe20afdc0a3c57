//! The workloads as a study uses them: the one place of this crate that names all of them.
//!
//! A new workload has its room beside `dvdstore` and `orderentry`, and a variant or an arm in each
//! item below. What generic code asks of a workload is [`WorkloadUse`]; its keys in the study file
//! are in [`AllKeys`].

mod dvdstore;
mod orderentry;

use std::{fmt, time::Duration};

use rookery_cast::truncate_u64;
use rookery_stats::Pacing;
pub use rookery_workload::WorkloadKind;
use rookery_workload::{MixShare, dvdstore::Size};
use serde::{Deserialize, Serialize};

use crate::{
    Plan, Point, StackKind, Study, Variables, Variant,
    grammar::{Context, KeyInfo, Reader, sections::Sections},
    names::Named,
    problem::Code,
};

use dvdstore::DvdstoreKeys;
use orderentry::OrderentryKeys;

pub use dvdstore::DvdstoreUse;
pub use orderentry::{DatabaseSize, OrderentryData, OrderentryUse};

/// Copying a loaded database, MiB/s: a conservative sequential rate of a disk.
const COPY_MIB_PER_S: f64 = 400.0;

/// The workload section: which workload, with the keys that it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// DVD Store 2.1 over HTTP.
    Dvdstore(DvdstoreUse),
    /// Five transactions of a wholesale company on a database.
    Orderentry(OrderentryUse),
}

/// The stacks that serve a workload.
pub(crate) fn stacks(kind: WorkloadKind) -> &'static [StackKind] {
    match kind {
        WorkloadKind::Dvdstore => &dvdstore::STACKS,
        WorkloadKind::Orderentry => &orderentry::STACKS,
    }
}

/// What a reader must know of limits on the operations of a workload.
pub(crate) fn limits_meaning(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Dvdstore => dvdstore::LIMITS,
        WorkloadKind::Orderentry => orderentry::LIMITS,
    }
}

/// The keys of `[workload]` that a workload has of its own.
fn own_keys(kind: WorkloadKind) -> Vec<KeyInfo> {
    match kind {
        WorkloadKind::Dvdstore => DvdstoreKeys::keys(),
        WorkloadKind::Orderentry => OrderentryKeys::keys(),
    }
}

impl Named for WorkloadKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("dvdstore", Self::Dvdstore, "DVD Store 2.1 over HTTP"),
        (
            "orderentry",
            Self::Orderentry,
            "five transactions of a wholesale company on a database",
        ),
    ];
}

/// What generic code asks of the keys of a workload.
pub(crate) trait WorkloadUse {
    /// Refuses what does not go together with other sections.
    fn check(&self, _sections: &Sections, _context: &mut Context) {}

    /// Fills in what the workload presets in other sections, where the file says nothing.
    fn fill_in(&mut self, _sections: &mut Sections, _context: &mut Context) {}

    /// What a guest of this shape has in its database; `guests` says which, for messages. `None`
    /// where it was refused.
    fn data(
        &self,
        study: &Study,
        guest: &Variables,
        guests: &str,
        context: &mut Context,
    ) -> Option<PointData>;

    /// The key that says how large databases are.
    fn size_key(&self) -> &'static str;

    /// How users pace themselves, in words.
    fn pace(&self) -> String;

    /// What users do, in one line without the workload's name.
    fn describe(&self) -> String;

    /// The same in the head of a plan, but for what is a factor of it; nothing where the plan says
    /// enough.
    fn describe_in(&self, _plan: &Plan) -> Option<String> {
        None
    }

    /// The pause of a user for each unit of work; `None` where pauses belong to single operations,
    /// so that only a measurement tells them.
    fn think_time(&self) -> Option<ThinkTime> {
        None
    }

    /// What must be equal for the pauses of two studies to mean the same.
    fn pauses(&self) -> String;

    /// What must be equal for the units of work of two studies to mean the same.
    fn unit_of_work(&self) -> String;

    /// Seconds that all guests of a trial need for their copies of `megabytes` in all, checks of
    /// the data after the load included.
    fn copy_s(&self, megabytes: f64) -> f64;

    /// Most trials that each point needs before its first one.
    fn calibrations(&self) -> u32 {
        0
    }

    /// How often operations are meant to be drawn; empty where that is not known.
    fn mix(&self) -> Vec<MixShare>;
}

impl Workload {
    /// Which workload it is.
    #[must_use]
    pub fn kind(&self) -> WorkloadKind {
        match self {
            Self::Dvdstore(_) => WorkloadKind::Dvdstore,
            Self::Orderentry(_) => WorkloadKind::Orderentry,
        }
    }

    /// The keys of the DVD Store, where it is that.
    #[must_use]
    pub fn dvdstore(&self) -> Option<&DvdstoreUse> {
        match self {
            Self::Dvdstore(keys) => Some(keys),
            Self::Orderentry(_) => None,
        }
    }

    /// The keys of order entry, where it is that.
    #[must_use]
    pub fn orderentry(&self) -> Option<&OrderentryUse> {
        match self {
            Self::Orderentry(keys) => Some(keys),
            Self::Dvdstore(_) => None,
        }
    }

    /// How users pace themselves, in words: `no pauses`.
    #[must_use]
    pub fn pace(&self) -> String {
        self.keys().pace()
    }

    /// What users do, in one line without the workload's name.
    #[must_use]
    pub fn describe(&self) -> String {
        self.keys().describe()
    }

    /// The pause of a user for each unit of work; `None` where pauses belong to single operations,
    /// so that only a measurement tells them.
    #[must_use]
    pub fn think_time(&self) -> Option<ThinkTime> {
        self.keys().think_time()
    }

    /// What must be equal for the pauses of two studies to mean the same.
    #[must_use]
    pub fn pauses(&self) -> String {
        self.keys().pauses()
    }

    /// What must be equal for the units of work of two studies to mean the same.
    #[must_use]
    pub fn unit_of_work(&self) -> String {
        self.keys().unit_of_work()
    }

    pub(crate) fn keys(&self) -> &dyn WorkloadUse {
        match self {
            Self::Dvdstore(keys) => keys,
            Self::Orderentry(keys) => keys,
        }
    }

    pub(crate) fn keys_mut(&mut self) -> &mut dyn WorkloadUse {
        match self {
            Self::Dvdstore(keys) => keys,
            Self::Orderentry(keys) => keys,
        }
    }
}

/// The pause of a user for each unit of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThinkTime {
    /// Its mean.
    pub mean: Duration,
    /// From where to where it lasts.
    pub pacing: Pacing,
}

/// What each guest of a point has in its database before the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointData {
    /// A DVD Store of this nominal size.
    Dvdstore(Size),
    /// An order-entry database.
    Orderentry(OrderentryData),
}

impl PointData {
    /// Whose data it is.
    #[must_use]
    pub fn kind(self) -> WorkloadKind {
        match self {
            Self::Dvdstore(_) => WorkloadKind::Dvdstore,
            Self::Orderentry(_) => WorkloadKind::Orderentry,
        }
    }

    /// Why figures that are measured on it mean nothing beyond the run, as a sentence; `None` where
    /// they do.
    #[must_use]
    pub fn caveat(self) -> Option<String> {
        match self {
            Self::Dvdstore(_) => None,
            Self::Orderentry(data) => data.caveat(),
        }
    }

    /// Nominal megabytes of a DVD Store, expected MiB of an order-entry database, rounded up.
    #[must_use]
    pub fn megabytes(self) -> u64 {
        match self {
            Self::Dvdstore(size) => size.megabytes(),
            Self::Orderentry(data) => data.bytes().div_ceil(1 << 20),
        }
    }

    /// MiB on disk under load.
    pub(crate) fn used_mib(self) -> u64 {
        let per_megabyte = match self {
            Self::Dvdstore(_) => dvdstore::USED_MIB_PER_MB,
            Self::Orderentry(_) => orderentry::USED_MIB_PER_MIB,
        };
        truncate_u64((self.megabytes() as f64 * per_megabyte).ceil())
    }

    /// Seconds to load it into a template.
    pub(crate) fn load_s(self) -> f64 {
        let megabytes_per_s = match self {
            Self::Dvdstore(_) => dvdstore::LOAD_MB_PER_S,
            Self::Orderentry(_) => orderentry::LOAD_MIB_PER_S,
        };
        self.megabytes() as f64 / megabytes_per_s
    }

    /// The size of a DVD Store.
    #[must_use]
    pub fn dvdstore(self) -> Option<Size> {
        match self {
            Self::Dvdstore(size) => Some(size),
            Self::Orderentry(_) => None,
        }
    }

    /// An order-entry database.
    #[must_use]
    pub fn orderentry(self) -> Option<OrderentryData> {
        match self {
            Self::Dvdstore(_) => None,
            Self::Orderentry(data) => Some(data),
        }
    }
}

impl From<Size> for PointData {
    fn from(size: Size) -> Self {
        Self::Dvdstore(size)
    }
}

impl fmt::Display for PointData {
    /// `10MB`, `4 warehouses`, `2 warehouses of 1/100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dvdstore(size) => size.fmt(f),
            Self::Orderentry(data) => data.fmt(f),
        }
    }
}

/// What became of sizes that were asked for.
pub(crate) fn size_notes(variants: &[Variant], points: &[Point]) -> Vec<String> {
    let mut notes = orderentry::size_notes(variants, points);
    notes.extend(dvdstore::size_notes(variants, points));
    notes
}

/// The study that a point is of.
fn study_of<'v>(variants: &'v [Variant], point: &Point) -> Option<&'v Study> {
    variants
        .iter()
        .find(|variant| variant.id == point.variant)
        .map(|variant| &variant.study)
}

/// How users pace themselves: the words of all workloads, which share one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Think,
    Cycle,
    None,
    Spec,
    Scaled,
}

impl Pace {
    fn owner(self) -> WorkloadKind {
        match self {
            Self::Think | Self::Cycle => WorkloadKind::Dvdstore,
            Self::None | Self::Spec | Self::Scaled => WorkloadKind::Orderentry,
        }
    }
}

impl Named for Pace {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "think",
            Self::Think,
            "DVD Store: the next order starts a think time after the end of the last",
        ),
        (
            "cycle",
            Self::Cycle,
            "DVD Store: orders start a cycle time apart, or at once when the last took longer",
        ),
        ("none", Self::None, "order entry: no pauses"),
        (
            "spec",
            Self::Spec,
            "order entry: keying and think times around every transaction",
        ),
        (
            "scaled",
            Self::Scaled,
            "order entry: the same times `pacing_scale`",
        ),
    ];
}

/// The keys of `[workload]` that belong to single workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AllKeys {
    dvdstore: DvdstoreKeys,
    orderentry: OrderentryKeys,
}

impl AllKeys {
    pub(crate) fn keys() -> Vec<KeyInfo> {
        WorkloadKind::ALL.into_iter().flat_map(own_keys).collect()
    }

    pub(crate) fn read(reader: &mut Reader<'_, '_, '_>) -> Self {
        Self {
            dvdstore: DvdstoreKeys::read(reader),
            orderentry: OrderentryKeys::read(reader),
        }
    }

    /// The workload of this kind; nothing where a key was refused.
    pub(crate) fn build(
        self,
        kind: WorkloadKind,
        pace: Option<Pace>,
        context: &mut Context,
    ) -> Option<Workload> {
        let mut sound = true;
        for other in WorkloadKind::ALL.into_iter().filter(|other| *other != kind) {
            for key in own_keys(other) {
                if context.spans.has(&format!("workload.{}", key.name)) {
                    refuse_foreign::<()>(kind, other, key.name, "", context);
                    sound = false;
                }
            }
        }
        let workload = match kind {
            WorkloadKind::Dvdstore => Workload::Dvdstore(self.dvdstore.build(pace, context)?),
            WorkloadKind::Orderentry => Workload::Orderentry(self.orderentry.build(pace, context)?),
        };
        sound.then_some(workload)
    }

    /// The keys of a workload, and its pace.
    pub(crate) fn from_workload(workload: &Workload) -> (Self, Pace) {
        let mut keys = Self::default();
        let pace = match workload {
            Workload::Dvdstore(wanted) => {
                keys.dvdstore = DvdstoreKeys::from_use(wanted);
                dvdstore::pace(wanted)
            }
            Workload::Orderentry(wanted) => {
                keys.orderentry = OrderentryKeys::from_use(wanted);
                orderentry::pace(wanted)
            }
        };
        (keys, pace)
    }

    pub(crate) fn write(&self, out: &mut String) {
        self.dvdstore.write(out);
        self.orderentry.write(out);
    }
}

/// Refuses a key, or a value of a key, that only the workload `owner` has.
fn refuse_foreign<T>(
    kind: WorkloadKind,
    owner: WorkloadKind,
    key: &str,
    value: &str,
    context: &mut Context,
) -> Option<T> {
    let span = context.spans.nearest(&format!("workload.{key}"));
    let message = format!(
        "`workload.{key}`{value} belongs to `kind = \"{}\"`, but `workload.kind` is \"{}\"",
        owner.name(),
        kind.name()
    );
    let mend = format!(
        "write `kind = \"{}\"` in [workload], or remove it",
        owner.name()
    );
    context.refuse(Code::Contradiction, span, message, mend)
}

/// Refuses a pace of another workload.
fn refuse_pace<T>(kind: WorkloadKind, pace: Pace, context: &mut Context) -> Option<T> {
    let value = format!(" = \"{}\"", pace.name());
    refuse_foreign(kind, pace.owner(), "pacing", &value, context)
}
