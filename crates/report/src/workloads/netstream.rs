//! What only the netstream workload has: throughput of each link with the CPU time that it cost.

use rookery_analysis::{Analysis, label::levels_after, points::PointSummary, ranking::ranking};
use rookery_stats::{Ratio, Summary};
use rookery_study::Level;

use super::Brief;
use crate::{
    figures::data::{Datum, Figure, Mark, Panel, Row, Series},
    prose::{MOST_SENTENCES, format},
};

/// From this mean size of answers on, bytes, they are a stream: bytes count, and not exchanges.
const STREAM_BYTES: f64 = 16_384.0;

/// How an order of links is to be read.
const ORDER: &str = "in brackets the share of the one before it with its 95 % interval; > where the \
                     interval leaves 100 % out, ~ where it does not";

/// What an order is of.
const LINKS: &str = "links";
const LAYOUTS: &str = "layouts, all their links together";

/// What is shown of a group of points: how much was carried, and what that cost.
struct Quantity {
    rate: &'static str,
    rate_title: &'static str,
    cost_unit: &'static str,
    /// What all of it cost the host.
    host_cost: &'static str,
    /// Costs of the guest, of the one that sends to it, of driver and elsewhere, from the foot.
    costs: [(&'static str, &'static str); 4],
}

const BYTES: Quantity = Quantity {
    rate: "received_mbit_per_s",
    rate_title: "Mbit/s",
    cost_unit: "s per GB",
    host_cost: "host_cpu_s_per_gb",
    costs: [
        ("guest", "guest_cpu_s_per_gb"),
        ("other guest", "partner_cpu_s_per_gb"),
        ("driver", "driver_cpu_s_per_gb"),
        ("elsewhere", "elsewhere_cpu_s_per_gb"),
    ],
};

const EXCHANGES: Quantity = Quantity {
    rate: "exchanges_per_s",
    rate_title: "exchanges/s",
    cost_unit: "s per million",
    host_cost: "host_cpu_s_per_million",
    costs: [
        ("guest", "guest_cpu_s_per_million"),
        ("other guest", "partner_cpu_s_per_million"),
        ("driver", "driver_cpu_s_per_million"),
        ("elsewhere", "elsewhere_cpu_s_per_million"),
    ],
};

/// Points that differ in their link alone.
struct LinkGroup<'a> {
    /// What they have in common: `4 connections, answer_bytes=100`.
    label: String,
    quantity: &'static Quantity,
    /// Each link with its point.
    links: Vec<(String, &'a PointSummary)>,
}

/// Throughput above, CPU time beneath; `None` where nothing was carried.
pub(super) fn figure(analysis: &Analysis) -> Option<Figure> {
    let groups = groups(analysis);
    let panels: Vec<Panel> = groups.iter().filter_map(panel).collect();
    (!panels.is_empty()).then(|| Figure {
        id: "network-cost".to_owned(),
        title: "What links carry, and the CPU time that it costs".to_owned(),
        caption: "Above: content of answers, or exchanges where answers are small; means with \
                  their 95 % interval, or the range of two repeats. Beneath: CPU time of the host, \
                  of the guest, of another guest where that sends to it, of the driver, and \
                  elsewhere: interrupts and waking idle CPUs, which no program is charged with, \
                  and other work. Together they are what the host spent, without what a \
                  hypervisor took."
            .to_owned(),
        panels,
        remarks: explained(orders(&groups)),
        ..Figure::default()
    })
}

/// The order of layouts, or of links where each layout has one, each with what it cost the host.
pub(super) fn answer(analysis: &Analysis) -> Vec<String> {
    let groups = groups(analysis);
    let of_group = |group: &LinkGroup<'_>| {
        let (of_what, lots) = group.main_lots();
        let order = group.order(of_what, &lots)?;
        Some(std::iter::once(order).chain(group.cost(&lots)))
    };
    let all = groups.iter().filter_map(of_group).take(MOST_SENTENCES);
    explained(all.flatten().collect())
}

