//! What the workloads ask of the stacks that serve them: the one list of workloads here.

mod dvdstore;
mod netstream;
mod orderentry;
mod sample;
mod served;
mod sql;

use std::{sync::atomic::AtomicBool, time::Duration};

use rookery_guest::Guest;
use rookery_oltp::{Progress, Target};
use rookery_stats::DatabaseLoad;
use rookery_study::{
    CmsUse, DvdstoreUse, HttpUse, OrderentryUse, SqlUse, Study, Web2005Use, Workload, WorkloadKind,
};
use rookery_workload::{cms::CmsData, web2005::WebDataset};

use crate::{EffectiveSetting, Found, GuestStack, StackError};

pub use dvdstore::DvdstoreStack;
pub(crate) use dvdstore::{ShopWorkload, answer_page, answer_purchase, found, shop_of, size_of};
pub(crate) use netstream::NetstreamGuests;
pub use netstream::NetstreamStack;
pub use orderentry::{DatabaseProbe, OrderentryStack, PoolRange, ProbedServer};
pub(crate) use orderentry::{OrderentryContent, data_of};
pub(crate) use sample::SampleGuests;
pub use sample::SampleStack;
pub(crate) use served::{SERVED, serve};
pub(crate) use sql::SqlContent;
pub use sql::SqlStack;

/// The workloads that stacks of pages serve: the embedded one and LAMP.
pub(crate) const PAGES: &[WorkloadKind] = &[
    WorkloadKind::Dvdstore,
    WorkloadKind::Http,
    WorkloadKind::WebBanking,
    WorkloadKind::WebEcommerce,
    WorkloadKind::WebSupport,
    WorkloadKind::Cms,
];

/// The workloads that database servers by themselves serve.
pub(crate) const DATABASE_WORKLOADS: &[WorkloadKind] =
    &[WorkloadKind::Orderentry, WorkloadKind::Sql];

/// The workloads that bring a stack of their own: the stack kind `bundled` opens that of the
/// study's.
pub(crate) const BUNDLED: &[WorkloadKind] = &[WorkloadKind::Netstream, WorkloadKind::Sample];

/// What a study asks of the workload of a database server by itself.
#[derive(Clone)]
pub(crate) enum DatabaseWorkload {
    Orderentry(OrderentryUse),
    Sql(Box<SqlUse>),
}

impl DatabaseWorkload {
    /// # Errors
    /// When the study has another workload than `stack` serves.
    pub(crate) fn of(stack: &'static str, study: &Study) -> Result<Self, StackError> {
        match &study.workload {
            Workload::Orderentry(wanted) => Ok(Self::Orderentry(wanted.clone())),
            Workload::Sql(wanted) => Ok(Self::Sql(Box::new(wanted.clone()))),
            other => Err(StackError::OtherWorkload {
                stack,
                workload: other.kind().name(),
            }),
        }
    }
}

/// What a database holds before the load, and how it is asked about it.
pub(crate) trait DatabaseContent: Clone + Send + Sync + 'static {
    /// Everything that decides the content, the server aside.
    fn description(&self) -> String;

    /// What is loaded, in words.
    fn what(&self) -> String;

    /// How a database of MariaDB is made.
    fn collation(&self) -> &'static str;

    /// Steps of a load, and what they are.
    fn steps(&self) -> (u64, &'static str);

    /// How long a load may stand still.
    fn still_limit(&self) -> Duration;

    /// Loads an empty database. Its bytes are not known here.
    ///
    /// # Errors
    /// When the server refuses something, or holds something else than it was given.
    fn load(
        &self,
        target: &Target,
        connections: usize,
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<DatabaseLoad, StackError>;

    /// How the database is spoken to, as it answers.
    ///
    /// # Errors
    /// When it does not.
    fn settings(&self, target: &Target) -> Result<Vec<EffectiveSetting>, StackError>;

    /// Lets the database answer a question.
    ///
    /// # Errors
    /// When it does not.
    fn answer(&self, target: &Target) -> Result<(), StackError>;

    /// Looks into the database of a guest, and ends the guest.
    ///
    /// # Errors
    /// When the database cannot be read.
    fn audit(&self, target: &Target, guest: &mut dyn Guest) -> Result<Found, StackError>;

    /// Whether the size of the buffer pool follows from the load.
    fn sizes_pool(&self) -> bool {
        false
    }
}

/// A stack whose template is there, by the workload that it serves.
pub enum BuiltStack {
    /// Pages of a DVD Store.
    Dvdstore(Box<dyn DvdstoreStack>, DvdstoreUse),
    /// Databases of order entry.
    Orderentry(Box<dyn OrderentryStack>),
    /// Anything that answers over HTTP, for users that a workload file describes.
    Http(Box<dyn GuestStack>, Box<HttpUse>),
    /// Databases of a workload whose statements are data.
    Sql(Box<dyn SqlStack>),
    /// Pages of banking, e-commerce or support, and what their servers hold.
    Web2005(Box<dyn GuestStack>, Box<Web2005Use>, WebDataset),
    /// Pages of a content-management site, and what it holds.
    Cms(Box<dyn GuestStack>, Box<CmsUse>, CmsData),
    /// Bytes back and forth.
    Netstream(Box<dyn NetstreamStack>),
    /// Records of the sample workload.
    Sample(Box<dyn SampleStack>),
}

impl BuiltStack {
    /// What is the same for all workloads.
    #[must_use]
    pub fn guests(&self) -> &dyn GuestStack {
        match self {
            Self::Dvdstore(stack, _) => stack.as_ref(),
            Self::Orderentry(stack) => stack.as_ref(),
            Self::Http(stack, _) => stack.as_ref(),
            Self::Sql(stack) => stack.as_ref(),
            Self::Web2005(stack, ..) => stack.as_ref(),
            Self::Cms(stack, ..) => stack.as_ref(),
            Self::Netstream(stack) => stack.as_ref(),
            Self::Sample(stack) => stack.as_ref(),
        }
    }
}
