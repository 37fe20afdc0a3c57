//! What a run consists of, as it is handed to and from the store.

use std::fmt;

use rookery_stats::{
    DatabaseLoad, GuestMeasurement, KernelCount, MachineLook, Measurement, OtherProgram,
    ResourceSample, faults::Fault, qos::Verdict,
};
use rookery_study::{HostFacts, Plan, Study, Trial};
use rookery_workload::ProofRow;
use serde::{Deserialize, Serialize};

/// What is known of a run before its first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Label of everything the run makes.
    pub run_id: String,
    /// Title of the study.
    pub title: String,
    /// Path of the study file as it was given.
    pub study_file: String,
    /// Its text.
    pub study_text: String,
    /// The study as it was understood.
    pub study: Study,
    /// The plan.
    pub plan: Plan,
    /// The machine.
    pub host: HostDescription,
    /// Version of Rookery.
    pub rookery_version: String,
    /// Creation, RFC 3339.
    pub created_at: String,
}

/// The machine that a run was executed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostDescription {
    /// Name.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// What the plan was made for.
    pub facts: HostFacts,
    /// Software and its versions: rookery, sqlite, runc, ...
    pub versions: Vec<(String, String)>,
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialStatus {
    /// Not begun.
    Planned,
    /// Begun and not ended: it runs now, or the controller died.
    Running,
    /// Ended well.
    Done,
    /// Ended, but failed its own checks: kept, shown, never averaged.
    Void,
    /// Could not be carried out.
    Failed,
    /// Not to be performed: the user took its point out of the plan before it began.
    Skipped,
}

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Well.
    Done,
    /// It failed its own checks.
    Void,
    /// It could not be carried out.
    Failed,
}

impl From<Outcome> for TrialStatus {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Void => Self::Void,
            Outcome::Failed => Self::Failed,
        }
    }
}

/// The code of the [`Reason`] of a trial whose guests the kernel killed for want of memory.
pub const OUT_OF_MEMORY: &str = "out-of-memory";

/// Why a trial is void or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// For programs: `lag`, `guest-died`; empty where there is none.
    pub code: String,
    /// In words.
    pub text: String,
}

impl Reason {
    /// A reason in words, under its code.
    #[must_use]
    pub fn new(code: &str, text: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            text: text.into(),
        }
    }
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code.name(), fault.text)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One planned trial and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRow {
    /// The trial as planned.
    pub trial: Trial,
    /// Where it stands.
    pub status: TrialStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// Begin of the last attempt, RFC 3339.
    pub started_at: Option<String>,
    /// End of the last attempt, RFC 3339.
    pub ended_at: Option<String>,
    /// Why it is void or failed.
    pub reasons: Vec<Reason>,
}

/// One attempt at a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// The trial.
    pub trial: u32,
    /// 1-based number of the attempt.
    pub attempt: u32,
    /// Begin, RFC 3339.
    pub started_at: String,
    /// End, RFC 3339; `None` for an attempt that never ended.
    pub ended_at: Option<String>,
    /// How it ended: `done`, `void`, `failed`, `interrupted`; `None` while it runs.
    pub end: Option<String>,
}

/// All that one trial yielded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRecord {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it is void or failed; empty when done.
    pub reasons: Vec<Reason>,
    /// What the driver measured, if it came to that; of a point with groups, of its first group.
    pub measurement: Option<Measurement>,
    /// What the limits say of that.
    pub verdict: Option<Verdict>,
    /// The same of every further group that has users, in the order of the point.
    pub further: Vec<GroupRecord>,
    /// Use of CPU and memory.
    pub resources: Vec<ResourceSample>,
    /// Looks at virtual machines, in the order of time.
    pub machines: Vec<MachineLook>,
    /// Programs that were no part of the trial, the most CPU first.
    pub other_programs: Vec<OtherProgram>,
    /// What the kernel counted inside the window.
    pub kernel: Vec<KernelCount>,
    /// What guests hold against what their users were told.
    pub audits: Vec<GuestAudit>,
    /// Tails of the guests' logs.
    pub logs: Vec<GuestLog>,
    /// What programs that measured instead of Rookery's own driver said, whole.
    pub outputs: Vec<ProgramOutput>,
    /// Settings asked for and found.
    pub tunings: Vec<Tuning>,
    /// How the databases that its guests began with were loaded, or those that it loaded itself.
    pub loads: Vec<LoadRecord>,
    /// Seconds from the start of the guests until all were healthy.
    pub ready_s: f64,
}

/// What was measured of one group of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRecord {
    /// By its users.
    pub measurement: Measurement,
    /// What its own limits say.
    pub verdict: Option<Verdict>,
}

impl TrialRecord {
    /// The guests of all groups as their users saw them, to change them.
    pub fn guests_mut(&mut self) -> impl Iterator<Item = &mut GuestMeasurement> {
        let further = self.further.iter_mut().map(|group| &mut group.measurement);
        let all = self.measurement.iter_mut().chain(further);
        all.flat_map(|measurement| &mut measurement.guests)
    }

    /// What was measured of each group, in the order of the point; nothing where no load was put
    /// on.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        let further = self.further.iter().map(|group| &group.measurement);
        self.measurement.iter().chain(further)
    }

    /// What the limits of each group say, in the same order.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        let further = self
            .further
            .iter()
            .filter_map(|group| group.verdict.as_ref());
        self.verdict.iter().chain(further)
    }
}

/// How a database was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Where.
    pub place: LoadPlace,
    /// The database in words: `10MB`.
    pub database: String,
    /// How long it took.
    pub load: DatabaseLoad,
}

/// Where a database was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadPlace {
    /// In a guest of the trial, under the clock, with the settings and the shape of the guest.
    Guest(String),
    /// In the template of the trial's guests, by the builder of templates, with its own settings.
    Template {
        /// Address of the template.
        digest: String,
        /// Whether it was built for this trial, and not found built.
        built: bool,
    },
}

/// Whether a guest holds what its users were told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestAudit {
    /// Name of the guest.
    pub guest: String,
    /// Every row of the workload's proof, in its order; the first is the unit of work.
    pub rows: Vec<AuditRow>,
    /// Whether the guest was killed.
    pub killed: bool,
    /// The lab's judgement.
    pub consistent: bool,
    /// In words.
    pub detail: String,
}

/// One kind of record: what users were told of it, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// What the guest must hold.
    #[serde(flatten)]
    pub proof: ProofRow,
    /// Records found after the trial, beyond the loaded ones; `None` where they were not counted.
    pub found: Option<u64>,
}

impl AuditRow {
    /// Whether what was found agrees with what users were told.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.found.is_some_and(|found| self.proof.allows(found))
    }
}

/// The tail of a guest's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestLog {
    /// Name of the guest.
    pub guest: String,
    /// Text.
    pub text: String,
}

/// What a program said that measured a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramOutput {
    /// Name of the guest.
    pub guest: String,
    /// The program, with its version: `iperf 3.12`.
    pub program: String,
    /// All of it, in the program's own form.
    pub text: String,
}

/// One setting: what was asked for, and what was in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// Name of the guest, or `host`.
    pub guest: String,
    /// Name of the setting.
    pub name: String,
    /// Asked for.
    pub asked: String,
    /// In force at the start.
    pub effective: String,
    /// In force at the end.
    pub at_end: String,
}

/// A remark of the lab on the run as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, RFC 3339.
    pub at: String,
    /// What.
    pub text: String,
}
