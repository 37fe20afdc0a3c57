//! What happens during a run, as data: progress lines, JSON output and the live page are mere
//! readers of it.

use serde::Serialize;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A run begins, or goes on.
    RunStarted {
        /// Its id.
        run: String,
        /// Title of the study.
        title: String,
        /// Its directory.
        directory: String,
        /// Trials in all.
        trials: u32,
        /// Trials that were finished before (resumed runs).
        finished_before: u32,
        /// Expected seconds for the trials that are left.
        expected_s: f64,
    },
    /// Something that takes a while is being made: the root of a template, its data.
    Building {
        /// What.
        what: String,
        /// How far it is, in words.
        detail: String,
    },
    /// A template is there.
    Template {
        /// Database size.
        database: String,
        /// Seconds it took to build or to find.
        seconds: f64,
    },
    /// A calibration trial ended: a buffer pool was tried for the hit ratio that a study asks for.
    PoolTried {
        /// The point whose guests had it.
        point: u32,
        /// Size of the pool in each guest, bytes.
        bytes: u64,
        /// The ratio that is asked for, 0 to 1.
        target: f64,
        /// The ratio that was measured; nothing where the servers do not work with such a pool.
        hit: Option<f64>,
        /// Why they do not.
        why: Option<String>,
    },
    /// More trials are planned: repeats where intervals are wide, or the next probe of a search.
    Grown {
        /// Trials in all, so far.
        trials: u32,
    },
    /// Pilots have chosen the times of the trials to come.
    TimesChosen {
        /// How long users settle, s.
        settle_s: f64,
        /// The measured window, s.
        steady_s: f64,
    },
    /// A search has its answer.
    SearchEnded {
        /// Its number.
        search: u32,
        /// Layout and variant in words.
        subject: String,
        /// The answer in a sentence.
        text: String,
    },
    /// The pause before the next trial begins.
    Resting {
        /// How long it lasts.
        seconds: f64,
    },
    /// A trial begins.
    TrialStarted {
        /// Its id, 1-based in the order of execution.
        trial: u32,
        /// Its point in words.
        point: String,
        /// Repeat, 1-based.
        repeat: u32,
    },
    /// All guests of the trial are healthy.
    GuestsReady {
        /// The trial.
        trial: u32,
        /// How many.
        guests: u32,
        /// Seconds from the first clone to the last healthy answer.
        seconds: f64,
    },
    /// The users of a trial are about to begin: what its seconds are of.
    LoadStarted {
        /// The trial.
        trial: u32,
        /// Begin of the measured window, s since the common start.
        window_start_s: f64,
        /// Its end.
        window_end_s: f64,
        /// Seconds of load in all.
        total_s: f64,
        /// CPUs of the driver.
        driver_cpus: u32,
        /// CPUs of the host.
        host_cpus: f64,
        /// Seconds from one detail to the next: long trials are told in fewer steps.
        detail_every_s: u32,
        /// The groups that have users, at least one.
        groups: Vec<LoadedGroup>,
    },
    /// One second of load.
    Load {
        /// The trial.
        trial: u32,
        /// Phase in words.
        phase: String,
        /// Seconds since the common start.
        elapsed_s: f64,
        /// Seconds of load in all.
        total_s: f64,
        /// Requests ended in the last second, failed ones included.
        requests_per_s: f64,
        /// Failed ones among them.
        errors_per_s: f64,
        /// Arrivals per second that the schedule of an open load held; nothing in a closed one.
        #[serde(skip_serializing_if = "Option::is_none")]
        offered_per_s: Option<f64>,
        /// Users that have begun.
        active_users: u32,
        /// What a whole second was like.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<Box<LoadDetail>>,
    },
    /// A trial ended and is in the store.
    TrialEnded {
        /// The trial.
        trial: u32,
        /// `done`, `void` or `failed`.
        outcome: String,
        /// Why it is void or failed.
        reasons: Vec<String>,
        /// The metric that its workload is summed up by, all guests together; nothing where
        /// nothing was measured.
        headline: Option<Headline>,
        /// How the databases of its guests were loaded, where it did that and nothing else: then
        /// there are no limits.
        load: Option<LoadEnd>,
        /// Whether QoS held; nothing if it was not judged.
        qos: Option<bool>,
    },
    /// A void trial is run again.
    Retried {
        /// The void one.
        trial: u32,
        /// The one that is run in its place.
        again: u32,
        /// Which attempt this is, 2 or more.
        attempt: u32,
    },
    /// Something that the reader of the run should know.
    Remark {
        /// In words; the run's notes hold the same.
        text: String,
    },
    /// A change of the plan that the user asked for cannot be made.
    ChangeRefused {
        /// Why, in words.
        text: String,
    },
    /// The run ended.
    RunEnded {
        /// Trials done.
        done: u32,
        /// Void ones.
        void: u32,
        /// Failed ones.
        failed: u32,
        /// Trials left, when it was interrupted. Searches may need more.
        left: u32,
    },
}

