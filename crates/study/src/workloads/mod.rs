//! The workloads as a study uses them: the one place of this crate that names all of them.
//!
//! A new workload has its room beside the others, and a variant or an arm in each item below.
//! What generic code asks of a workload is [`WorkloadUse`]; its keys in the study file are in
//! [`OwnKeys`]. Two workloads may have keys of one name.

mod asks;
mod cms;
mod data_driven;
mod distribution;
mod dvdstore;
mod http;
mod netstream;
mod orderentry;
mod pace;
mod sample;
mod sql;
mod web2005;

use std::{fmt, time::Duration};

use rookery_cast::truncate_u64;
use rookery_stats::Pacing;
pub use rookery_workload::WorkloadKind;
use rookery_workload::{
    DelayDistribution,
    cms::CmsData,
    data_driven::Feeder,
    dvdstore::Size,
    sample::SampleData,
    web2005::{Model, WebDataset},
};
use serde::{Deserialize, Serialize};

use crate::{
    Amount, StackKind,
    grammar::{Context, KeyInfo, Reader},
    names::Named,
    problem::Code,
};

use cms::CmsKeys;
use distribution::{is_usual, refuse_distribution, scatter, web_distribution};
use dvdstore::DvdstoreKeys;
use http::HttpKeys;
use netstream::NetstreamKeys;
use orderentry::OrderentryKeys;
use sample::SampleKeys;
use sql::SqlKeys;
use web2005::Web2005Keys;

pub(crate) use asks::{
    CONNECTIONS_OF_OPEN_LOADS, DataRequest, OtherSections, PlannedData, WorkloadUse,
};
pub use cms::CmsUse;
pub use dvdstore::DvdstoreUse;
pub use http::{HarError, HttpUse, MOST_HAR_BYTES, draft_from_har};
pub use netstream::NetstreamUse;
pub use orderentry::{DatabaseSize, OrderentryData, OrderentryUse};
pub(crate) use pace::Pace;
pub use sample::SampleUse;
pub use sql::SqlUse;
pub use web2005::Web2005Use;

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
    /// Operations over HTTP that a user wrote down.
    Http(HttpUse),
    /// Statements on a database that a user wrote down.
    Sql(SqlUse),
    /// A bank on line, with a file set and a simulated back-end.
    WebBanking(Web2005Use),
    /// A shop on line, with a file set and a simulated back-end.
    WebEcommerce(Web2005Use),
    /// Downloads and the pages that lead to them, with a file set and a simulated back-end.
    WebSupport(Web2005Use),
    /// Reading, logging in, creating and logging out on a content-management site.
    Cms(CmsUse),
    /// Bytes back and forth, to load a network.
    Netstream(NetstreamUse),
    /// Records that are read, listed and written over HTTP: an example, and for tests.
    Sample(SampleUse),
}

/// The stacks that serve a workload.
pub(crate) fn stacks(kind: WorkloadKind) -> &'static [StackKind] {
    match kind {
        WorkloadKind::Dvdstore => &dvdstore::STACKS,
        WorkloadKind::Orderentry => &orderentry::STACKS,
        WorkloadKind::Http => &http::STACKS,
        WorkloadKind::Sql => &sql::STACKS,
        WorkloadKind::WebBanking | WorkloadKind::WebEcommerce | WorkloadKind::WebSupport => {
            &web2005::STACKS
        }
        WorkloadKind::Cms => &cms::STACKS,
        WorkloadKind::Netstream => &netstream::STACKS,
        WorkloadKind::Sample => &sample::STACKS,
    }
}

/// What a reader must know of limits on the operations of a workload.
pub(crate) fn limits_meaning(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Dvdstore => dvdstore::LIMITS,
        WorkloadKind::Orderentry => orderentry::LIMITS,
        WorkloadKind::Http => http::LIMITS,
        WorkloadKind::Sql => sql::LIMITS,
        WorkloadKind::WebBanking | WorkloadKind::WebEcommerce | WorkloadKind::WebSupport => {
            web2005::LIMITS
        }
        WorkloadKind::Cms => cms::LIMITS,
        WorkloadKind::Netstream => netstream::LIMITS,
        WorkloadKind::Sample => sample::LIMITS,
    }
}

