//! A study as it is meant: defaults filled in, every value checked.

use std::time::Duration;

use rookery_stats::{Pacing, checks::Intent, qos::Qos};
use rookery_workload::orderentry::Kind;
use serde::{Deserialize, Serialize};

use crate::{Amount, OrderentryUse, StackUse, StorageUse, Users, vm_shape::VmShape};

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
    pub(crate) fn amounts_of<'a>(&'a self, layout: &'a Layout) -> &'a Users {
        match (&self.load.open, &layout.users) {
            (Some(open), _) => &open.rate,
            (None, Some(users)) => users,
            (None, None) => &self.load.users,
        }
    }

    /// Whether the load is meant to be the same over the whole window.
    fn steady_rate(&self) -> bool {
        self.load
            .open
            .as_ref()
            .is_none_or(|open| open.course.is_level())
    }

    /// What its trials are meant to be, for their checks.
    #[must_use]
    pub fn intent(&self) -> Intent {
        Intent {
            settle_s: self.steady_rate().then_some(self.load.settle.as_secs_f64()),
            new_customers: (self.workload.kind == WorkloadKind::Dvdstore)
                .then_some(self.workload.new_customers),
            transactions: self
                .workload
                .orderentry
                .as_ref()
                .map(|wanted| Kind::ALL.map(|kind| wanted.mix.share(kind))),
        }
    }
}

/// The workload section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Which workload.
    pub kind: WorkloadKind,
    /// Nominal megabytes of database; the size of a guest is rounded up to whole megabytes.
    pub database: Amount,
    /// Mean time between orders (or cycle time).
    pub think_time: Duration,
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
    /// What only order entry has; there exactly when `kind` is [`WorkloadKind::Orderentry`]. All that is above but for the kind is then as a DVD
    /// Store has it by default, and without meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orderentry: Option<OrderentryUse>,
}

/// Workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// DVD Store 2.1 over HTTP.
    Dvdstore,
    /// Five transactions of a wholesale company on a database.
    Orderentry,
}

/// The load section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Loop type.
    pub model: LoadModel,
    /// Users of a closed load, each a point of its own; empty in an open one.
    pub users: Users,
    /// Arrivals of an open or partly open load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenLoad>,
    /// Users start evenly over this time.
    pub ramp_up: Duration,
    /// All users run, nothing is measured.
    pub settle: Duration,
    /// The measured window.
    pub steady: Duration,
    /// Load is kept up after the window, then users stop in start order.
    pub ramp_down: Duration,
    /// How long unfinished operations are awaited after the end.
    pub drain: Duration,
    /// Limit on one request.
    pub timeout: Duration,
    /// Trials of each point.
    pub repeats: u32,
    /// Half of the 95 % interval of a point's throughput, as a share of its mean, for which it is repeated more often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// Most trials of a point that is repeated for its interval.
    pub max_repeats: u32,
    /// Order of trials.
    pub order: Order,
    /// Find the largest load within the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchUse>,
}

/// How the largest load within the limits is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchUse {
    /// What grows.
    pub over: Over,
    /// Smallest load of interest.
    pub from: Option<Amount>,
    /// Largest load that may be tried.
    pub to: Option<Amount>,
    /// Smallest difference that matters, as a share of the load.
    pub resolution: f64,
    /// Most trials of one search, confirmation included.
    pub probes: u32,
    /// Fresh trials that confirm the answer.
    pub confirm: u32,
    /// The measured window of trials that only approach the answer; `None` = as all others.
    pub steady: Option<Duration>,
}

/// What grows in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Users of all guests together.
    Users,
    /// Arrivals per second at all guests together.
    Rate,
    /// The number of guests, each with its load.
    Guests,
}

impl Over {
    /// What is counted, in the plural: `users`, `arrivals/s`, `guests`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Rate => "arrivals/s",
            Self::Guests => "guests",
        }
    }
}

/// Loop types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadModel {
    /// A fixed population.
    Closed,
    /// Visitors arrive on a schedule that does not wait for answers, order once and leave.
    Open,
    /// They stay for several orders.
    PartlyOpen,
}

/// Arrivals on a schedule that does not wait for answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoad {
    /// Visitors that arrive per second, each rate a point of its own.
    pub rate: Users,
    /// How the rate changes over the measured window.
    #[serde(default, skip_serializing_if = "Course::is_level")]
    pub course: Course,
    /// How they are spaced.
    pub arrivals: Arrivals,
    /// Visitors that may be present at one guest; further arrivals are dropped and counted.
    pub max_in_flight: u32,
    /// How exactly they are started.
    pub precision: Precision,
    /// How long a visitor stays.
    pub visit: Visit,
}

