//! CPUs against memory.

use std::collections::BTreeSet;

use rookery_analysis::{Analysis, Run, label::levels_after, points::PointSummary};
use rookery_cast::truncate_u64;

use super::data::{Datum, Figure, Mark, Panel, Place, Series, one_panel};
use crate::prose::{format, loop_type::loop_type, words};

/// CPUs against memory of single guests: throughput as heat, one panel per load and combination of
/// the other levels. `None` where not both vary by themselves.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let single: Vec<&PointSummary> = analysis
        .points
        .iter()
        .filter(|summary| summary.point.guests == 1 && summary.per_minute.is_some())
        .collect();
    // Users that go with the CPUs are one load.
    let different = |of: fn(&PointSummary) -> f64| {
        single
            .iter()
            .map(|summary| of(summary).to_bits())
            .collect::<BTreeSet<u64>>()
            .len()
    };
    let per_vcpu = different(density) < different(|summary| summary.point.load());
    let mut groups: Vec<(String, Vec<&PointSummary>)> = Vec::new();
    for summary in single {
        let name = group_name(summary, per_vcpu);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(summary),
            None => groups.push((name, vec![summary])),
        }
    }
    let mut panels: Vec<Panel> = groups
        .iter()
        .filter_map(|(name, group)| panel(name, group))
        .collect();
    // One scale of colours, so that panels can be compared.
    let data = panels
        .iter()
        .flat_map(|panel| &panel.rows)
        .flat_map(|row| &row.series)
        .flat_map(|series| &series.data);
    let most = data.map(|datum| datum.y).fold(0.0, f64::max);
    panels.iter_mut().for_each(|panel| panel.top = Some(most));
    (!panels.is_empty()).then(|| Figure {
        id: "matrix".to_owned(),
        title: "CPUs against memory: throughput of one guest".to_owned(),
        caption: format!(
            "{}. Means over the good repeats, in {}; colours have one scale in all panels; \
             empty where there is no good trial.",
            loop_type(run),
            words::rate(run)
        ),
        panels,
        ..Figure::default()
    })
}

/// vCPUs are planned in thousandths.
fn thousandths(summary: &PointSummary) -> u64 {
    truncate_u64((1000.0 * summary.point.vcpus).round())
}

fn density(summary: &PointSummary) -> f64 {
    summary.point.load() / summary.point.vcpus
}

/// The load, and the levels that are neither CPUs nor memory: `16 terminals, hit_target=0.8`.
fn group_name(summary: &PointSummary, per_vcpu: bool) -> String {
    let other = |key: &str| key != "guest.memory";
    let levels: Vec<_> = summary
        .point
        .levels
        .iter()
        .filter(|level| other(&level.key))
        .cloned()
        .collect();
    let what = if summary.point.rate_per_s.is_some() {
        "arrivals/s"
    } else {
        summary.point.clients
    };
    let load = if per_vcpu {
        format!("{} {what} per vCPU", format::trimmed(density(summary)))
    } else {
        format!("{} {what}", format::trimmed(summary.point.load()))
    };
    levels_after(&load, &levels)
}

fn panel(name: &str, group: &[&PointSummary]) -> Option<Panel> {
    let cpus: BTreeSet<u64> = group.iter().map(|summary| thousandths(summary)).collect();
    let memory: BTreeSet<u64> = group
        .iter()
        .map(|summary| summary.point.memory_mib)
        .collect();
    let cells: BTreeSet<(u64, u64)> = group
        .iter()
        .map(|summary| (thousandths(summary), summary.point.memory_mib))
        .collect();
    // Memory that goes with the CPUs is one line, not a plane.
    if cpus.len() < 2 || memory.len() < 2 || cells.len() <= cpus.len().max(memory.len()) {
        return None;
    }
    let line = |mib: &u64| Series {
        name: format!("{mib} MiB"),
        mark: Mark::Heat,
        data: cpus
            .iter()
            .filter_map(|cpus| {
                let of_cell = |summary: &&&PointSummary| {
                    thousandths(summary) == *cpus && summary.point.memory_mib == *mib
                };
                let summary = group.iter().find(of_cell)?;
                let place = Place::Name(format!("{} vCPU", format::trimmed(summary.point.vcpus)));
                let mut datum = Datum::new(place, summary.per_minute.as_ref()?);
                datum.broken = summary.limits.failed > 0;
                Some(datum)
            })
            .collect(),
    };
    let mut panel = one_panel(
        "vCPUs of the guest",
        words::rate_of_all(group.iter().copied()),
        memory.iter().map(line).collect(),
    )
    .pop()?;
    panel.label = name.to_owned();
    Some(panel)
}
