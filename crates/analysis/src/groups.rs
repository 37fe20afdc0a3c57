//! Points whose guests differ, group by group.
//!
//! All groups of a trial run beside each other, and yet each has a workload, limits and numbers of
//! its own. So a run is taken apart before anything is computed: each group that has users becomes
//! a point of its own with its own trials, which hold its guests alone, and all that is said of
//! points is said of groups. What they are together is kept beside it.

use std::{collections::BTreeMap, ops::Range};

use rookery_cast::count_u32;
use rookery_stats::{KernelCount, Measurement, OtherProgram, ResourceSample};
use rookery_store::{Store, StoreError, TrialRecord, Tuning, is_of_guest, split_host};
use rookery_study::{Callers, GuestGroup, Level, Plan, Point, Trial, Variant};

use crate::{
    Run, TrialData,
    grouped::{GroupPart, GroupUse, GroupedPoint},
    mean::mean,
    window,
};

/// The key of the level that names the group of a point.
const GROUP: &str = "layout.group";
/// The key of the level that says how often its layout's groups are repeated.
const TILES: &str = "layout.tiles";

/// A group in its new place.
struct Part {
    /// Number of the point as planned, and of the one that stands for the group.
    whole: u32,
    id: u32,
    /// Place among the groups that have users: that of its measurement.
    place: usize,
    /// Its guests, and those of its tier.
    guests: Vec<String>,
    /// Other guests on its host.
    neighbours: Vec<String>,
    /// Its host, where the trial has several.
    host: Option<String>,
}

impl Part {
    /// The name of what was measured as it is on the part's host; nothing of what is of other
    /// guests, or of another host. What is of no guest is of the host or of the driver.
    fn own<'s>(&self, subject: &'s str) -> Option<&'s str> {
        let (name, host) = split_host(subject);
        let own = match host {
            Some(host) => self.host.as_deref() == Some(host),
            None => !is_of_guest(name) || self.guests.iter().any(|guest| guest == name),
        };
        own.then_some(name)
    }
}

/// Names of guests by their places among all of a trial.
fn names(range: Range<usize>) -> Vec<String> {
    range.map(|place| format!("g{}", place + 1)).collect()
}

/// The guests of each group among all of a point.
fn ranges(point: &Point) -> Vec<Range<usize>> {
    let mut before = 0;
    let range = |group: &GuestGroup| {
        let first = before;
        before += group.guests as usize;
        first..before
    };
    point.groups.iter().map(range).collect()
}

impl Run {
    /// Read a run, its points with groups taken apart.
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn read(store: &Store) -> Result<Self, StoreError> {
        Self::read_whole(store).map(take_apart)
    }
}

/// Takes a run apart; one without groups stays as it is.
fn take_apart(mut run: Run) -> Run {
    if !run.header.plan.points.iter().any(Point::has_groups) {
        return run;
    }
    let trials = std::mem::take(&mut run.trials);
    let plan = &mut run.header.plan;
    let mut parts = Vec::new();
    let mut points = Vec::new();
    let mut next = plan.points.iter().map(|point| point.id).max().unwrap_or(0) + 1;
    for point in std::mem::take(&mut plan.points) {
        if !point.has_groups() {
            points.push(point);
            continue;
        }
        let own = trials
            .iter()
            .filter(|trial| trial.row.trial.point == point.id);
        let own: Vec<&TrialData> = own.collect();
        run.groups.push(grouped(&point, next, &own));
        let variant = plan
            .variants
            .iter()
            .find(|variant| variant.id == point.variant);
        let Some(variant) = variant.cloned() else {
            continue;
        };
        for (point, part, variant) in parts_of(&point, &variant, &plan.variants, next) {
            next += 1;
            points.push(point);
            parts.push(part);
            plan.variants.push(variant);
        }
    }
    plan.points = points;
    plan.variants.retain(|variant| variant.further.is_empty());
    plan.trials = of_parts(&plan.trials, &parts);
    run.trials = trials
        .into_iter()
        .flat_map(|trial| trials_of(trial, &parts))
        .collect();
    run
}

