//! One trial on the machines of a team, each of which performs the part with its groups of guests.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use rookery_store::{HostClock, Reason, RunHeader, TrialRecord};
use rookery_study::Trial;

use crate::{
    common_start::{CommonStart, FAR_START_DELAY},
    elsewhere::{LostDriver, RemoteDriver, RemoteEnd, RemoteError, RemoteLab, TrialOrder},
    error::LabError,
    host_parts::{self, HostPart},
    host_records::{HostRecord, merged},
};

/// The code of the reason of a trial whose machine was lost.
const HOST_LOST: &str = "host-lost";
/// The code of the reason of a trial whose machine had no room left for it.
const HOST_DISK_FULL: &str = "host-disk-full";

/// The machines of a team, at least one.
pub(super) struct Together<'a> {
    pub(super) labs: Vec<&'a dyn RemoteLab>,
    /// Set when the user wants no more.
    pub(super) stop: &'a AtomicBool,
    /// Directory for files that are needed meanwhile.
    pub(super) scratch: &'a Path,
}

/// How a trial of a team ended.
pub(super) enum TeamEnd {
    /// It was performed, well or not.
    Ended {
        record: Box<TrialRecord>,
        /// The clock of each machine of the team, in its order, as far as it was heard.
        clocks: Vec<Option<HostClock>>,
        drivers: Vec<LostDriver>,
    },
    /// The user stopped it.
    Stopped,
    /// The run goes on without some of the machines.
    Without {
        hosts: Vec<LostHost>,
        drivers: Vec<LostDriver>,
    },
}

/// A machine that the run goes on without.
pub(super) struct LostHost {
    /// Its place in its team.
    pub(super) place: usize,
    code: &'static str,
    pub(super) text: String,
}

impl LostHost {
    /// Why its trial is void.
    pub(super) fn reason(&self) -> Reason {
        Reason::new(self.code, &self.text)
    }
}

/// How the part of one machine ended, as far as it has a record.
type PartEnd = Option<(Box<TrialRecord>, Option<HostClock>, Option<i64>)>;

impl Together<'_> {
    /// Perform a trial: all parts begin at one instant, and the first that is lost, refused, or
    /// measures nothing ends the others.
    ///
    /// # Errors
    /// When one of the machines cannot perform the study, or the plan lacks what the trial is of.
    pub(super) fn perform(
        &self,
        header: &RunHeader,
        trial: &Trial,
        drivers: &[&dyn RemoteDriver],
    ) -> Result<TeamEnd, LabError> {
        let parts = host_parts::of_trial(header, trial)?;
        let headers: Vec<(&RunHeader, u32)> = if parts.is_empty() {
            vec![(header, 0)]
        } else {
            let parts = parts.iter();
            parts
                .map(|part| (&part.header, part.guests_before))
                .collect()
        };
        let ends = self.perform_parts(&headers, trial, drivers);
        self.together(&parts, ends)
    }

    /// All parts side by side; how each ended, in their order.
    fn perform_parts(
        &self,
        headers: &[(&RunHeader, u32)],
        trial: &Trial,
        drivers: &[&dyn RemoteDriver],
    ) -> Vec<Result<RemoteEnd, RemoteError>> {
        let ended = &AtomicBool::new(false);
        let stop = &|| self.stop.load(Ordering::Relaxed) || ended.load(Ordering::Relaxed);
        let decide = || Instant::now() + FAR_START_DELAY;
        let common = &CommonStart::new(headers.len(), &decide);
        thread::scope(|scope| {
            let parts = self.labs.iter().zip(headers).enumerate();
            let threads = parts.map(|(place, (lab, (header, guests_before)))| {
                // As many as there are parts: the plan was checked against the drivers.
                let own = drivers.iter().skip(place).step_by(headers.len());
                let own: Vec<&dyn RemoteDriver> = own.copied().collect();
                let party = common.party();
                scope.spawn(move || {
                    let end = lab.perform(TrialOrder {
                        header,
                        trial: trial.id,
                        guests_before: *guests_before,
                        drivers: &own,
                        start: &party,
                        scratch: self.scratch,
                        stop,
                    });
                    let goes_on = matches!(
                        &end,
                        Ok(RemoteEnd::Ended { record, .. }) if record.measurement.is_some()
                    );
                    ended.fetch_or(!goes_on, Ordering::Relaxed);
                    end
                })
            });
            let threads: Vec<_> = threads.collect();
            let ends = threads.into_iter().map(|thread| {
                let reason = || "the thread that spoke to it panicked".to_owned();
                let panicked = |_| Err(RemoteError::Lost { reason: reason() });
                thread.join().unwrap_or_else(panicked)
            });
            ends.collect()
        })
    }

    /// What came of the trial, from what came of its parts.
    fn together(
        &self,
        parts: &[HostPart],
        ends: Vec<Result<RemoteEnd, RemoteError>>,
    ) -> Result<TeamEnd, LabError> {
        let (mut hosts, mut drivers) = (Vec::new(), Vec::new());
        let mut ended: Vec<PartEnd> = Vec::new();
        for (place, (lab, end)) in self.labs.iter().zip(ends).enumerate() {
            let host = lab.name();
            let mut lose = |code, text| hosts.push(LostHost { place, code, text });
            ended.push(match end {
                Ok(RemoteEnd::Ended {
                    record,
                    clock,
                    late_us,
                    lost,
                }) => {
                    drivers.extend(lost);
                    Some((record, clock, late_us))
                }
                Ok(RemoteEnd::Stopped) => None,
                Ok(RemoteEnd::DiskFull { words, lost }) => {
                    drivers.extend(lost);
                    let text = format!("the disk of host {host} is full: {words}");
                    lose(HOST_DISK_FULL, text);
                    None
                }
                Err(RemoteError::Lost { reason }) => {
                    lose(HOST_LOST, format!("host {host} was lost: {reason}"));
                    None
                }
                Err(RemoteError::Refused(fields)) => {
                    let host = host.to_owned();
                    return Err(LabError::Elsewhere { host, fields });
                }
            });
        }
        if !hosts.is_empty() {
            return Ok(TeamEnd::Without { hosts, drivers });
        }
        let stopped = ended.iter().any(Option::is_none);
        if stopped && self.stop.load(Ordering::Relaxed) || ended.iter().all(Option::is_none) {
            return Ok(TeamEnd::Stopped);
        }
        let clock = |end: &PartEnd| end.as_ref().and_then(|(_, clock, _)| *clock);
        let clocks = ended.iter().map(clock).collect();
        let whole = match (parts, ended.as_mut_slice()) {
            ([], [only]) => only.take().map(|(record, ..)| record),
            _ => Some(Box::new(of_parts(parts, ended))),
        };
        let record = whole.ok_or(LabError::NoLabLeft)?;
        Ok(TeamEnd::Ended {
            record,
            clocks,
            drivers,
        })
    }
}

