//! The record of a trial from those of the hosts that each performed a part of it.

use rookery_stats::{KernelCount, OtherProgram, ResourceSample};
use rookery_store::{GroupRecord, HostClock, Outcome, Reason, TrialRecord, Tuning, at_host};

use crate::trial::failed;

/// What one host recorded of its part.
pub(crate) struct HostRecord {
    pub(crate) host: String,
    pub(crate) record: TrialRecord,
    /// Its clock meanwhile; nothing where it was not heard.
    pub(crate) clock: Option<HostClock>,
    /// How long after the common start its users were told to begin, microseconds; nothing where
    /// it did not come to that.
    pub(crate) late_us: Option<i64>,
    /// Its guests, the first and the last by number.
    pub(crate) guests: (u32, u32),
}

/// The record of the whole trial; `complete` = whether each host has recorded its part. What a host
/// says of itself, and not of a guest, is told with its name. The trial ended as badly as the worst
/// of its parts; where one of them measured nothing, nothing was measured of the whole.
pub(crate) fn merged(parts: Vec<HostRecord>, complete: bool) -> TrialRecord {
    let whole = complete && parts.iter().all(|part| part.record.measurement.is_some());
    let mut all = TrialRecord {
        outcome: Outcome::Done,
        reasons: Vec::new(),
        ..failed("", 0.0)
    };
    let mut measured = Vec::new();
    for part in parts {
        all.tunings.extend(facts(&part));
        let HostRecord { host, record, .. } = part;
        all.outcome = worse(all.outcome, record.outcome);
        let reasons = record.reasons.into_iter();
        all.reasons.extend(reasons.map(|reason| Reason {
            text: format!("host {host}: {}", reason.text),
            ..reason
        }));
        let first = record.measurement.map(|measurement| GroupRecord {
            measurement,
            verdict: record.verdict,
        });
        measured.extend(first.into_iter().chain(record.further));
        let resources = record.resources.into_iter();
        all.resources.extend(resources.map(|sample| ResourceSample {
            subject: at_host(&sample.subject, &host),
            ..sample
        }));
        let programs = record.other_programs.into_iter();
        all.other_programs
            .extend(programs.map(|program| OtherProgram {
                name: format!("{}@{host}", program.name),
                ..program
            }));
        let kernel = record.kernel.into_iter();
        all.kernel.extend(kernel.map(|count| KernelCount {
            scope: at_host(&count.scope, &host),
            ..count
        }));
        let tunings = record.tunings.into_iter();
        all.tunings.extend(tunings.map(|tuning| Tuning {
            guest: at_host(&tuning.guest, &host),
            ..tuning
        }));
        all.machines.extend(record.machines);
        all.audits.extend(record.audits);
        all.logs.extend(record.logs);
        all.outputs.extend(record.outputs);
        for load in record.loads {
            // A template that several hosts have built is one.
            if all.loads.iter().all(|known| known.place != load.place) {
                all.loads.push(load);
            }
        }
        all.ready_s = all.ready_s.max(record.ready_s);
    }
    if whole {
        let mut measured = measured.into_iter();
        if let Some(first) = measured.next() {
            (all.measurement, all.verdict) = (Some(first.measurement), first.verdict);
        }
        all.further = measured.collect();
    }
    all
}

/// Which guests a host had, how its clock was, and when its users were to begin.
fn facts(part: &HostRecord) -> Vec<Tuning> {
    let fact = |what: &str, effective: String| Tuning {
        guest: "host".to_owned(),
        name: format!("host.{}.{what}", part.host),
        asked: String::new(),
        effective,
        at_end: String::new(),
    };
    let (first, last) = part.guests;
    let mut facts = vec![fact("guests", format!("g{first} to g{last}"))];
    facts.extend(part.clock.map(|clock| fact("clock", clock.to_string())));
    let start = part.late_us.zip(part.clock).map(|(late, clock)| {
        format!(
            "{late} us after the common start, known to {} us",
            clock.bound_us
        )
    });
    facts.extend(start.map(|text| fact("start", text)));
    facts
}

fn worse(one: Outcome, other: Outcome) -> Outcome {
    let rank = |outcome: Outcome| match outcome {
        Outcome::Done => 0,
        Outcome::Void => 1,
        Outcome::Failed => 2,
    };
    if rank(other) > rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(host: &str, outcome: Outcome) -> HostRecord {
        let sample = |subject: &str| ResourceSample {
            subject: subject.to_owned(),
            at_s: 1.0,
            cpu_cores: 0.5,
            memory_bytes: 1,
            io: None,
            parts: None,
            throttled_cores: None,
            memory: None,
        };
        HostRecord {
            host: host.to_owned(),
            record: TrialRecord {
                outcome,
                reasons: vec![Reason::new("driver", "too slow")],
                resources: vec![sample("host"), sample(&format!("g{}", host.len()))],
                ready_s: host.len() as f64,
                ..failed("", 0.0)
            },
            clock: Some(HostClock {
                offset_us: 7,
                bound_us: 3,
                stepped: false,
            }),
            late_us: Some(-2),
            guests: (1, 2),
        }
    }

    #[test]
    fn what_is_of_a_host_has_its_name_and_the_worst_outcome_counts() {
        let parts = vec![part("a", Outcome::Void), part("bb", Outcome::Done)];
        let all = merged(parts, true);
        assert_eq!(all.outcome, Outcome::Void);
        let subjects: Vec<&str> = all.resources.iter().map(|own| &*own.subject).collect();
        assert_eq!(subjects, ["host@a", "g1", "host@bb", "g2"]);
        assert_eq!(all.reasons[1].text, "host bb: too slow");
        let told: Vec<String> = all.tunings[..3]
            .iter()
            .map(|fact| format!("{}: {}", fact.name, fact.effective))
            .collect();
        assert_eq!(
            told,
            [
                "host.a.guests: g1 to g2",
                "host.a.clock: 7 us ahead, known to 3 us",
                "host.a.start: -2 us after the common start, known to 3 us",
            ]
        );
        assert!(all.measurement.is_none() && all.ready_s > 1.5);
    }
}
