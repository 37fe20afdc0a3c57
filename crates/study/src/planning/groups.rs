//! The points of layouts with groups: guests that differ, in one trial.

use super::{
    cpus::Division,
    pins, placement,
    points::{self, Combination, Offered},
    thousandths,
};
use crate::{
    BackEnd, Callers, CpuSet, DriverPlace, GuestGroup, GuestKind, HostFacts, LabShape, Pinning,
    Point, PointData, StackKind, Study, Variant, Vcpus,
    grammar::{Context, Spans, kinds::cpu_list},
    problem::Code,
    sections::MOST_GUESTS,
    source::quoted,
    values::{Layout, LayoutGroup},
};

/// A group of one point while it is planned.
struct Draft<'a> {
    group: &'a LayoutGroup,
    study: &'a Study,
    spans: &'a Spans,
    combination: Combination<'a>,
    offered: Offered,
}

/// The points of a layout with groups, one for each number of tiles; they have no ids yet. Every
/// problem is told to the context.
pub(super) fn expand(
    variant: &Variant,
    layout: &Layout,
    spans: &[Spans],
    (division, host): (&Division, &HostFacts),
    context: &mut Context,
) -> Vec<Point> {
    let once = [1];
    let tiles = if layout.tiles.is_empty() {
        &once[..]
    } else {
        &layout.tiles
    };
    check_studies(variant, layout, spans, context);
    let mut points: Vec<Point> = Vec::new();
    for tiles in tiles {
        let point = point(variant, layout, *tiles, spans, (division, host), context);
        points.extend(point);
    }
    points
}

fn point(
    variant: &Variant,
    layout: &Layout,
    tiles: u32,
    spans: &[Spans],
    (division, host): (&Division, &HostFacts),
    context: &mut Context,
) -> Option<Point> {
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for ((group, study), spans) in layout.groups.iter().zip(variant.studies()).zip(spans) {
        context.spans = spans.clone();
        drafts.extend(draft(layout, group, study, spans, tiles, division, context));
    }
    if drafts.len() < layout.groups.len() {
        return None;
    }
    check_together(layout, &drafts, division, context);
    let users: Vec<f64> = (0..drafts.len())
        .map(|index| users_each(&drafts, index))
        .collect();
    let mut data: Vec<(u64, PointData)> = Vec::new();
    for (draft, users) in drafts.iter().zip(&users) {
        context.spans = draft.spans.clone();
        let (study, combination) = (draft.study, &draft.combination);
        let memory_mib = points::memory(combination, *users, study, host, context);
        let database =
            memory_mib.and_then(|mib| points::database(combination, *users, mib, study, context));
        data.extend(memory_mib.zip(database));
    }
    if data.len() < drafts.len() {
        return None;
    }
    check_memory(layout, &drafts, &data, host, context);
    let data = with_tiers(&drafts, data);
    let groups = lay(&drafts, &data, (division, host), context);
    let usable = |(group, draft): (&GuestGroup, &Draft<'_>)| -> Vec<(CpuSet, Vcpus)> {
        let usable = points::usable(draft.study, group.vcpus);
        group.pins.iter().map(|pin| (pin.clone(), usable)).collect()
    };
    let capacity_of = |host: Option<&str>| {
        let own = groups.iter().zip(&drafts);
        let own = own.filter(|(group, _)| group.host.as_deref() == host);
        let pinned: Vec<(CpuSet, Vcpus)> = own.flat_map(usable).collect();
        pins::capacity(pinned.iter().map(|(pin, vcpus)| (pin, *vcpus)))
    };
    let capacity_cpus = hosts_of(&drafts).into_iter().map(capacity_of).sum();
    Some(Point {
        id: 0,
        variant: variant.id,
        levels: variant.levels.clone(),
        layouts: vec![layout.name.clone()],
        capacity_cpus,
        groups,
        tiles,
        baseline: None,
        search: None,
    })
}