/// Whose keys they are, where keys of one name are shown as one; none where they are shown already,
/// as those of a workload with the same keys.
fn keys_title(kind: WorkloadKind) -> Option<&'static str> {
    match kind {
        WorkloadKind::WebBanking => Some("web-banking, web-ecommerce and web-support"),
        WorkloadKind::WebEcommerce | WorkloadKind::WebSupport => None,
        other => Some(other.info().title),
    }
}

/// The keys of `[workload]` that a workload has of its own.
fn own_keys(kind: WorkloadKind) -> Vec<KeyInfo> {
    match kind {
        WorkloadKind::Dvdstore => DvdstoreKeys::keys(),
        WorkloadKind::Orderentry => OrderentryKeys::keys(),
        WorkloadKind::Http => HttpKeys::keys(),
        WorkloadKind::Sql => SqlKeys::keys(),
        WorkloadKind::WebBanking | WorkloadKind::WebEcommerce | WorkloadKind::WebSupport => {
            Web2005Keys::keys()
        }
        WorkloadKind::Cms => CmsKeys::keys(),
        WorkloadKind::Netstream => NetstreamKeys::keys(),
        WorkloadKind::Sample => SampleKeys::keys(),
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
        (
            "http",
            Self::Http,
            "operations over HTTP that the study or a workload file describes",
        ),
        (
            "sql",
            Self::Sql,
            "statements on a database that the study or a workload file describes",
        ),
        (
            "web-banking",
            Self::WebBanking,
            "a bank on line, with a file set and a simulated back-end",
        ),
        (
            "web-ecommerce",
            Self::WebEcommerce,
            "a shop on line, with a file set and a simulated back-end",
        ),
        (
            "web-support",
            Self::WebSupport,
            "downloads and the pages that lead to them, with a file set and a simulated back-end",
        ),
        (
            "cms",
            Self::Cms,
            "reading, logging in, creating and logging out on a content-management site",
        ),
        (
            "netstream",
            Self::Netstream,
            "bytes back and forth, to load a network",
        ),
        (
            "sample",
            Self::Sample,
            "records that are read, listed and written over HTTP: an example, and for tests",
        ),
    ];
}

impl Workload {
    /// Which workload it is.
    #[must_use]
    pub fn kind(&self) -> WorkloadKind {
        match self {
            Self::Dvdstore(_) => WorkloadKind::Dvdstore,
            Self::Orderentry(_) => WorkloadKind::Orderentry,
            Self::Http(_) => WorkloadKind::Http,
            Self::Sql(_) => WorkloadKind::Sql,
            Self::WebBanking(_) => WorkloadKind::WebBanking,
            Self::WebEcommerce(_) => WorkloadKind::WebEcommerce,
            Self::WebSupport(_) => WorkloadKind::WebSupport,
            Self::Cms(_) => WorkloadKind::Cms,
            Self::Netstream(_) => WorkloadKind::Netstream,
            Self::Sample(_) => WorkloadKind::Sample,
        }
    }

    /// The keys of the DVD Store, where it is that.
    #[must_use]
    pub fn dvdstore(&self) -> Option<&DvdstoreUse> {
        match self {
            Self::Dvdstore(keys) => Some(keys),
            _ => None,
        }
    }

    /// The keys of order entry, where it is that.
    #[must_use]
    pub fn orderentry(&self) -> Option<&OrderentryUse> {
        match self {
            Self::Orderentry(keys) => Some(keys),
            _ => None,
        }
    }

    /// The keys of banking, e-commerce or support, where it is one of them.
    #[must_use]
    pub fn web2005(&self) -> Option<&Web2005Use> {
        match self {
            Self::WebBanking(keys) | Self::WebEcommerce(keys) | Self::WebSupport(keys) => {
                Some(keys)
            }
            _ => None,
        }
    }

    /// The names of its operations, under which results are stored.
    #[must_use]
    pub fn operation_names(&self) -> Vec<&str> {
        let listed = self.kind().info().operations;
        let mut names: Vec<&str> = listed.iter().map(|operation| operation.name).collect();
        match self {
            Self::Http(keys) => names.extend(keys.operation_names()),
            Self::Sql(keys) => names.extend(keys.operation_names()),
            Self::Dvdstore(_)
            | Self::Orderentry(_)
            | Self::WebBanking(_)
            | Self::WebEcommerce(_)
            | Self::WebSupport(_)
            | Self::Cms(_)
            | Self::Netstream(_)
            | Self::Sample(_) => {}
        }
        names
    }

