//! From a study and a host to a plan: [`Plan::of`].

mod added;
mod cpus;
mod disks;
mod estimate;
mod groups;
mod growth;
mod guest_files;
mod hosts;
mod machines;
mod notes;
mod pins;
mod placement;
mod points;
mod searches;
mod simulated;
mod storage;
mod trials;
mod wish;

pub use growth::CannotPlan;

use std::collections::{BTreeMap, BTreeSet};

use rookery_cast::count_u32;

use crate::{
    Document, Factor, GuestKind, HostFacts, Layout, Level, PacketCpus, Plan, Point, Problems,
    StorageRole, Study, Variant, Vcpus,
    grammar::Context,
    plan::MIB,
    problem::{Code, Finding},
};

impl Plan {
    /// Expands a study on a host into points, pins and trials. The same document and host give the
    /// same plan.
    ///
    /// # Errors
    ///
    /// Every contradiction between study and host at once, at the line of the guilty key: CPUs that
    /// do not exist, driver and guests on one CPU, more vCPUs, memory or disk than there is, guests
    /// that need root, fewer users than guests.
    pub fn of(document: &Document, host: &HostFacts) -> Result<Self, Problems> {
        match Self::anyway(document, host) {
            (plan, None) => Ok(plan),
            (_, Some(problems)) => Err(problems),
        }
    }

    /// The plan as [`Plan::of`] makes it, and the contradictions that forbid to run it. Where there
    /// are any, the plan only shows what was asked for: its pins, capacities and baselines are
    /// those of this host, and combinations without users, memory or database are missing.
    #[must_use]
    pub fn anyway(document: &Document, host: &HostFacts) -> (Self, Option<Problems>) {
        let mut context = Context {
            spans: document.spans(0).clone(),
            ..Context::default()
        };
        let simulated = simulated::host(document, &mut context);
        let host = simulated.as_ref().unwrap_or(host);
        let division = cpus::divide(&document.study().host, host, &mut context)
            .unwrap_or_else(|| cpus::unsound(host));
        let document = &*hosts::place(document, &division, host);
        let (mut expanded, mut searches, mut largest) = (Vec::new(), Vec::new(), Vec::new());
        for (index, variant) in document.variants().iter().enumerate() {
            let spans = document.group_spans(index);
            for (study, spans) in variant.studies().zip(spans) {
                context.spans = spans.clone();
                check_root(study, host, &mut context);
                check_packet_cpus(study, host, &mut context);
            }
            context.spans = document.spans(index).clone();
            let layout = layout_with_groups(variant, document);
            groups::check_back_end(variant, spans, layout, &mut context);
            let points = match layout {
                Some(layout) => {
                    let around = (&division, host);
                    groups::expand(variant, layout, spans, around, &mut context)
                }
                None => points::expand(variant, &division, host, &mut context),
            };
            for (group, (study, spans)) in variant.studies().zip(spans).enumerate() {
                context.spans = spans.clone();
                let own = points
                    .iter()
                    .filter_map(|point| Some(point.of_group(point.groups.get(group)?)));
                machines::check(study, &own.collect::<Vec<_>>(), &mut context);
            }
            expanded.push(points);
            let (planned, ends): (Vec<_>, Vec<_>) =
                searches::expand(variant, &division, host, &mut context)
                    .into_iter()
                    .unzip();
            searches.push(planned);
            largest.extend(ends.into_iter().flatten());
        }
        let combinations = combine(expanded, document);
        let points: Vec<Point> = combinations.iter().flatten().cloned().collect();
        let searches = searches::combine(searches, &points);
        let mut estimate = estimate::estimate(document.variants(), &points, &searches, &largest);
        let mut findings = context.findings;
        // A layout that does not fit explains more than the disk that it would need.
        if findings.is_empty() {
            findings.extend(disk_finding(document, host, estimate.disk_mib));
            let every = points.iter().chain(&largest);
            findings.extend(devices_finding(
                document,
                &estimate::shared_devices(document.variants(), every),
            ));
        }
        let planned = wish::plan(document, &combinations).unwrap_or_else(|finding| {
            findings.push(finding);
            None
        });
        let (wish, trials) = match planned {
            Some(planned) => {
                if simulated.is_none() {
                    let around = estimate.duration.saturating_sub(planned.written_take);
                    estimate.duration = around + planned.first_take;
                }
                (Some(planned.wish), planned.trials)
            }
            None => {
                let trials = trials::order(document.study(), &wish::ids(&combinations));
                (None, trials)
            }
        };
        let plan = Self {
            aliases: alias_names(document),
            factors: document.factors().to_vec(),
            design: document.design(),
            variants: document.variants().to_vec(),
            trials,
            notes: notes::notes(document, &points, &division, host.root),
            points,
            searches,
            wish,
            driver_cpus: division.driver,
            guest_cpus: division.guests,
            estimate,
        };
        (
            plan,
            (!findings.is_empty()).then(|| refusal(document, findings)),
        )
    }
}

