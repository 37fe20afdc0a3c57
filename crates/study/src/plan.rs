//! What a study means on a given host: points, pins, memory, trials in their order, time.

mod wish;

use std::{collections::BTreeMap, time::Duration};

use rookery_stats::HostSize;
use serde::{Deserialize, Serialize};

use crate::{
    Amount, CpuSet, Design, Load, Over, PointData, Study, Variables, Vcpus, VolumeSizes, shares,
    values::distinct,
};

pub use wish::{ChosenTimes, WishPlan, WishTimes};

/// A MiB in bytes.
pub(crate) const MIB: f64 = 1_048_576.0;

/// What the plan must know of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Usable CPUs, ascending.
    pub cpus: CpuSet,
    /// Memory of the host, MiB.
    pub memory_mib: u64,
    /// Free space where runs are kept, MiB.
    pub disk_free_mib: u64,
    /// Whether we are root.
    pub root: bool,
    /// Where its CPUs sit; those that are not here are cores of their own on socket 0 and node 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<CpuPlace>,
}

impl HostFacts {
    /// What checks of a trial must know of it.
    #[must_use]
    pub fn size(&self) -> HostSize {
        HostSize {
            cpus: self.cpus.len() as f64,
            memory_bytes: self.memory_mib as f64 * MIB,
        }
    }
}

/// Where a CPU (a hardware thread) sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: u32,
    /// The lowest number of the CPUs of its core; its own where a core has one thread.
    pub core: u32,
    /// Its socket (physical package).
    pub socket: u32,
    /// Its memory node.
    pub node: u32,
}

/// A key of the study with several values that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// The key: `stack.tuning`, or `mariadb.innodb_buffer_pool_size` for a single setting.
    pub key: String,
    /// Its values as they were written, at least two; the first is the reference.
    pub levels: Vec<String>,
}

/// One level of one factor, or what a layout says of one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Level {
    /// The key.
    pub key: String,
    /// Its value as it was written.
    pub value: String,
}

impl Factor {
    /// Whether this is one of its levels.
    #[must_use]
    pub fn has(&self, level: &Level) -> bool {
        self.key == level.key && self.levels.contains(&level.value)
    }

    /// The key without its section: `tuning` of `stack.tuning`.
    #[must_use]
    pub fn short_key(&self) -> &str {
        short(&self.key)
    }
}

/// Limits on I/O: the last part of the key, and what is counted.
const LIMITS: [(&str, &str); 4] = [
    ("read_iops", "reads/s"),
    ("write_iops", "writes/s"),
    ("read_bps", "read/s"),
    ("write_bps", "written/s"),
];

/// What a key limits: nothing, or the role before what is counted, as in `log writes/s`.
fn limited(key: &str) -> Option<(String, &'static str)> {
    let key = key.strip_prefix("storage.")?;
    let (role, name) = match key.split_once('.') {
        Some((role, name)) => (format!("{role} "), name),
        None => (String::new(), key),
    };
    let (_, unit) = LIMITS.iter().find(|(limit, _)| *limit == name)?;
    Some((role, unit))
}

impl Level {
    /// The key without its section: `tuning` of `stack.tuning`.
    #[must_use]
    pub fn short_key(&self) -> &str {
        short(&self.key)
    }

    /// What it says where levels are listed: `tuning=modern`; of a limit on I/O, which is a model
    /// of a slower disk and no disk, `limited to 150 writes/s`.
    ///
    /// ```
    /// use rookery_study::Level;
    /// let words = |key: &str, value: &str| {
    ///     Level { key: key.to_owned(), value: value.to_owned() }.words()
    /// };
    /// assert_eq!(words("stack.tuning", "modern"), "tuning=modern");
    /// assert_eq!(words("storage.write_iops", "150"), "limited to 150 writes/s");
    /// assert_eq!(words("storage.write_bps", "10MiB"), "limited to 10MiB written/s");
    /// assert_eq!(words("storage.write_iops", "none"), "writes/s not limited");
    /// assert_eq!(words("storage.log.write_iops", "150"), "log limited to 150 writes/s");
    /// ```
    #[must_use]
    pub fn words(&self) -> String {
        match limited(&self.key) {
            Some((role, unit)) if self.value == "none" => format!("{role}{unit} not limited"),
            Some((role, unit)) => format!("{role}limited to {} {unit}", self.value),
            None => format!("{}={}", self.short_key(), self.value),
        }
    }

