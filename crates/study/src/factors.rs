//! Factors: keys of a study whose value is a list of values to compare.
//!
//! They are found and replaced in the parsed file, before its meaning is read: each level goes
//! through the same grammar as a value that stands alone.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    grammar::{
        Below, Context, KeyInfo,
        kinds::{is_cpu_list, is_pin_table},
    },
    plan::{Factor, Level},
    problem::Code,
    sections::{self, settings},
    source::printable,
};

/// Most levels of one factor.
pub(crate) const MOST_LEVELS: usize = 16;

/// Most factors of a study.
const MOST_FACTORS: usize = 24;

/// Keys that cannot have levels, and why. A section name alone stands for all its keys.
const FIXED: [(&str, &str); 21] = [
    ("title", "a run has one title"),
    ("question", "a run has one question"),
    (
        "seed",
        "all levels are compared with the same users and data",
    ),
    ("design", "it says how factors are combined"),
    ("measure", "a run measures one thing"),
    (
        "load.model",
        "its response times mean other things: run the study once for each, and compare the runs",
    ),
    ("load.repeats", "all levels are repeated alike"),
    ("load.half_width", "all levels are repeated alike"),
    ("load.max_repeats", "all levels are repeated alike"),
    ("load.precision.*", "a run has one wish"),
    ("load.search", "every level is searched alike"),
    ("load.order", "a run has one order"),
    ("load.retry_void", "all levels are run again alike"),
    ("load.rest", "the pause stands between trials of all levels"),
    (
        "qos",
        "limits judge what was measured, they do not change it",
    ),
    ("stack.host_cpus", "a run has one host"),
    (
        "storage.ceiling",
        "the storage of a run is measured once, before its trials",
    ),
    ("host.overcommit", "it only bounds the layouts"),
    ("host.reserve", "it only bounds the layouts"),
    (
        "layout",
        "a layout has one name; its numbers are lists already",
    ),
    (
        "layout.group",
        "the groups of a layout run together: compare layouts, or its `tiles`",
    ),
];

/// The names of the keys that cannot be factors, for the reference.
pub(crate) fn fixed_keys() -> impl Iterator<Item = &'static str> {
    FIXED.iter().map(|(key, _)| *key)
}

/// Why a key cannot have levels.
pub(crate) fn fixed(section: &str, key: &str) -> Option<&'static str> {
    let path = join(section, key);
    let why = FIXED
        .iter()
        .find(|(name, _)| *name == path || *name == section);
    why.map(|(_, why)| *why)
}

/// The same of all keys of a section below a section, where a value of its name may vary.
pub(crate) fn fixed_below(section: &str, below: &str) -> Option<&'static str> {
    fixed(section, &format!("{below}{BELOW}"))
}

/// What stands for all keys of a section below a section.
pub(crate) const BELOW: &str = ".*";

fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

/// A factor as it stands in the file.
pub(crate) struct Found<'i> {
    /// `stack.tuning`, `mariadb.innodb_buffer_pool_size`
    pub(crate) key: String,
    /// The keys that lead to it.
    path: Vec<String>,
    levels: Vec<Spanned<DeValue<'i>>>,
    pub(crate) span: Range<usize>,
}

impl Found<'_> {
    /// Number of levels.
    pub(crate) fn len(&self) -> usize {
        self.levels.len()
    }

    /// Where a level stands.
    pub(crate) fn level_span(&self, level: usize) -> Range<usize> {
        self.levels[level].span()
    }

    /// As the plan names it.
    pub(crate) fn named(&self) -> Factor {
        Factor {
            key: self.key.clone(),
            levels: self
                .levels
                .iter()
                .map(|level| written(level.get_ref()))
                .collect(),
        }
    }

    /// One of its levels, as the plan names it.
    pub(crate) fn level(&self, level: usize) -> Level {
        Level {
            key: self.key.clone(),
            value: written(self.levels[level].get_ref()),
        }
    }
}

/// Longest level in a table, characters.
const LONGEST_LEVEL: usize = 60;

fn written(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => printable(text, LONGEST_LEVEL),
        DeValue::Integer(number) => printable(&number.to_string(), LONGEST_LEVEL),
        DeValue::Float(number) => printable(number.as_str(), LONGEST_LEVEL),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(values) => {
            let values: Vec<String> = values.iter().map(|one| written(one.get_ref())).collect();
            printable(&format!("[{}]", values.join(", ")), LONGEST_LEVEL)
        }
        // The grammar refuses these.
        DeValue::Datetime(_) | DeValue::Table(_) => "...".to_owned(),
    }
}

