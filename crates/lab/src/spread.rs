//! Trials of one run side by side on several machines.
//!
//! A machine performs one trial at a time. What is handed out is a block: the trials that are
//! compared with each other stay on one machine. The repeats of a point go to different machines as
//! far as there are enough, so that what machines differ by is no effect of a factor.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use rookery_analysis::{Run, hosts};
use rookery_store::{FleetHost, Outcome, Reason, RunHeader, Store, TrialHost, TrialRecord};
use rookery_study::Trial;

use crate::{
    changes::{self, PlanChanges},
    clock::now,
    elsewhere::{LostDriver, RemoteDriver, RemoteEnd, RemoteError, RemoteLab, TrialOrder},
    error::LabError,
    event::{Event, Listener},
    facts::differences,
    growth,
    planned::planned,
    rest::Rest,
    trial::{ended, failed},
};

/// The code of the reason of a trial whose machine was lost.
const HOST_LOST: &str = "host-lost";
/// The code of the reason of a trial whose machine had no room left for it.
const HOST_DISK_FULL: &str = "host-disk-full";

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
}

impl<'a> Standing<'a> {
    /// Of so many machines and these drivers, none of which is lost.
    pub(crate) fn new(labs: usize, drivers: &[&'a dyn RemoteDriver]) -> Self {
        let at_once = if drivers.is_empty() { labs } else { 1 };
        Self {
            places: Places::new(labs, at_once),
            drivers: drivers.to_vec(),
        }
    }
}

/// What a machine is to do next.
struct Handed<'a> {
    header: Box<RunHeader>,
    trial: Trial,
    drivers: Vec<&'a dyn RemoteDriver>,
}

/// What a machine has done.
struct Returned {
    lab: usize,
    trial: Trial,
    end: Result<RemoteEnd, RemoteError>,
}