/// The memory that all guests of each group take in so many tiles, MiB, what they swap to included;
/// 0 where it cannot be computed, which is refused when points are made.
pub(super) fn memory_asked(
    variant: &Variant,
    layout: &Layout,
    tiles: u32,
    spans: &[Spans],
    (division, host): (&Division, &HostFacts),
) -> Vec<u64> {
    let mut context = Context::default();
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for ((group, study), spans) in layout.groups.iter().zip(variant.studies()).zip(spans) {
        let context = &mut context;
        drafts.extend(draft(layout, group, study, spans, tiles, division, context));
    }
    let mut asked = |group: &LayoutGroup| {
        let index = drafts.iter().position(|own| own.group.name == group.name)?;
        let (draft, users) = (&drafts[index], users_each(&drafts, index));
        let mib = points::memory(&draft.combination, users, draft.study, host, &mut context)?;
        Some(all_memory(draft, mib))
    };
    let groups = layout.groups.iter();
    groups.map(|group| asked(group).unwrap_or(0)).collect()
}

/// The memory of all guests of a group of so many MiB each, what they swap to included.
fn all_memory(draft: &Draft<'_>, mib: u64) -> u64 {
    let swapped = draft.study.guest.swap.host_memory_mib(mib);
    mib.saturating_add(swapped)
        .saturating_mul(u64::from(draft.combination.guests))
}

/// The guests of one group in so many tiles, with the load of as many.
fn draft<'a>(
    layout: &'a Layout,
    group: &'a LayoutGroup,
    study: &'a Study,
    spans: &'a Spans,
    tiles: u32,
    division: &Division,
    context: &mut Context,
) -> Option<Draft<'a>> {
    // The study of a group has the group as its only layout.
    let own = study.layouts.first()?;
    let amount = study.amounts_of(own).first()?;
    let path = |key: &str| format!("layout[0].{key}");
    let amount_path = match (study.load.open(), &own.users) {
        (Some(_), _) => "load.rate".to_owned(),
        (None, Some(_)) => path("users"),
        (None, None) => "load.users".to_owned(),
    };
    let mut combination = Combination {
        layout: &layout.name,
        guests: group.guests,
        vcpus: group.vcpus,
        amount,
        max_in_flight: study.load.max_in_flight(),
        // Groups are never loaded alone: the study is refused.
        idle: false,
        guests_path: path("guests"),
        vcpus_path: path("vcpus"),
        amount_path,
    };
    if division.sound {
        points::check_width(&combination, division, context)?;
    }
    let each = if group.tier_of.is_some() {
        Offered {
            users: 0,
            rate_per_s: None,
        }
    } else {
        points::offered(&combination, division, context)?
    };
    combination.guests = group
        .guests
        .checked_mul(tiles)
        .filter(|all| *all <= MOST_GUESTS)
        .or_else(|| {
            let message =
                format!("{tiles} tiles have too many guests, at most {MOST_GUESTS} are allowed");
            context.refuse(
                Code::TooMany,
                context.spans.nearest("layout[0].tiles"),
                message,
                "use fewer tiles",
            )
        })?;
    points::check_table(&combination, study, division, context)?;
    let offered = Offered {
        users: each.users.saturating_mul(tiles),
        rate_per_s: each.rate_per_s.map(|rate| rate * f64::from(tiles)),
    };
    Some(Draft {
        group,
        study,
        spans,
        combination,
        offered,
    })
}

