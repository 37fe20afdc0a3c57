//! What must hold of every plan and of every report of problems.

use std::{collections::BTreeSet, time::Duration};

use rookery_study::{
    Callers, ChosenTimes, CpuTime, Document, GuestGroup, HostFacts, Level, Order, Plan, Point,
    Problems, Purpose, Study, WishPlan,
};

/// A host that carries most random studies.
pub(crate) fn host() -> HostFacts {
    HostFacts {
        cpus: (0..8).collect(),
        memory_mib: 1 << 20,
        disk_free_mib: 1 << 30,
        root: true,
        places: Vec::new(),
    }
}

/// A host of so many CPUs, with the memory and the disk of a small server.
pub(crate) fn host_of(cpus: u32) -> HostFacts {
    HostFacts {
        cpus: (0..cpus).collect(),
        memory_mib: 16_384,
        disk_free_mib: 65_536,
        ..host()
    }
}

/// A study and its plan for a host of so many CPUs, or the problems as they are printed.
pub(crate) fn plan_of(text: &str, cpus: u32) -> Result<(Document, Plan), String> {
    let document = Document::parse("s.toml", text).map_err(|problems| problems.to_string())?;
    let plan = Plan::of(&document, &host_of(cpus)).map_err(|problems| problems.to_string())?;
    Ok((document, plan))
}

/// What must hold of every plan.
pub(crate) fn assert_plan(study: &Study, plan: &Plan) {
    let guest_cpus: BTreeSet<u32> = plan.guest_cpus.iter().copied().collect();
    assert!(plan.driver_cpus.iter().all(|cpu| !guest_cpus.contains(cpu)));
    let mut shapes = BTreeSet::new();
    for (index, point) in plan.points.iter().enumerate() {
        assert_eq!(point.id as usize, index + 1);
        let rate = point.rate_per_s().map(f64::to_bits);
        let shape = (
            point.variant,
            point.guests(),
            point.only_group().vcpus,
            point.only_group().users.clone(),
            rate,
            point.has_groups().then_some(point.tiles),
        );
        assert!(shapes.insert(shape), "two equal points");
        assert_eq!(
            plan.variants[point.variant as usize - 1].levels,
            point.levels
        );
        for group in &point.groups {
            assert_group(study, group, &guest_cpus);
        }
        // A guest with a share may use all of the CPUs that its vCPUs need.
        let wanted = |(part, study): &(Point, &Study)| {
            let vcpus = part.only_group().vcpus;
            let each = match study.guest.cpu {
                CpuTime::Cap { .. } => vcpus.cpus(),
                CpuTime::Share => f64::from(vcpus.whole_cpus()),
            };
            each * f64::from(part.guests())
        };
        let vcpus: f64 = plan.parts(point).iter().map(wanted).sum();
        // Each host of a trial has as many.
        let cpus = guest_cpus.len() * point.hosts().len().max(1);
        let capacity = point.capacity_cpus;
        assert!(
            capacity > 0.0 && capacity <= vcpus + 1e-9 && capacity <= cpus as f64,
            "{capacity} of {vcpus} vCPUs on {cpus} CPUs"
        );
        if point.has_groups() {
            assert_eq!(point.baseline, None);
            continue;
        }
        if let Some(id) = point.baseline {
            let baseline = &plan.points[id as usize - 1];
            assert_eq!(
                (baseline.guests(), baseline.variant, baseline.total_users()),
                (1, point.variant, point.total_users())
            );
            assert!((baseline.load() - point.load()).abs() < 1e-5);
            assert!((baseline.capacity_cpus - point.capacity_cpus).abs() < 0.0005);
        } else {
            assert!(
                point.guests() > 1,
                "a single guest is at least its own baseline"
            );
        }
    }
    assert_trials(study, plan);
}

fn assert_group(study: &Study, group: &GuestGroup, guest_cpus: &BTreeSet<u32>) {
    assert_eq!(
        (group.users.len(), group.pins.len()),
        (group.guests as usize, group.guests as usize)
    );
    let (few, many) = (group.users.iter().min(), group.users.iter().max());
    match (study.load.open(), group.rate_per_s) {
        _ if group.callers != Callers::Users => {
            assert!(many == Some(&0) && group.rate_per_s.is_none());
        }
        (None, None) => assert!(
            few.zip(many)
                .is_some_and(|(few, many)| *few >= 1 && many - few <= 1)
        ),
        (Some(_), Some(rate)) => assert!(rate > 0.0 && many == Some(&0)),
        other => panic!("users and arrivals: {other:?}"),
    }
    for pin in &group.pins {
        assert!(pin.iter().all(|cpu| guest_cpus.contains(cpu)));
        assert!(
            pin.windows(2).all(|pair| pair[0] < pair[1]),
            "ascending without duplicates"
        );
        assert!(pin.len() >= group.vcpus.whole_cpus() as usize);
    }
}