/// The layout with groups that a variant belongs to; nothing where its guests are all alike.
fn layout_with_groups<'d>(variant: &Variant, document: &'d Document) -> Option<&'d Layout> {
    let name = &variant.study.layouts.first()?.name;
    let layouts = &document.study().layouts;
    let layout = layouts.iter().find(|layout| layout.name == *name)?;
    (!layout.groups.is_empty()).then_some(layout)
}

/// The aliases in the words of the study.
fn alias_names(document: &Document) -> Vec<Vec<String>> {
    let name = |factor: usize| {
        document
            .factors()
            .get(factor)
            .map_or("", |factor| factor.short_key())
    };
    let effect = |(one, other): &(usize, Option<usize>)| match other {
        Some(other) => format!("{} x {}", name(*one), name(*other)),
        None => name(*one).to_owned(),
    };
    let sets = document.aliases().sets;
    sets.iter()
        .map(|set| set.iter().map(effect).collect())
        .collect()
}

/// What points of different variants must share to be compared: guests, vCPUs, users, arrivals (as
/// bits), what their layouts say of the sections, and where they have groups, their layout.
type Shape<'p> = (u32, Vcpus, u32, Option<u64>, Vec<&'p Level>, &'p [String]);

fn shape<'p>(point: &'p Point, factors: &[Factor]) -> Shape<'p> {
    let of_layout = |level: &&Level| !factors.iter().any(|factor| factor.has(level));
    (
        point.guests(),
        point.only_group().vcpus,
        point.total_users(),
        point.rate_per_s().map(f64::to_bits),
        point.levels.iter().filter(of_layout).collect(),
        if point.has_groups() {
            &point.layouts
        } else {
            &[]
        },
    )
}

/// Brings the points of all variants together by their shape, in the order of the file, and gives
/// them ids and baselines.
fn combine(expanded: Vec<Vec<Point>>, document: &Document) -> Vec<Vec<Point>> {
    let points: Vec<Point> = expanded.into_iter().flatten().collect();
    let mut combinations: Vec<Vec<Point>> = Vec::new();
    let mut places: BTreeMap<Shape<'_>, usize> = BTreeMap::new();
    for point in &points {
        let shape = shape(point, document.factors());
        let place = *places.entry(shape).or_insert(combinations.len());
        match combinations.get_mut(place) {
            Some(combination) => combination.push(point.clone()),
            None => combinations.push(vec![point.clone()]),
        }
    }
    // Layouts that say more than others were read after them.
    let layouts = &document.study().layouts;
    combinations.sort_by_key(|points| {
        let first = points.first().and_then(|point| point.layouts.first());
        layouts
            .iter()
            .position(|layout| Some(&layout.name) == first)
    });
    for (index, point) in combinations.iter_mut().flatten().enumerate() {
        point.id = count_u32(index) + 1;
    }
    set_baselines(&mut combinations);
    combinations
}

/// Many combinations stumble over one value: the first of a kind at a place speaks for all.
fn refusal(document: &Document, mut findings: Vec<Finding>) -> Problems {
    let mut told = BTreeSet::new();
    findings.retain(|finding| told.insert((finding.code, finding.span.start)));
    Problems::new(document.source(), findings)
}

