//! A rehearsal: the guests of a study come up, answer one page, and go, without users. It shows
//! what guests cost before anyone uses them.

use std::{fs, time::Instant};

use rookery_guest::{LabShape, RunDirs, UsageProbe};
use rookery_stack::StackPart;
use rookery_study::{Plan, Point, Study};
use serde::Serialize;

use crate::{
    conduct::Conductor,
    context::LabContext,
    error::{LabError, TrialError},
    facts::check_plan,
    group_context::GroupContext,
    guest_set::GuestSet,
    host_parts::check_group_hosts,
    lab_pool::LabPool,
    run_dir::RunDir,
    tiers::part_of,
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
    /// Memory of an idle guest, MiB; the mean over the guests. Of containers what counts against
    /// their limit, page cache included.
    pub memory_mib: f64,
    /// Time of all guests together to answer one page each: a purchase, or the first page of guests
    /// without a database, ms.
    pub answer_ms: f64,
    /// Kill and remove all, s.
    pub removed_s: f64,
}

impl Conductor<'_> {
    /// Let the guests of every point of the plan come up and go, `rounds` times; each round of a
    /// point is reported to `tell`. With `no_database` LAMP guests are Apache and PHP alone.
    /// Nothing is kept.
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
        check_group_hosts(plan.points.iter().map(Point::hosts), &[])?;
        check_plan(plan, &self.templates)?;
        if plan
            .variants
            .iter()
            .any(|variant| variant.study.stack.simulated().is_some())
        {
            return Err(LabError::NothingToRehearse);
        }
        let dir = RunDir::create(&self.runs, "rehearsal")?;
        let conducted = self.rehearse_in(&dir, plan, rounds, no_database, tell);
        let removed = fs::remove_dir_all(dir.path())
            .map_err(|error| LabError::file("remove the directory", dir.path(), error));
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
        let dirs = RunDirs {
            run: dir.run().clone(),
            dir: dir.guests(),
            templates: self.templates.clone(),
        };
        let mut labs = LabPool::new(dirs);
        let told = plan
            .points
            .iter()
            .flat_map(|point| (0..rounds).map(move |_| point))
            .try_for_each(|point| {
                let parts = plan.parts(point);
                let shapes: Vec<&LabShape> =
                    parts.iter().map(|(_, study)| &study.guest.lab).collect();
                let labs = labs.open(&shapes)?;
                let contexts = labs.into_iter().map(|(lab, dirs)| LabContext {
                    lab,
                    dirs,
                    program: &self.program,
                    stop: self.stop,
                    listener: self.listener,
                    confirmed: &self.confirmed,
                });
                let groups = parts.into_iter().zip(contexts);
                let groups: Vec<_> = groups
                    .map(|((part, study), context)| (part, study, context))
                    .collect();
                rehearse_point(point, groups, no_database).map(&mut *tell)
            });
        let closed = labs.close();
        told?;
        Ok(closed?)
    }
}

/// A group as a point of its own, its study, and where its guests are made.
type Part<'a> = (Point, &'a Study, LabContext<'a>);

/// The groups of a point with their stacks, built or found.
fn built<'a>(
    whole: &Point,
    parts: Vec<Part<'a>>,
    no_database: bool,
) -> Result<Vec<GroupContext<'a>>, LabError> {
    let (mut groups, mut before) = (Vec::new(), 0);
    for (index, (point, study, context)) in parts.into_iter().enumerate() {
        let data = point.only_group().database;
        let of_stack = part_of(whole, index);
        let stack = if no_database && of_stack == StackPart::Whole {
            let stack = rookery_stack::open_without_database(study)?;
            context.build_quietly(stack.ok_or(LabError::NeedsDatabase)?.as_ref(), data)?
        } else {
            let stack = rookery_stack::open_part(study, of_stack)?;
            let stack = stack.guests().ok_or(LabError::NothingToRehearse)?;
            context.build(stack.as_ref(), data)?
        };
        let guests = point.guests() as usize;
        groups.push(GroupContext {
            point,
            study,
            stack,
            context,
            driver_cpus: Vec::new(),
            before,
            lower_numbers: before,
            tier: whole.tier_of(index),
        });
        before += guests;
    }
    Ok(groups)
}

fn rehearse_point(
    point: &Point,
    parts: Vec<Part<'_>>,
    no_database: bool,
) -> Result<Rehearsal, LabError> {
    let groups = built(point, parts, no_database)?;
    let first = groups.first().ok_or(LabError::NothingToRehearse)?;
    let failed = |source: TrialError| LabError::Rehearsal {
        point: point.label(),
        source,
    };
    let mut guests = GuestSet::without_settings(first.context);
    let times = guests.bring_up(&groups).map_err(failed)?;
    let usage: Vec<_> = guests
        .guests()
        .iter()
        .filter_map(|guest| usage(guest.usage_probe()))
        .collect();
    let asked = Instant::now();
    guests
        .each(&groups, |group, _, context, guest| {
            group.stack.guests().answer(context, guest)
        })
        .map_err(failed)?;
    let answer_ms = asked.elapsed().as_secs_f64() * 1e3;
    let removed_s = guests.remove()?.as_secs_f64();
    guests.close()?;
    let mean = |sum: f64| sum / usage.len().max(1) as f64;
    Ok(Rehearsal {
        point: point.label(),
        guests: point.guests(),
        clone_ms: times.cloned.as_secs_f64() * 1e3,
        ready_s: times.ready.as_secs_f64(),
        cpu_s: mean(usage.iter().map(|(cpu_s, _)| cpu_s).sum()),
        memory_mib: mean(usage.iter().map(|(_, memory_mib)| memory_mib).sum()),
        answer_ms,
        removed_s,
    })
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
