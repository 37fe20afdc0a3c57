//! Equal capacity in different splits: one big guest, two halves, four quarters. Pure.

use crate::{
    Analysis, PointSummary, Run,
    figures::{
        Datum, ENDS, Figure, Mark, Panel, Place, Series, broken_words, levels_after, one_panel,
    },
    format,
};

/// Capacities that differ by less are equal, CPUs.
const EQUAL: f64 = 1e-6;

/// Points of equal vCPUs and users in all.
struct Group<'a> {
    /// vCPUs of all guests, thousandths.
    vcpus: u64,
    /// Users, or arrivals per second, of all guests together.
    load: f64,
    load_words: String,
    points: Vec<&'a PointSummary>,
}

impl Group<'_> {
    /// Its splits: guests and thousandths of vCPU of each.
    fn splits(&self) -> Vec<(u32, u32)> {
        let mut splits: Vec<(u32, u32)> = self
            .points
            .iter()
            .map(|summary| (summary.point.guests, summary.point.vcpus.0))
            .collect();
        splits.sort_unstable();
        splits.dedup();
        splits
    }
}

/// Bars of every variant at every split, one panel for each capacity; `None` in a study without factors, where the figure of all
/// layouts says the same, and where no capacity is split in two ways.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    if run.header.plan.factors.is_empty() {
        return None;
    }
    let groups = groups(analysis);
    let panels: Vec<Panel> = groups
        .iter()
        .rev()
        .filter_map(|group| panel(run, group))
        .collect();
    let series = panels
        .iter()
        .flat_map(|panel| &panel.rows)
        .flat_map(|row| row.series.clone());
    let what = if run.header.study.load.open.is_some() {
        "arrivals"
    } else {
        crate::words::people(run)
    };
    let broken = broken_words(&series.collect::<Vec<_>>());
    (!panels.is_empty()).then(|| Figure {
        id: "capacity",
        title: "Same capacity, different splits".to_owned(),
        caption: format!(
            "{}. Throughput of all guests together, for layouts of equal vCPUs and {what} in all. The percentage is the share of one big \
             guest of the same variant. {ENDS}{broken}",
            crate::loop_type::loop_type(run)
        ),
        panels,
        ..Figure::default()
    })
}

/// Groups of at least two splits, the smallest capacity first.
fn groups(analysis: &Analysis) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for summary in &analysis.points {
        let point = &summary.point;
        let (vcpus, load_words) = (
            u64::from(point.guests) * u64::from(point.vcpus.0),
            point.load_words(),
        );
        match groups
            .iter_mut()
            .find(|group| (group.vcpus, &group.load_words) == (vcpus, &load_words))
        {
            Some(group) => group.points.push(summary),
            None => groups.push(Group {
                vcpus,
                load: point.load(),
                load_words,
                points: vec![summary],
            }),
        }
    }
    groups.retain(|group| group.splits().len() > 1);
    groups.sort_by(|a, b| a.vcpus.cmp(&b.vcpus).then(a.load.total_cmp(&b.load)));
    groups
}

fn panel(run: &Run, group: &Group<'_>) -> Option<Panel> {
    let splits = group.splits();
    let mut series: Vec<Series> = Vec::new();
    for variant in &run.header.plan.variants {
        let own = |guests: u32, vcpus: u32| {
            let mut points = group
                .points
                .iter()
                .filter(|summary| summary.point.variant == variant.id);
            points.find(|summary| (summary.point.guests, summary.point.vcpus.0) == (guests, vcpus))
        };
        let data: Vec<Datum> = splits
            .iter()
            .filter_map(|(guests, vcpus)| datum(own(*guests, *vcpus)?))
            .collect();
        if !data.is_empty() {
            series.push(Series {
                name: levels_after("", &variant.levels)
                    .trim_start_matches(", ")
                    .to_owned(),
                mark: Mark::Bars,
                data,
            });
        }
    }
    let mut panel = one_panel("guests x vCPUs of each", "orders/min", series).pop()?;
    panel.label = format!(
        "{} vCPU, {} in all",
        format::trimmed(group.vcpus as f64 / 1000.0),
        group.load_words
    );
    (!panel.rows[0].series.is_empty()).then_some(panel)
}

fn datum(summary: &PointSummary) -> Option<Datum> {
    let point = &summary.point;
    let mut datum = Datum::of(
        Place::Name(format!("{} x {}", point.guests, point.vcpus)),
        summary.orders_per_minute.as_ref()?,
    );
    datum.broken = summary.qos.failed > 0;
    // A layout of equal vCPUs may be pinned to fewer CPUs: then its capacity is another, and so is its share.
    let comparable =
        (point.capacity_cpus - f64::from(point.guests) * point.vcpus.cpus()).abs() < EQUAL;
    datum.note = match point.baseline {
        Some(baseline) if baseline == point.id => Some("one big".to_owned()),
        _ => summary
            .efficiency
            .filter(|_| comparable)
            .map(|ratio| format::percent(ratio.value)),
    };
    Some(datum)
}