/// The record of a trial from those of its parts, as far as they have some.
fn of_parts(parts: &[HostPart], ended: Vec<PartEnd>) -> TrialRecord {
    let complete = ended.iter().all(Option::is_some);
    let records = parts.iter().zip(ended).filter_map(|(part, end)| {
        let (record, clock, late_us) = end?;
        let (first, last) = (part.guests_before + 1, part.guests_before + part.guests);
        Some(HostRecord {
            host: part.host.clone(),
            record: *record,
            clock,
            late_us,
            guests: (first, last),
        })
    });
    merged(records.collect(), complete)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rookery_store::{
        HostDescription,
        fixture::{header, host_facts},
    };

    use super::*;

    /// Groups of two guests and of one, on two hosts.
    const APART: &str = "title = \"t\"\nworkload = { kind = \"sample\" }\nstack = { kind = \
         \"bundled\" }\nguest = { kind = \"bare\" }\nhost = { driver = \"elsewhere\", \
         overcommit = 4 }\n[[layout]]\nname = \"apart\"\n[[layout.group]]\nname = \"x\"\nguests = \
         2\nusers = 4\nhost = \"a\"\n[[layout.group]]\nname = \"y\"\nusers = 4\nhost = \"b\"\n";

    enum Fate {
        /// It waits for the start, and then until it is to end.
        Waits,
        /// It is lost when it is ready.
        Lost,
        /// It has no room, and lost a driver.
        Full,
    }

    struct FakeLab {
        name: &'static str,
        host: HostDescription,
        fate: Fate,
    }

    impl RemoteLab for FakeLab {
        fn name(&self) -> &str {
            self.name
        }

        fn host(&self) -> &HostDescription {
            &self.host
        }

        fn perform(&self, order: TrialOrder<'_>) -> Result<RemoteEnd, RemoteError> {
            let point = &order.header.plan.points[0];
            // The guests of the other host are not its own, and are counted.
            let expected = if self.name == "b" { (1, 2) } else { (2, 0) };
            assert_eq!((point.guests(), order.guests_before), expected);
            match self.fate {
                Fate::Waits => {
                    order.start.arrive();
                    while !(order.stop)() {
                        thread::sleep(Duration::from_millis(1));
                    }
                    Ok(RemoteEnd::Stopped)
                }
                Fate::Lost => {
                    order.start.arrive();
                    while order.start.start().is_none() {
                        thread::sleep(Duration::from_millis(1));
                    }
                    let reason = "gone".to_owned();
                    Err(RemoteError::Lost { reason })
                }
                Fate::Full => Ok(RemoteEnd::DiskFull {
                    words: "no room".to_owned(),
                    lost: vec![LostDriver {
                        host: "d".to_owned(),
                        reason: "gone".to_owned(),
                    }],
                }),
            }
        }
    }

    /// What becomes of a trial whose second host has this fate; its reasons, and lost drivers.
    fn ended(fate: Fate) -> (Vec<String>, Vec<LostDriver>) {
        let header = header("apart.toml", APART, host_facts());
        let trial = header.plan.trials.first().expect("a trial").clone();
        let lab = |name, fate| FakeLab {
            name,
            host: header.host.clone(),
            fate,
        };
        let (one, other) = (lab("a", Fate::Waits), lab("b", fate));
        let together = Together {
            labs: vec![&one, &other],
            stop: &AtomicBool::new(false),
            scratch: Path::new("/"),
        };
        let end = together.perform(&header, &trial, &[]).expect("no refusal");
        let TeamEnd::Without { hosts, drivers } = end else {
            panic!("another end");
        };
        let reasons = hosts.iter().map(|host| host.reason().to_string());
        (reasons.collect(), drivers)
    }

    #[test]
    fn a_lost_host_ends_the_trial_on_the_others() {
        assert_eq!(
            ended(Fate::Lost),
            (vec!["host b was lost: gone".to_owned()], Vec::new())
        );
    }

    #[test]
    fn a_driver_lost_where_a_disk_is_full_is_told() {
        let (reasons, drivers) = ended(Fate::Full);
        assert_eq!(reasons, ["the disk of host b is full: no room"]);
        assert_eq!(drivers[0].host, "d");
    }
}