/// The orders that the answer does not have.
pub(super) fn brief(analysis: &Analysis) -> Brief {
    let groups = groups(analysis);
    let said = main_orders(&groups);
    let mut others = orders(&groups);
    others.retain(|order| !said.contains(order));
    Brief {
        tables: Vec::new(),
        remarks: explained(others),
    }
}

/// Of each group the order of its layouts, or else of its links; of many groups the first.
fn main_orders(groups: &[LinkGroup<'_>]) -> Vec<String> {
    let of_group = |group: &LinkGroup<'_>| {
        let (of_what, lots) = group.main_lots();
        group.order(of_what, &lots)
    };
    let all = groups.iter().filter_map(of_group);
    all.take(MOST_SENTENCES).collect()
}

fn groups(analysis: &Analysis) -> Vec<LinkGroup<'_>> {
    let mut groups: Vec<LinkGroup<'_>> = Vec::new();
    for point in &analysis.points {
        let Some(quantity) = quantity(point) else {
            continue;
        };
        let (of_load, of_link): (Vec<_>, Vec<_>) =
            point.point.levels.iter().cloned().partition(|level| {
                level.key.starts_with("workload.") || level.key.starts_with("load.")
            });
        let label = levels_after(&point.point.load_label, &of_load);
        let place = groups.iter().position(|group| group.label == label);
        let place = place.unwrap_or_else(|| {
            groups.push(LinkGroup {
                label,
                quantity,
                links: Vec::new(),
            });
            groups.len() - 1
        });
        let links = &mut groups[place].links;
        let short = link_name(&point.layouts(), &of_link);
        let taken = links.iter().any(|(known, _)| *known == short);
        let name = if taken {
            levels_after(&point.layouts(), &of_link)
        } else {
            short
        };
        links.push((name, point));
    }
    groups
}

/// The layout with the levels of its link, as far as its name does not say them.
fn link_name(layout: &str, levels: &[Level]) -> String {
    let own: Vec<Level> = levels
        .iter()
        .filter(|level| level.key.starts_with("network.") && level.value != layout)
        .cloned()
        .collect();
    levels_after(layout, &own)
}

/// Whether a point streamed; `None` where it carried nothing.
fn quantity(point: &PointSummary) -> Option<&'static Quantity> {
    let bits = value(point, BYTES.rate)?.mean * 1e6;
    let exchanges = value(point, EXCHANGES.rate)?.mean;
    let bytes = bits / 8.0 / exchanges;
    bytes.is_finite().then_some(if bytes >= STREAM_BYTES {
        &BYTES
    } else {
        &EXCHANGES
    })
}

fn value(point: &PointSummary, name: &str) -> Option<Summary> {
    let mut metrics = point.metrics.iter();
    Some(metrics.find(|metric| metric.name == name)?.values)
}

fn panel(group: &LinkGroup<'_>) -> Option<Panel> {
    let data = |name: &str, ends: bool| -> Vec<Datum> {
        let of = |(link, point): &(String, &PointSummary)| {
            let summary = value(point, name)?;
            Some(Datum {
                ends: summary.ends().filter(|_| ends),
                ..Datum::named(link, summary.mean)
            })
        };
        group.links.iter().filter_map(of).collect()
    };
    let rates = data(group.quantity.rate, true);
    if rates.is_empty() {
        return None;
    }
    let costs = group.quantity.costs.iter().map(|(side, name)| Series {
        name: (*side).to_owned(),
        mark: Mark::Stack,
        data: shown(data(name, false)),
    });
    Some(Panel {
        label: group.label.clone(),
        x_title: "link".to_owned(),
        rows: vec![
            Row {
                y_title: group.quantity.rate_title.to_owned(),
                series: vec![Series {
                    name: "carried".to_owned(),
                    mark: Mark::Scatter,
                    data: rates,
                }],
                ..Row::default()
            },
            Row {
                y_title: format!("CPU, {}", group.quantity.cost_unit),
                series: costs.filter(|series| !series.data.is_empty()).collect(),
                ..Row::default()
            },
        ],
        ..Panel::default()
    })
}

