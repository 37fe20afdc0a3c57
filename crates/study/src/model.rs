//! A study as it is meant: defaults filled in, every value checked.

use std::{fmt, time::Duration};

use rookery_cast::{truncate_u32, truncate_u64};
use rookery_stats::{qos::Qos, trial_checks::Intent};
use serde::{Deserialize, Serialize};

use crate::{
    Amount, Per, Scaled, StackUse, StorageUse, Users, Workload, names::Named, vm_shape::VmShape,
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

/// The load section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Who asks for work, and when.
    pub loop_type: LoopType,
    /// How users start.
    pub ramp_up: RampUp,
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
    /// Half of the 95 % interval of a point's throughput, as a share of its mean, for which it is
    /// repeated more often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// Most trials of a point that is repeated for its interval.
    pub max_repeats: u32,
    /// How often a void trial of a point is run again.
    #[serde(default)]
    pub retry_void: u32,
    /// Pause between two trials.
    #[serde(default)]
    pub rest: Duration,
    /// Order of trials.
    pub order: Order,
    /// Find the largest load within the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchUse>,
}

impl Load {
    /// The name of the loop type.
    #[must_use]
    pub fn model(&self) -> LoadModel {
        match &self.loop_type {
            LoopType::Closed { .. } => LoadModel::Closed,
            LoopType::Open(open) => match open.visit {
                Visit::Single => LoadModel::Open,
                Visit::GoOn(_) | Visit::Acts(_) => LoadModel::PartlyOpen,
            },
        }
    }

    /// The arrivals of an open or partly open load.
    #[must_use]
    pub fn open(&self) -> Option<&OpenLoad> {
        match &self.loop_type {
            LoopType::Open(open) => Some(open),
            LoopType::Closed { .. } => None,
        }
    }

    /// Visitors that may be present at one guest of an open or partly open load.
    #[must_use]
    pub fn max_in_flight(&self) -> Option<u32> {
        self.open().map(|open| open.max_in_flight)
    }
}

/// How users start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RampUp {
    /// Evenly over this time.
    Over(Duration),
    /// So many each second, however many there are.
    Rate(StartRate),
}

/// Users that start each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartRate {
    /// How many, above 0.
    pub users_per_s: f64,
    /// Whether at each guest, or at all of them together.
    pub per_guest: bool,
}

impl RampUp {
    /// How long so many users on all guests together take to start.
    #[must_use]
    pub fn lasting(&self, users: u32, guests: u32) -> Duration {
        match self {
            Self::Over(time) => *time,
            Self::Rate(rate) => {
                let starting = if rate.per_guest {
                    f64::from(users) / f64::from(guests.max(1))
                } else {
                    f64::from(users)
                };
                let seconds = starting / rate.users_per_s;
                // To the microsecond, as all times of a study.
                Duration::from_micros(truncate_u64((seconds * 1e6).round()))
            }
        }
    }
}

impl fmt::Display for RampUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over(time) => f.write_str(&crate::grammar::kinds::plain_time(*time)),
            Self::Rate(rate) => rate.fmt(f),
        }
    }
}

impl fmt::Display for StartRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = if self.per_guest { " per guest" } else { "" };
        write!(f, "{} users per s{each}", self.users_per_s)
    }
}

/// Who asks for work, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopType {
    /// Users that wait for their answers.
    Closed {
        /// How many, each number a point of its own; empty where every layout says its own.
        users: Users,
    },
    /// Visitors that arrive on a schedule which does not wait for answers: an open load where each
    /// orders once, a partly open one where they stay.
    Open(OpenLoad),
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

/// Loop types by name.
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

/// How arrivals are spaced. Both follow the course of the rate: their number up to any moment is
/// its integral, in the mean or exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent of each other: gaps are exponential.
    Poisson,
    /// At even distances; those of several guests alternate.
    Uniform,
}

impl Arrivals {
    /// Its name: `poisson`, `uniform`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }
}

/// How exactly arrivals are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Each at its own time, to some microseconds: one awakening for each arrival.
    Exact,
    /// Those of one millisecond together, up to a millisecond late: cheaper. Response times count
    /// from the intended start all the same.
    Batched,
}