/// All factors of a study in the order of the file. Lists that cannot be factors are refused and
/// replaced by their first value, so that they are not refused a second time.
pub(crate) fn find<'i>(root: &mut DeTable<'i>, context: &mut Context) -> Vec<Found<'i>> {
    let mut lists = Vec::new();
    for section in sections::ALL.iter().filter(|section| !section.many) {
        if section.name.is_empty() {
            collect(root, &[], section.name, &(section.keys)(), &mut lists);
            continue;
        }
        let Some(DeValue::Table(table)) = root.get(section.name).map(Spanned::get_ref) else {
            continue;
        };
        collect(
            table,
            &[section.name],
            section.name,
            &(section.keys)(),
            &mut lists,
        );
        let names =
            |below: &'static Below| (below.names)().into_iter().map(move |name| (below, name));
        for (below, name) in section.below.iter().flat_map(names) {
            match table.get(name).map(Spanned::get_ref) {
                Some(_) if fixed(section.name, name).is_some() => {}
                Some(DeValue::Table(_)) if fixed_below(section.name, name).is_some() => {}
                Some(DeValue::Table(table)) if below.any.is_some() => {
                    collect_settings(table, &[section.name, name], &mut lists)
                }
                Some(DeValue::Table(table)) => collect(
                    table,
                    &[section.name, name],
                    section.name,
                    &(below.keys)(),
                    &mut lists,
                ),
                _ => {}
            }
        }
    }
    lists.sort_by_key(|list| list.found.span.start);
    let mut factors = Vec::new();
    for list in lists {
        if let Some(found) = list.accept(factors.len(), context) {
            factors.push(found);
        } else if let Some(first) = list.found.levels.first() {
            put(root, &list.found.path, first.clone());
        }
    }
    for factor in &factors {
        put(root, &factor.path, factor.levels[0].clone());
    }
    // One value in a list is that value.
    factors.retain(|factor| factor.levels.len() > 1);
    factors
}

/// A list in the file where one value is expected.
struct List<'i> {
    found: Found<'i>,
    why_not: Option<&'static str>,
}

impl<'i> List<'i> {
    fn accept(&self, factors: usize, context: &mut Context) -> Option<Found<'i>> {
        let Found {
            key,
            path,
            levels,
            span,
        } = &self.found;
        let name = format!("`{}`", printable(key, 100));
        if let Some(why) = self.why_not {
            let message = format!("{name} cannot have several values: {why}");
            return context.refuse(
                Code::Contradiction,
                span.clone(),
                message,
                "write one value",
            );
        }
        if levels.len() > MOST_LEVELS {
            let message = format!(
                "{name} has {} levels, at most {MOST_LEVELS} are allowed",
                levels.len()
            );
            return context.refuse(
                Code::TooMany,
                span.clone(),
                message,
                "split the study into several files",
            );
        }
        if factors >= MOST_FACTORS {
            let message =
                format!("{name} is one factor too many, at most {MOST_FACTORS} are allowed");
            return context.refuse(
                Code::TooMany,
                span.clone(),
                message,
                "split the study into several files",
            );
        }
        Some(Found {
            key: key.clone(),
            path: path.clone(),
            levels: levels.clone(),
            span: span.clone(),
        })
    }
}

fn list<'i>(
    key: String,
    path: Vec<String>,
    value: &Spanned<DeValue<'i>>,
    why_not: Option<&'static str>,
) -> Option<List<'i>> {
    let DeValue::Array(levels) = value.get_ref() else {
        return None;
    };
    // An empty list has no level to go on with; the grammar refuses it.
    if levels.is_empty() || is_one_value(&key, levels) {
        return None;
    }
    // What is too long is refused; it need not be copied.
    let levels = levels.iter().take(MOST_LEVELS + 1).cloned().collect();
    let span = value.span();
    Some(List {
        found: Found {
            key,
            path,
            levels,
            span,
        },
        why_not,
    })
}

/// Whether a list is a value of a key whose other values are words.
pub(crate) fn is_one_value(key: &str, values: &[Spanned<DeValue<'_>>]) -> bool {
    match key {
        "guest.pin" => is_pin_table(values),
        "network.irq" => is_cpu_list(values),
        _ => false,
    }
}

fn collect<'i>(
    table: &DeTable<'i>,
    path: &[&str],
    section: &str,
    keys: &[KeyInfo],
    lists: &mut Vec<List<'i>>,
) {
    for key in keys.iter().filter(|key| !key.list) {
        let Some(value) = table.get(key.name) else {
            continue;
        };
        let path: Vec<String> = path
            .iter()
            .chain([&key.name])
            .map(|key| (*key).to_owned())
            .collect();
        lists.extend(list(path.join("."), path, value, fixed(section, key.name)));
    }
}

fn collect_settings<'i>(table: &DeTable<'i>, path: &[&str], lists: &mut Vec<List<'i>>) {
    for setting in settings::written(table) {
        let path: Vec<String> = path
            .iter()
            .chain(&setting.keys)
            .map(|key| (*key).to_owned())
            .collect();
        lists.extend(list(setting.name, path, setting.value, None));
    }
}

/// Replaces the value at a path that exists.
fn put<'i>(table: &mut DeTable<'i>, path: &[String], value: Spanned<DeValue<'i>>) {
    let Some((key, below)) = path.split_first() else {
        return;
    };
    let Some(found) = table.get_mut(key.as_str()) else {
        return;
    };
    match (below.is_empty(), found.get_mut()) {
        (true, _) => *found = value,
        (false, DeValue::Table(table)) => put(table, below, value),
        (false, _) => {}
    }
}

/// The study with the given level (an index) of each factor.
pub(crate) fn choose<'i>(root: &DeTable<'i>, factors: &[Found<'i>], row: &[usize]) -> DeTable<'i> {
    let mut chosen = root.clone();
    for (factor, level) in factors.iter().zip(row) {
        put(&mut chosen, &factor.path, factor.levels[*level].clone());
    }
    chosen
}