/// The groups of a point that have users, each as a point of its own with a variant of its own. One
/// that has all users stands for its layout.
fn parts_of(
    point: &Point,
    variant: &Variant,
    known: &[Variant],
    first: u32,
) -> Vec<(Point, Part, Variant)> {
    let ranges = ranges(point);
    let mut next = known.iter().map(|variant| variant.id).max().unwrap_or(0);
    let mut found = Vec::new();
    let of_users = |group: &&GuestGroup| group.callers == Callers::Users;
    let alone = point.tiles == 1 && point.groups.iter().filter(of_users).count() == 1;
    for (index, (group, study)) in point.groups.iter().zip(variant.studies()).enumerate() {
        if group.callers != Callers::Users {
            continue;
        }
        next += 1;
        let place = found.len();
        let level = |key: &str, value: String| Level {
            key: key.to_owned(),
            value,
        };
        let mut levels = Vec::new();
        if !alone {
            levels.push(level(GROUP, group.name.clone()));
        }
        if point.tiles > 1 {
            levels.push(level(TILES, point.tiles.to_string()));
        }
        levels.extend(point.levels.iter().cloned());
        let mut guests = names(ranges[index].clone());
        if let Some(tier) = point.tier_of(index) {
            guests.extend(names(ranges[tier].clone()));
        }
        let others = point.groups.iter().zip(&ranges);
        let there = others.filter(|(other, _)| other.host == group.host);
        let there = there.flat_map(|(_, range)| names(range.clone()));
        let neighbours = there.filter(|guest| !guests.contains(guest)).collect();
        let part = Part {
            whole: point.id,
            id: first + count_u32(place),
            place,
            guests,
            neighbours,
            host: group.host.clone(),
        };
        let own = Point {
            id: part.id,
            variant: next,
            levels: levels.clone(),
            layouts: match alone {
                true => point.layouts.clone(),
                false => of_group(&point.layouts, &group.name),
            },
            capacity_cpus: capacity(group).min(point.capacity_cpus),
            groups: vec![GuestGroup {
                name: String::new(),
                ..group.clone()
            }],
            tiles: 1,
            baseline: None,
            search: None,
        };
        let variant = Variant {
            id: next,
            levels,
            study: study.clone(),
            further: Vec::new(),
        };
        found.push((own, part, variant));
    }
    found
}

/// A group of layouts, in words.
fn of_group(layouts: &[String], group: &str) -> Vec<String> {
    let named = layouts.iter().map(|layout| format!("{layout} / {group}"));
    named.collect()
}

/// CPUs that the guests of a group can use at most: their vCPUs, or the CPUs that they are pinned
/// to.
fn capacity(group: &GuestGroup) -> f64 {
    let mut cpus: Vec<u32> = group.pins.iter().flatten().copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    (f64::from(group.guests) * group.vcpus.cpus()).min(cpus.len() as f64)
}

/// Planned trials, once for each part of their points.
fn of_parts(trials: &[Trial], parts: &[Part]) -> Vec<Trial> {
    let of = |trial: &Trial| -> Vec<Trial> {
        let own = parts.iter().filter(|part| part.whole == trial.point);
        let own: Vec<Trial> = own
            .map(|part| Trial {
                point: part.id,
                ..trial.clone()
            })
            .collect();
        if own.is_empty() {
            vec![trial.clone()]
        } else {
            own
        }
    };
    trials.iter().flat_map(of).collect()
}

/// A trial, once for each part of its point, with what belongs to that part.
fn trials_of(trial: TrialData, parts: &[Part]) -> Vec<TrialData> {
    let own = parts
        .iter()
        .filter(|part| part.whole == trial.row.trial.point);
    let own: Vec<TrialData> = own
        .map(|part| {
            let mut row = trial.row.clone();
            row.trial.point = part.id;
            TrialData {
                row,
                record: trial.record.as_ref().map(|record| of_part(record, part)),
                place: part.place,
            }
        })
        .collect();
    if own.is_empty() { vec![trial] } else { own }
}