    /// Whether it limits I/O.
    #[must_use]
    pub fn is_limit_of_io(&self) -> bool {
        limited(&self.key).is_some()
    }
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Without the digits that nobody wrote.
pub(crate) fn thousandth(rate: f64) -> f64 {
    (rate * 1e3).round() / 1e3
}

fn short(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

/// The study with one level of every factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// 1, 2, 3, ...; the first has the first level of every factor.
    pub id: u32,
    /// One level of every factor that its layouts compare, then what its layouts say of the
    /// sections for themselves.
    pub levels: Vec<Level>,
    /// What its trials perform; of a layout with groups, what its first group performs.
    pub study: Study,
    /// What the further groups of a layout with groups perform, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Study>,
}

impl Variant {
    /// The studies of its groups, in their order; one where guests are all alike.
    pub fn studies(&self) -> impl Iterator<Item = &Study> {
        std::iter::once(&self.study).chain(&self.further)
    }
}

/// One layout of one variant. Equal combinations of several layouts are one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// 1, 2, 3, ... in the order of the file; the variants of one combination stand next to each
    /// other.
    pub id: u32,
    /// Its variant; 1 in a study without factors.
    pub variant: u32,
    /// The levels of its variant, for labels.
    pub levels: Vec<Level>,
    /// The layouts that contain it, at least one.
    pub layouts: Vec<String>,
    /// Its guests, in groups of equal ones, at least one group. Each performs its own study of the
    /// variant, see [`Plan::parts`].
    pub groups: Vec<GuestGroup>,
    /// How often its groups are repeated; the guests of a group are those of all tiles, tile by
    /// tile.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub tiles: u32,
    /// Host CPUs that all its guests together can use at most: the smaller of their vCPUs and the
    /// CPUs they are pinned to.
    pub capacity_cpus: f64,
    /// The one-big point of equal variant, capacity and total users, if the study has one (may be
    /// itself).
    pub baseline: Option<u32>,
    /// The search that tried it; `None` for a point of the study itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<u32>,
}

/// Guests of a point that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestGroup {
    /// Its name in the layout; empty where the layout names no groups.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Number of guests.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: Vcpus,
    /// Users (or terminals) of each guest, which differ by at most one; none of an open load.
    pub users: Vec<u32>,
    /// Visitors that arrive per second at all its guests together, in equal parts; `None` of a
    /// closed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Memory limit of each guest, MiB.
    pub memory_mib: u64,
    /// What each guest has in its database, and so its workload.
    pub database: PointData,
    /// CPUs of each guest.
    pub pins: Vec<CpuSet>,
    /// Memory nodes that each guest is bound to; empty where guests are not bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<CpuSet>,
    /// Volumes of each guest.
    #[serde(
        default,
        alias = "volume_mib",
        skip_serializing_if = "VolumeSizes::is_empty"
    )]
    pub volumes_mib: VolumeSizes,
    /// Who asks its guests for work.
    #[serde(default, skip_serializing_if = "Callers::are_users")]
    pub callers: Callers,
    /// The host that has its guests; none where all guests of a trial are on one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Who asks the guests of a group for work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Callers {
    /// The users of the driver.
    #[default]
    Users,
    /// The guests of the group of this name: a tier.
    Group(String),
}

impl Callers {
    fn are_users(&self) -> bool {
        *self == Self::Users
    }
}