/// The hosts of these groups, in their order; one where all are on whichever.
fn hosts_of<'d>(drafts: &[Draft<'d>]) -> Vec<Option<&'d str>> {
    let mut hosts = Vec::new();
    for draft in drafts {
        let host = draft.group.host.as_deref();
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// What rules call the users of a guest: of a tier, those of its callers in equal parts.
fn users_each(drafts: &[Draft<'_>], index: usize) -> f64 {
    let draft = &drafts[index];
    let front = draft.group.tier_of.as_ref();
    match front.and_then(|front| drafts.iter().find(|other| other.group.name == *front)) {
        Some(front) => {
            let all =
                front.combination.users_each(front.offered) * f64::from(front.combination.guests);
            all / f64::from(draft.combination.guests)
        }
        None => draft.combination.users_each(draft.offered),
    }
}

/// The groups whose guests are called by a tier's front have no database: theirs is the tier's.
fn with_tiers(drafts: &[Draft<'_>], data: Vec<(u64, PointData)>) -> Vec<(u64, PointData)> {
    let of_tier = |name: &str| {
        let tier = |draft: &Draft<'_>| draft.group.tier_of.as_deref() == Some(name);
        drafts.iter().position(tier)
    };
    let own = |(index, draft): (usize, &Draft<'_>)| {
        let (memory, database) = data[index];
        (
            memory,
            of_tier(&draft.group.name).map_or(database, |tier| data[tier].1),
        )
    };
    drafts.iter().enumerate().map(own).collect()
}

/// Lays all groups on the guest CPUs: tables first, then each on the CPUs that are left, where they
/// carry it.
fn lay(
    drafts: &[Draft<'_>],
    data: &[(u64, PointData)],
    (division, host): (&Division, &HostFacts),
    context: &mut Context,
) -> Vec<GuestGroup> {
    let tables = drafts
        .iter()
        .filter_map(|draft| match &draft.study.guest.pin {
            Pinning::Table(rows) => {
                let rows = rows.iter().take(draft.combination.guests as usize);
                Some(rows.map(|row| (draft.group.host.as_deref(), row.clone())))
            }
            Pinning::Policy(_) => None,
        });
    // With the host whose CPUs they are.
    let mut taken: Vec<(Option<&str>, CpuSet)> = tables.flatten().collect();
    let mut groups = Vec::new();
    for (draft, data) in drafts.iter().zip(data) {
        context.spans = draft.spans.clone();
        let Draft {
            group,
            study,
            combination,
            offered,
            ..
        } = draft;
        let host_of_group = group.host.as_deref();
        let there = taken.iter().filter(|(host, _)| *host == host_of_group);
        let there: Vec<CpuSet> = there.map(|(_, pin)| pin.clone()).collect();
        let cpus = pins::left_over(
            &division.guests,
            &there,
            combination.guests,
            combination.vcpus,
            study.host.overcommit,
        );
        let mut laid = points::group(study, combination, *offered, *data, (&cpus, host), context);
        if matches!(study.guest.pin, Pinning::Policy(crate::Pin::None)) {
            // It moves over all CPUs, and takes none from others.
            laid.pins = vec![division.guests.clone(); combination.guests as usize];
            laid.nodes = placement::nodes(false, &laid.pins, &host.places);
        } else {
            taken.extend(laid.pins.iter().map(|pin| (host_of_group, pin.clone())));
        }
        laid.name = group.name.clone();
        laid.host = group.host.clone();
        if let Some(front) = &group.tier_of {
            laid.callers = Callers::Group(front.clone());
        }
        groups.push(laid);
    }
    groups
}

/// What holds for all groups of a point together, on each host.
fn check_together(
    layout: &Layout,
    drafts: &[Draft<'_>],
    division: &Division,
    context: &mut Context,
) {
    for host in hosts_of(drafts) {
        let own = drafts.iter();
        let own: Vec<&Draft<'_>> = own
            .filter(|draft| draft.group.host.as_deref() == host)
            .collect();
        if division.sound {
            check_cpus(&own, layout, division, context);
        }
        check_tables(&own, context);
    }
}

/// The CPUs of a host must carry all groups there.
fn check_cpus(drafts: &[&Draft<'_>], layout: &Layout, division: &Division, context: &mut Context) {
    let Some(first) = drafts.first() else { return };
    context.spans = first.spans.clone();
    let all: u64 = drafts
        .iter()
        .map(|draft| thousandths(draft.combination.guests, draft.combination.vcpus))
        .sum();
    let words: Vec<String> = drafts
        .iter()
        .map(|draft| draft.combination.describe())
        .collect();
    let words = words.join(" and ");
    let words = match &first.group.host {
        Some(host) => format!("{words} on host {}", quoted(host)),
        None => words,
    };
    let asked = points::AskedCpus {
        guests: &words,
        thousandths: all,
        more_room: more_hosts(layout),
    };
    points::check_total(&asked, "layout[0].name", first.study, division, context);
}

/// What else gives groups more room.
fn more_hosts(layout: &Layout) -> &'static str {
    match layout.hosts.is_empty() {
        true => "",
        false => "name more `hosts` in the layout, ",
    }
}

/// Tables of pins of one host must not share CPUs.
fn check_tables(drafts: &[&Draft<'_>], context: &mut Context) {
    for (index, draft) in drafts.iter().enumerate() {
        let Pinning::Table(rows) = &draft.study.guest.pin else {
            continue;
        };
        for other in &drafts[..index] {
            let Pinning::Table(others) = &other.study.guest.pin else {
                continue;
            };
            let others = others.iter().take(other.combination.guests as usize);
            let others: Vec<&u32> = others.flatten().collect();
            let rows = rows.iter().take(draft.combination.guests as usize);
            let shared: CpuSet = rows
                .flatten()
                .filter(|cpu| others.contains(cpu))
                .copied()
                .collect();
            if !shared.is_empty() {
                let message = format!(
                    "the groups {} and {} are both pinned to CPU {}",
                    quoted(&other.group.name),
                    quoted(&draft.group.name),
                    cpu_list(&shared)
                );
                let help = "give each group CPUs of its own in its table of pins";
                let span = draft.spans.nearest("guest.pin");
                context.refuse::<()>(Code::SharedCpu, span, message, help);
            }
        }
    }
}

/// The memory of all groups of a host together must be there.
fn check_memory(
    layout: &Layout,
    drafts: &[Draft<'_>],
    data: &[(u64, PointData)],
    host: &HostFacts,
    context: &mut Context,
) {
    let Some(first) = drafts.first() else { return };
    let of_host = |name: Option<&str>| -> u64 {
        let own = drafts.iter().zip(data);
        let own = own.filter(|(draft, _)| draft.group.host.as_deref() == name);
        own.map(|(draft, (mib, _))| all_memory(draft, *mib)).sum()
    };
    let hosts = hosts_of(drafts).into_iter();
    let all = hosts.map(|name| (of_host(name), name));
    let Some((all, fullest)) = all.max_by_key(|(all, _)| *all) else {
        return;
    };
    let reserve = first.study.host.reserve_mib;
    if all.saturating_add(reserve) > host.memory_mib {
        let (there, has) = match fullest {
            Some(name) => (format!("on host {} ", quoted(name)), "it has"),
            None => (String::new(), "this host has"),
        };
        let message = format!(
            "all groups {there}and the reserve of {reserve} MiB need {} MiB of memory, {has} {} \
             MiB",
            all.saturating_add(reserve),
            host.memory_mib
        );
        let more = more_hosts(layout);
        let help = format!(
            "{more}use fewer guests or tiles, less `memory`, or a smaller `reserve` in [host]"
        );
        let span = first.spans.nearest("layout[0].name");
        context.refuse::<()>(Code::Memory, span, message, help);
    }
}

/// Whether guests of a study can call those of another group.
fn has_tiers(study: &Study) -> bool {
    match study.stack.kind() {
        StackKind::Lamp => true,
        StackKind::Bundled => study.workload.keys().has_bundled_tiers(),
        _ => false,
    }
}

/// A network between guests and a tier needs a tier.
pub(super) fn check_back_end(
    variant: &Variant,
    spans: &[Spans],
    layout: Option<&Layout>,
    context: &mut Context,
) {
    let has_tier = |layout: &Layout| layout.groups.iter().any(|group| group.tier_of.is_some());
    if layout.is_some_and(has_tier) {
        return;
    }
    let asks = |study: &Study| match &study.guest.lab {
        LabShape::Container(link) => link.back_end == BackEnd::Separate,
        LabShape::Vm(shape) => shape.nic.back_end == BackEnd::Separate,
        LabShape::Bare | LabShape::Fake | LabShape::External => false,
    };
    if let Some((_, spans)) = variant.studies().zip(spans).find(|(study, _)| asks(study)) {
        let message = "`network.back_end` is \"separate\", and no group of the layout is a tier that \
                       others call";
        let help = "add a group with `tier_of`, or write the key in the layouts that have one";
        let span = spans.nearest("network.back_end");
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}

/// What the studies of groups cannot be together.
fn check_studies(variant: &Variant, layout: &Layout, spans: &[Spans], context: &mut Context) {
    let studies: Vec<&Study> = variant.studies().collect();
    let containers = studies
        .iter()
        .filter(|study| study.guest.kind() == GuestKind::Container);
    let mut devices = containers.filter_map(|study| Some(study.guest.swap.of_guest(0)?.0));
    let device = devices.next();
    if devices.any(|other| Some(other) != device) {
        let message = "groups that run together swap to devices of different kinds, and the kernel \
                       asks no group to which of them its pages shall go";
        let help = "write the same device for all groups, or a layout for each";
        let span = spans.iter().map(|spans| spans.nearest("guest.swap")).next();
        context.refuse::<()>(Code::Contradiction, span.unwrap_or_default(), message, help);
    }
    for ((group, study), spans) in layout.groups.iter().zip(&studies).zip(spans) {
        if study.stack.kind() == StackKind::External {
            let message = "a group cannot be a system that runs already";
            let help = "give such a system a layout, or a study, of its own";
            let span = spans.nearest("stack.kind");
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
        if study.stack.kind() == StackKind::Simulated {
            let message = "what is computed has no groups: nothing runs beside anything";
            let help = "write one layout for each group";
            let span = spans.nearest("layout[0].name");
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
        if study.workload.keys().calibrations() > 0 {
            let message = format!(
                "the group {} asks for a hit ratio, which is found by trials of its own",
                quoted(&group.name)
            );
            let help = "remove `hit_target`, or find the pool in a study of the group alone";
            let span = spans.nearest("workload.hit_target");
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
        if let Some(host) = &group.host
            && study.host.driver != DriverPlace::Elsewhere
        {
            let message = format!(
                "the host of the group {} is {}, and the driver is where guests are",
                quoted(&group.name),
                quoted(host)
            );
            let help = "write `driver = \"elsewhere\"` in [host]: this machine drives the users";
            let span = spans.nearest("host.driver");
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
        let Some(name) = &group.tier_of else { continue };
        let front = layout
            .groups
            .iter()
            .zip(&studies)
            .find(|(other, _)| other.name == *name);
        let Some((_, front)) = front else { continue };
        let (what, key) = if !has_tiers(study) || study.stack.kind() != front.stack.kind() {
            (
                "only the stack \"lamp\" can be divided into tiers, and some of what comes with \
                     its workload",
                "stack.kind",
            )
        } else if study.guest.lab != front.guest.lab {
            (
                "a tier has guests of the same kind as its callers",
                "guest.kind",
            )
        } else if study.workload.kind() != front.workload.kind() {
            ("a tier serves the workload of its callers", "workload.kind")
        } else {
            continue;
        };
        let message = format!(
            "the group {} cannot be a tier of {}: {what}",
            quoted(&group.name),
            quoted(name)
        );
        let help = format!("write the same `{key}` for both groups");
        context.refuse::<()>(Code::Contradiction, spans.nearest(key), message, help);
    }
}
