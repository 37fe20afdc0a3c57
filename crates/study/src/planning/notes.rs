//! What the reader of a plan should know.

use super::{cpus::Division, points::rounded_users, thousandths};
use crate::{
    Design, Document, GuestKind, Measure, Point, RepeatGoal, Variant,
    grammar::kinds::cpu_list,
    workloads::{PlannedData, size_notes},
};

/// Roundings, choices made, limits that are not enforced, comparisons that cannot be made.
pub(super) fn notes(
    document: &Document,
    points: &[Point],
    division: &Division,
    root: bool,
) -> Vec<String> {
    let (study, variants) = (document.study(), document.variants());
    let mut notes = Vec::new();
    if division.chosen {
        let guests = cpu_list(&division.guests);
        notes.push(if division.driver.is_empty() {
            format!("CPUs were chosen: guests {guests}; the driver is elsewhere")
        } else {
            let driver = cpu_list(&division.driver);
            format!("CPUs were chosen: driver {driver}, guests {guests}")
        });
    }
    if variants
        .iter()
        .flat_map(Variant::studies)
        .any(|study| study.guest.kind() == GuestKind::Bare)
    {
        notes.push(
            if root {
                "bare guests are held to whole CPUs and to their memory by control groups, and to \
                 no number of pids"
            } else {
                "bare guests are not held to their limits of memory and pids"
            }
            .to_owned(),
        );
    }
    if study.guest.kind() == GuestKind::External {
        notes.push(
            "the system runs already: it is neither pinned nor limited, and is taken to have the \
             CPUs that the driver leaves"
                .to_owned(),
        );
    }
    // In a screening design every variant repeats half of each comparison.
    if study.load.repeats < 3 && document.design() == Design::Full {
        let plural = if study.load.repeats == 1 {
            "repeat gives no interval"
        } else {
            "repeats give wide intervals"
        };
        notes.push(format!(
            "{} {plural}; three or more are better",
            study.load.repeats
        ));
    }
    if document.aliases().partly {
        notes.push(
            "effects of two factors together are mixed in part with those of others, the effects \
             of single factors are not"
                .to_owned(),
        );
    }
    notes.extend(placed(document));
    notes.extend(rounded(variants, points, division));
    notes.extend(crowded(points));
    if study.measure == Measure::LoadTime {
        notes.push(
            "databases are loaded and nothing else: there are no users, and limits judge nothing"
                .to_owned(),
        );
    } else {
        notes.extend(named_baselines(document));
        notes.extend(without_baseline(document, points));
    }
    match study.load.goal {
        Some(RepeatGoal::HalfWidth(_)) => notes.push(
            "the time is that of the first repeats; more come where intervals are wide".to_owned(),
        ),
        Some(RepeatGoal::Wish(_)) => notes.push(
            "the time is a guess until pilots have chosen times and the first trials have shown \
             how far they lie apart"
                .to_owned(),
        ),
        None => {}
    }
    notes
}

/// Where the plan laid groups, one note for each layout that left it the choice.
fn placed(document: &Document) -> Vec<String> {
    let layouts = document.study().layouts.iter();
    let left_to_us = layouts.filter(|layout| !layout.hosts.is_empty());
    left_to_us
        .map(|layout| {
            let hosts = layout.groups.chunk_by(|one, other| one.host == other.host);
            let words: Vec<String> = hosts
                .map(|groups| {
                    let host = groups.first().and_then(|group| group.host.as_deref());
                    let names: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
                    format!("{} on {}", names.join(" and "), host.unwrap_or("any host"))
                })
                .collect();
            format!(
                "groups of {} were placed: {}",
                layout.name,
                words.join("; ")
            )
        })
        .collect()
}

/// Amounts that became other amounts, one note for each key.
fn rounded(variants: &[Variant], points: &[Point], division: &Division) -> Vec<String> {
    // Groups are shown one by one, with what they have.
    let alike: Vec<Point> = points
        .iter()
        .filter(|point| !point.has_groups())
        .cloned()
        .collect();
    let points = &alike[..];
    let mut notes = size_notes(&planned_data(variants, points));
    notes.extend(
        variants
            .iter()
            .filter(|variant| variant.further.is_empty())
            .find_map(|variant| rounded_users(&variant.study, &division.guests)),
    );
    if let Some(point) = points.iter().find(|point| {
        let users = &point.only_group().users;
        users.first() != users.last()
    }) {
        notes.push(format!(
            "users do not divide evenly: the first guests have one more ({} users on {} guests, \
             point {})",
            point.total_users(),
            point.guests(),
            point.id
        ));
    }
    notes
}