impl Precision {
    /// Its name: `exact`, `batched`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Named::name(self)
    }
}

/// How long a visitor stays. An act is an order, a transaction or a page.
///
/// Source of the partly open model: B. Schroeder, A. Wierman, M. Harchol-Balter, "Open Versus
/// Closed: A Cautionary Tale", NSDI 2006.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visit {
    /// One act: an open load.
    Single,
    /// After each act it goes on with this probability, 0 to below 1, after a think time, else it
    /// leaves: 1 / (1 - p) acts on average.
    GoOn(f64),
    /// So many acts, at least one, with a think time between them.
    Acts(u32),
}

impl Visit {
    /// Acts of a visitor on average.
    #[must_use]
    pub fn mean_acts(self) -> f64 {
        match self {
            Self::Single => 1.0,
            Self::GoOn(probability) => 1.0 / (1.0 - probability),
            Self::Acts(acts) => f64::from(acts),
        }
    }

    /// The acts of a visit, given a number drawn uniformly from (0, 1].
    #[must_use]
    pub fn acts(self, drawn: f64) -> u32 {
        match self {
            Self::Single => 1,
            Self::Acts(acts) => acts,
            // P(more than k acts) = p^k.
            Self::GoOn(probability) if probability > 0.0 => {
                let further = (drawn.ln() / probability.ln()).floor();
                1 + truncate_u32(further.clamp(0.0, f64::from(u32::MAX - 1)))
            }
            Self::GoOn(_) => 1,
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
    /// Kind of guest, with what all guests of that kind have in common.
    pub lab: LabShape,
    /// What its vCPUs are in CPU time (not enforced by `bare`).
    #[serde(default)]
    pub cpu: CpuTime,
    /// Memory limit in MiB (not enforced by `bare`).
    pub memory: Amount,
    /// How vCPUs are laid on the guest CPUs.
    pub pin: Pinning,
    /// Largest number of processes and threads of a guest (not enforced by `bare`).
    pub pids: u32,
    /// Deadline for the first healthy answer.
    pub ready_within: Duration,
}

impl GuestShape {
    /// Kind of guest.
    #[must_use]
    pub fn kind(&self) -> GuestKind {
        self.lab.kind()
    }

    /// Whether a guest gets no more CPU time than its vCPUs.
    #[must_use]
    pub fn caps_cpu_time(&self) -> bool {
        matches!(self.kind(), GuestKind::Container | GuestKind::Vm) && self.cpu != CpuTime::Share
    }

    /// The shape of guests that are machines; nothing for other kinds.
    #[must_use]
    pub fn vm(&self) -> Option<&VmShape> {
        match &self.lab {
            LabShape::Vm(shape) => Some(shape),
            LabShape::Bare | LabShape::Container | LabShape::Fake => None,
        }
    }
}

/// What the vCPUs of a guest are in CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuTime {
    /// The most that it gets in every period.
    Cap {
        /// The period; `None` = chosen.
        period: Option<Duration>,
    },
    /// Its proportion where others want CPU time, too.
    Share,
}

impl fmt::Display for CpuTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = crate::grammar::kinds::plain_time;
        match self {
            Self::Cap { period: None } => f.write_str("capped at their vCPUs"),
            Self::Cap {
                period: Some(period),
            } => write!(f, "capped at their vCPUs in periods of {}", plain(*period)),
            Self::Share => f.write_str("sharing CPU time by their vCPUs"),
        }
    }
}

impl Default for CpuTime {
    fn default() -> Self {
        Self::Cap { period: None }
    }
}

/// Kinds of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestKind {
    /// A process group on a loopback address of its own.
    Bare,
    /// An OCI container run by runc.
    Container,
    /// A virtual machine on libvirt and QEMU.
    Vm,
    /// A guest in name only, for tests and dry runs.
    Fake,
}

impl GuestKind {
    /// As it is written in a study.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Container => "container",
            Self::Vm => "vm",
            Self::Fake => "fake",
        }
    }
}

