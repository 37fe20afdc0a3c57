//! What the workloads ask of the stacks that serve them: the one list of workloads here.

mod dvdstore;
mod orderentry;
mod sample;

use rookery_study::{DvdstoreUse, HttpUse};

use crate::GuestStack;

pub use dvdstore::DvdstoreStack;
pub(crate) use dvdstore::{ShopWorkload, answer_page, answer_purchase, found, shop_of, size_of};
pub use orderentry::{DatabaseProbe, OrderentryStack, PoolRange, ProbedServer};
pub(crate) use orderentry::{
    answer_rows, audit, check_load, data_of, parts_of_load, session_settings, wanted_of,
};
pub use sample::SampleGuests;

/// A stack whose template is there, by the workload that it serves.
pub enum BuiltStack {
    /// Pages of a DVD Store.
    Dvdstore(Box<dyn DvdstoreStack>, DvdstoreUse),
    /// Databases of order entry.
    Orderentry(Box<dyn OrderentryStack>),
    /// Anything that answers over HTTP, for users that a workload file describes.
    Http(Box<dyn GuestStack>, Box<HttpUse>),
    /// Records of the sample workload.
    Sample(Box<SampleGuests>),
}

impl BuiltStack {
    /// What is the same for all workloads.
    #[must_use]
    pub fn guests(&self) -> &dyn GuestStack {
        match self {
            Self::Dvdstore(stack, _) => stack.as_ref(),
            Self::Orderentry(stack) => stack.as_ref(),
            Self::Http(stack, _) => stack.as_ref(),
            Self::Sample(stack) => stack.as_ref(),
        }
    }
}
