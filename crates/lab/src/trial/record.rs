//! What the record of a trial holds beside its judgement.

use rookery_diagnosis::Diagnosis;
use rookery_guest::Guest;
use rookery_stack::EffectiveSetting;
use rookery_store::{GuestLog, Outcome, Reason, TrialRecord, Tuning};

/// How much of a guest's log is kept.
const LOG_BYTES: usize = 16 * 1024;
/// The code of the reason of a trial one of whose drivers was lost.
const DRIVER_LOST: &str = "driver-lost";

/// The record of a trial that measured nothing.
pub(crate) fn failed(reason: &str, ready_s: f64) -> TrialRecord {
    TrialRecord {
        outcome: Outcome::Failed,
        reasons: vec![Reason::new("error", reason)],
        measurement: None,
        further: Vec::new(),
        verdict: None,
        resources: Vec::new(),
        machines: Vec::new(),
        other_programs: Vec::new(),
        kernel: Vec::new(),
        audits: Vec::new(),
        logs: Vec::new(),
        outputs: Vec::new(),
        tunings: Vec::new(),
        loads: Vec::new(),
        ready_s,
    }
}

/// The record of a trial one of whose drivers was lost.
pub(super) fn without_driver(host: &str, reason: &str, ready_s: f64) -> TrialRecord {
    let text = format!("the driver on host {host} was lost: {reason}");
    TrialRecord {
        outcome: Outcome::Void,
        reasons: vec![Reason::new(DRIVER_LOST, &text)],
        ..failed("", ready_s)
    }
}

/// An error as the reason of a record: what happened, and what helps.
pub(crate) fn reason(error: &dyn Diagnosis) -> String {
    match error.help() {
        Some(help) => with_help(&error.to_string(), &help),
        None => error.to_string(),
    }
}

/// The text of a reason that also says what helps. A stored reason is one text, so that reasons of
/// all versions read alike.
pub(super) fn with_help(message: &str, help: &str) -> String {
    format!("{message}\n  help: {help}")
}

/// The settings of all guests: asked for, before the load and after it.
pub(super) fn tunings(
    guests: &[Box<dyn Guest>],
    at_start: &[Vec<EffectiveSetting>],
    at_end: &[Vec<EffectiveSetting>],
) -> Vec<Tuning> {
    guests
        .iter()
        .zip(at_start)
        .zip(at_end)
        .flat_map(|((guest, at_start), at_end)| {
            at_start.iter().map(move |setting| {
                let later = at_end.iter().find(|later| later.name == setting.name);
                Tuning {
                    guest: guest.name().to_owned(),
                    name: setting.name.clone(),
                    asked: setting.asked.clone(),
                    effective: setting.in_force.clone(),
                    at_end: later.map_or_else(String::new, |later| later.in_force.clone()),
                }
            })
        })
        .collect()
}

/// The end of each guest's log.
pub(super) fn logs(guests: &[Box<dyn Guest>]) -> Vec<GuestLog> {
    guests
        .iter()
        .map(|guest| GuestLog {
            guest: guest.name().to_owned(),
            text: guest.log_tail(LOG_BYTES),
        })
        .collect()
}