/// A group of guests whose seconds are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadedGroup {
    /// Its name; empty where guests are all alike.
    pub name: String,
    /// The operation whose response times are told: the one that stands for a unit of work.
    pub operation: String,
    /// What units of work are called: `orders`.
    pub units: String,
    /// The limits on that operation.
    pub limits: Vec<LoadLimit>,
    /// Its guests, the first [`MOST_TOLD`].
    pub guests: Vec<LoadedGuest>,
    /// Guests in all.
    pub guests_in_all: u32,
}

/// Guests of a group of which each second is told.
pub const MOST_TOLD: usize = 64;

/// A limit on the percentile of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadLimit {
    /// Percentile, 0 < p < 100.
    pub percentile: f64,
    /// Limit, ms.
    pub limit_ms: f64,
}

/// A guest whose seconds are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadedGuest {
    /// Its name.
    pub name: String,
    /// Its users; 0 in an open load.
    pub users: u32,
}

/// What a second of load was like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadDetail {
    /// Which, since the common start (0 = first).
    pub second: u32,
    /// By group.
    pub groups: Vec<GroupDetail>,
    /// Scheduling lag of the driver inside the window so far, us: p99.
    pub lag_p99_us: u64,
    /// CPUs in use by the driver; nothing before it was looked at twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cores: Option<f64>,
    /// CPUs in use on the whole host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_cores: Option<f64>,
    /// Memory in use on the host, MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_mib: Option<u64>,
}

/// What a second of load was like in one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupDetail {
    /// Requests that ended well.
    pub requests: u32,
    /// Units of work.
    pub units: u32,
    /// Requests that failed.
    pub errors: u32,
    /// Median response time of the group's operation, ms; nothing where none ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// 95th percentile, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
    /// Faults since the begin of the load by class and sub-class, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<(String, u64)>,
    /// By guest.
    pub guests: Vec<GuestDetail>,
}

/// A second of a guest: requests, units of work, errors, p95 of the group's operation in ms, and
/// the CPUs in use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GuestDetail(
    /// Requests that ended well.
    pub u32,
    /// Units of work.
    pub u32,
    /// Requests that failed.
    pub u32,
    /// 95th percentile of the group's operation, ms; nothing where none ended.
    pub Option<f64>,
    /// CPUs in use; nothing where they are not known.
    pub Option<f64>,
);

/// The metric that a trial is summed up by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// Its name: `nopm`.
    pub metric: String,
    /// Its value.
    pub value: f64,
    /// Its rate in words: `orders/min`.
    pub rate: String,
}

/// How the databases of a trial were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadEnd {
    /// Time until the last of them was there, s.
    pub load_time_s: f64,
    /// Rows of all of them per second, while rows were made; nothing where that took no time.
    pub rows_per_s: Option<f64>,
}

/// Who listens; called from the conducting thread and the driver's progress.
pub type Listener<'a> = dyn Fn(&Event) + Sync + 'a;