impl fmt::Display for GuestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The guests of a lab: their kind, with what all of them have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabShape {
    /// Process groups.
    Bare,
    /// Containers.
    Container,
    /// Guests in name only.
    Fake,
    /// Virtual machines of this shape.
    Vm(Box<VmShape>),
}

impl LabShape {
    /// The kind of its guests.
    #[must_use]
    pub fn kind(&self) -> GuestKind {
        match self {
            Self::Bare => GuestKind::Bare,
            Self::Container => GuestKind::Container,
            Self::Fake => GuestKind::Fake,
            Self::Vm(_) => GuestKind::Vm,
        }
    }
}

/// The default of each kind.
impl From<GuestKind> for LabShape {
    fn from(kind: GuestKind) -> Self {
        match kind {
            GuestKind::Bare => Self::Bare,
            GuestKind::Container => Self::Container,
            GuestKind::Fake => Self::Fake,
            GuestKind::Vm => Self::Vm(Box::default()),
        }
    }
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

/// Where guests are pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Pinning {
    /// As a policy lays them.
    Policy(Pin),
    /// The CPUs of each guest; memory is bound to their nodes.
    Table(Vec<CpuSet>),
}

impl Pinning {
    /// Whether guests are bound to the memory nodes of their CPUs.
    #[must_use]
    pub fn binds_memory(&self) -> bool {
        match self {
            Self::Policy(pin) => pin.binds_memory(),
            Self::Table(_) => true,
        }
    }

    /// In a word: the name of the policy, or `table`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Policy(pin) => Named::name(*pin),
            Self::Table(_) => "table",
        }
    }
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

/// Where the driver of a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverPlace {
    /// On the host of the guests, on CPUs of its own.
    #[default]
    Here,
    /// On another machine: guests may have all CPUs.
    Elsewhere,
}

impl DriverPlace {
    fn is_here(&self) -> bool {
        *self == Self::Here
    }
}

/// The host section. `None` means: choose from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// CPUs that guests may use; default: all but the driver's.
    pub guest_cpus: Option<CpuSet>,
    /// CPUs of the driver; default: the last one.
    pub driver_cpus: Option<CpuSet>,
    /// Where the driver runs.
    #[serde(default, skip_serializing_if = "DriverPlace::is_here")]
    pub driver: DriverPlace,
    /// How many vCPUs may share one guest CPU, at least 1.
    pub overcommit: f64,
    /// Memory kept back for the host and the driver, MiB.
    pub reserve_mib: u64,
    /// Profile of host settings that is applied while the study runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// Largest share of the host's CPUs that other work may use while none of them is left.
    #[serde(
        default = "HostUse::other_work",
        skip_serializing_if = "HostUse::is_usual_other_work"
    )]
    pub other_work: f64,
}

impl HostUse {
    /// What other work may use unless a study says.
    const OTHER_WORK: f64 = 0.25;

    fn other_work() -> f64 {
        Self::OTHER_WORK
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_usual_other_work(share: &f64) -> bool {
        *share == Self::OTHER_WORK
    }
}

impl Default for HostUse {
    fn default() -> Self {
        Self {
            guest_cpus: None,
            driver_cpus: None,
            driver: DriverPlace::default(),
            overcommit: 0.0,
            reserve_mib: 0,
            settings: None,
            other_work: Self::OTHER_WORK,
        }
    }
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
    /// The layout that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// What it says of the sections, in the order of the keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Its groups of guests; empty where all guests are alike. A layout with groups has no guests,
    /// vCPUs and users of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<LayoutGroup>,
    /// How often its groups are repeated, each number a point; empty = once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<u32>,
}

/// Guests of a layout that are alike, beside others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutGroup {
    /// Its name, different from those of the other groups of the layout.
    pub name: String,
    /// Number of guests in one tile.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: Vcpus,
    /// Users of the group instead of the load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Amount>,
    /// The group whose guests call it: a tier has no users of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_of: Option<String>,
    /// What it says of the sections, in the order of the keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

/// A key of a section that has another value in one layout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Override {
    /// The key with its section, as TOML: `guest.kind`, `stack.settings."php.opcache.enable"`.
    pub key: String,
    /// Its value as TOML; a list compares several.
    pub value: String,
}
