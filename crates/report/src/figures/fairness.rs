//! How evenly guests are served.

use rookery_analysis::{Analysis, Run};

use super::data::{Datum, Figure, Mark, Series, one_panel};
use crate::prose::{loop_type::loop_type, words};

/// Mean throughput per user of each guest, for points of several guests.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let shared = analysis
        .points
        .iter()
        .filter(|summary| summary.guests.len() > 1);
    let series: Vec<Series> = shared
        .map(|summary| {
            let data = summary
                .guests
                .iter()
                .map(|guest| Datum::named(&guest.guest, guest.per_minute_and_client));
            let index = summary.fairness.map_or_else(String::new, fairness_words);
            Series {
                name: format!("{}{index}", summary.point.label.clone()),
                mark: Mark::Scatter,
                data: data.collect(),
            }
        })
        .collect();
    (!series.is_empty()).then(|| Figure {
        id: "fairness".to_owned(),
        title: format!(
            "Fairness: throughput of each guest per {}",
            words::person(run)
        ),
        caption: format!(
            "{}. Mean over the good repeats. Jain's index is 1 when all guests are served alike \
             and 1/n when one takes all.",
            loop_type(run)
        ),
        panels: one_panel(
            "guest",
            &format!("{} per {}", words::rate(run), words::person(run)),
            series,
        ),
        ..Figure::default()
    })
}

fn fairness_words(fairness: rookery_stats::Fairness) -> String {
    let ratio = fairness.max_over_min.map_or_else(
        || "one got nothing".to_owned(),
        |ratio| format!("max/min {ratio:.2}"),
    );
    format!(" (Jain {:.3}, {ratio})", fairness.jain)
}