/// Pilots stand at points of their own, and what follows from them is what a study that has the
/// times written down plans at once.
fn assert_pilots(study: &Study, plan: &Plan) {
    let points: BTreeSet<u32> = plan.trials.iter().map(|trial| trial.point).collect();
    assert_eq!(points.len(), plan.trials.len());
    assert!(
        plan.trials
            .iter()
            .all(|trial| trial.purpose == Purpose::Pilot)
    );
    let mut chosen = plan.clone();
    chosen.choose_times(ChosenTimes {
        settle: Duration::from_secs(15),
        steady: Duration::from_secs(45),
        wanted: None,
    });
    let pilots = plan.trials.len();
    assert_eq!(chosen.trials[..pilots], plan.trials[..]);
    chosen.trials.drain(..pilots);
    for trial in &mut chosen.trials {
        trial.block -= u32::try_from(pilots).expect("few");
    }
    assert_trials(study, &chosen);
}

fn assert_trials(study: &Study, plan: &Plan) {
    if plan.wish.as_ref().and_then(WishPlan::pilot).is_some() {
        return assert_pilots(study, plan);
    }
    assert_eq!(
        plan.trials.len(),
        plan.points.len() * study.load.repeats as usize
    );
    for (index, round) in plan.trials.chunks(plan.points.len()).enumerate() {
        assert!(round.iter().all(|trial| trial.repeat as usize == index + 1));
        let points: Vec<u32> = round.iter().map(|trial| trial.point).collect();
        let all: Vec<u32> = plan.points.iter().map(|point| point.id).collect();
        match study.load.order {
            Order::Interleaved => assert_eq!(points, all),
            Order::Random => {
                assert_eq!(points.iter().collect::<BTreeSet<_>>(), all.iter().collect())
            }
        }
    }
    assert_blocks(plan);
}

/// Blocks are numbered in their order, each compares all levels of the factors at one shape, every
/// variant once, and has its own seed.
fn assert_blocks(plan: &Plan) {
    let mut seeds = BTreeSet::new();
    let blocks: Vec<_> = plan.trials.chunk_by(|a, b| a.block == b.block).collect();
    for (index, block) in blocks.iter().enumerate() {
        assert_eq!(block[0].block as usize, index + 1);
        assert!(seeds.insert(block[0].seed), "every block has its own seed");
        assert!(
            block
                .iter()
                .all(|trial| trial.seed == block[0].seed && trial.repeat == block[0].repeat)
        );
        let points: Vec<_> = block
            .iter()
            .map(|trial| &plan.points[trial.point as usize - 1])
            .collect();
        let shape = |index: usize| {
            (
                points[index].guests(),
                points[index].only_group().vcpus,
                points[index].total_users(),
            )
        };
        assert!((0..points.len()).all(|index| shape(index) == shape(0)));
        let variants: BTreeSet<u32> = points.iter().map(|point| point.variant).collect();
        // What layouts say for themselves is the same in a block.
        let said = |levels: &[Level]| -> Vec<Level> {
            let of_factor = |level: &&Level| plan.factors.iter().any(|factor| factor.has(level));
            levels
                .iter()
                .filter(|level| !of_factor(level))
                .cloned()
                .collect()
        };
        let own = said(&points[0].levels);
        assert!(points.iter().all(|point| said(&point.levels) == own));
        let groups_of = |point: &Point| point.has_groups().then(|| point.layouts.clone());
        let alike = plan
            .points
            .iter()
            .filter(|point| said(&point.levels) == own && groups_of(point) == groups_of(points[0]));
        // A layout may say one level of a factor for itself: a variant of its own, beside the same
        // level of the others.
        let tried: BTreeSet<_> = points.iter().map(|point| level_text(point)).collect();
        assert_eq!(tried, alike.map(level_text).collect());
        assert_eq!(variants.len(), points.len(), "every variant once");
    }
}

fn level_text(point: &Point) -> String {
    format!("{:?}", point.levels)
}

/// A report must be of use to its reader.
pub(crate) fn assert_useful(problems: &Problems) {
    assert!(!problems.list().is_empty());
    for problem in problems.list() {
        assert!(
            (1..=problems.lines_of_file()).contains(&problem.line) && problem.column >= 1,
            "{problem:?}"
        );
        assert!(
            !problem.help.is_empty() && !problem.message.is_empty(),
            "{problem:?}"
        );
    }
    assert!(
        problems
            .list()
            .windows(2)
            .all(|pair| pair[0].line <= pair[1].line),
        "sorted"
    );
    let report = problems.to_string();
    assert!(
        report.chars().all(|c| c == '\n' || !c.is_control()),
        "nothing that a terminal obeys"
    );
}
