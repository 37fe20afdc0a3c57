//! Trials of one run side by side on several machines.
//!
//! A machine performs one trial at a time, or its part of one: groups of guests may name machines.
//! What is handed out is a block: the trials that are compared with each other stay on one machine.
//! The repeats of a point go to different machines as far as there are enough, so that what
//! machines differ by is no effect of a factor.

mod places;
mod together;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use rookery_analysis::{Run, hosts};
use rookery_store::{FleetHost, HostClock, Outcome, RunHeader, Store, TrialHost, TrialRecord};
use rookery_study::{Plan, Trial};

use places::{Places, Teams};
use together::{LostHost, TeamEnd, Together};

use crate::{
    changes::{self, PlanChanges},
    clock::now,
    elsewhere::{LostDriver, RemoteDriver, RemoteLab},
    error::LabError,
    event::{Event, Listener},
    facts::differences,
    growth,
    rest::Rest,
    trial::{ended, failed},
};

/// A run on several machines.
pub(crate) struct Spread<'a> {
    pub(crate) labs: &'a [&'a dyn RemoteLab],
    pub(crate) stop: &'a AtomicBool,
    pub(crate) listener: &'a Listener<'a>,
    pub(crate) changes: &'a PlanChanges,
    /// The directory of the run.
    pub(crate) directory: &'a Path,
}

/// The machines and drivers of a run as they stand, from its first trial to its last.
pub(crate) struct Standing<'a> {
    places: Places,
    /// Those who drive the users of one trial at a time; none where each machine does so itself.
    drivers: Vec<&'a dyn RemoteDriver>,
    /// As many hosts as a trial of the plan has, each of which needs a driver.
    least_drivers: usize,
}

impl<'a> Standing<'a> {
    /// Of these machines and drivers, none of which is lost, in a run with this plan.
    pub(crate) fn new(
        labs: &[&'a dyn RemoteLab],
        plan: &Plan,
        drivers: &[&'a dyn RemoteDriver],
    ) -> Self {
        let at_once = if drivers.is_empty() { labs.len() } else { 1 };
        let names: Vec<&str> = labs.iter().map(|lab| lab.name()).collect();
        Self {
            places: Places::new(Teams::new(&names, &plan.points), at_once),
            drivers: drivers.to_vec(),
            least_drivers: plan
                .points
                .iter()
                .map(|point| point.hosts().len())
                .fold(1, usize::max),
        }
    }
}

/// What a team is to do next.
struct Handed<'a> {
    header: Box<RunHeader>,
    trial: Trial,
    drivers: Vec<&'a dyn RemoteDriver>,
}

/// What a team has done.
struct Returned {
    team: usize,
    trial: Trial,
    end: Result<TeamEnd, LabError>,
}

impl<'a> Spread<'a> {
    /// Keep what the machines are, and say how they differ.
    ///
    /// # Errors
    /// When a machine has other CPUs than the plan is for, or the disk refuses.
    pub(crate) fn begin(&self, store: &Store) -> Result<(), LabError> {
        let header = store.header()?;
        // A simulated system has CPUs of its own.
        let measured = header.study.stack.simulated().is_none();
        for lab in self.labs {
            if measured && lab.host().facts.cpus != header.host.facts.cpus {
                return Err(LabError::OtherCpus {
                    host: lab.name().to_owned(),
                });
            }
        }
        for lab in self.labs {
            store.keep_host(&FleetHost::new(lab.name(), lab.host()))?;
        }
        let Some((first, others)) = self.labs.split_first() else {
            return Err(LabError::NoLabLeft);
        };
        for other in others {
            let names = (first.name(), other.name());
            for difference in differences(first.host(), other.host()) {
                // Their own names differ by nature.
                if !difference.starts_with("host name ") {
                    let what = difference.replacen(" was ", " is ", 1);
                    let what = what.replacen(", is ", &format!(" on host {}, ", names.0), 1);
                    self.remark(store, &format!("{what} on host {}", names.1))?;
                }
            }
        }
        Ok(())
    }

