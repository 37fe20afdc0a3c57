//! Headers of runs that were never conducted, for tests of this crate and of those above it.

use rookery_study::{Document, HostFacts, Plan, Study, Trial};

use crate::{HostDescription, RunHeader, TrialRow, TrialStatus};

/// A host of two CPUs, 4 GiB of memory and 10 GB of free disk, seen by a user.
#[must_use]
pub fn host_facts() -> HostFacts {
    HostFacts {
        cpus: vec![0, 1],
        memory_mib: 4096,
        disk_free_mib: 10_000,
        root: false,
        places: Vec::new(),
    }
}

/// The study of a text.
///
/// # Panics
/// With its problems, when it has any.
#[must_use]
pub fn study(file: &str, text: &str) -> Study {
    document(file, text).study().clone()
}

/// What is stored of the run of a study on a host, before its first trial.
///
/// # Panics
/// With its problems, when the study has any, or does not fit the host.
#[must_use]
pub fn header(file: &str, text: &str, facts: HostFacts) -> RunHeader {
    let document = document(file, text);
    let plan = Plan::of(&document, &facts).unwrap_or_else(|problems| panic!("{problems}"));
    header_of(file, text, document.study().clone(), plan, facts)
}

/// The same with a study and a plan that need not follow from the text.
#[must_use]
pub fn header_of(file: &str, text: &str, study: Study, plan: Plan, facts: HostFacts) -> RunHeader {
    RunHeader {
        run_id: "r0123456789".to_owned(),
        title: study.title.clone(),
        study_file: file.to_owned(),
        study_text: text.to_owned(),
        study,
        plan,
        host: HostDescription {
            hostname: "lab".to_owned(),
            kernel: "6.1.0".to_owned(),
            cpu_model: "Example CPU".to_owned(),
            facts,
            versions: vec![("rookery".to_owned(), "0.1.0".to_owned())],
        },
        rookery_version: "0.1.0".to_owned(),
        created_at: "2026-01-02T03:04:05Z".to_owned(),
    }
}

fn document(file: &str, text: &str) -> Document {
    Document::parse(file, text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The row of a trial that is done.
#[must_use]
pub fn done(trial: &Trial) -> TrialRow {
    TrialRow {
        trial: trial.clone(),
        status: TrialStatus::Done,
        attempts: 1,
        started_at: None,
        ended_at: None,
        reasons: Vec::new(),
    }
}
