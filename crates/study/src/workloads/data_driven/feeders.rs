//! From the keys of feeders to feeders, and back.

use rookery_cast::{count_u32, low_u32};
use rookery_workload::data_driven::{Feeder, Order, Per, Source};

use super::{csv, keys::FeederKeys, refuse_file};
use crate::{
    companions::{Companions, beside},
    grammar::Context,
    problem::Code,
    source::quoted,
};

/// Most letters of a value.
const MOST_LETTERS: u64 = 4096;

/// Where the feeders of a workload stand.
pub(in crate::workloads) struct FeederPlace<'p> {
    /// The workload file that they are in, if they are in one.
    pub(in crate::workloads) file: &'p str,
    pub(in crate::workloads) companions: &'p Companions,
}

/// The feeders; nothing where one was refused.
pub(in crate::workloads) fn build(
    all: Vec<FeederKeys>,
    place: &FeederPlace<'_>,
    context: &mut Context,
) -> Option<Vec<Feeder>> {
    let mut feeders: Vec<Feeder> = Vec::new();
    let count = all.len();
    for (index, keys) in all.into_iter().enumerate() {
        let path = format!("workload.feeder[{index}]");
        let Some(feeder) = one(keys, &path, place, context) else {
            continue;
        };
        if feeders.iter().any(|known| known.name == feeder.name) {
            let span = context.spans.nearest(&format!("{path}.name"));
            let message = format!("a feeder named {} exists already", quoted(&feeder.name));
            context.refuse::<()>(
                Code::DuplicateValue,
                span,
                message,
                "give each its own name",
            );
        }
        feeders.push(feeder);
    }
    (feeders.len() == count).then_some(feeders)
}

fn one(
    keys: FeederKeys,
    path: &str,
    place: &FeederPlace<'_>,
    context: &mut Context,
) -> Option<Feeder> {
    let given = [
        ("range", keys.range.is_some()),
        ("values", keys.values.is_some()),
        ("csv", keys.csv.is_some()),
        ("rows", keys.rows.is_some()),
        ("letters", keys.letters.is_some()),
        ("words", keys.words.is_some()),
        ("id", keys.id == Some(true)),
    ];
    let sources: Vec<&str> = given
        .into_iter()
        .filter_map(|(key, is)| is.then_some(key))
        .collect();
    let name = keys.name.clone()?;
    if sources.len() != 1 {
        // What was refused has its problem already.
        if given
            .iter()
            .any(|(key, is)| !is && context.spans.has(&format!("{path}.{key}")))
        {
            return None;
        }
        let message = match sources.len() {
            0 => format!("the feeder {} says nowhere what it gives", quoted(&name)),
            _ => format!(
                "the feeder {} gives {} at once",
                quoted(&name),
                sources.join(" and ")
            ),
        };
        let help = "write one of `range`, `values`, `csv`, `rows`, `letters`, `words` and `id`";
        return context.refuse(
            Code::Contradiction,
            context.spans.nearest(path),
            message,
            help,
        );
    }
    let order = keys.order?;
    let per = keys.per?;
    let source = source(keys, path, place, context)?;
    let feeder = Feeder {
        name,
        source,
        order,
        per,
    };
    let mut refuse = |message: &str, help: &str| {
        let span = context.spans.nearest(path);
        let message = format!("the feeder {} {message}", quoted(&feeder.name));
        context.refuse(Code::Contradiction, span, message, help)
    };
    match feeder.len() {
        Some(0) => refuse("has nothing to give", "give at least one value"),
        None if order != Order::Random => refuse(
            "never ends, so that its order has no meaning",
            "remove `order`",
        ),
        _ => Some(feeder),
    }
}

fn source(
    keys: FeederKeys,
    path: &str,
    place: &FeederPlace<'_>,
    context: &mut Context,
) -> Option<Source> {
    if let Some((first, last)) = keys.range {
        return Some(Source::Range { first, last });
    }
    if let Some(values) = keys.values {
        return Some(Source::Values(values));
    }
    if let Some((min, max)) = keys.letters {
        if max > MOST_LETTERS {
            let span = context.spans.nearest(&format!("{path}.letters"));
            let message = format!("at most {MOST_LETTERS} letters are given");
            return context.refuse(
                Code::OutOfRange,
                span,
                message,
                "make the last number smaller",
            );
        }
        return Some(Source::Letters {
            min: low_u32(min),
            max: low_u32(max),
        });
    }
    if let Some(count) = keys.words {
        return Some(Source::Words { count });
    }
    if let Some(name) = keys.csv {
        let span = context.spans.nearest(&format!("{path}.csv"));
        let name = beside(place.file, &name);
        let text = match place.companions.get(&name) {
            Ok(file) => file.text().to_owned(),
            Err(why) => return refuse_file(&name, why, span, context),
        };
        return match csv::table(&text) {
            Ok((columns, rows)) => Some(Source::Table { columns, rows }),
            Err(error) => {
                let message = format!("{}: {error}", quoted(&name));
                let help = "the first line names the columns; every other line has as many values";
                context.refuse(Code::Companion, span, message, help)
            }
        };
    }
    if let Some(rows) = keys.rows {
        let columns = keys.columns.unwrap_or_default();
        if columns.is_empty() || rows.iter().any(|row| row.len() != columns.len()) {
            let span = context.spans.nearest(&format!("{path}.rows"));
            let message = format!(
                "every row of a table has one value for each of its {} `columns`",
                columns.len()
            );
            let help = "write `columns = [\"name\", \"city\"]` and `rows = [[\"ann\", \"Bonn\"]]`";
            return context.refuse(Code::Contradiction, span, message, help);
        }
        return Some(Source::Table { columns, rows });
    }
    Some(Source::Id)
}

/// The keys of a feeder.
pub(in crate::workloads) fn keys_of(feeder: &Feeder) -> FeederKeys {
    let mut keys = FeederKeys {
        name: Some(feeder.name.clone()),
        order: Some(feeder.order).filter(|order| *order != Order::default()),
        per: Some(feeder.per).filter(|per| *per != Per::default()),
        ..FeederKeys::default()
    };
    match feeder.source.clone() {
        Source::Range { first, last } => keys.range = Some((first, last)),
        Source::Values(values) => keys.values = Some(values),
        Source::Table { columns, rows } => {
            (keys.columns, keys.rows) = (Some(columns), Some(rows));
        }
        Source::Letters { min, max } => keys.letters = Some((min.into(), max.into())),
        Source::Words { count } => keys.words = Some(count),
        Source::Id => keys.id = Some(true),
    }
    keys
}

/// How a feeder gives what it has, in words.
pub(in crate::workloads) fn words(feeder: &Feeder) -> String {
    let what = match &feeder.source {
        Source::Range { first, last } => format!("{first} to {last}"),
        Source::Values(values) => format!("{} values", count_u32(values.len())),
        Source::Table { rows, .. } => format!("{} rows", count_u32(rows.len())),
        Source::Letters { min, max } => format!("{min} to {max} letters"),
        Source::Words { count } => format!("{count} words"),
        Source::Id => "ids".to_owned(),
    };
    format!("{} ({what})", feeder.name)
}