/// Which trial is where.
struct Places {
    /// Most trials at a time.
    at_once: usize,
    /// The blocks that no machine has, in the order of the plan.
    queue: VecDeque<Vec<Trial>>,
    /// What is left of each machine's block.
    own: Vec<VecDeque<Trial>>,
    /// The trial that each machine performs.
    at_work: Vec<Option<Trial>>,
    /// Whether each machine answers.
    lives: Vec<bool>,
    /// Trials of each point that each machine was given.
    given: Vec<HashMap<u32, u32>>,
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
            let workers: Vec<Sender<Handed<'a>>> = (0..self.labs.len())
                .map(|lab| {
                    let (sender, handed) = channel();
                    let (to_us, rest) = (to_us.clone(), Rest::new(&study));
                    scope.spawn(move || self.work(lab, rest, &handed, &to_us));
                    sender
                })
                .collect();
            self.hand_out(store, standing, &workers, &returned)
        });
        store.reset_running()?;
        result
    }

    /// One machine: what is handed to it is performed, one after another.
    fn work(
        &self,
        lab: usize,
        mut rest: Rest,
        handed: &Receiver<Handed<'_>>,
        to: &Sender<Returned>,
    ) {
        let Some(remote) = self.labs.get(lab) else {
            return;
        };
        while let Ok(handed) = handed.recv() {
            let Handed {
                header,
                trial,
                drivers,
            } = handed;
            rest.take(self.stop, &|_| {});
            let end = remote.perform(TrialOrder {
                header: &header,
                trial: trial.id,
                drivers: &drivers,
                scratch: self.directory,
                stop: self.stop,
            });
            if to.send(Returned { lab, trial, end }).is_err() {
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
                for (lab, trial) in standing.places.next() {
                    self.begin_trial(store, &trial)?;
                    let header = Box::new(store.header()?);
                    let handed = Handed {
                        header,
                        trial,
                        drivers: standing.drivers.clone(),
                    };
                    let sent = workers.get(lab).map(|to| to.send(handed));
                    debug_assert!(matches!(sent, Some(Ok(()))), "workers end after us");
                }
            }
            if standing.places.at_work.iter().all(Option::is_none) {
                return match fault {
                    Some(fault) => Err(fault),
                    None if standing.places.is_stuck() => Err(LabError::NoLabLeft),
                    None => Ok(()),
                };
            }
            let Ok(Returned { lab, trial, end }) = returned.recv() else {
                return Err(LabError::NoLabLeft);
            };
            standing.places.end(lab);
            if let Err(error) = self.take_in(store, standing, lab, &trial, end) {
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
        lab: usize,
        trial: &Trial,
        end: Result<RemoteEnd, RemoteError>,
    ) -> Result<(), LabError> {
        let host = self.labs.get(lab).map_or("", |lab| lab.name()).to_owned();
        match end {
            Ok(RemoteEnd::Stopped) => Ok(()),
            Ok(RemoteEnd::Ended {
                record,
                clock,
                lost,
            }) => {
                let of_trial = TrialHost {
                    trial: trial.id,
                    host,
                    clock,
                };
                self.end_trial(store, &of_trial, &record)?;
                let again = match (lost.as_slice(), record.outcome) {
                    ([], Outcome::Void) => growth::retry(store, trial, self.listener)?,
                    ([], _) => None,
                    _ => growth::retry_elsewhere(store, trial, self.listener)?,
                };
                if let Some(again) = again {
                    // At once and there, while the block is still open.
                    standing.places.give(lab, again);
                }
                let drivers = &mut standing.drivers;
                lost.into_iter()
                    .try_for_each(|lost| self.go_on_without(store, drivers, lost))
            }
            Err(RemoteError::Refused(fields)) => Err(LabError::Elsewhere { host, fields }),
            Ok(RemoteEnd::DiskFull { words }) => {
                let text = format!("the disk of host {host} is full: {words}");
                standing.places.lose(
                    lab,
                    self.end_without(store, trial, host, HOST_DISK_FULL, &text)?,
                );
                Ok(())
            }
            Err(RemoteError::Lost { reason }) => {
                let text = format!("host {host} was lost: {reason}");
                standing
                    .places
                    .lose(lab, self.end_without(store, trial, host, HOST_LOST, &text)?);
                Ok(())
            }
        }
    }

    /// End a trial of a machine that the run goes on without; the trial again, for another one.
    fn end_without(
        &self,
        store: &mut Store,
        trial: &Trial,
        host: String,
        code: &str,
        text: &str,
    ) -> Result<Option<Trial>, LabError> {
        let record = TrialRecord {
            outcome: Outcome::Void,
            reasons: vec![Reason::new(code, text)],
            ..failed("", 0.0)
        };
        let of_trial = TrialHost {
            trial: trial.id,
            host,
            clock: None,
        };
        self.end_trial(store, &of_trial, &record)?;
        self.remark(store, text)?;
        growth::retry_elsewhere(store, trial, self.listener)
    }

    /// Let the other drivers carry the users of a lost one from now on.
    fn go_on_without(
        &self,
        store: &Store,
        drivers: &mut Vec<&dyn RemoteDriver>,
        lost: LostDriver,
    ) -> Result<(), LabError> {
        drivers.retain(|driver| driver.name() != lost.host);
        if drivers.is_empty() {
            return Err(lost.into());
        }
        let left: Vec<&str> = drivers.iter().map(|driver| driver.name()).collect();
        self.remark(store, &lost.note(&left))
    }

    fn end_trial(
        &self,
        store: &Store,
        host: &TrialHost,
        record: &TrialRecord,
    ) -> Result<(), LabError> {
        tracing::info!(trial = host.trial, host = host.host, outcome = ?record.outcome, "trial ended");
        store.keep_trial_host(host)?;
        store.end_trial(host.trial, &now(), record)?;
        (self.listener)(&ended(host.trial, record));
        Ok(())
    }

    /// Say by how much throughput differs between the machines, once the run is at its end.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn compare_hosts(&self, store: &Store) -> Result<(), LabError> {
        let host_of: BTreeMap<u32, String> = store.trial_hosts()?.into_iter().collect();
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

impl Places {
    fn new(labs: usize, at_once: usize) -> Self {
        Self {
            at_once,
            queue: VecDeque::new(),
            own: vec![VecDeque::new(); labs],
            at_work: vec![None; labs],
            lives: vec![true; labs],
            given: vec![HashMap::new(); labs],
        }
    }

    /// Put a trial at the end, with the others of its block.
    fn add(&mut self, trial: Trial) {
        match self.queue.back_mut() {
            Some(block) if block.last().is_some_and(|last| last.block == trial.block) => {
                block.push(trial);
            }
            _ => self.queue.push_back(vec![trial]),
        }
    }

    /// A trial for each machine that lives and is idle, as far as there are any and so many may be
    /// performed at a time.
    fn next(&mut self) -> Vec<(usize, Trial)> {
        let mut idle: Vec<usize> = (0..self.own.len())
            .filter(|lab| self.lives[*lab] && self.at_work[*lab].is_none())
            .collect();
        // An open block goes on before another is begun, on the machine that had the fewest trials.
        idle.sort_by_key(|lab| {
            (
                self.own[*lab].is_empty(),
                self.given[*lab].values().sum::<u32>(),
            )
        });
        let mut all = Vec::new();
        for lab in idle {
            if self.at_work.iter().flatten().count() >= self.at_once {
                break;
            }
            if self.own[lab].is_empty()
                && let Some(block) = self.take_block(lab)
            {
                self.own[lab] = block.into();
            }
            if let Some(trial) = self.own[lab].pop_front() {
                *self.given[lab].entry(trial.point).or_default() += 1;
                self.at_work[lab] = Some(trial.clone());
                all.push((lab, trial));
            }
        }
        all
    }

    /// The first block whose points this machine was given the fewest trials of.
    fn take_block(&mut self, lab: usize) -> Option<Vec<Trial>> {
        let given = self.given.get(lab)?;
        let count = |block: &Vec<Trial>| -> u32 {
            block
                .iter()
                .map(|trial| given.get(&trial.point).copied().unwrap_or(0))
                .sum()
        };
        let best = (0..self.queue.len()).min_by_key(|place| count(&self.queue[*place]))?;
        self.queue.remove(best)
    }

    fn end(&mut self, lab: usize) {
        self.at_work[lab] = None;
    }

    /// A trial that this machine performs next.
    fn give(&mut self, lab: usize, trial: Trial) {
        self.own[lab].push_front(trial);
    }

    /// A machine is gone: what it had, and the trial again, are for the others.
    fn lose(&mut self, lab: usize, again: Option<Trial>) {
        self.lives[lab] = false;
        let left = std::mem::take(&mut self.own[lab]);
        let block: Vec<Trial> = again.into_iter().chain(left).collect();
        if !block.is_empty() {
            self.queue.push_front(block);
        }
    }

    /// Take in a plan that was changed: what was skipped is left out, what was added comes last.
    fn follow(&mut self, store: &Store) -> Result<(), LabError> {
        let planned = planned(store)?;
        let waits = |trial: &Trial| planned.iter().any(|other| other.id == trial.id);
        self.queue.iter_mut().for_each(|block| block.retain(waits));
        self.queue.retain(|block| !block.is_empty());
        self.own.iter_mut().for_each(|own| own.retain(waits));
        let known: Vec<u32> = self
            .queue
            .iter()
            .flatten()
            .chain(self.own.iter().flatten())
            .map(|trial| trial.id)
            .collect();
        for trial in planned {
            if !known.contains(&trial.id) {
                self.add(trial);
            }
        }
        Ok(())
    }

    /// Whether trials are left and no machine.
    fn is_stuck(&self) -> bool {
        !self.queue.is_empty() && !self.lives.contains(&true)
    }
}

#[cfg(test)]
mod tests;
