//! From the keys of feeders to feeders, and back.

use rookery_cast::{count_u32, low_u32};
use rookery_workload::data_driven::{
    Feeder, Order, Per, SecretColumns, Source,
    csv::{self, CsvError},
};

use super::{keys::FeederKeys, refuse_file};
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
    let mut feeder = Feeder {
        name,
        source,
        order,
        per,
    };
    feeder.conceal();
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
    if (keys.secret.is_some() || keys.secret_file.is_some())
        && keys.csv.is_none()
        && keys.rows.is_none()
    {
        let span = context.spans.nearest(&format!("{path}.secret"));
        let message = "only columns of `csv` can be secret: what stands in the study is no secret";
        let help = "put the values into a file: `csv = \"users.csv\"`, `secret = [\"password\"]`";
        return context.refuse(Code::Contradiction, span, message, help);
    }
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
    if let Some(name) = &keys.csv {
        return of_file(name, &keys, path, place, context);
    }
    if keys.rows.is_some() {
        return of_rows(keys, path, context);
    }
    Some(Source::Id)
}

/// The table of a file of comma-separated values.
fn of_file(
    name: &str,
    keys: &FeederKeys,
    path: &str,
    place: &FeederPlace<'_>,
    context: &mut Context,
) -> Option<Source> {
    let span = context.spans.nearest(&format!("{path}.csv"));
    let name = beside(place.file, name);
    let file = match place.companions.get(&name) {
        Ok(file) => file,
        Err(why) => return refuse_file(&name, why, span, context),
    };
    let (columns, rows) = match csv::table(file.text()) {
        Ok(table) => table,
        Err(error) => {
            // Where there is no line of names, the first one may hold a secret.
            let error = match error {
                CsvError::Name(_) if keys.secret.is_some() => {
                    "the first line does not name columns".to_owned()
                }
                error => error.to_string(),
            };
            let message = format!("{}: {error}", quoted(&name));
            let help = "the first line names the columns; every other line has as many values";
            return context.refuse(Code::Companion, span, message, help);
        }
    };
    let secret = match &keys.secret {
        None => None,
        Some(names) => {
            let Some(place) = file.place else {
                let message = format!("{} is no file of this host", quoted(&name));
                let help = "secrets are read where they are: name a file that is not built in";
                return context.refuse(Code::Companion, span, message, help);
            };
            Some(secret_columns(names, place, &columns, path, context)?)
        }
    };
    Some(Source::Table {
        columns,
        rows,
        secret,
    })
}

/// The table that stands in the workload itself.
fn of_rows(keys: FeederKeys, path: &str, context: &mut Context) -> Option<Source> {
    let rows = keys.rows.unwrap_or_default();
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
    let secret = match (keys.secret, keys.secret_file) {
        (None, None) => None,
        (Some(names), Some(file)) => Some(secret_columns(&names, &file, &columns, path, context)?),
        _ => {
            let span = context.spans.nearest(&format!("{path}.rows"));
            let message = "`rows` need both `secret` and `secret_file`, or neither";
            let help = "write `csv = \"users.csv\"` in place of `columns` and `rows`";
            return context.refuse(Code::Contradiction, span, message, help);
        }
    };
    Some(Source::Table {
        columns,
        rows,
        secret,
    })
}

/// The secret columns of a table. What is refused names no column of the file: where there is no
/// line of names, the first one may hold a secret.
fn secret_columns(
    names: &[String],
    file: &str,
    columns: &[String],
    path: &str,
    context: &mut Context,
) -> Option<SecretColumns> {
    let mut refuse = |message: String, help: &str| {
        let span = context.spans.nearest(&format!("{path}.secret"));
        context.refuse(Code::Contradiction, span, message, help)
    };
    if let Some(unknown) = names.iter().find(|name| !columns.contains(name)) {
        let message = format!("the table has no column {}", quoted(unknown));
        return refuse(message, "the first line of the file names the columns");
    }
    if !file.starts_with('/') {
        let message = format!("{} does not begin with `/`", quoted(file));
        return refuse(message, "say where the file is from the root");
    }
    Some(SecretColumns {
        names: names.to_vec(),
        file: file.to_owned(),
    })
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
        Source::Table {
            columns,
            rows,
            secret,
        } => {
            (keys.columns, keys.rows) = (Some(columns), Some(rows));
            if let Some(SecretColumns { names, file }) = secret {
                (keys.secret, keys.secret_file) = (Some(names), Some(file));
            }
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
        Source::Table { rows, secret, .. } => match secret {
            None => format!("{} rows", count_u32(rows.len())),
            Some(secret) => format!(
                "{} rows, {} secret",
                count_u32(rows.len()),
                secret.names.join(" and ")
            ),
        },
        Source::Letters { min, max } => format!("{min} to {max} letters"),
        Source::Words { count } => format!("{count} words"),
        Source::Id => "ids".to_owned(),
    };
    format!("{} ({what})", feeder.name)
}