/// Parts that can stand on each other: ends that were sampled a little later than the host may
/// leave less than nothing elsewhere.
fn shown(mut data: Vec<Datum>) -> Vec<Datum> {
    data.iter_mut().for_each(|datum| datum.y = datum.y.max(0.0));
    data
}

/// One sentence for each group of two links or more, and one more of layouts where these have
/// several links.
fn orders(groups: &[LinkGroup<'_>]) -> Vec<String> {
    let of_group = |group: &LinkGroup<'_>| {
        let of_links = group.order(LINKS, &group.links());
        let layouts = group.layouts();
        let of_layouts = layouts.and_then(|lots| group.order(LAYOUTS, &lots));
        of_links.into_iter().chain(of_layouts)
    };
    groups.iter().flat_map(of_group).collect()
}

/// Whole sentences, the first with what its signs mean.
fn explained(mut sentences: Vec<String>) -> Vec<String> {
    if let Some(first) = sentences.first_mut() {
        *first = format!("{first} ({ORDER})");
    }
    sentences
        .into_iter()
        .map(|sentence| format!("{sentence}."))
        .collect()
}

/// A name with the points that it stands for.
type Lot<'a> = (String, Vec<&'a PointSummary>);

impl<'a> LinkGroup<'a> {
    /// A lot for each link.
    fn links(&self) -> Vec<Lot<'a>> {
        let links = self.links.iter();
        links
            .map(|(link, point)| (link.clone(), vec![*point]))
            .collect()
    }

    /// A lot for each layout, with all of its links; `None` where each has one, and of one layout.
    fn layouts(&self) -> Option<Vec<Lot<'a>>> {
        let mut lots: Vec<Lot<'a>> = Vec::new();
        for (_, point) in &self.links {
            let layout = point.layouts();
            match lots.iter_mut().find(|(known, _)| *known == layout) {
                Some((_, points)) => points.push(point),
                None => lots.push((layout, vec![point])),
            }
        }
        (1 < lots.len() && lots.len() < self.links.len()).then_some(lots)
    }

    /// What the answer compares: layouts, or else links.
    fn main_lots(&self) -> (&'static str, Vec<Lot<'a>>) {
        match self.layouts() {
            Some(layouts) => (LAYOUTS, layouts),
            None => (LINKS, self.links()),
        }
    }

    /// `4 connections, CPU time of the host, s per GB: a (0.512), b (0.611)`; `None` where it was not
    /// measured for all of them.
    fn cost(&self, lots: &[Lot<'_>]) -> Option<String> {
        let of_lot = |(name, points): &Lot<'_>| {
            let costs = points
                .iter()
                .map(|point| Some(value(point, self.quantity.host_cost)?.mean));
            let costs: Vec<f64> = costs.collect::<Option<_>>()?;
            let mean = costs.iter().sum::<f64>() / costs.len() as f64;
            Some(format!("{name} ({})", format::beside(mean, mean)))
        };
        let all: Vec<String> = lots.iter().map(of_lot).collect::<Option<_>>()?;
        let (label, unit) = (&self.label, self.quantity.cost_unit);
        let all = all.join(", ");
        Some(format!("{label}, CPU time of the host, {unit}: {all}"))
    }

    /// `4 connections, Mbit/s of links, most first: a (17 000) > b (15 000; 88 % (82 to 95))`;
    /// `None` of a single lot.
    fn order(&self, of_what: &str, lots: &[Lot<'_>]) -> Option<String> {
        let points: Vec<Vec<&PointSummary>> = lots.iter().map(|lot| lot.1.clone()).collect();
        let ranked = ranking(&points, self.quantity.rate);
        let words = ranked.iter().enumerate().map(|(place, ranked)| {
            let name = &lots[ranked.lot].0;
            let mean = format::beside(ranked.mean, ranked.mean);
            let effect = ranked.to_previous;
            let telling = effect.and_then(|effect| Some((effect.ratio, effect.telling()?)));
            match telling {
                Some((value, interval)) => {
                    let sign = if interval.1 < 1.0 { '>' } else { '~' };
                    let share = format::ratio(&Ratio {
                        value,
                        interval: Some(interval),
                    });
                    format!(" {sign} {name} ({mean}; {share})")
                }
                None if place == 0 => format!(" {name} ({mean})"),
                None => format!(" ~ {name} ({mean})"),
            }
        });
        let (label, unit) = (&self.label, self.quantity.rate_title);
        let words: String = words.collect();
        (ranked.len() > 1).then(|| format!("{label}, {unit} of {of_what}, most first:{words}"))
    }
}