/// What each point has in its databases.
fn planned_data<'p>(variants: &'p [Variant], points: &[Point]) -> Vec<PlannedData<'p>> {
    points
        .iter()
        .filter_map(|point| {
            let variant = variants
                .iter()
                .find(|variant| variant.id == point.variant)?;
            Some(PlannedData {
                point: point.id,
                workload: &variant.study.workload,
                guest: point.variables(&variant.study),
                data: point.only_group().database,
            })
        })
        .collect()
}

/// Points whose vCPUs cannot all be used, because too many of them lie on one CPU.
fn crowded(points: &[Point]) -> Option<String> {
    let asked = |point: &Point| {
        let all: u64 = point
            .groups
            .iter()
            .map(|group| thousandths(group.guests, group.vcpus))
            .sum();
        all as f64 / 1000.0
    };
    let ids: Vec<String> = points
        .iter()
        .filter(|point| asked(point) > point.capacity_cpus + 1e-9)
        .map(|point| point.id.to_string())
        .collect();
    (!ids.is_empty()).then(|| {
        format!(
            "guests share CPUs and can use fewer than their vCPUs together: {}",
            listed(&ids)
        )
    })
}

/// Which layouts are compared with which, one note for each baseline.
fn named_baselines(document: &Document) -> Vec<String> {
    let layouts = &document.study().layouts;
    let mut baselines: Vec<&String> = layouts
        .iter()
        .filter_map(|layout| layout.baseline.as_ref())
        .collect();
    baselines.dedup();
    let note = |baseline: &String| {
        let own = layouts
            .iter()
            .filter(|layout| layout.baseline.as_ref() == Some(baseline));
        let own: Vec<&str> = own.map(|layout| &*layout.name).collect();
        let verb = if own.len() == 1 { "is" } else { "are" };
        format!("{} {verb} compared with {baseline}", own.join(", "))
    };
    let mut notes: Vec<String> = baselines.into_iter().map(note).collect();
    notes.dedup();
    notes
}

fn without_baseline(document: &Document, points: &[Point]) -> Option<String> {
    let layouts = &document.study().layouts;
    // Those that name a baseline, or are named as one.
    let compared = |name: &String| {
        layouts.iter().any(|layout| match &layout.baseline {
            Some(baseline) => layout.name == *name || baseline == name,
            None => false,
        })
    };
    let ids: Vec<String> = points
        .iter()
        .filter(|point| {
            point.baseline.is_none() && !point.has_groups() && !point.layouts.iter().any(compared)
        })
        .map(|point| point.id.to_string())
        .collect();
    let what = if points.iter().any(|point| point.rate_per_s().is_some()) {
        "arrivals"
    } else {
        "users"
    };
    (!ids.is_empty()).then(|| {
        format!(
            "no single guest of equal CPUs and {what} is in the study, so there is no \
             consolidation efficiency: {}",
            listed(&ids)
        )
    })
}

fn listed(ids: &[String]) -> String {
    let noun = if ids.len() == 1 { "point" } else { "points" };
    let shown = ids.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
    let more = if ids.len() > 12 {
        format!(" and {} more", ids.len() - 12)
    } else {
        String::new()
    };
    format!("{noun} {shown}{more}")
}

#[cfg(test)]
mod tests {
    use crate::{Document, HostFacts, Plan};

    /// Notes of a study of two layouts that round everything.
    #[test]
    fn every_rounding_is_noted() {
        let text = r#"
            title = "t"
            workload = { kind = "dvdstore", database = "5MB per vcpu" }
            load = { users = "9 per vcpu", repeats = 1 }
            guest = { kind = "container", memory = "256MiB" }
            host = { guest_cpus = "0-1", driver_cpus = 2 }
            layout = [{ name = "a", guests = 3, vcpus = 0.6 }, { name = "b", guests = [1, 2], vcpus = 0.25 }]
        "#;
        let host = HostFacts {
            cpus: vec![0, 1, 2],
            memory_mib: 4096,
            disk_free_mib: 4096,
            root: true,
            places: Vec::new(),
        };
        let document =
            Document::parse("s.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = Plan::of(&document, &host).unwrap_or_else(|problems| panic!("{problems}"));
        insta::assert_snapshot!(plan.notes.join("\n"), @r"
        1 repeat gives no interval; three or more are better
        databases are rounded up to sizes that exist: 1.25MB become 2MB (point 2)
        users are rounded to whole ones: 16.2 become 16 (3 guests of 0.6 vCPU)
        users do not divide evenly: the first guests have one more (16 users on 3 guests, point 1)
        guests share CPUs and can use fewer than their vCPUs together: point 1
        no single guest of equal CPUs and users is in the study, so there is no consolidation efficiency: points 1, 3
        ");
    }
}