impl GuestGroup {
    /// Its guests in words: `2 x 0.5 vCPU`, with its name where it has one.
    #[must_use]
    pub fn shape(&self) -> String {
        let shape = format!("{} x {} vCPU", self.guests, self.vcpus);
        if self.name.is_empty() {
            shape
        } else {
            format!("{} {shape}", self.name)
        }
    }

    /// Users of all its guests.
    #[must_use]
    pub fn total_users(&self) -> u32 {
        self.users.iter().sum()
    }
}

/// One guest of a point.
#[derive(Clone, Copy, Debug)]
pub struct PlannedGuest<'p> {
    /// Its place among all guests of the point, from zero.
    pub index: usize,
    /// Its place among those of its group, from zero.
    pub in_group: usize,
    /// Its group.
    pub group: &'p GuestGroup,
}

impl<'p> PlannedGuest<'p> {
    /// Its users; none of an open load.
    #[must_use]
    pub fn users(&self) -> u32 {
        self.group.users.get(self.in_group).copied().unwrap_or(0)
    }

    /// Its CPUs.
    #[must_use]
    pub fn cpus(&self) -> &'p [u32] {
        self.group
            .pins
            .get(self.in_group)
            .map_or(&[], Vec::as_slice)
    }

    /// The memory nodes that it is bound to; none where guests are not bound.
    #[must_use]
    pub fn nodes(&self) -> &'p [u32] {
        self.group
            .nodes
            .get(self.in_group)
            .map_or(&[], Vec::as_slice)
    }

    /// Visitors that arrive at it per second, of an open load.
    #[must_use]
    pub fn rate_per_s(&self) -> Option<f64> {
        Some(self.group.rate_per_s? / f64::from(self.group.guests))
    }
}

impl Point {
    /// What expressions may ask of a guest, in a point of `study`. The users of an open load are
    /// the visitors that may be present.
    pub(crate) fn variables(&self, study: &Study) -> Variables {
        let group = self.only_group();
        Variables {
            vcpus: group.vcpus.cpus(),
            memory_bytes: group.memory_mib as f64 * MIB,
            users: match study.load.max_in_flight() {
                Some(most) => f64::from(most),
                // Guests that are only loaded have none; rules are written for some.
                None => (f64::from(group.total_users()) / f64::from(group.guests)).max(1.0),
            },
            guests: f64::from(group.guests),
            callers: 1.0,
        }
    }

    /// Number of guests of all groups.
    #[must_use]
    pub fn guests(&self) -> u32 {
        self.groups.iter().map(|group| group.guests).sum()
    }

