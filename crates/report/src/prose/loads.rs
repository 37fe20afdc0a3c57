//! How long databases took to be made, in words.

use rookery_analysis::{Analysis, loads::LoadSummary};

use super::format;

/// Characters of a digest that are shown.
const DIGEST: usize = 12;

/// The point, or `template 0123456789ab`.
pub(crate) fn name(load: &LoadSummary) -> String {
    match load.point {
        Some(_) => load.label.clone(),
        None => format!(
            "template {}",
            load.label.chars().take(DIGEST).collect::<String>()
        ),
    }
}

/// The shortest and the longest load of a run that loads databases and measures nothing else.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let mut known: Vec<(f64, &LoadSummary)> = analysis
        .loads
        .iter()
        .filter(|_| analysis.run.loads_alone)
        .filter_map(|load| Some((load.total_s?.mean, load)))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some((_, shortest)), longest) = (known.first(), known.last()) else {
        return Vec::new();
    };
    let mut all = vec![format!("The shortest load took {}.", told(shortest))];
    if known.len() > 1 {
        all.extend(longest.map(|(_, load)| format!("The longest load took {}.", told(load))));
    }
    all
}

/// `12.3 ± 0.4 s with 1 x 1 vCPU (create 1 s, rows 9 s, indexes 2 s; 40 000 rows/s)`.
fn told(load: &LoadSummary) -> String {
    format!(
        "{} s with {}, {} (create {}, rows {}, indexes {}; {} rows/s)",
        format::or_none(load.total_s.as_ref(), format::mean),
        load.label,
        load.database,
        format::seconds(load.create_s),
        format::seconds(load.rows_s),
        format::seconds(load.index_s),
        format::or_none(load.rows_per_s, format::number),
    )
}
