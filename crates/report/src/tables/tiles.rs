//! Points with groups: what each group carried, and what its guests used.

use rookery_analysis::{
    Analysis,
    tiles::{TileGroup, TileSummary},
};

use super::{Table, table};
use crate::prose::format::{self, NONE};

/// One row for each group; no rows where no layout has groups.
pub(crate) fn groups(analysis: &Analysis) -> Table {
    let heads = [
        "point",
        "tiles",
        "group",
        "guests",
        "called by",
        "throughput",
        "reference",
        "share",
        "limits",
        "CPU, cores",
        "memory, MiB",
        "reads/s",
        "writes/s",
    ];
    let is_repeated = analysis.tiles.iter().any(|tile| tile.tiles > 1);
    let rows = analysis.tiles.iter().flat_map(|tile| {
        let groups = tile.groups.iter();
        groups.map(move |group| row(tile, is_repeated, group))
    });
    table(&heads, rows.collect())
}

fn row(tile: &TileSummary, is_repeated: bool, group: &TileGroup) -> Vec<String> {
    let tiles = is_repeated.then(|| tile.tiles.to_string());
    let rate = |value: f64| format!("{} {}", format::number(value), group.rate);
    let limits = match &group.called_by {
        Some(_) => "-".to_owned(),
        None => format::limits(&group.limits),
    };
    vec![
        tile.point.to_string(),
        tiles.unwrap_or_else(|| NONE.to_owned()),
        group.name.clone(),
        group.guests.to_string(),
        group
            .called_by
            .clone()
            .unwrap_or_else(|| "users".to_owned()),
        format::or_none(group.per_minute, rate),
        format::or_none(group.reference_per_minute, rate),
        format::or_none(group.share, format::few),
        limits,
        format::or_none(group.cores, format::few),
        format::or_none(group.memory_bytes, |bytes| {
            format::number((bytes / 1_048_576.0).round())
        }),
        format::or_none(group.reads_per_s, format::few),
        format::or_none(group.writes_per_s, format::few),
    ]
}

/// The score of each point with groups beside its parts; no rows where nothing is compared.
pub(crate) fn scores(analysis: &Analysis) -> Table {
    let scored = analysis
        .tiles
        .iter()
        .filter(|tile| tile.score.is_some() || tile.fairness.is_some());
    let row = |tile: &TileSummary| {
        let parts = tile.loaded();
        let parts: Vec<String> = parts
            .map(|group| {
                format!(
                    "{} {}",
                    group.name,
                    format::or_none(group.share, format::few)
                )
            })
            .collect();
        vec![
            tile.point.to_string(),
            tile.layout.clone(),
            tile.tiles.to_string(),
            tile.reference.clone().unwrap_or_else(|| "-".to_owned()),
            parts.join(", "),
            format::or_none(tile.score, format::few),
            format::or_none(tile.fairness, |fairness| format!("{:.3}", fairness.jain)),
        ]
    };
    let heads = [
        "point",
        "layout",
        "tiles",
        "reference",
        "share of each group",
        "score",
        "fairness of tiles (Jain)",
    ];
    table(&heads, scored.map(row).collect())
}
