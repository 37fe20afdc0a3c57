//! Throughput of groups, score and fairness against the number of tiles.

use rookery_analysis::{Analysis, Run, tiles::TileSummary};

use super::data::{Datum, Figure, Mark, Panel, Row, Series};
use crate::prose::loop_type::loop_type;

/// One panel for each layout whose groups were repeated; nothing where none was.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let mut layouts: Vec<&str> = Vec::new();
    for tile in &analysis.tiles {
        if !layouts.contains(&&*tile.layout) {
            layouts.push(&tile.layout);
        }
    }
    let panels: Vec<Panel> = layouts
        .into_iter()
        .filter_map(|layout| {
            let own = analysis.tiles.iter().filter(|tile| tile.layout == layout);
            panel(layout, &own.collect::<Vec<_>>())
        })
        .collect();
    (!panels.is_empty()).then(|| Figure {
        id: "tiles".to_owned(),
        title: "Tiles: throughput of each group, score and fairness".to_owned(),
        caption: format!(
            "{}. Throughput of a group is a share of its reference, all of its guests together. \
             The score is the geometric mean of these shares. Fairness is Jain's index over the \
             tiles: 1 when all were served alike.",
            loop_type(run)
        ),
        panels,
        ..Figure::default()
    })
}

fn panel(layout: &str, tiles: &[&TileSummary]) -> Option<Panel> {
    let mut counts: Vec<u32> = tiles.iter().map(|tile| tile.tiles).collect();
    counts.dedup();
    if counts.len() < 2 {
        return None;
    }
    let line = |name: &str, of: &dyn Fn(&TileSummary) -> Option<f64>| Series {
        name: name.to_owned(),
        mark: Mark::Dots,
        data: tiles
            .iter()
            .filter_map(|tile| Some(Datum::at(f64::from(tile.tiles), of(tile)?)))
            .collect(),
    };
    let groups = tiles.first().map(|tile| &tile.groups)?;
    let mut shares: Vec<Series> = groups
        .iter()
        .filter(|group| group.called_by.is_none())
        .map(|group| {
            line(&group.name, &|tile| {
                let own = tile.groups.iter().find(|own| own.name == group.name);
                own.and_then(|own| own.share)
            })
        })
        .collect();
    shares.push(line("score", &|tile| tile.score));
    shares.retain(|series| !series.data.is_empty());
    let fairness = line("fairness", &|tile| Some(tile.fairness?.jain));
    let mut rows = vec![Row {
        y_title: "share of the reference".to_owned(),
        series: shares,
        ..Row::default()
    }];
    if !fairness.data.is_empty() {
        rows.push(Row {
            y_title: "Jain's index over tiles".to_owned(),
            series: vec![fairness],
            ..Row::default()
        });
    }
    Some(Panel {
        label: layout.to_owned(),
        x_title: "tiles".to_owned(),
        rows,
        ..Panel::default()
    })
}
