//! What a layout or a group says of the sections.

use std::borrow::Cow;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::named::NamedWorkloads;
use crate::{
    factors,
    grammar::{Context, written_key},
    plan::Level,
    problem::Code,
    sections::{self, GUEST, LOAD, LayoutKeys, NETWORK, QOS, STACK, STORAGE, WORKLOAD},
    values::{LayoutGroup, Override},
};

/// The sections that a layout may have below it; where a key that stands in the layout itself could
/// be of several, it is of the first.
pub(crate) const SECTIONS: [&str; 7] = [GUEST, STACK, WORKLOAD, LOAD, QOS, STORAGE, NETWORK];

/// What stands before the name of a single setting.
const SETTINGS: &str = "stack.settings.";

/// Sections of one kind or another, which share few keys: another kind begins without the keys of
/// the section that it replaces.
const KINDS: [&str; 2] = [WORKLOAD, STACK];

/// Layouts that say the same of the sections; a layout with groups is alone in its set.
pub(crate) struct LayoutSet<'i> {
    /// Their places in the file, from zero.
    pub(crate) places: Vec<usize>,
    /// The study as it is in these layouts, and without all others; of a layout with groups, as it
    /// is in each of them, with the group as its only layout.
    pub(crate) roots: Vec<DeTable<'i>>,
    /// What they say, in the order of the keys.
    pub(crate) overrides: Vec<Override>,
    /// What all layouts of the study say alike: in a label it would tell nothing.
    pub(crate) alike: Vec<Override>,
    /// The groups of the layout, in the order of the file; none where guests are all alike.
    pub(crate) groups: Vec<LayoutGroup>,
}

impl LayoutSet<'_> {
    /// What they say and others do not, for the labels of their points; what is a list is a factor,
    /// and not said here.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let single = self.overrides.iter().filter(|said| !is_factor(said));
        single
            .filter(|said| !self.alike.contains(said))
            .map(|said| Level {
                // As factors are named: settings by their own names.
                key: match said.key.strip_prefix(SETTINGS) {
                    Some(name) => name.replace('"', ""),
                    None => said.key.clone(),
                },
                value: said.value.trim_matches('"').to_owned(),
            })
            .collect()
    }
}

/// Whether it is a list of levels: tables of pins and lists of CPUs are values.
fn is_factor(said: &Override) -> bool {
    let (list, nested) = (said.value.starts_with('['), said.value.starts_with("[["));
    match said.key.as_str() {
        "network.irq" => nested || list && said.value.contains('"'),
        _ => list && !nested,
    }
}

/// What a layout or a group says, in the order of the keys.
pub(super) fn listed(said: &DeTable<'_>) -> Vec<Override> {
    let mut overrides = Vec::new();
    written(said, &mut Vec::new(), &mut overrides);
    overrides.sort();
    overrides
}

/// The section of a key that stands in a layout, or that the key is: one that has keys. `None` of
/// the layout's own keys and of unknown ones.
pub(super) fn owner_of(
    key: &Spanned<Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
) -> Option<&'static str> {
    let is_section = SECTIONS
        .into_iter()
        .find(|section| *section == key.get_ref());
    match is_section {
        // `workload = "NAME"` names one.
        Some(section) => (value.get_ref().is_table()
            || section == WORKLOAD && value.get_ref().is_str())
        .then_some(section),
        None => owner(key.get_ref()),
    }
}

/// The section of a key that stands in a layout among its own.
pub(crate) fn owner(key: &str) -> Option<&'static str> {
    if LayoutKeys::keys().iter().any(|own| own.name == key) {
        return None;
    }
    SECTIONS.into_iter().find(|name| {
        let section = sections::ALL.iter().find(|section| section.name == *name);
        section.is_some_and(|section| (section.keys)().iter().any(|known| known.name == key))
    })
}