/// What a trial yielded of one group.
fn of_part(record: &TrialRecord, part: &Part) -> TrialRecord {
    let own = |guest: &String| part.guests.contains(guest);
    let (measurement, verdict) = match part.place.checked_sub(1) {
        None => (record.measurement.clone(), record.verdict.clone()),
        Some(further) => match record.further.get(further) {
            Some(group) => (Some(group.measurement.clone()), group.verdict.clone()),
            None => (None, None),
        },
    };
    let mut foreign = foreign_cores(&record.resources, &part.neighbours).into_iter();
    let programs = record.other_programs.iter().filter_map(|program| {
        let name = match part.host {
            Some(_) => part.own(&program.name)?.to_owned(),
            None => program.name.clone(),
        };
        Some(OtherProgram {
            name,
            ..program.clone()
        })
    });
    // Those of other guests tell of what was beside it.
    let kernel = record.kernel.iter().filter_map(|count| {
        let (name, host) = split_host(&count.scope);
        let elsewhere = host.is_some() && host != part.host.as_deref();
        (!elsewhere).then(|| KernelCount {
            scope: name.to_owned(),
            ..count.clone()
        })
    });
    let resources = record.resources.iter();
    let machines = record.machines.iter();
    let audits = record.audits.iter();
    let logs = record.logs.iter();
    let outputs = record.outputs.iter();
    let tunings = record.tunings.iter();
    TrialRecord {
        outcome: record.outcome,
        reasons: record.reasons.clone(),
        measurement,
        verdict,
        further: Vec::new(),
        resources: resources
            .filter_map(|sample| {
                let subject = part.own(&sample.subject)?.to_owned();
                Some(ResourceSample {
                    subject,
                    ..sample.clone()
                })
            })
            .map(|sample| without(sample, &mut foreign))
            .collect(),
        other_programs: programs.collect(),
        kernel: kernel.collect(),
        machines: machines.filter(|look| own(&look.guest)).cloned().collect(),
        audits: audits.filter(|audit| own(&audit.guest)).cloned().collect(),
        logs: logs.filter(|log| own(&log.guest)).cloned().collect(),
        outputs: outputs
            .filter(|output| own(&output.guest))
            .cloned()
            .collect(),
        tunings: tunings
            .filter_map(|setting| {
                let guest = part.own(&setting.guest)?.to_owned();
                Some(Tuning {
                    guest,
                    ..setting.clone()
                })
            })
            .collect(),
        // Templates are of the trial, and shown once.
        loads: match part.place {
            0 => record.loads.clone(),
            _ => Vec::new(),
        },
        ready_s: record.ready_s,
    }
}

/// What these guests of other groups used in each round of samples.
fn foreign_cores(resources: &[ResourceSample], others: &[String]) -> Vec<f64> {
    let mut rounds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut cores: Vec<f64> = Vec::new();
    for sample in resources {
        let round = rounds.entry(&sample.subject).or_default();
        if cores.len() <= *round {
            cores.push(0.0);
        }
        if others.contains(&sample.subject) {
            cores[*round] += sample.cpu_cores;
        }
        *round += 1;
    }
    cores
}

/// A sample of the host without what other groups used: they are no other work.
fn without(sample: ResourceSample, foreign: &mut impl Iterator<Item = f64>) -> ResourceSample {
    if sample.subject != crate::window::HOST {
        return sample;
    }
    ResourceSample {
        cpu_cores: (sample.cpu_cores - foreign.next().unwrap_or(0.0)).max(0.0),
        ..sample
    }
}

/// A point with its groups and what they used; `first` is the number of the first part.
fn grouped(point: &Point, first: u32, trials: &[&TrialData]) -> GroupedPoint {
    let mut next = first;
    let groups = point.groups.iter().zip(ranges(point));
    let groups = groups.map(|(group, range)| {
        let own = (group.callers == Callers::Users).then_some(next);
        next += u32::from(own.is_some());
        GroupPart {
            point: own,
            used: used(&names(range), trials),
        }
    });
    GroupedPoint {
        groups: groups.collect(),
        point: point.clone(),
    }
}

