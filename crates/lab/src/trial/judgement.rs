//! From evidence to a record: audits, faults, verdict, outcome.

use rookery_stats::{
    DatabaseLoad, GuestMeasurement, HostSize, KernelCount, MachineLook, Measurement, Mode,
    OtherProgram, ResourceSample, Surroundings, checks::Remark, qos, trial_checks::of_trial,
};
use rookery_store::{
    AuditRow, GroupRecord, GuestAudit, GuestLog, LoadPlace, Outcome, ProgramOutput, Reason,
    TrialRecord, Tuning, guest_links,
};
use rookery_study::Study;
use rookery_workload::{Counters, Proof};

use rookery_monitor::GuestDeath;
use rookery_stack::{AuditScope, Found};

use super::casualties::Casualties;
use crate::{
    error::TrialError,
    event::{Event, Headline, LoadEnd},
    trial_load::DriverCpu,
};

/// What was measured of one group.
pub(crate) struct Measured<'a> {
    /// Its name; empty where guests are all alike.
    pub(crate) group: &'a str,
    /// What judges it.
    pub(crate) study: &'a Study,
    pub(crate) measurement: Measurement,
    /// The CPUs from which its users were driven; none where that was computed.
    pub(crate) driver_cpus: Vec<DriverCpu>,
}

impl Measured<'_> {
    /// A reason of its own, which names its group where there is one.
    fn reason(&self, reason: Reason) -> Reason {
        match self.group {
            "" => reason,
            group => Reason {
                text: format!("group {group}: {}", reason.text),
                ..reason
            },
        }
    }
}

/// All that a trial left behind.
pub(crate) struct Evidence<'a> {
    /// Of each group that has users, in their order.
    pub(crate) measured: Vec<Measured<'a>>,
    pub(crate) resources: Vec<ResourceSample>,
    pub(crate) machines: Vec<MachineLook>,
    /// The machine; `None` of a simulated trial.
    pub(crate) host: Option<HostSize>,
    pub(crate) other_programs: Vec<OtherProgram>,
    pub(crate) kernel: Vec<KernelCount>,
    /// A wall clock that was set during the load.
    pub(crate) clock_step: Option<Remark>,
    /// Guests that were not kept on their CPUs.
    pub(crate) strayed: Vec<Reason>,
    pub(crate) audits: Vec<GuestAudit>,
    pub(crate) casualties: Casualties,
    pub(crate) logs: Vec<GuestLog>,
    pub(crate) outputs: Vec<ProgramOutput>,
    pub(crate) tunings: Vec<Tuning>,
    pub(crate) ready_s: f64,
}

/// Judge a trial. The order of accusations: storage that does not hold, a dead or silent guest or a
/// lost order fails it; a
/// driver at fault, or no steady state, makes it void; only then is QoS judged.
///
/// A trial of groups stands and falls as a whole: what makes one of them void makes the trial void,
/// because all of them ran beside each other. Each is judged by its own limits.
pub(crate) fn judge(evidence: Evidence<'_>) -> TrialRecord {
    let Evidence {
        measured,
        resources,
        machines,
        host,
        other_programs,
        kernel,
        clock_step,
        strayed,
        audits,
        casualties,
        logs,
        outputs,
        tunings,
        ready_s,
    } = evidence;
    let mut failures = casualties.reasons();
    failures.extend(
        audits
            .iter()
            .filter(|audit| !audit.consistent)
            .map(|audit| Reason::new("audit", format!("guest {}: {}", audit.guest, audit.detail))),
    );
    let links = guest_links(&tunings);
    let surroundings = host.map(|host| Surroundings {
        host,
        programs: &other_programs,
        kernel: &kernel,
        links: &links,
    });
    for one in &measured {
        let silent = silent(&one.measurement);
        failures.extend(silent.map(|text| one.reason(Reason::new("silent", text))));
    }
    let own = with_shared_cpus(&measured);
    let of_groups = measured.iter().zip(&own).flat_map(|(one, measurement)| {
        let remarks = of_trial(
            measurement,
            &resources,
            &one.study.intent(),
            surroundings.as_ref(),
        );
        let faults = remarks.into_iter().filter_map(|(_, remark)| fault(remark));
        faults.map(|fault| one.reason(fault)).collect::<Vec<_>>()
    });
    // Warnings are in the evidence: the report finds them there.
    let faults: Vec<Reason> = of_groups
        .chain(clock_step.and_then(fault))
        .chain(strayed)
        .collect();
    let (outcome, reasons) = match (failures.is_empty(), faults.is_empty()) {
        (false, _) => (Outcome::Failed, failures),
        (true, false) => (Outcome::Void, faults),
        (true, true) => (Outcome::Done, Vec::new()),
    };
    let mut judged = measured.into_iter().map(|one| GroupRecord {
        verdict: Some(qos::judge(&one.study.qos, &one.measurement)),
        measurement: one.measurement,
    });
    let first = judged.next();
    TrialRecord {
        outcome,
        reasons,
        verdict: first.as_ref().and_then(|first| first.verdict.clone()),
        measurement: first.map(|first| first.measurement),
        further: judged.collect(),
        resources,
        machines,
        other_programs,
        kernel,
        audits,
        logs,
        outputs,
        tunings,
        loads: Vec::new(),
        ready_s,
    }
}

fn fault(remark: Remark) -> Option<Reason> {
    match remark {
        Remark::Fault(fault) => Some(Reason::from(fault)),
        Remark::Warning(_) => None,
    }
}

