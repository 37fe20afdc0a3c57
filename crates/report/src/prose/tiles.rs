//! What groups that run together carry, in words.

use rookery_analysis::{
    Analysis,
    tiles::{TileGroup, TileSummary},
};

use super::{MOST_SENTENCES, format, limits};

/// One sentence for each point of several groups with users, then how near the limits came.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let tiles: Vec<&TileSummary> = analysis
        .tiles
        .iter()
        .filter(|tile| tile.loaded().count() > 1 && tile.loaded().any(measured))
        .collect();
    let mut sentences: Vec<String> = tiles.iter().map(|tile| sentence(tile)).collect();
    if sentences.len() > MOST_SENTENCES {
        let more = sentences.len() - MOST_SENTENCES;
        sentences.truncate(MOST_SENTENCES);
        sentences.push(format!("The table of groups has {more} more."));
    }
    if !tiles.is_empty()
        && analysis.best.highest.is_none()
        && let Some(nearest) = limits::not_reached(&analysis.points)
    {
        sentences.push(format!("Limits were not reached: {nearest}."));
    }
    sentences
}

fn measured(group: &TileGroup) -> bool {
    group.per_minute.is_some()
}

/// `tile, 2 tiles: score 0.81 of one tile; web 660 orders/min (0.95), orders 3934 nopm (0.68);
/// limits: web met, orders missed in 1 of 3.`
fn sentence(tile: &TileSummary) -> String {
    let name = match tile.tiles {
        1 => tile.layout.clone(),
        tiles => format!("{}, {tiles} tiles", tile.layout),
    };
    // A tile that is its own reference has a score that says nothing.
    let is_reference = tile.loaded().all(|group| group.share == Some(1.0));
    let compared = !is_reference && tile.score.is_some();
    let score = match (tile.score, &tile.reference) {
        (Some(score), Some(reference)) if compared => {
            format!("score {} of {reference}; ", format::few(score))
        }
        _ => String::new(),
    };
    let carried = |group: &TileGroup| {
        let rate = format::or_none(group.per_minute, format::number);
        let share = group.share.filter(|_| compared);
        let share = share.map_or_else(String::new, |share| format!(" ({})", format::few(share)));
        format!("{} {rate} {}{share}", group.name, group.rate)
    };
    let judged = |group: &TileGroup| format!("{} {}", group.name, format::limits(&group.limits));
    format!(
        "{name}: {score}{}; limits: {}.",
        listed(tile, carried),
        listed(tile, judged)
    )
}

/// What is said of each group with users.
fn listed(tile: &TileSummary, words: impl Fn(&TileGroup) -> String) -> String {
    tile.loaded().map(words).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use rookery_analysis::points::LimitCount;

    use super::*;

    fn group(name: &str, per_minute: f64, share: f64) -> TileGroup {
        TileGroup {
            name: name.to_owned(),
            guests: 1,
            called_by: None,
            point: None,
            rate: "orders/min",
            per_minute: Some(per_minute),
            reference_per_minute: Some(per_minute / share),
            share: Some(share),
            limits: LimitCount {
                passed: 3,
                ..LimitCount::default()
            },
            cores: None,
            memory_bytes: None,
            reads_per_s: None,
            writes_per_s: None,
        }
    }

    fn tile(tiles: u32, share: f64) -> TileSummary {
        TileSummary {
            point: tiles,
            label: String::new(),
            layout: "tile".to_owned(),
            tiles,
            reference: Some("one tile".to_owned()),
            groups: vec![group("web", 660.0, share), group("data", 30.0, share)],
            score: Some(share),
            fairness: None,
        }
    }

    #[test]
    fn a_tile_says_what_its_groups_carry_and_of_what_that_is_a_share() {
        insta::assert_snapshot!([tile(1, 1.0), tile(2, 0.5)].map(|tile| sentence(&tile)).join("\n"), @r"
        tile: web 660.0 orders/min, data 30.00 orders/min; limits: web met, data met.
        tile, 2 tiles: score 0.5 of one tile; web 660.0 orders/min (0.5), data 30.00 orders/min (0.5); limits: web met, data met.
        ");
    }
}