    /// All guests, group by group.
    pub fn each_guest(&self) -> impl Iterator<Item = PlannedGuest<'_>> {
        self.groups
            .iter()
            .flat_map(|group| (0..group.guests as usize).map(move |in_group| (group, in_group)))
            .enumerate()
            .map(|(index, (group, in_group))| PlannedGuest {
                index,
                in_group,
                group,
            })
    }

    /// The guest at this place, from zero.
    #[must_use]
    pub fn guest_at(&self, index: usize) -> Option<PlannedGuest<'_>> {
        self.each_guest().nth(index)
    }

    /// The group of a point whose guests are all alike; `None` where its layout names groups.
    #[must_use]
    pub fn alike(&self) -> Option<&GuestGroup> {
        self.groups.first().filter(|_| !self.has_groups())
    }

    /// The group of a point whose guests are all alike, for what has no meaning where they differ:
    /// `4 x 0.25 vCPU`, scaling by guests or by vCPUs, baselines.
    ///
    /// # Panics
    ///
    /// When the point has no group. Plans give each one, and the store refuses plans whose points
    /// have another number.
    #[must_use]
    pub fn only_group(&self) -> &GuestGroup {
        self.groups.first().expect("a point with a group of guests")
    }

    /// The same, to change it.
    ///
    /// # Panics
    ///
    /// As [`Point::only_group`].
    pub fn only_group_mut(&mut self) -> &mut GuestGroup {
        self.groups
            .first_mut()
            .expect("a point with a group of guests")
    }

    /// Whether its layout names groups, each with a study of its own.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.groups.iter().any(|group| !group.name.is_empty())
    }

    /// The hosts that have its guests, in the order of its groups; none where one host, whichever,
    /// has all of them.
    #[must_use]
    pub fn hosts(&self) -> Vec<&str> {
        distinct(self.groups.iter().filter_map(|group| group.host.as_deref()))
    }

    /// One of its groups as a point of its own, for what is done group by group.
    #[must_use]
    pub fn of_group(&self, group: &GuestGroup) -> Self {
        Self {
            groups: vec![group.clone()],
            ..self.clone()
        }
    }

    /// The place of the group whose guests serve the `group`-th one as a tier, from zero.
    #[must_use]
    pub fn tier_of(&self, group: usize) -> Option<usize> {
        let name = &self.groups.get(group)?.name;
        self.groups
            .iter()
            .position(|other| matches!(&other.callers, Callers::Group(of) if of == name))
    }

    /// How many guests call one guest of `group`, rounded up where they are not equally many: 1 of
    /// a group that users call.
    #[must_use]
    pub fn callers_of_each(&self, group: &GuestGroup) -> u32 {
        let Callers::Group(name) = &group.callers else {
            return 1;
        };
        let calling = self.groups.iter().find(|other| &other.name == name);
        calling.map_or(1, |calling| {
            calling.guests.div_ceil(group.guests.max(1)).max(1)
        })
    }

    /// The CPUs of the driver that put load on the `group`-th group, from zero: as many as its part
    /// of all users, at least one, where each loaded group can have its own; else groups take turns
    /// on them. None of a tier.
    #[must_use]
    pub fn driver_cpus(&self, group: usize, driver: &CpuSet) -> CpuSet {
        let weight = |group: &GuestGroup| {
            let load = group.rate_per_s.unwrap_or(f64::from(group.total_users()));
            group.callers.are_users().then_some(load)
        };
        let weights: Vec<Option<f64>> = self.groups.iter().map(weight).collect();
        shares::of(&weights, driver).swap_remove(group)
    }

    /// Users of all guests.
    #[must_use]
    pub fn total_users(&self) -> u32 {
        self.groups.iter().map(GuestGroup::total_users).sum()
    }

    /// Visitors that arrive per second at all guests together; `None` of a closed load.
    #[must_use]
    pub fn rate_per_s(&self) -> Option<f64> {
        self.groups
            .iter()
            .filter_map(|group| group.rate_per_s)
            .reduce(|sum, rate| sum + rate)
    }

    /// Load on all guests: users, or arrivals per second.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.rate_per_s()
            .unwrap_or_else(|| f64::from(self.total_users()))
    }

    /// Memory of all guests, MiB.
    #[must_use]
    pub fn total_memory_mib(&self) -> u64 {
        self.groups
            .iter()
            .map(|group| u64::from(group.guests) * group.memory_mib)
            .sum()
    }

    /// Who makes the load of a closed loop: `users`, `terminals`; `clients` where groups differ.
    #[must_use]
    pub fn people(&self) -> &'static str {
        let words = |group: &GuestGroup| group.database.kind().info().clients.plural;
        let loaded = self.groups.iter().filter(|group| group.callers.are_users());
        let mut all = loaded.map(words);
        let first = all.next().unwrap_or_else(|| words(self.only_group()));
        if all.all(|other| other == first) {
            first
        } else {
            "clients"
        }
    }

    /// Its load in words: `200 users`, `6 terminals`, `20 arrivals/s`.
    #[must_use]
    pub fn load_words(&self) -> String {
        match self.rate_per_s() {
            Some(rate) => format!("{} arrivals/s", thousandth(rate)),
            None if self.total_users() == 0 => format!("no {}", self.people()),
            None => format!("{} {}", self.total_users(), self.people()),
        }
    }

    /// Short name in tables: `4 x 0.25 vCPU, 200 users`, and the levels where the study has
    /// factors: `, tuning=stock`.
    #[must_use]
    pub fn label(&self) -> String {
        let shapes: Vec<String> = self.groups.iter().map(GuestGroup::shape).collect();
        let mut label = format!("{}, {}", shapes.join(" + "), self.load_words());
        for level in &self.levels {
            label += &format!(", {}", level.words());
        }
        label
    }
}

