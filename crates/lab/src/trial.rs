//! From evidence to a record: audits, faults, verdict, outcome.

use rookery_stats::{
    GuestMeasurement, MachineLook, Measurement, Mode, ResourceSample,
    checks::{Remark, of_trial},
    qos,
};
use rookery_store::{GuestLog, OrderAudit, Outcome, TrialRecord, Tuning};
use rookery_study::Study;

use crate::{
    Event,
    fate::{Death, Starved},
    ledger,
    stack::Found,
};

/// All that a trial left behind.
pub(crate) struct Evidence {
    pub(crate) measurement: Measurement,
    pub(crate) resources: Vec<ResourceSample>,
    pub(crate) machines: Vec<MachineLook>,
    /// A wall clock that was set during the load.
    pub(crate) clock_step: Option<Remark>,
    pub(crate) audits: Vec<OrderAudit>,
    pub(crate) deaths: Vec<Death>,
    pub(crate) starved: Vec<Starved>,
    pub(crate) logs: Vec<GuestLog>,
    pub(crate) tunings: Vec<Tuning>,
    pub(crate) ready_s: f64,
}

/// Judge a trial. The order of accusations: a dead or silent guest or a lost order fails it; a driver at fault, or no
/// steady state, makes it void; only then is QoS judged.
pub(crate) fn judge(study: &Study, evidence: Evidence) -> TrialRecord {
    let Evidence {
        measurement,
        resources,
        machines,
        clock_step,
        audits,
        deaths,
        starved,
        logs,
        tunings,
        ready_s,
    } = evidence;
    let mut failures: Vec<String> = deaths
        .iter()
        .map(|death| format!("guest {} died under load: {}", death.guest, death.reason))
        .collect();
    failures.extend(starved.iter().map(|starved| {
        let Starved { guest, killed, limit_mib } = starved;
        format!(
            "guest {guest} ran out of memory under load: the kernel killed {killed} of its processes, its limit is {limit_mib} MiB\n  mend: raise \
             `memory` in [guest], or choose a tuning that takes less"
        )
    }));
    failures.extend(
        audits
            .iter()
            .filter(|audit| !audit.consistent)
            .map(|audit| format!("guest {}: {}", audit.guest, audit.detail)),
    );
    failures.extend(silent(&measurement));
    let remarks = of_trial(&measurement, &resources, &study.intent());
    let remarks = remarks
        .into_iter()
        .map(|(_, remark)| remark)
        .chain(clock_step);
    // Warnings are in the evidence: the report finds them there.
    let faults: Vec<String> = remarks
        .filter_map(|remark| match remark {
            Remark::Fault(text) => Some(text),
            Remark::Warning(_) => None,
        })
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

/// Guests that were asked and answered nothing in the window: starved or stuck, which is no fault of the driver.
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
            "guest {} answered no request well in the measured window{first}: give it more CPU or memory, or less load",
            guest.guest
        )
    })
}

/// Compare a guest's database with what its users were told.
pub(crate) fn audit(
    guest: &str,
    seen: &GuestMeasurement,
    found: Result<Found, String>,
    deaths: &[Death],
) -> OrderAudit {
    let (acknowledged, unanswered) = match &seen.orderentry {
        Some(counters) => (counters.told.new_orders, counters.unknown.new_orders),
        None => (
            seen.shop
                .n_purchase_from_start
                .saturating_sub(seen.shop.n_rollbacks_from_start),
            seen.shop.n_purchase_unanswered,
        ),
    };
    let (orders, faults) = match found {
        Ok(Found {
            orders,
            ledger: Some(ledger),
            mut faults,
        }) => {
            let fault = seen
                .orderentry
                .as_ref()
                .and_then(|counters| ledger::compare(counters, ledger));
            if let Some(fault) = fault {
                faults.insert(0, fault);
            }
            (orders, faults)
        }
        Ok(Found {
            orders, mut faults, ..
        }) => {
            if !(acknowledged..=acknowledged + unanswered).contains(&orders) {
                faults.insert(
                    0,
                    format!(
                        "the database holds {orders} new orders, users were told of {acknowledged} (and {unanswered} were not answered)"
                    ),
                );
            }
            (orders, faults)
        }
        Err(error) => (
            0,
            vec![format!("the database could not be audited: {error}")],
        ),
    };
    OrderAudit {
        guest: guest.to_owned(),
        orders_in_database: orders,
        orders_acknowledged: acknowledged,
        unanswered,
        killed: deaths.iter().any(|death| death.guest == guest),
        consistent: faults.is_empty(),
        detail: faults.join("; "),
    }
}

/// The event that tells of a trial's end.
pub(crate) fn ended(trial: u32, record: &TrialRecord) -> Event {
    let guests = record
        .measurement
        .iter()
        .flat_map(|measurement| &measurement.guests);
    // Not `sum`, which makes -0 of nothing.
    let orders_per_minute = guests.fold(0.0, |sum, guest| sum + guest.shop.opm);
    Event::TrialEnded {
        trial,
        outcome: outcome_name(record.outcome).to_owned(),
        reasons: record.reasons.clone(),
        orders_per_minute,
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
    fn a_trial_without_a_measurement_has_no_negative_zero() {
        let record = TrialRecord {
            outcome: Outcome::Failed,
            reasons: vec!["no clone".to_owned()],
            measurement: None,
            verdict: None,
            resources: Vec::new(),
            machines: Vec::new(),
            audits: Vec::new(),
            logs: Vec::new(),
            tunings: Vec::new(),
            ready_s: 0.0,
        };
        let Event::TrialEnded {
            orders_per_minute,
            qos,
            ..
        } = ended(1, &record)
        else {
            panic!("a trial ended")
        };
        assert!(orders_per_minute.is_sign_positive() && qos.is_none());
    }
}