fn check_root(study: &Study, host: &HostFacts, context: &mut Context) {
    let who = match study.guest.kind() {
        GuestKind::Container => Some("containers"),
        GuestKind::Vm => Some("machines"),
        GuestKind::Bare | GuestKind::Fake | GuestKind::External => None,
    };
    if let Some(who) = who.filter(|_| !host.root) {
        let span = context.spans.nearest("guest.kind");
        let help = "run as root, or write `kind = \"bare\"` in [guest]";
        let message = format!("{who} need root, and this is not root");
        context.refuse::<()>(Code::NeedsRoot, span, message, help);
    }
    let role = study.storage.roles.keys().next();
    if (study.storage.volume.is_some() || role.is_some()) && !host.root {
        let key = match (&study.storage.volume, role) {
            (None, Some(role)) => role.name(),
            _ => "pool",
        };
        let span = context.spans.nearest(&format!("storage.{key}"));
        let help = "run as root, or write `pool = \"directory\"` in [storage]";
        context.refuse::<()>(
            Code::NeedsRoot,
            span,
            "volumes need root, and this is not root",
            help,
        );
    }
}

/// The CPUs on which packets are to be handled must be there.
fn check_packet_cpus(study: &Study, host: &HostFacts, context: &mut Context) {
    if let Some(PacketCpus::These(asked)) = &study.guest.packet_cpus {
        cpus::exist(Some(asked), "network.irq", host, context);
    }
}

fn disk_finding(document: &Document, host: &HostFacts, disk_mib: u64) -> Option<Finding> {
    let message = format!(
        "templates and guests need about {disk_mib} MiB of disk, {} MiB are free",
        host.disk_free_mib
    );
    (disk_mib > host.disk_free_mib).then(|| Finding {
        code: Code::Disk,
        span: document
            .spans(0)
            .nearest(document.study().workload.keys().size_key()),
        message,
        help: "make the database smaller, use fewer guests, or free disk space".to_owned(),
    })
}

/// A block device carries one volume of a trial.
fn devices_finding(document: &Document, shared: &BTreeSet<String>) -> Option<Finding> {
    if shared.is_empty() {
        return None;
    }
    let names: Vec<&str> = shared.iter().map(String::as_str).collect();
    let spans = document.spans(0);
    let of_roles = StorageRole::BESIDE_DATA.map(|role| format!("storage.{}", role.name()));
    let sections = ["storage".to_owned()].into_iter().chain(of_roles);
    let mut keys = sections.map(|section| format!("{section}.block_devices"));
    let key = keys.find(|key| spans.has(key)).unwrap_or_default();
    Some(Finding {
        code: Code::Disk,
        span: spans.nearest(&key),
        message: format!(
            "a trial would have several volumes on each of {}, and a volume takes a whole block \
             device",
            names.join(", ")
        ),
        help: "name as many `block_devices` as there are volumes in the largest trial, each once, \
               or write `per = \"host\"`"
            .to_owned(),
    })
}

/// The baseline of a point is the one guest of its variant that could use the same CPUs and serves
/// the same users.
fn set_baselines(combinations: &mut [Vec<Point>]) {
    let singles: Vec<Point> = combinations
        .iter()
        .flatten()
        .filter(|point| point.guests() == 1 && !point.has_groups())
        .cloned()
        .collect();
    let alike = combinations
        .iter_mut()
        .flatten()
        .filter(|point| !point.has_groups());
    for point in alike {
        point.baseline = baseline(point, &singles);
    }
}

/// The baseline of a point among single guests.
fn baseline(point: &Point, singles: &[Point]) -> Option<u32> {
    let equal = |single: &&Point| {
        // Capacities are sums of thousandths; half of one apart is equal.
        (single.capacity_cpus - point.capacity_cpus).abs() < 0.0005
            && single.variant == point.variant
            && single.total_users() == point.total_users()
            // Shares of guests and vCPUs may have been rounded differently.
            && (single.load() - point.load()).abs() <= 1e-9 * point.load()
    };
    singles.iter().find(equal).map(|single| single.id)
}

/// vCPUs of `guests` guests, in thousandths.
fn thousandths(guests: u32, vcpus: Vcpus) -> u64 {
    u64::from(guests) * u64::from(vcpus.0)
}