/// How a rate changes over the measured window. All shares are of the rate itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// Not at all.
    #[default]
    Level,
    /// One step after the other; the last lasts to the end of the window.
    Steps(Vec<CourseStep>),
    /// Evenly from the one share to the other.
    Ramp {
        /// At the begin of the window.
        from: f64,
        /// At its end.
        to: f64,
    },
    /// Up and down as a sine around the rate.
    Swing {
        /// By this share of it, 0 to 1.
        amplitude: f64,
        /// From one crest to the next.
        period: Duration,
    },
}

impl Course {
    /// Whether the rate does not change.
    #[must_use]
    pub fn is_level(&self) -> bool {
        *self == Self::Level
    }
}

/// A step of a course.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CourseStep {
    /// How long it lasts.
    pub length: Duration,
    /// Share of the rate, in the step or at its end when it is linear.
    pub share: f64,
    /// From the share before evenly to this one, instead of at once.
    pub linear: bool,
}

/// How arrivals are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent of each other.
    Poisson,
    /// At even distances.
    Uniform,
}

/// How exactly arrivals are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Each at its own time.
    Exact,
    /// Those of a millisecond together.
    Batched,
}

/// How long a visitor stays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visit {
    /// One order: an open load.
    Single,
    /// After each order another one with this probability, 0 to below 1.
    GoOn(f64),
    /// So many orders, at least one.
    Acts(u32),
}

impl Visit {
    /// Orders of a visitor on average.
    #[must_use]
    pub fn mean_acts(self) -> f64 {
        match self {
            Self::Single => 1.0,
            Self::GoOn(probability) => 1.0 / (1.0 - probability),
            Self::Acts(acts) => f64::from(acts),
        }
    }
}

/// Order of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All points once in random order, then again in another random order, ...
    Random,
    /// All points once in the order of the file, then again, ...
    Interleaved,
}

/// The guest section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestShape {
    /// Kind of guest.
    pub kind: GuestKind,
    /// Memory limit in MiB (not enforced by `bare`).
    pub memory: Amount,
    /// How vCPUs are laid on the guest CPUs.
    pub pin: Pin,
    /// Largest number of processes and threads of a guest (not enforced by `bare`).
    pub pids: u32,
    /// Deadline for the first healthy answer.
    pub ready_within: Duration,
    /// The shape of guests that are machines.
    #[serde(default)]
    pub vm: VmShape,
}

/// Kinds of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestKind {
    /// A process group on a loopback address.
    Bare,
    /// An OCI container run by runc.
    Container,
    /// A virtual machine.
    Vm,
    /// A guest in name only, for tests and dry runs.
    Fake,
}

/// Placement of vCPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// Guests are dealt over the guest CPUs round robin.
    Spread,
    /// Guests fill one CPU before the next.
    Pack,
    /// Every guest may use all guest CPUs.
    None,
    /// Guests fill one socket before the next.
    Socket,
    /// Guests are dealt over the memory nodes in turn.
    Node,
    /// As `Node`, and with each guest one step further along the CPUs of the node.
    Diagonal,
}

impl Pin {
    /// Whether guests are bound to the memory nodes of their CPUs.
    #[must_use]
    pub fn binds_memory(self) -> bool {
        matches!(self, Self::Socket | Self::Node | Self::Diagonal)
    }
}

/// CPU numbers, ascending, without duplicates.
pub type CpuSet = Vec<u32>;

/// The host section. `None` means: choose from the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// CPUs that guests may use; default: all but the driver's.
    pub guest_cpus: Option<CpuSet>,
    /// CPUs of the driver; default: the last one.
    pub driver_cpus: Option<CpuSet>,
    /// How many vCPUs may share one guest CPU, at least 1.
    pub overcommit: f64,
    /// Memory kept back for the host and the driver, MiB.
    pub reserve_mib: u64,
    /// Profile of host settings that is applied while the study runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
}

/// vCPUs in thousandths, so that 0.25 is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vcpus(pub u32);

impl Vcpus {
    /// As a number of CPUs.
    #[must_use]
    pub fn cpus(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Whole CPUs that are needed to hold it.
    #[must_use]
    pub fn whole_cpus(self) -> u32 {
        self.0.div_ceil(1000)
    }
}

impl std::fmt::Display for Vcpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.cpus())
    }
}

/// One layout: every combination of its numbers is a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Name in tables and figures.
    pub name: String,
    /// Numbers of guests.
    pub guests: Vec<u32>,
    /// vCPUs of each guest.
    pub vcpus: Vec<Vcpus>,
    /// Users of this layout instead of the load's.
    pub users: Option<Users>,
}
