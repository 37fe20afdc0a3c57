//! Names of points and lines, made of numbers and levels.

use rookery_study::Level;

/// A name, and the levels of a variant behind it: `2 x 0.5 vCPU, tuning=stock`.
#[must_use]
pub fn levels_after(name: &str, levels: &[Level]) -> String {
    let levels = levels.iter().map(|level| format!(", {}", level.words()));
    std::iter::once(name.to_owned()).chain(levels).collect()
}

/// A number with at most three decimals, none that say nothing.
#[must_use]
pub fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