/// What guests used together, over good trials.
fn used(guests: &[String], trials: &[&TrialData]) -> GroupUse {
    let over = |of: fn(&ResourceSample) -> Option<f64>| {
        let in_trial = |trial: &&TrialData| {
            let (record, measured) = trial.valid()?;
            sum_over(guests, &record.resources, measured, of)
        };
        let values: Vec<f64> = trials.iter().filter_map(in_trial).collect();
        mean(&values)
    };
    GroupUse {
        cores: over(|sample| Some(sample.cpu_cores)),
        memory_bytes: over(|sample| Some(sample.memory_bytes as f64)),
        reads_per_s: over(|sample| Some(sample.io?.reads_per_s)),
        writes_per_s: over(|sample| Some(sample.io?.writes_per_s)),
    }
}

/// Sum over guests of their means in the window; nothing where one of them has none.
fn sum_over(
    guests: &[String],
    resources: &[ResourceSample],
    measured: &Measurement,
    of: fn(&ResourceSample) -> Option<f64>,
) -> Option<f64> {
    guests
        .iter()
        .map(|guest| window::mean(resources, guest, measured, |sample| Some([of(sample)?])))
        .map(|mean| mean.map(|[value]| value))
        .sum()
}

/// Whether the groups of a plan's points have several workloads, whose units of work are not one.
#[must_use]
pub fn has_several_units(plan: &Plan) -> bool {
    let mut units = plan
        .points
        .iter()
        .flat_map(|point| &point.groups)
        .map(|group| group.database.kind().info().unit.rate);
    let first = units.next();
    units.any(|other| Some(other) != first)
}

#[cfg(test)]
mod tests {
    use rookery_store::fixture::{header, host_facts};

    use super::*;
    use crate::fixture::run;

    fn points(groups: &str) -> Vec<(Vec<String>, Vec<String>)> {
        let text = format!(
            "title = \"a site\"\n[workload]\nkind = \"sample\"\n[stack]\nkind = \"bundled\"\n[host]\novercommit = 8\n[guest]\n\
             kind = \"bare\"\n[[layout]]\nname = \"pair\"\n{groups}"
        );
        let mut header = header("site.toml", &text, host_facts());
        header.plan.trials.clear();
        let run = run(header, |_, _, _| unreachable!("there are no trials"));
        let points = take_apart(run).header.plan.points;
        let keys = |point: &Point| point.levels.iter().map(|level| level.key.clone()).collect();
        points
            .iter()
            .map(|point| (point.layouts.clone(), keys(point)))
            .collect()
    }

    #[test]
    fn a_part_has_what_is_of_its_guests_and_of_its_host() {
        let part = |host: Option<&str>| Part {
            whole: 1,
            id: 2,
            place: 0,
            guests: vec!["g2".to_owned()],
            neighbours: vec!["g1".to_owned()],
            host: host.map(ToOwned::to_owned),
        };
        let on_b = part(Some("b"));
        let own = ["g1", "g2", "host@a", "host@b", "driver@b"].map(|subject| on_b.own(subject));
        assert_eq!(own, [None, Some("g2"), None, Some("host"), Some("driver")]);
        let alone = part(None);
        let own = ["g1", "g2", "host", "driver"].map(|subject| alone.own(subject));
        assert_eq!(own, [None, Some("g2"), Some("host"), Some("driver")]);
    }

    #[test]
    fn a_group_that_has_all_users_stands_for_its_layout() {
        let group = |name: &str, more: &str| {
            format!("[[layout.group]]\nname = \"{name}\"\nvcpus = 1\n{more}")
        };
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let one = points(&group("web", "users = 5\nguests = 2\n"));
        assert_eq!(one, [(words(&["pair"]), words(&[]))]);
        let two = group("a", "users = 5\n") + &group("b", "users = 5\n");
        assert_eq!(
            points(&two),
            [
                (words(&["pair / a"]), words(&[GROUP])),
                (words(&["pair / b"]), words(&[GROUP]))
            ]
        );
    }
}