/// One measured execution of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// 1, 2, 3, ... in the order of execution.
    pub id: u32,
    /// Its point.
    pub point: u32,
    /// 1-based repeat.
    pub repeat: u32,
    /// Trials of one block differ in the levels of factors alone, have the same seed and are
    /// performed back to back.
    pub block: u32,
    /// Seed of every random stream of this trial.
    pub seed: u64,
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
}

impl Trial {
    /// Whether both are attempts at the same: the second was planned because the first was void.
    /// Every trial is one of its own.
    #[must_use]
    pub fn is_attempt_of(&self, other: &Self) -> bool {
        let what = |trial: &Self| (trial.point, trial.repeat, trial.block, trial.purpose);
        what(self) == what(other)
    }
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A point of the study.
    #[default]
    Study,
    /// To come nearer to the largest load within the limits.
    Approach,
    /// To confirm that load.
    Confirm,
    /// To see that more is too much.
    Above,
    /// To choose the times of the others; in no average.
    Pilot,
}

impl Purpose {
    /// Its name in tables and exports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Approach => "approach",
            Self::Confirm => "confirm",
            Self::Above => "above",
            Self::Pilot => "pilot",
        }
    }
}

/// The search for the largest load of one layout of one variant, or for its least memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// 1, 2, 3, ...; searches of the variants of one layout stand next to each other.
    pub id: u32,
    /// Its variant; where memory is searched, the first of those that differ in memory alone.
    pub variant: u32,
    /// The levels of its variant, for labels, without what is searched.
    pub levels: Vec<Level>,
    /// The layouts that ask for it, at least one.
    pub layouts: Vec<String>,
    /// What is searched; of memory, a load is an amount of it, MiB.
    pub over: Over,
    /// Number of guests; of a search over guests, the smallest number.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: Vcpus,
    /// The load that each number of guests has, of a search over guests; that of the guests whose
    /// memory is searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Amount>,
    /// Smallest load that is tried.
    pub lowest: f64,
    /// Largest load that is tried.
    pub highest: f64,
    /// Points of the study that are the same but for the load: the ladder, whose trials the search
    /// learns first.
    pub ladder: Vec<u32>,
    /// What was expected when it began; nothing before, and where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Expected>,
    /// Why it could not go on: the study has no point at the load that it asked for. Nothing
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
}

/// An expectation of what a search will find.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The load.
    pub load: f64,
    /// In two of three cases within load / factor .. load x factor.
    pub factor: f64,
}

impl Search {
    /// Short name: `2 x 0.5 vCPU`, with the levels where the study has factors.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = match self.over {
            Over::Users | Over::Rate => format!("{} x {} vCPU", self.guests, self.vcpus),
            Over::Guests => format!("guests of {} vCPU", self.vcpus),
            Over::Memory => {
                let load = self.load.as_ref().map(ToString::to_string);
                let load = load.unwrap_or_default();
                format!(
                    "memory of {} x {} vCPU, load {load}",
                    self.guests, self.vcpus
                )
            }
        };
        for level in &self.levels {
            label += &format!(", {}", level.words());
        }
        label
    }
}

/// The groups of a point with their studies.
pub(crate) fn parts<'v>(point: &Point, variant: &'v Variant) -> Vec<(Point, &'v Study)> {
    let studies: Vec<&Study> = variant.studies().collect();
    debug_assert_eq!(studies.len(), point.groups.len());
    point
        .groups
        .iter()
        .zip(studies)
        .map(|(group, study)| (point.of_group(group), study))
        .collect()
}

