//! A study as it is meant: defaults filled in, every value checked.

use rookery_stats::{qos::Qos, trial_checks::Intent};
use serde::{Deserialize, Serialize};

use crate::{
    Amount, Per, Scaled, StackUse, StorageUse, Workload,
    values::{GuestShape, HostUse, Layout, Load, LoopType},
};

/// One whole study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Title of the report.
    pub title: String,
    /// The question in words; opens the report.
    pub question: Option<String>,
    /// Every random stream derives from it.
    pub seed: u64,
    /// What the emulated users do.
    pub workload: Workload,
    /// What trials measure.
    #[serde(default, skip_serializing_if = "Measure::is_users")]
    pub measure: Measure,
    /// How many users, and for how long.
    pub load: Load,
    /// Limits that a good trial keeps.
    pub qos: Qos,
    /// What runs in a guest.
    pub stack: StackUse,
    /// What a guest is.
    pub guest: GuestShape,
    /// Where guests keep their data.
    #[serde(default)]
    pub storage: StorageUse,
    /// Which parts of this machine are used for what.
    pub host: HostUse,
    /// The layouts to compare, at least one.
    pub layouts: Vec<Layout>,
}

impl Study {
    /// How much load the points of a layout have: users, or arrivals per second of an open load.
    pub(crate) fn amounts_of<'a>(&'a self, layout: &'a Layout) -> &'a [Amount] {
        if self.measure == Measure::LoadTime {
            return NO_USERS;
        }
        match (&self.load.loop_type, &layout.users) {
            (LoopType::Open(open), _) => &open.rate,
            (LoopType::Closed { .. }, Some(users)) => users,
            (LoopType::Closed { users }, None) => users,
        }
    }

    /// Whether the load is meant to be the same over the whole window.
    fn steady_rate(&self) -> bool {
        self.load.open().is_none_or(|open| open.course.is_level())
    }

    /// What its trials are meant to be, for their checks.
    #[must_use]
    pub fn intent(&self) -> Intent {
        Intent {
            settle_s: self.steady_rate().then_some(self.load.settle.as_secs_f64()),
            mix: self.workload.keys().mix(),
            other_work: self.host.other_work,
        }
    }
}

/// The load of trials without users.
const NO_USERS: &[Amount] = &[Amount::Scaled(Scaled {
    amount: 0.0,
    per: Per::Host,
})];

/// What trials measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// How users are served.
    #[default]
    Users,
    /// How long it takes to make the databases of the guests; there are no users.
    LoadTime,
}

impl Measure {
    fn is_users(&self) -> bool {
        *self == Self::Users
    }
}