/// The measurements with the CPU time of all groups whose drivers share CPUs: a CPU that three
/// groups keep busy is busy, whatever each of them takes.
fn with_shared_cpus(measured: &[Measured<'_>]) -> Vec<Measurement> {
    let with_others = |one: &Measured<'_>| {
        let mut own = one.measurement.clone();
        let sharing = measured.iter().filter(|other| {
            let shared = |cpu: &DriverCpu| one.driver_cpus.contains(cpu);
            other.driver_cpus.iter().any(shared)
        });
        let cpus = one.driver_cpus.len().max(1) as f64;
        let used: f64 = sharing
            .map(|other| other.measurement.driver.cpu_share * other.driver_cpus.len() as f64)
            .sum();
        own.driver.cpu_share = used / cpus;
        own
    };
    if measured.len() < 2 {
        return measured.iter().map(|one| one.measurement.clone()).collect();
    }
    measured.iter().map(with_others).collect()
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

/// What users were told of what a guest holds.
pub(crate) struct Told {
    /// Name of the guest.
    pub(crate) guest: String,
    /// What it must hold.
    pub(crate) proof: Proof,
    /// Who was told.
    pub(crate) clients: &'static str,
}

/// Compare what a guest holds with what its users were told.
pub(crate) fn audit(
    told: &Told,
    found: Result<Found, TrialError>,
    scope: AuditScope,
    deaths: &[GuestDeath],
) -> GuestAudit {
    let Told {
        guest,
        proof,
        clients,
    } = told;
    let (found, faults, remarks) = match found {
        Ok(found) => {
            let mut faults = found.faults;
            let told = match scope {
                AuditScope::Counted => proof.check_counted(&found.rows, clients),
                AuditScope::Everything | AuditScope::Nothing => proof.check(&found.rows, clients),
            };
            faults.splice(0..0, told);
            (found.rows, faults, found.remarks)
        }
        Err(error) => (
            Vec::new(),
            vec![format!("the database could not be audited: {error}")],
            Vec::new(),
        ),
    };
    let rows = proof.rows.iter().cloned().map(|proof| AuditRow {
        found: found
            .iter()
            .find(|found| found.what == proof.what)
            .map(|found| found.found),
        proof,
    });
    GuestAudit {
        guest: guest.clone(),
        rows: rows.collect(),
        killed: deaths.iter().any(|death| death.guest == *guest),
        consistent: faults.is_empty(),
        detail: if faults.is_empty() { remarks } else { faults }.join("; "),
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
        headline: match &record.measurement {
            Some(measurement) => headline(measurement),
            None => load_end(record).map(|load| Headline {
                metric: "load_time".to_owned(),
                value: load.load_time_s,
                rate: "s to load".to_owned(),
            }),
        },
        load: match &record.measurement {
            Some(_) => None,
            None => load_end(record),
        },
        qos: limits_kept(record),
    }
}

/// Whether the limits of all groups were kept; nothing where there are none, or it cannot be said.
fn limits_kept(record: &TrialRecord) -> Option<bool> {
    let mut judged = record
        .verdicts()
        .filter(|verdict| {
            record.outcome == Outcome::Done
                && !verdict.rules.is_empty()
                && (verdict.passed || verdict.failed())
        })
        .map(|verdict| verdict.passed)
        .peekable();
    judged.peek()?;
    Some(judged.all(|passed| passed))
}

/// The metric that a trial is summed up by, all guests together; of the first group where there are
/// several.
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

/// How the databases of a trial's guests were loaded; those of templates are another matter.
fn load_end(record: &TrialRecord) -> Option<LoadEnd> {
    let of_guests = record.loads.iter().filter_map(|own| match own.place {
        LoadPlace::Guest(_) => Some(own.load),
        LoadPlace::Template { .. } => None,
    });
    let together = DatabaseLoad::together(&of_guests.collect::<Vec<_>>())?;
    Some(LoadEnd {
        load_time_s: together.total_s(),
        rows_per_s: together.rows_per_s(),
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
    use rookery_store::LoadRecord;

    use super::*;

    fn record_without_measurement() -> TrialRecord {
        TrialRecord {
            outcome: Outcome::Failed,
            reasons: vec![Reason::new("error", "no clone")],
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
            ready_s: 0.0,
        }
    }

    #[test]
    fn a_trial_without_a_measurement_has_no_headline() {
        let Event::TrialEnded { headline, qos, .. } = ended(1, &record_without_measurement())
        else {
            panic!("a trial ended")
        };
        assert!(headline.is_none() && qos.is_none());
    }

    #[test]
    fn a_load_is_that_of_guests_and_not_of_templates() {
        let load = |place, rows_s| LoadRecord {
            place,
            database: "1MB".to_owned(),
            load: DatabaseLoad {
                rows_s,
                rows: 100,
                ..DatabaseLoad::default()
            },
        };
        let template = LoadPlace::Template {
            digest: "d".to_owned(),
            built: true,
        };
        let loaded = |loads| TrialRecord {
            outcome: Outcome::Done,
            loads,
            ..record_without_measurement()
        };
        let told = |record: &TrialRecord| match ended(1, record) {
            Event::TrialEnded { load, .. } => load,
            other => panic!("{other:?}"),
        };
        let guest = |name: &str| LoadPlace::Guest(name.to_owned());
        assert_eq!(told(&loaded(vec![load(template, 9.0)])), None);
        let both = loaded(vec![load(guest("g1"), 2.0), load(guest("g2"), 4.0)]);
        let expected = LoadEnd {
            load_time_s: 4.0,
            rows_per_s: Some(50.0),
        };
        assert_eq!(told(&both), Some(expected));
    }
}