    /// Perform these trials, and further attempts at void ones.
    ///
    /// # Errors
    /// When no machine is left, one cannot perform the study, or the disk refuses.
    pub(crate) fn perform(
        &self,
        store: &mut Store,
        left: Vec<Trial>,
        standing: &mut Standing<'a>,
    ) -> Result<(), LabError> {
        left.into_iter()
            .for_each(|trial| standing.places.add(trial));
        let study = store.header()?.study;
        let result = thread::scope(|scope| {
            let (to_us, returned) = channel();
            let workers: Vec<Sender<Handed<'a>>> = standing
                .places
                .teams()
                .iter()
                .enumerate()
                .map(|(team, members)| {
                    let (sender, handed) = channel();
                    let (to_us, rest) = (to_us.clone(), Rest::new(&study));
                    let members = members.clone();
                    scope.spawn(move || self.work((team, &members), rest, &handed, &to_us));
                    sender
                })
                .collect();
            self.hand_out(store, standing, &workers, &returned)
        });
        store.reset_running()?;
        result
    }

    /// One team: what is handed to it is performed, one after another.
    fn work(
        &self,
        (team, members): (usize, &[usize]),
        mut rest: Rest,
        handed: &Receiver<Handed<'_>>,
        to: &Sender<Returned>,
    ) {
        let labs = members.iter().filter_map(|lab| self.labs.get(*lab));
        let together = Together {
            labs: labs.copied().collect(),
            stop: self.stop,
            scratch: self.directory,
        };
        while let Ok(handed) = handed.recv() {
            let Handed {
                header,
                trial,
                drivers,
            } = handed;
            rest.take(self.stop, &|_| {});
            let end = together.perform(&header, &trial, &drivers);
            if to.send(Returned { team, trial, end }).is_err() {
                return;
            }
        }
    }