/// The keys of a layout or a group by section, as tables of the study have them.
pub(super) fn said_by<'i>(
    layout: &DeValue<'i>,
    named: &mut NamedWorkloads<'i>,
    context: &mut Context,
) -> DeTable<'i> {
    let mut said = DeTable::new();
    let DeValue::Table(table) = layout else {
        return said;
    };
    for (key, value) in table {
        let Some(section) = owner_of(key, value) else {
            continue;
        };
        match value.get_ref() {
            DeValue::Table(below) if section == key.get_ref() => {
                for (key, value) in below {
                    put(&mut said, section, key, value, context);
                }
            }
            DeValue::String(name) if section == key.get_ref() => {
                for (key, value) in named.get(name, key.span(), value, context) {
                    put(&mut said, section, &key, &value, context);
                }
            }
            _ => put(&mut said, section, key, value, context),
        }
    }
    said
}

fn put<'i>(
    said: &mut DeTable<'i>,
    section: &'static str,
    key: &Spanned<Cow<'i, str>>,
    value: &Spanned<DeValue<'i>>,
    context: &mut Context,
) {
    // Limits judge what was measured: each layout may have its own.
    let table = value.get_ref().is_table();
    let why = factors::fixed(section, key.get_ref())
        .or_else(|| factors::fixed_below(section, key.get_ref()).filter(|_| table));
    if let Some(why) = why.filter(|_| section != QOS) {
        let message = format!(
            "`{section}.{}` cannot differ between layouts: {why}",
            key.get_ref()
        );
        let help = format!("write it once, in [{section}]");
        return context
            .refuse(Code::Contradiction, key.span(), message, help)
            .unwrap_or_default();
    }
    let empty = || Spanned::new(key.span(), DeValue::Table(DeTable::new()));
    let table = said
        .entry(Spanned::new(key.span(), Cow::Borrowed(section)))
        .or_insert_with(empty);
    if let DeValue::Table(table) = table.get_mut() {
        table.insert(key.clone(), value.clone());
    }
}

/// The study with what a layout or a group says of the sections laid over it.
pub(super) fn with_sections<'i>(root: &DeTable<'i>, said: &DeTable<'i>) -> DeTable<'i> {
    let mut own = root.clone();
    for section in KINDS {
        let kind = |table: &DeTable<'i>| match table.get(section)?.get_ref() {
            DeValue::Table(table) => text(table.get("kind")?.get_ref()),
            _ => None,
        };
        if let Some(other) = kind(said)
            && kind(&own).as_ref() != Some(&other)
        {
            own.remove(section);
        }
    }
    crate::scale::lay_over(&mut own, said);
    own
}

/// A layout without the keys of sections.
pub(super) fn own_keys<'i>(layout: &Spanned<DeValue<'i>>) -> Spanned<DeValue<'i>> {
    let DeValue::Table(table) = layout.get_ref() else {
        return layout.clone();
    };
    let own = table
        .iter()
        .filter(|(key, value)| owner_of(key, value).is_none());
    let own = own.map(|(key, value)| (key.clone(), value.clone()));
    Spanned::new(layout.span(), DeValue::Table(own.collect()))
}

/// Every value of nested tables with the keys that lead to it.
fn written(table: &DeTable<'_>, path: &mut Vec<String>, out: &mut Vec<Override>) {
    for (key, value) in table {
        path.push(written_key(key.get_ref()));
        match value.get_ref() {
            DeValue::Table(below) if !below.is_empty() => written(below, path, out),
            other => out.extend(text(other).map(|value| Override {
                key: path.join("."),
                value,
            })),
        }
        path.pop();
    }
}

/// A value as TOML; `None` of what no study has.
fn text(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => toml::Value::String(text.to_string()).to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(values) => {
            let values: Option<Vec<String>> =
                values.iter().map(|value| text(value.get_ref())).collect();
            format!("[{}]", values?.join(", "))
        }
        DeValue::Table(table) => {
            let mut inside = Vec::new();
            written(table, &mut Vec::new(), &mut inside);
            let pairs = inside
                .iter()
                .map(|said| format!("{} = {}", said.key, said.value));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        DeValue::Datetime(_) => return None,
    })
}
