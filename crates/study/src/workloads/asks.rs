//! What workloads are asked, and what they are told for it. They know neither studies nor plans as
//! a whole.

use rookery_stats::qos::Qos;
use rookery_workload::MixShare;

use super::{PointData, ThinkTime, Workload};
use crate::{
    StackUse, Variables,
    grammar::Context,
    values::{GuestShape, Load, LoadModel},
};

/// Visitors of an open load that may be present at one database unless said: each may take a
/// connection.
pub(crate) const CONNECTIONS_OF_OPEN_LOADS: u32 = 64;

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

/// What generic code asks of the keys of a workload.
pub(crate) trait WorkloadUse {
    /// Refuses what does not go together with other sections.
    fn check(&self, _sections: &OtherSections<'_>, _context: &mut Context) {}

    /// Whether the pages of the embedded stack can burn CPU time one at a time.
    fn has_serial_section(&self) -> bool {
        false
    }

    /// Whether the LAMP stack can serve it a site of the user.
    fn takes_sites(&self) -> bool {
        false
    }

    /// Whether guests of the LAMP stack keep its data in a database server.
    fn has_lamp_database(&self) -> bool {
        true
    }

    /// Whether guests of the server that comes with it can call those of another group.
    fn has_bundled_tiers(&self) -> bool {
        false
    }

    /// Fills in what the workload presets in other sections, where the file says nothing.
    fn fill_in(&mut self, _sections: &mut OtherSections<'_>, _context: &mut Context) {}

    /// What a guest has in its database; `None` where it was refused.
    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData>;

    /// The key that says how large databases are.
    fn size_key(&self) -> &'static str;

    /// How users pace themselves, in words.
    fn pace(&self) -> String;

    /// What users do, in one line without the workload's name.
    fn describe(&self) -> String;

    /// The same in the head of a plan, but for the keys of `[workload]` that are factors of it;
    /// nothing where the plan says enough.
    fn describe_in_plan(&self, _is_factor: &dyn Fn(&str) -> bool) -> Option<String> {
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

    /// How large a unit of work is, bytes, where the study says so: units of different sizes are
    /// not counted against each other.
    fn unit_bytes(&self) -> Option<u32> {
        None
    }

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
