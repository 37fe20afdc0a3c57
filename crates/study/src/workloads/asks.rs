//! What workloads are asked, and what they are told for it. They know neither studies nor plans as
//! a whole.

use rookery_stats::qos::Qos;

use super::{PointData, Workload};
use crate::{
    StackUse, Variables,
    values::{GuestShape, Load, LoadModel},
};

/// What the other sections of a study say; `None` where one was refused.
pub(crate) struct OtherSections<'s> {
    pub(crate) stack: Option<&'s StackUse>,
    pub(crate) guest: Option<&'s GuestShape>,
    /// Known even where the rest of the load was refused.
    pub(crate) model: Option<LoadModel>,
    pub(crate) load: Option<&'s mut Load>,
    pub(crate) qos: Option<&'s mut Qos>,
    /// Whether each layout has users of its own.
    pub(crate) layouts_have_users: bool,
}

/// Asks for the data of a guest.
pub(crate) struct DataRequest<'r> {
    /// The stack that holds it.
    pub(crate) stack: &'r StackUse,
    /// The study's seed.
    pub(crate) seed: u64,
    /// The shape of the guest.
    pub(crate) guest: &'r Variables,
    /// Which guests they are, for messages.
    pub(crate) guests: &'r str,
}

/// The data of a point whose guests are all alike.
pub(crate) struct PlannedData<'p> {
    /// The point.
    pub(crate) point: u32,
    pub(crate) workload: &'p Workload,
    /// The shape of a guest.
    pub(crate) guest: Variables,
    /// What a guest has in its database.
    pub(crate) data: PointData,
}