    /// Where its values come from, if a user wrote them down.
    #[must_use]
    pub fn feeders(&self) -> &[Feeder] {
        match self {
            Self::Http(keys) => &keys.workload.feeders,
            Self::Sql(keys) => &keys.workload.feeders,
            Self::Dvdstore(_)
            | Self::Orderentry(_)
            | Self::WebBanking(_)
            | Self::WebEcommerce(_)
            | Self::WebSupport(_)
            | Self::Cms(_)
            | Self::Netstream(_)
            | Self::Sample(_) => &[],
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

    /// How large a unit of work is, bytes, where the study says so: units of different sizes are
    /// not counted against each other.
    #[must_use]
    pub fn unit_bytes(&self) -> Option<u32> {
        self.keys().unit_bytes()
    }

    pub(crate) fn keys(&self) -> &dyn WorkloadUse {
        match self {
            Self::Dvdstore(keys) => keys,
            Self::Orderentry(keys) => keys,
            Self::Http(keys) => keys,
            Self::Sql(keys) => keys,
            Self::WebBanking(keys) | Self::WebEcommerce(keys) | Self::WebSupport(keys) => keys,
            Self::Cms(keys) => keys,
            Self::Netstream(keys) => keys,
            Self::Sample(keys) => keys,
        }
    }

    pub(crate) fn keys_mut(&mut self) -> &mut dyn WorkloadUse {
        match self {
            Self::Dvdstore(keys) => keys,
            Self::Orderentry(keys) => keys,
            Self::Http(keys) => keys,
            Self::Sql(keys) => keys,
            Self::WebBanking(keys) | Self::WebEcommerce(keys) | Self::WebSupport(keys) => keys,
            Self::Cms(keys) => keys,
            Self::Netstream(keys) => keys,
            Self::Sample(keys) => keys,
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
    /// How it scatters about its mean.
    pub distribution: DelayDistribution,
}

/// What each guest of a point has in its database before the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointData {
    /// A DVD Store of this nominal size.
    Dvdstore(Size),
    /// An order-entry database.
    Orderentry(OrderentryData),
    /// What web workloads as data find: a DVD Store of this size, or what their stack brings.
    Http(Option<Size>),
    /// What the setup of a database workload as data makes.
    Sql {
        /// MiB that it is expected to take.
        mib: u32,
    },
    /// Files, and the state of a simulated back-end.
    Web2005(WebDataset),
    /// Users and nodes of a content-management site.
    Cms(CmsData),
    /// Nothing: what is sent is made up.
    Netstream,
    /// Records.
    Sample(SampleData),
}

impl PointData {
    /// Whose data it is.
    #[must_use]
    pub fn kind(self) -> WorkloadKind {
        match self {
            Self::Dvdstore(_) => WorkloadKind::Dvdstore,
            Self::Orderentry(_) => WorkloadKind::Orderentry,
            Self::Http(_) => WorkloadKind::Http,
            Self::Sql { .. } => WorkloadKind::Sql,
            Self::Web2005(dataset) => dataset.model.kind(),
            Self::Cms(_) => WorkloadKind::Cms,
            Self::Netstream => WorkloadKind::Netstream,
            Self::Sample(_) => WorkloadKind::Sample,
        }
    }

    /// Why figures that are measured on it mean nothing beyond the run, as a sentence; `None` where
    /// they do.
    #[must_use]
    pub fn caveat(self) -> Option<String> {
        match self {
            Self::Dvdstore(_)
            | Self::Http(_)
            | Self::Sql { .. }
            | Self::Web2005(_)
            | Self::Cms(_)
            | Self::Netstream => None,
            Self::Orderentry(data) => data.caveat(),
            Self::Sample(_) => Some(sample::CAVEAT.to_owned()),
        }
    }

    /// Nominal megabytes of a DVD Store, expected MiB of other data, rounded up.
    #[must_use]
    pub fn megabytes(self) -> u64 {
        match self {
            Self::Dvdstore(size) | Self::Http(Some(size)) => size.megabytes(),
            Self::Http(None) | Self::Netstream => 0,
            Self::Sql { mib } => mib.into(),
            Self::Orderentry(data) => data.bytes().div_ceil(1 << 20),
            Self::Web2005(dataset) => dataset.bytes().div_ceil(1 << 20),
            Self::Cms(data) => data.bytes().div_ceil(1 << 20),
            Self::Sample(data) => data.bytes().div_ceil(1 << 20),
        }
    }

    /// MiB on disk under load.
    pub(crate) fn used_mib(self) -> u64 {
        let per_megabyte = match self {
            Self::Dvdstore(_) | Self::Http(_) => dvdstore::USED_MIB_PER_MB,
            Self::Orderentry(_) => orderentry::USED_MIB_PER_MIB,
            Self::Sql { .. } => sql::USED_MIB_PER_MIB,
            Self::Web2005(_) => web2005::USED_MIB_PER_MIB,
            Self::Cms(_) => cms::USED_MIB_PER_MIB,
            Self::Sample(_) | Self::Netstream => sample::USED_MIB_PER_MIB,
        };
        truncate_u64((self.megabytes() as f64 * per_megabyte).ceil())
    }

    /// Seconds to load it into a template.
    pub(crate) fn load_s(self) -> f64 {
        let megabytes_per_s = match self {
            Self::Dvdstore(_) | Self::Http(_) => dvdstore::LOAD_MB_PER_S,
            Self::Orderentry(_) => orderentry::LOAD_MIB_PER_S,
            Self::Sql { .. } => sql::LOAD_MIB_PER_S,
            Self::Web2005(_) => web2005::LOAD_MIB_PER_S,
            Self::Cms(_) => cms::LOAD_MIB_PER_S,
            Self::Sample(_) | Self::Netstream => sample::LOAD_MIB_PER_S,
        };
        self.megabytes() as f64 / megabytes_per_s
    }

    /// The size of a DVD Store.
    #[must_use]
    pub fn dvdstore(self) -> Option<Size> {
        match self {
            Self::Dvdstore(size) => Some(size),
            Self::Http(size) => size,
            _ => None,
        }
    }

    /// An order-entry database.
    #[must_use]
    pub fn orderentry(self) -> Option<OrderentryData> {
        match self {
            Self::Orderentry(data) => Some(data),
            _ => None,
        }
    }
}

impl PointData {
    /// The files of banking, e-commerce or support.
    #[must_use]
    pub fn web2005(self) -> Option<WebDataset> {
        match self {
            Self::Web2005(dataset) => Some(dataset),
            _ => None,
        }
    }

    /// The users and nodes of a content-management site.
    #[must_use]
    pub fn cms(self) -> Option<CmsData> {
        match self {
            Self::Cms(data) => Some(data),
            _ => None,
        }
    }

    /// The records of the sample workload.
    #[must_use]
    pub fn sample(self) -> Option<SampleData> {
        match self {
            Self::Sample(data) => Some(data),
            _ => None,
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
            Self::Dvdstore(size) | Self::Http(Some(size)) => size.fmt(f),
            Self::Http(None) | Self::Sql { .. } => f.write_str("own data"),
            Self::Orderentry(data) => data.fmt(f),
            Self::Web2005(dataset) => fmt::Display::fmt(dataset, f),
            Self::Cms(data) => data.fmt(f),
            Self::Netstream => f.write_str("no data"),
            Self::Sample(data) => data.fmt(f),
        }
    }
}

/// Tables of keys below `[workload]`: title, meaning, keys.
pub(crate) fn tables() -> Vec<(&'static str, &'static str, Vec<KeyInfo>)> {
    let mut tables: Vec<_> = HttpKeys::tables().into();
    tables.extend(SqlKeys::tables());
    tables
}

/// What became of sizes that were asked for.
pub(crate) fn size_notes(planned: &[PlannedData<'_>]) -> Vec<String> {
    let mut notes = orderentry::size_notes(planned);
    notes.extend(dvdstore::size_notes(planned));
    notes
}

/// The size of the shop that users of a web workload as data find.
fn database_size(
    database: &Amount,
    request: &DataRequest<'_>,
    context: &mut Context,
) -> Option<Size> {
    dvdstore::size(database, request, context)
}

impl Pace {
    /// The workloads that have it.
    fn owners(self) -> &'static [WorkloadKind] {
        match self {
            Self::Think => &[
                WorkloadKind::Dvdstore,
                WorkloadKind::Http,
                WorkloadKind::Sql,
                WorkloadKind::WebBanking,
                WorkloadKind::WebEcommerce,
                WorkloadKind::WebSupport,
                WorkloadKind::Cms,
                WorkloadKind::Netstream,
                WorkloadKind::Sample,
            ],
            Self::Cycle => &[
                WorkloadKind::Dvdstore,
                WorkloadKind::Http,
                WorkloadKind::Sql,
                WorkloadKind::Cms,
                WorkloadKind::Netstream,
                WorkloadKind::Sample,
            ],
            Self::None | Self::Spec | Self::Scaled => &[WorkloadKind::Orderentry],
        }
    }
}

/// The keys of `[workload]` that belong to the one workload that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OwnKeys {
    Dvdstore(DvdstoreKeys),
    Orderentry(OrderentryKeys),
    Http(Box<HttpKeys>),
    Sql(Box<SqlKeys>),
    Web2005(Model, Box<Web2005Keys>),
    Cms(Box<CmsKeys>),
    Netstream(NetstreamKeys),
    Sample(SampleKeys),
}

impl OwnKeys {
    /// Those of all workloads, for schema and reference: keys of one name are one key there.
    pub(crate) fn keys() -> Vec<KeyInfo> {
        let mut all: Vec<KeyInfo> = Vec::new();
        for (kind, key) in WorkloadKind::ALL
            .into_iter()
            .flat_map(|kind| own_keys(kind).into_iter().map(move |key| (kind, key)))
        {
            match all.iter_mut().find(|known| known.name == key.name) {
                Some(known) => {
                    if let Some(title) = keys_title(kind) {
                        known.join(title, key);
                    }
                }
                None => all.push(key),
            }
        }
        all
    }

    /// Reads the keys of `kind`. Those that only other workloads have are refused; without a kind
    /// they are all left alone.
    pub(crate) fn read(
        kind: Option<WorkloadKind>,
        reader: &mut Reader<'_, '_, '_>,
    ) -> Option<Self> {
        let own = kind.map(own_keys).unwrap_or_default();
        let mut sound = true;
        for other in WorkloadKind::ALL {
            for key in own_keys(other) {
                if own.iter().any(|own| own.name == key.name) {
                    continue;
                }
                let given = reader.locate(key.name);
                if let (true, Some(kind)) = (given, kind) {
                    refuse_foreign::<()>(kind, other, key.name, "", reader.context);
                    sound = false;
                }
            }
        }
        let keys = match kind? {
            WorkloadKind::Dvdstore => Self::Dvdstore(DvdstoreKeys::read(reader)),
            WorkloadKind::Orderentry => Self::Orderentry(OrderentryKeys::read(reader)),
            WorkloadKind::Http => Self::Http(Box::new(HttpKeys::read(reader))),
            WorkloadKind::Sql => Self::Sql(Box::new(SqlKeys::read(reader))),
            WorkloadKind::WebBanking => Self::web2005(Model::Banking, reader),
            WorkloadKind::WebEcommerce => Self::web2005(Model::Ecommerce, reader),
            WorkloadKind::WebSupport => Self::web2005(Model::Support, reader),
            WorkloadKind::Cms => Self::Cms(Box::new(CmsKeys::read(reader))),
            WorkloadKind::Netstream => Self::Netstream(NetstreamKeys::read(reader)),
            WorkloadKind::Sample => Self::Sample(SampleKeys::read(reader)),
        };
        sound.then_some(keys)
    }

    fn web2005(model: Model, reader: &mut Reader<'_, '_, '_>) -> Self {
        Self::Web2005(model, Box::new(Web2005Keys::read(reader)))
    }

    /// The names of operations that only the study knows, whether or not all else is right.
    pub(crate) fn operation_names(&self) -> Vec<String> {
        match self {
            Self::Http(keys) => keys.operation_names(),
            Self::Sql(keys) => keys.operation_names(),
            Self::Dvdstore(_)
            | Self::Orderentry(_)
            | Self::Web2005(..)
            | Self::Cms(_)
            | Self::Netstream(_)
            | Self::Sample(_) => Vec::new(),
        }
    }

    /// The workload; nothing where a key was refused.
    pub(crate) fn build(self, pace: Option<Pace>, context: &mut Context) -> Option<Workload> {
        Some(match self {
            Self::Dvdstore(keys) => Workload::Dvdstore(keys.build(pace, context)?),
            Self::Orderentry(keys) => Workload::Orderentry(keys.build(pace, context)?),
            Self::Http(keys) => Workload::Http(keys.build(pace, context)?),
            Self::Sql(keys) => Workload::Sql(keys.build(pace, context)?),
            Self::Web2005(model, keys) => {
                let wanted = keys.build(model, pace, context)?;
                match model {
                    Model::Banking => Workload::WebBanking(wanted),
                    Model::Ecommerce => Workload::WebEcommerce(wanted),
                    Model::Support => Workload::WebSupport(wanted),
                }
            }
            Self::Cms(keys) => Workload::Cms(keys.build(pace, context)?),
            Self::Netstream(keys) => Workload::Netstream(keys.build(pace, context)?),
            Self::Sample(keys) => Workload::Sample(keys.build(pace, context)?),
        })
    }

    /// The keys of a workload, and its pace.
    pub(crate) fn from_workload(workload: &Workload) -> (Self, Pace) {
        match workload {
            Workload::Dvdstore(wanted) => (
                Self::Dvdstore(DvdstoreKeys::from_use(wanted)),
                dvdstore::pace(wanted),
            ),
            Workload::Orderentry(wanted) => (
                Self::Orderentry(OrderentryKeys::from_use(wanted)),
                orderentry::pace(wanted),
            ),
            Workload::Http(wanted) => (
                Self::Http(Box::new(HttpKeys::from_use(wanted))),
                http::pace(wanted),
            ),
            Workload::Sql(wanted) => (
                Self::Sql(Box::new(SqlKeys::from_use(wanted))),
                sql::pace(wanted),
            ),
            Workload::WebBanking(wanted)
            | Workload::WebEcommerce(wanted)
            | Workload::WebSupport(wanted) => {
                let keys = Box::new(Web2005Keys::from_use(wanted));
                (Self::Web2005(wanted.model, keys), web2005::PACE)
            }
            Workload::Cms(wanted) => (
                Self::Cms(Box::new(CmsKeys::from_use(wanted))),
                cms::pace(wanted),
            ),
            Workload::Netstream(wanted) => (
                Self::Netstream(NetstreamKeys::from_use(wanted)),
                netstream::pace(wanted),
            ),
            Workload::Sample(wanted) => (
                Self::Sample(SampleKeys::from_use(wanted)),
                sample::pace(wanted),
            ),
        }
    }

    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Dvdstore(keys) => keys.write(out),
            Self::Orderentry(keys) => keys.write(out),
            Self::Http(keys) => keys.write(out),
            Self::Sql(keys) => keys.write(out),
            Self::Web2005(_, keys) => keys.write(out),
            Self::Cms(keys) => keys.write(out),
            Self::Netstream(keys) => keys.write(out),
            Self::Sample(keys) => keys.write(out),
        }
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
    let help = format!(
        "write `kind = \"{}\"` in [workload], or remove it",
        owner.name()
    );
    context.refuse(Code::Contradiction, span, message, help)
}

/// Refuses a pace of another workload.
fn refuse_pace<T>(kind: WorkloadKind, pace: Pace, context: &mut Context) -> Option<T> {
    let value = format!(" = \"{}\"", pace.name());
    let owner = pace.owners().first().copied().unwrap_or(kind);
    refuse_foreign(kind, owner, "pacing", &value, context)
}

/// The pacing of users that pause between what they do; nothing where it was refused.
fn web_pacing(
    kind: WorkloadKind,
    pace: Option<Pace>,
    think_time: Option<Duration>,
    context: &mut Context,
) -> Option<Pacing> {
    let pacing = match pace {
        Some(pace) if !pace.owners().contains(&kind) => return refuse_pace(kind, pace, context),
        Some(Pace::Cycle) => Pacing::Cycle,
        None if context.spans.has("workload.pacing") => return None,
        _ => Pacing::Think,
    };
    if pacing == Pacing::Cycle && think_time == Some(Duration::ZERO) {
        let span = context.spans.nearest("workload.pacing");
        let message = "`workload.pacing` is \"cycle\", but the cycle time is zero";
        let help = "write the cycle time as `think_time`, for instance `think_time = \"1s\"`";
        return context.refuse(Code::Contradiction, span, message, help);
    }
    Some(pacing)
}

/// The pace of such users as the study file has it.
fn web_pace(pacing: Pacing) -> Pace {
    match pacing {
        Pacing::Think | Pacing::Arrivals => Pace::Think,
        Pacing::Cycle => Pace::Cycle,
    }
}