#[cfg(test)]
mod tests {
    use rookery_analysis::Run;
    use rookery_workload::{
        Counters,
        netstream::{CpuSeconds, CpuTimes, NetstreamCounters},
    };

    use super::*;
    use crate::tests::fixture;

    /// The stored run of the tests, whose points carried less and less over different links.
    fn analysed(bytes_each: f64) -> Analysis {
        let mut run = Run::read(&fixture::complete().store).expect("a whole store");
        for trial in &mut run.trials {
            let point = f64::from(trial.row.trial.point);
            let repeat = f64::from(trial.row.trial.id % 3);
            let measurement = trial
                .record
                .as_mut()
                .and_then(|record| record.measurement.as_mut());
            let Some(measurement) = measurement else {
                continue;
            };
            for guest in &mut measurement.guests {
                guest.counters = Counters::empty(rookery_workload::WorkloadKind::Netstream);
            }
            measurement.guests[0].counters = Counters::Netstream(NetstreamCounters {
                window_s: 10.0,
                exchanges: 1000,
                received_bytes: bytes_each * (10_000.0 / point.min(4.0) + repeat),
                cpu: Some(CpuSeconds {
                    guest: CpuTimes {
                        whole: 1.0,
                        system: Some(0.5),
                    },
                    partner: None,
                    driver: CpuTimes {
                        whole: 2.0,
                        system: None,
                    },
                    host: 2.9,
                    host_times: None,
                }),
                ..NetstreamCounters::default()
            });
        }
        Analysis::from_run(&run)
    }

    #[test]
    fn links_stand_beside_each_other_with_their_costs_beneath() {
        let figure = figure(&analysed(1e6)).expect("a figure");
        let panel = &figure.panels[0];
        assert_eq!(panel.rows[0].y_title, "Mbit/s");
        let names: Vec<&str> = panel.rows[1]
            .series
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        assert_eq!(names, ["guest", "driver", "elsewhere"]);
        let elsewhere = &panel.rows[1].series[2].data;
        assert!(elsewhere.iter().all(|datum| datum.y == 0.0));
    }

    #[test]
    fn small_answers_are_counted_and_not_weighed() {
        let figure = figure(&analysed(1.0)).expect("a figure");
        assert_eq!(figure.panels[0].rows[0].y_title, "exchanges/s");
    }

    #[test]
    fn links_are_named_by_what_their_layout_does_not_say() {
        let level = |key: &str, value: &str| Level {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let levels = [
            level("guest.kind", "container"),
            level("network.device", "veth"),
            level("network.mtu", "9000"),
        ];
        assert_eq!(link_name("veth", &levels), "veth, mtu=9000");
        assert_eq!(link_name("pair", &levels), "pair, device=veth, mtu=9000");
    }

    #[test]
    fn links_are_ordered_by_what_they_carried() {
        let analysis = analysed(1e6);
        let remarks = figure(&analysis).expect("a figure").remarks;
        insta::assert_snapshot!(remarks.join("\n"));
        // The answer has the order of layouts alone, and the terminal does not repeat it.
        let (answer, brief) = (answer(&analysis), brief(&analysis).remarks);
        insta::assert_snapshot!(answer[1..].join("\n"), @"200 users, CPU time of the host, s per GB: scale-up (0.870), scale-out (1.16).");
        assert!(remarks[1].starts_with(answer[0].split(" (in brackets").next().expect("words")));
        assert!(brief == [remarks[0].clone()], "{brief:?}");
    }
}
