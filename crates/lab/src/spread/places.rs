//! Which trial is where, and which team of machines performs the next one.

use std::collections::{HashMap, VecDeque};

use rookery_store::Store;
use rookery_study::{Point, Trial};

use crate::{error::LabError, planned::planned};

/// The teams of a run: machines that perform a trial together. First each machine alone, then those
/// that groups of guests name.
pub(super) struct Teams {
    /// The machines of each, in the order in which their guests are numbered.
    members: Vec<Vec<usize>>,
    /// How many of them are machines alone.
    alone: usize,
    /// The only team for trials of a point; others are performed by any machine alone.
    of_point: HashMap<u32, usize>,
}

impl Teams {
    /// Of machines with these names, for these points, which name no others.
    pub(super) fn new(labs: &[&str], points: &[Point]) -> Self {
        let mut members: Vec<Vec<usize>> = (0..labs.len()).map(|lab| vec![lab]).collect();
        let mut of_point = HashMap::new();
        for point in points {
            let hosts = point.hosts().into_iter();
            let named = hosts.filter_map(|host| labs.iter().position(|lab| *lab == host));
            let named: Vec<usize> = named.collect();
            if named.is_empty() {
                continue;
            }
            let team = members.iter().position(|known| *known == named);
            let team = team.unwrap_or_else(|| {
                members.push(named);
                members.len() - 1
            });
            of_point.insert(point.id, team);
        }
        Self {
            members,
            alone: labs.len(),
            of_point,
        }
    }

    /// The only team that may perform a trial; nothing where any machine may.
    fn only(&self, trial: &Trial) -> Option<usize> {
        self.of_point.get(&trial.point).copied()
    }
}

/// Which trial is where.
pub(super) struct Places {
    teams: Teams,
    /// Most trials at a time.
    at_once: usize,
    /// The blocks that no team has, in the order of the plan; all trials of one may be performed by
    /// the same teams.
    queue: VecDeque<Vec<Trial>>,
    /// What is left of each team's block.
    own: Vec<VecDeque<Trial>>,
    /// The trial that each team performs.
    at_work: Vec<Option<Trial>>,
    /// Whether each machine answers.
    lives: Vec<bool>,
    /// Trials of each point that each team was given.
    given: Vec<HashMap<u32, u32>>,
}

impl Places {
    pub(super) fn new(teams: Teams, at_once: usize) -> Self {
        let count = teams.members.len();
        Self {
            at_once,
            queue: VecDeque::new(),
            own: vec![VecDeque::new(); count],
            at_work: vec![None; count],
            lives: vec![true; teams.alone],
            given: vec![HashMap::new(); count],
            teams,
        }
    }

    /// The machines of each team.
    pub(super) fn teams(&self) -> &[Vec<usize>] {
        &self.teams.members
    }

    /// The machines of a team.
    pub(super) fn members(&self, team: usize) -> Vec<usize> {
        self.teams.members.get(team).cloned().unwrap_or_default()
    }

    /// Put a trial at the end, with the others of its block.
    pub(super) fn add(&mut self, trial: Trial) {
        let teams = &self.teams;
        match self.queue.back_mut() {
            Some(block)
                if block.last().is_some_and(|last| {
                    last.block == trial.block && teams.only(last) == teams.only(&trial)
                }) =>
            {
                block.push(trial);
            }
            _ => self.queue.push_back(vec![trial]),
        }
    }

    /// A trial for each team that lives and is idle, as far as there are any and so many may be
    /// performed at a time.
    pub(super) fn next(&mut self) -> Vec<(usize, Trial)> {
        let mut idle: Vec<usize> = (0..self.own.len())
            .filter(|team| self.is_alive(*team) && self.at_work[*team].is_none())
            .collect();
        // An open block goes on before another is begun, by the team that had the fewest trials.
        idle.sort_by_key(|team| {
            (
                self.own[*team].is_empty(),
                self.given[*team].values().sum::<u32>(),
            )
        });
        let mut all = Vec::new();
        for team in idle {
            if self.at_work.iter().flatten().count() >= self.at_once {
                break;
            }
            if self.own[team].is_empty()
                && let Some(block) = self.take_block(team)
            {
                self.own[team] = block.into();
            }
            if let Some(trial) = self.own[team].pop_front() {
                *self.given[team].entry(trial.point).or_default() += 1;
                self.at_work[team] = Some(trial.clone());
                all.push((team, trial));
            }
        }
        all
    }

    /// The first block for this team whose points it was given the fewest trials of.
    fn take_block(&mut self, team: usize) -> Option<Vec<Trial>> {
        let given = self.given.get(team)?;
        let count = |block: &Vec<Trial>| -> u32 {
            block
                .iter()
                .map(|trial| given.get(&trial.point).copied().unwrap_or(0))
                .sum()
        };
        let places = 0..self.queue.len();
        let best = places
            .filter(|place| self.may(team, &self.queue[*place]))
            .min_by_key(|place| count(&self.queue[*place]))?;
        self.queue.remove(best)
    }

    /// Whether a team may perform a block.
    fn may(&self, team: usize, block: &[Trial]) -> bool {
        let only = block.first().and_then(|trial| self.teams.only(trial));
        only.map_or(team < self.teams.alone, |only| only == team)
    }

    /// Whether all machines of a team answer.
    fn is_alive(&self, team: usize) -> bool {
        let members = self.teams.members.get(team);
        members.is_some_and(|members| members.iter().all(|lab| self.lives[*lab]))
    }

    /// Whether no team performs anything.
    pub(super) fn are_idle(&self) -> bool {
        self.at_work.iter().all(Option::is_none)
    }

    pub(super) fn end(&mut self, team: usize) {
        self.at_work[team] = None;
    }

    /// A trial that this team performs next.
    pub(super) fn give(&mut self, team: usize, trial: Trial) {
        self.own[team].push_front(trial);
    }

    /// Machines are gone: what teams with them had, and the trial again, are for others.
    pub(super) fn lose(&mut self, team: usize, labs: &[usize], again: Option<Trial>) {
        labs.iter().for_each(|lab| self.lives[*lab] = false);
        if let Some(again) = again {
            self.give(team, again);
        }
        for team in 0..self.own.len() {
            if !self.is_alive(team) {
                let block: Vec<Trial> = std::mem::take(&mut self.own[team]).into();
                if !block.is_empty() {
                    self.queue.push_front(block);
                }
            }
        }
    }

    /// Take in a plan that was changed: what was skipped is left out, what was added comes last.
    pub(super) fn follow(&mut self, store: &Store) -> Result<(), LabError> {
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

    /// Whether trials are left that no team which lives may perform.
    pub(super) fn is_stuck(&self) -> bool {
        let teams = 0..self.own.len();
        let able = |block: &[Trial]| {
            let mut teams = teams.clone();
            teams.any(|team| self.is_alive(team) && self.may(team, block))
        };
        self.queue.iter().any(|block| !able(block))
    }
}

#[cfg(test)]
mod tests;
