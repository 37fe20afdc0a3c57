//! How throughput grows: the tables.

use rookery_analysis::scaling::{Errors, Law, Scaling, Step};

use super::{Table, labelled};
use crate::prose::{
    format,
    scaling::{counted, law_name, refusals},
};

/// Throughput, speed-up and efficiency at every load.
pub(crate) fn growth(lines: &[Scaling]) -> Table {
    let heads = [
        "what",
        "load",
        "trials",
        lines.first().map_or("", |line| line.rate),
        "speed-up over the smallest",
        "efficiency of growth",
    ];
    let rows = lines
        .iter()
        .flat_map(|line| line.steps.iter().map(move |step| growth_row(line, step)));
    labelled("Speed-up and efficiency", &heads, rows.collect())
}

fn growth_row(line: &Scaling, step: &Step) -> Vec<String> {
    vec![
        line.label.clone(),
        counted(line, step.load),
        step.values.len().to_string(),
        format::or_none(step.per_minute.as_ref(), format::estimate),
        format::or_none(step.speed_up.as_ref(), format::factor),
        format::or_none(step.efficiency.as_ref(), format::ratio),
    ]
}

/// Every law of every line, chosen, lost or refused.
pub(crate) fn laws(lines: &[Scaling]) -> Table {
    let heads = [
        "what",
        "law",
        "held-out error",
        "largest",
        "residuals",
        "AICc",
        "verdict",
    ];
    let mut rows = Vec::new();
    for line in lines {
        let laws = line.laws.iter().enumerate();
        rows.extend(laws.map(|(place, law)| law_row(line, law, line.chosen == Some(place))));
        if let Some(held) = &line.held_out {
            rows.push(naive_row(
                line,
                "Last value carried forward",
                &held.last_value,
            ));
            rows.push(naive_row(
                line,
                "Last value in proportion",
                &held.in_proportion,
            ));
        }
    }
    labelled("Laws", &heads, rows)
}

fn law_row(line: &Scaling, law: &Law, chosen: bool) -> Vec<String> {
    let verdict = if chosen {
        "chosen".to_owned()
    } else if law.refused {
        format!("refused: {}", refusals(law))
    } else {
        "lost".to_owned()
    };
    vec![
        line.label.clone(),
        law_name(law.law).to_owned(),
        format::or_none(law.held_out, |error| format::percent(error.mean)),
        format::or_none(law.held_out, |error| format::percent(error.largest)),
        format::or_none(law.mean_error, format::percent),
        format::or_none(law.aicc, format::number),
        verdict,
    ]
}

fn naive_row(line: &Scaling, name: &str, error: &Errors) -> Vec<String> {
    vec![
        line.label.clone(),
        name.to_owned(),
        format::percent(error.mean),
        format::percent(error.largest),
        String::new(),
        String::new(),
        "naive".to_owned(),
    ]
}