/// What the run will cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Time of all trials, guests' start and removal included.
    pub duration: Duration,
    /// Most memory of all guests of one point, MiB.
    pub memory_mib: u64,
    /// Disk of templates and of the largest point's clones where runs are kept, MiB; of several
    /// hosts that one which takes most.
    pub disk_mib: u64,
    /// The most that volumes of one point take in each other directory that the study names, MiB.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere_mib: BTreeMap<String, u64>,
    /// The largest volume on each block device that the study names, MiB.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices_mib: BTreeMap<String, u64>,
}

/// The whole plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What is compared beside the layouts, in the order of the file.
    pub factors: Vec<Factor>,
    /// How their levels are combined.
    pub design: Design,
    /// Effects that the design cannot tell apart, at least two in each set: `tuning x KeepAlive`.
    /// Effects of single factors are never among them.
    pub aliases: Vec<Vec<String>>,
    /// The combinations of levels; one without levels where there are no factors.
    pub variants: Vec<Variant>,
    /// All points: those of the study, and those that searches have tried so far.
    pub points: Vec<Point>,
    /// All trials in the order of execution. It grows where the study repeats for an interval, or
    /// searches.
    pub trials: Vec<Trial>,
    /// What is searched after the points of the study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<Search>,
    /// How the wish of the study is kept, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<WishPlan>,
    /// CPUs of the driver.
    pub driver_cpus: CpuSet,
    /// CPUs of the guests.
    pub guest_cpus: CpuSet,
    /// Cost.
    pub estimate: Estimate,
    /// What the reader should know: roundings, limits that a guest kind does not enforce, ...
    pub notes: Vec<String>,
}

impl Plan {
    /// The study that the trials of a point perform.
    ///
    /// # Panics
    ///
    /// When the point is not one of this plan. The store refuses plans whose points lack their
    /// variant.
    #[must_use]
    pub fn study_of(&self, point: &Point) -> &Study {
        let variant = self
            .variants
            .iter()
            .find(|variant| variant.id == point.variant);
        &variant.expect("a plan whose points have variants").study
    }

    /// The groups of a point, each as a point of its own with the study that it performs.
    ///
    /// # Panics
    ///
    /// As [`Plan::study_of`], and when a group has no study; the store refuses such plans too.
    #[must_use]
    pub fn parts<'p>(&'p self, point: &Point) -> Vec<(Point, &'p Study)> {
        let variant = self
            .variants
            .iter()
            .find(|variant| variant.id == point.variant);
        let variant = variant.expect("a plan whose points have variants");
        parts(point, variant)
    }

    /// Whether a key of a section is a factor.
    pub(crate) fn varies(&self, section: &str, key: &str) -> bool {
        self.factors.iter().any(|factor| {
            factor
                .key
                .split_once('.')
                .is_some_and(|name| name == (section, key))
        })
    }

    /// The measured window of a trial: those that only approach the largest load may have a shorter
    /// one, pilots have a longer one.
    #[must_use]
    pub fn steady(&self, purpose: Purpose, load: &Load) -> Duration {
        let other = match purpose {
            Purpose::Approach => load.search.as_ref().and_then(|search| search.steady),
            Purpose::Pilot => self.wish.as_ref().and_then(WishPlan::pilot),
            Purpose::Study | Purpose::Confirm | Purpose::Above => None,
        };
        other.unwrap_or(load.steady)
    }

    /// Whether a search over memory made a point: its guests have other memory than its variant
    /// says, so that it stands for no other load of it.
    #[must_use]
    pub fn varies_memory(&self, point: &Point) -> bool {
        let mut searches = self.searches.iter();
        searches.any(|search| point.search == Some(search.id) && search.over == Over::Memory)
    }

    /// The points of the study itself, without those that searches tried.
    pub fn study_points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.search.is_none())
    }
}
