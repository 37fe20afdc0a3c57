//! From evidence to a record: audits, faults, verdict, outcome.

use rookery_stats::{
    GuestMeasurement, MachineLook, Measurement, Mode, ResourceSample, checks::Remark, qos,
    trial_checks::of_trial,
};
use rookery_store::{AuditRow, GuestAudit, GuestLog, Outcome, Reason, TrialRecord, Tuning};
use rookery_study::Study;
use rookery_workload::Counters;

use rookery_monitor::GuestDeath;
use rookery_stack::Found;

use super::{casualties::Starved, record::with_help};
use crate::{
    error::TrialError,
    event::{Event, Headline},
};

/// All that a trial left behind.
pub(crate) struct Evidence {
    pub(crate) measurement: Measurement,
    pub(crate) resources: Vec<ResourceSample>,
    pub(crate) machines: Vec<MachineLook>,
    /// A wall clock that was set during the load.
    pub(crate) clock_step: Option<Remark>,
    /// Guests that were not kept on their CPUs.
    pub(crate) strayed: Vec<Reason>,
    pub(crate) audits: Vec<GuestAudit>,
    pub(crate) deaths: Vec<GuestDeath>,
    pub(crate) starved: Vec<Starved>,
    pub(crate) logs: Vec<GuestLog>,
    pub(crate) tunings: Vec<Tuning>,
    pub(crate) ready_s: f64,
}

/// Judge a trial. The order of accusations: a dead or silent guest or a lost order fails it; a
/// driver at fault, or no steady state, makes it void; only then is QoS judged.
pub(crate) fn judge(study: &Study, evidence: Evidence) -> TrialRecord {
    let Evidence {
        measurement,
        resources,
        machines,
        clock_step,
        strayed,
        audits,
        deaths,
        starved,
        logs,
        tunings,
        ready_s,
    } = evidence;
    let mut failures: Vec<Reason> = deaths
        .iter()
        .map(|death| {
            let text = format!("guest {} died under load: {}", death.guest, death.reason);
            Reason::new("guest-died", text)
        })
        .collect();
    failures.extend(starved.iter().map(|starved| {
        let Starved {
            guest,
            killed,
            limit_mib,
        } = starved;
        let what = format!(
            "guest {guest} ran out of memory under load: the kernel killed {killed} of its \
             processes, its limit is {limit_mib} MiB"
        );
        let help = "raise `memory` in [guest], or choose a tuning that takes less";
        Reason::new("out-of-memory", with_help(&what, help))
    }));
    failures.extend(
        audits
            .iter()
            .filter(|audit| !audit.consistent)
            .map(|audit| Reason::new("audit", format!("guest {}: {}", audit.guest, audit.detail))),
    );
    failures.extend(silent(&measurement).map(|text| Reason::new("silent", text)));
    let remarks = of_trial(&measurement, &resources, &study.intent());
    let remarks = remarks
        .into_iter()
        .map(|(_, remark)| remark)
        .chain(clock_step);
    // Warnings are in the evidence: the report finds them there.
    let faults: Vec<Reason> = remarks
        .filter_map(|remark| match remark {
            Remark::Fault(fault) => Some(Reason::from(fault)),
            Remark::Warning(_) => None,
        })
        .chain(strayed)
        .collect();
    let (outcome, reasons) = match (failures.is_empty(), faults.is_empty()) {
        (false, _) => (Outcome::Failed, failures),
        (true, false) => (Outcome::Void, faults),
        (true, true) => (Outcome::Done, Vec::new()),
    };
    let verdict = qos::judge(&study.qos, &measurement);
    TrialRecord {
        outcome,
        reasons,
        verdict: Some(verdict),
        measurement: Some(measurement),
        resources,
        machines,
        audits,
        logs,
        tunings,
        ready_s,
    }
}

/// Guests that were asked and answered nothing in the window: starved or stuck, which is no fault
/// of the driver.
fn silent(measurement: &Measurement) -> impl Iterator<Item = String> {
    let all = measurement.guests.iter();
    let asked = |guest: &GuestMeasurement| guest.users > 0 || measurement.mode != Mode::Closed;
    let silent = all.filter(move |guest| {
        asked(guest)
            && guest
                .operations
                .iter()
                .all(|operation| operation.completed == 0)
    });
    silent.filter(|_| measurement.aborted.is_none()).map(|guest| {
        let first = guest.errors.first().map_or_else(String::new, |error| {
            format!(" (first of its errors: {}/{})", error.class.name(), error.sub_class)
        });
        format!(
            "guest {} answered no request well in the measured window{first}: give it more CPU or \
             memory, or less load",
            guest.guest
        )
    })
}

/// Compare what a guest holds with what its users were told.
pub(crate) fn audit(
    measured: &GuestMeasurement,
    found: Result<Found, TrialError>,
    deaths: &[GuestDeath],
) -> GuestAudit {
    let proof = measured.counters.proof();
    let clients = measured.info().clients.plural;
    let (found, faults) = match found {
        Ok(found) => {
            let mut faults = found.faults;
            faults.splice(0..0, proof.check(&found.rows, clients));
            (found.rows, faults)
        }
        Err(error) => (
            Vec::new(),
            vec![format!("the database could not be audited: {error}")],
        ),
    };
    let rows = proof.rows.into_iter().map(|proof| AuditRow {
        found: found
            .iter()
            .find(|found| found.what == proof.what)
            .map(|found| found.found),
        proof,
    });
    GuestAudit {
        guest: measured.guest.clone(),
        rows: rows.collect(),
        killed: deaths.iter().any(|death| death.guest == measured.guest),
        consistent: faults.is_empty(),
        detail: faults.join("; "),
    }
}

/// Reasons in words.
pub(crate) fn texts(reasons: &[Reason]) -> Vec<String> {
    reasons.iter().map(ToString::to_string).collect()
}

/// The event of a trial's end.
pub(crate) fn ended(trial: u32, record: &TrialRecord) -> Event {
    Event::TrialEnded {
        trial,
        outcome: outcome_name(record.outcome).to_owned(),
        reasons: texts(&record.reasons),
        headline: record.measurement.as_ref().and_then(headline),
        qos: record
            .verdict
            .as_ref()
            .filter(|verdict| {
                record.outcome == Outcome::Done
                    && !verdict.rules.is_empty()
                    && (verdict.passed || verdict.failed())
            })
            .map(|verdict| verdict.passed),
    }
}

/// The metric that a trial is summed up by, all guests together.
fn headline(measurement: &Measurement) -> Option<Headline> {
    let info = measurement.info()?;
    let all = Counters::together(measurement.guests.iter().map(|guest| &guest.counters))?;
    let headline = all.headline()?;
    Some(Headline {
        metric: headline.metric.name.to_owned(),
        value: headline.value,
        rate: info.unit.rate.to_owned(),
    })
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Void => "void",
        Outcome::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_a_measurement_has_no_headline() {
        let record = TrialRecord {
            outcome: Outcome::Failed,
            reasons: vec![Reason::new("error", "no clone")],
            measurement: None,
            verdict: None,
            resources: Vec::new(),
            machines: Vec::new(),
            audits: Vec::new(),
            logs: Vec::new(),
            tunings: Vec::new(),
            ready_s: 0.0,
        };
        let Event::TrialEnded { headline, qos, .. } = ended(1, &record) else {
            panic!("a trial ended")
        };
        assert!(headline.is_none() && qos.is_none());
    }
}
