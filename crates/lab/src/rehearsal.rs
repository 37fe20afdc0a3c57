//! A rehearsal: the guests of a study come up, answer one page, and go, without users. It tells what guests cost before anybody uses them.

use std::{fs, time::Instant};

use rookery_guest::{Guest, Site, UsageProbe, remove_all};
use rookery_study::{Plan, Point, StackKind, Study};
use serde::Serialize;

use crate::{
    Conductor, LabError, RunDir,
    facts::check_plan,
    labs::Labs,
    stack::{self, Place},
    stage::{Stage, each_guest},
};

/// How the guests of one point came up and went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rehearsal {
    /// The point in words.
    pub point: String,
    /// Number of guests.
    pub guests: u32,
    /// All clones, ms.
    pub clone_ms: f64,
    /// First clone to the last healthy guest, s.
    pub ready_s: f64,
    /// CPU time of a guest until then, s; the mean over the guests.
    pub cpu_s: f64,
    /// Memory of an idle guest, MiB; the mean over the guests. Of containers what counts against their limit, page cache included.
    pub memory_mib: f64,
    /// Time of all guests together to answer one page each: a purchase, or the first page of guests without a database, ms.
    pub answer_ms: f64,
    /// Kill and remove all, s.
    pub removed_s: f64,
}

impl Conductor<'_> {
    /// Let the guests of every point of the plan come up and go, `rounds` times; each round of a point is told to `tell`. With `no_database` LAMP
    /// guests are Apache and PHP alone. Nothing is kept.
    ///
    /// # Errors
    /// When guests cannot be made, do not become healthy, or do not answer.
    pub fn rehearse(
        &self,
        plan: &Plan,
        rounds: u32,
        no_database: bool,
        tell: &mut dyn FnMut(Rehearsal),
    ) -> Result<(), LabError> {
        check_plan(plan, &self.templates)?;
        if plan
            .variants
            .iter()
            .any(|variant| variant.study.stack.kind == StackKind::Simulated)
        {
            let what = "the guests of a simulated study do not exist, so that there is nothing to rehearse\n  mend: `rookery run` computes its trials";
            return Err(LabError::HostNotReady(what.to_owned()));
        }
        let dir = RunDir::create(&self.runs, "rehearsal")?;
        let conducted = self.rehearse_in(&dir, plan, rounds, no_database, tell);
        let removed = fs::remove_dir_all(dir.path())
            .map_err(|error| LabError::file("remove the directory", dir.path(), &error));
        conducted.and(removed)
    }

    fn rehearse_in(
        &self,
        dir: &RunDir,
        plan: &Plan,
        rounds: u32,
        no_database: bool,
        tell: &mut dyn FnMut(Rehearsal),
    ) -> Result<(), LabError> {
        let site = Site {
            run: dir.run().clone(),
            dir: dir.guests(),
            templates: self.templates.clone(),
        };
        let mut labs = Labs::new(site);
        let mut all = plan
            .points
            .iter()
            .flat_map(|point| (0..rounds).map(move |_| point));
        let told = all.try_for_each(|point| {
            let study = plan.study_of(point);
            let (lab, site) = labs.of(&study.guest)?;
            let place = Place {
                lab,
                site,
                program: &self.program,
                stop: self.stop,
                listener: self.listener,
            };
            let run = dir.run();
            Stage { place, plan, run }
                .rehearse(point, study, no_database)
                .map(&mut *tell)
        });
        let closed = labs.close();
        told?;
        Ok(closed?)
    }
}

impl Stage<'_> {
    fn rehearse(
        &self,
        point: &Point,
        study: &Study,
        no_database: bool,
    ) -> Result<Rehearsal, LabError> {
        let stack = if no_database {
            stack::without_database(study).ok_or_else(|| {
                LabError::HostNotReady("only LAMP guests can do without their database".to_owned())
            })?
        } else {
            stack::open(study)
        };
        let template = self.place.grounded(stack.as_ref(), point.database)?;
        let began = Instant::now();
        let failed = |what: String| LabError::Rehearsal {
            point: point.label(),
            what,
        };
        let mut guests = self
            .clone_guests(study, stack.as_ref(), &template, point, None)
            .map_err(failed)?;
        let clone_ms = began.elapsed().as_secs_f64() * 1e3;
        self.start(study, &mut guests)?;
        let ready_s = began.elapsed().as_secs_f64();
        let usage: Vec<_> = guests
            .iter()
            .filter_map(|guest| usage(guest.usage_probe()))
            .collect();
        let asked = Instant::now();
        each_guest(&mut guests, |_, guest| stack.answers(&self.place, guest)).map_err(failed)?;
        let answer_ms = asked.elapsed().as_secs_f64() * 1e3;
        let removed_s = remove_all(&mut guests)?.as_secs_f64();
        let mean = |sum: f64| sum / usage.len().max(1) as f64;
        Ok(Rehearsal {
            point: point.label(),
            guests: point.guests,
            clone_ms,
            ready_s,
            cpu_s: mean(usage.iter().map(|(cpu_s, _)| cpu_s).sum()),
            memory_mib: mean(usage.iter().map(|(_, memory_mib)| memory_mib).sum()),
            answer_ms,
            removed_s,
        })
    }
}

/// CPU seconds and MiB.
fn usage(mut probe: UsageProbe) -> Option<(f64, f64)> {
    probe().map(|usage| {
        (
            usage.cpu_us as f64 / 1e6,
            usage.memory_bytes as f64 / 1_048_576.0,
        )
    })
}

/// One page of a guest, which a user of the shop would ask for.
pub(crate) fn page(
    place: &Place<'_>,
    guest: &dyn Guest,
    path: &str,
    wanted: &str,
) -> Result<(), String> {
    let body = crate::ask::ask(place.lab.network(), guest.address(), path)?;
    if body.contains(wanted) {
        return Ok(());
    }
    Err(format!(
        "http://{}{path} answers without `{wanted}`",
        guest.address()
    ))
}
