//! What a point is, whatever number it has in its plan, and whatever kind of guest carries it.

use rookery_study::{Level, Point};

/// The key of the factor that names kinds of guest.
pub(crate) const KIND: &str = "guest.kind";

/// Everything that makes a point what it is, but for the kind of its guests, as one text.
pub(crate) fn of(point: &Point) -> String {
    let levels: Vec<&Level> = levels(point).collect();
    let groups: Vec<String> = point
        .groups
        .iter()
        .map(|group| {
            format!(
                "{} guests, {:?}, {} MiB, {}, {:?}, {:?}",
                group.guests,
                group.vcpus,
                group.memory_mib,
                group.database,
                group.users,
                group.rate_per_s.map(f64::to_bits)
            )
        })
        .collect();
    format!("{}, {levels:?}", groups.join("; "))
}

/// Its short name without the kind of its guests.
pub(crate) fn label(point: &Point) -> String {
    let levels = levels(point).cloned().collect();
    Point {
        levels,
        ..point.clone()
    }
    .label()
}

fn levels(point: &Point) -> impl Iterator<Item = &Level> {
    point.levels.iter().filter(|level| level.key != KIND)
}