    fn hand_out(
        &self,
        store: &mut Store,
        standing: &mut Standing<'a>,
        workers: &[Sender<Handed<'a>>],
        returned: &Receiver<Returned>,
    ) -> Result<(), LabError> {
        let mut fault = None;
        loop {
            if fault.is_none() && !self.stop.load(Ordering::Relaxed) {
                if changes::make(self.changes, store, self.listener)? {
                    standing.places.follow(store)?;
                }
                for (team, trial) in standing.places.next() {
                    self.begin_trial(store, &trial)?;
                    let header = Box::new(store.header()?);
                    let handed = Handed {
                        header,
                        trial,
                        drivers: standing.drivers.clone(),
                    };
                    let sent = workers.get(team).map(|to| to.send(handed));
                    debug_assert!(matches!(sent, Some(Ok(()))), "workers end after us");
                }
            }
            if standing.places.are_idle() {
                return match fault {
                    Some(fault) => Err(fault),
                    None if standing.places.is_stuck() => Err(LabError::NoLabLeft),
                    None => Ok(()),
                };
            }
            let Ok(Returned { team, trial, end }) = returned.recv() else {
                return Err(LabError::NoLabLeft);
            };
            standing.places.end(team);
            let taken = end.and_then(|end| self.take_in(store, standing, team, &trial, end));
            if let Err(error) = taken {
                fault.get_or_insert(error);
            }
        }
    }

    fn begin_trial(&self, store: &Store, trial: &Trial) -> Result<(), LabError> {
        let plan = store.header()?.plan;
        let point = plan.points.iter().find(|point| point.id == trial.point);
        let point = point.ok_or(LabError::NoPoint { trial: trial.id })?;
        store.begin_trial(trial.id, &now())?;
        (self.listener)(&Event::TrialStarted {
            trial: trial.id,
            point: point.label(),
            repeat: trial.repeat,
        });
        Ok(())
    }

    /// Store what came of a trial; a void one is planned again.
    fn take_in(
        &self,
        store: &mut Store,
        standing: &mut Standing<'a>,
        team: usize,
        trial: &Trial,
        end: TeamEnd,
    ) -> Result<(), LabError> {
        let members = standing.places.members(team);
        let names = members.iter().filter_map(|lab| self.labs.get(*lab));
        let names: Vec<&str> = names.map(|lab| lab.name()).collect();
        let of_trial = |clocks: Vec<Option<HostClock>>| -> Vec<TrialHost> {
            let clocks = clocks.into_iter().chain(std::iter::repeat(None));
            let hosts = names.iter().zip(clocks).map(|(host, clock)| TrialHost {
                trial: trial.id,
                host: (*host).to_owned(),
                clock,
            });
            hosts.collect()
        };
        let drivers = match end {
            TeamEnd::Stopped => Vec::new(),
            TeamEnd::Ended {
                record,
                clocks,
                drivers,
            } => {
                self.end_trial(store, trial, &of_trial(clocks), &record)?;
                let again = match (drivers.as_slice(), record.outcome) {
                    ([], Outcome::Void) => growth::retry(store, trial, self.listener)?,
                    ([], _) => None,
                    _ => growth::retry_elsewhere(store, trial, self.listener)?,
                };
                if let Some(again) = again {
                    // At once and there, while the block is still open.
                    standing.places.give(team, again);
                }
                drivers
            }
            TeamEnd::Without { hosts, drivers } => {
                let again = self.end_without(store, trial, &of_trial(Vec::new()), &hosts)?;
                let lost = hosts.iter().filter_map(|host| members.get(host.place));
                standing
                    .places
                    .lose(team, &lost.copied().collect::<Vec<_>>(), again);
                drivers
            }
        };
        drivers
            .into_iter()
            .try_for_each(|lost| self.go_on_without(store, standing, lost))
    }

    /// End a trial of machines that the run goes on without; the trial again, for others, as far
    /// as there are any.
    fn end_without(
        &self,
        store: &mut Store,
        trial: &Trial,
        of_trial: &[TrialHost],
        lost: &[LostHost],
    ) -> Result<Option<Trial>, LabError> {
        let record = TrialRecord {
            outcome: Outcome::Void,
            reasons: lost.iter().map(LostHost::reason).collect(),
            ..failed("", 0.0)
        };
        self.end_trial(store, trial, of_trial, &record)?;
        lost.iter()
            .try_for_each(|lost| self.remark(store, &lost.text))?;
        growth::retry_elsewhere(store, trial, self.listener)
    }

    /// Let the other drivers carry the users of a lost one from now on.
    fn go_on_without(
        &self,
        store: &Store,
        standing: &mut Standing<'_>,
        lost: LostDriver,
    ) -> Result<(), LabError> {
        let drivers = &mut standing.drivers;
        drivers.retain(|driver| driver.name() != lost.host);
        if drivers.len() < standing.least_drivers {
            return Err(lost.into());
        }
        let left: Vec<&str> = drivers.iter().map(|driver| driver.name()).collect();
        self.remark(store, &lost.note(&left))
    }

    fn end_trial(
        &self,
        store: &Store,
        trial: &Trial,
        hosts: &[TrialHost],
        record: &TrialRecord,
    ) -> Result<(), LabError> {
        let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
        tracing::info!(trial = trial.id, ?names, outcome = ?record.outcome, "trial ended");
        hosts
            .iter()
            .try_for_each(|host| store.keep_trial_host(host))?;
        store.end_trial(trial.id, &now(), record)?;
        (self.listener)(&ended(trial.id, record));
        Ok(())
    }

    /// Say by how much throughput differs between the machines, once the run is at its end.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn compare_hosts(&self, store: &Store) -> Result<(), LabError> {
        let mut hosts_of: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (trial, host) in store.trial_hosts()? {
            hosts_of.entry(trial).or_default().push(host);
        }
        // What several hosts did together is held against none of them.
        let alone = hosts_of.into_iter().filter(|(_, hosts)| hosts.len() == 1);
        let host_of: BTreeMap<u32, String> = alone
            .filter_map(|(trial, mut hosts)| Some((trial, hosts.pop()?)))
            .collect();
        let run = Run::read(store)?;
        for effect in hosts::effects(&run.trials, &host_of) {
            let interval = effect.interval.map_or_else(
                || "of one trial".to_owned(),
                |(low, high)| {
                    format!(
                        "95 % interval {low:.3} to {high:.3}, {} trials",
                        effect.trials
                    )
                },
            );
            let text = format!(
                "host {}: throughput {:.3} times the mean of the hosts on the same points ({interval})",
                effect.host, effect.ratio
            );
            self.remark(store, &text)?;
        }
        Ok(())
    }

    fn remark(&self, store: &Store, text: &str) -> Result<(), LabError> {
        store.note(&now(), text)?;
        (self.listener)(&Event::Remark {
            text: text.to_owned(),
        });
        Ok(())
    }
}
