//! What layouts say of sections: keys of `[guest]`, `[stack]`, ... that hold in one layout alone.
//!
//! The layouts of a file are divided into sets that say the same. Each set is read as a study of
//! its own, with the sections as it has them: whatever the grammar allows in a section, it allows
//! in a layout, factors included.

use std::borrow::Cow;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    factors,
    grammar::{
        Context,
        sections::{
            self, GUEST, LAYOUT, LOAD, LayoutKeys, MOST_LAYOUTS, QOS, STACK, STORAGE, WORKLOAD,
        },
        written_key,
    },
    model::Override,
    plan::Level,
    problem::Code,
};

/// The sections that a layout may have below it; where a key that stands in the layout itself could
/// be of several, it is of the first.
pub(crate) const SECTIONS: [&str; 6] = [GUEST, STACK, WORKLOAD, LOAD, QOS, STORAGE];

/// What stands before the name of a single setting.
const SETTINGS: &str = "stack.settings.";

/// Sections of one kind or another, which share few keys: another kind begins without the keys of
/// the section that it replaces.
const KINDS: [&str; 2] = [WORKLOAD, STACK];

/// Layouts that say the same of the sections.
pub(crate) struct LayoutSet<'i> {
    /// Their places in the file, from zero.
    pub(crate) places: Vec<usize>,
    /// The study as it is in these layouts, and without all others.
    pub(crate) root: DeTable<'i>,
    /// What they say, in the order of the keys.
    pub(crate) overrides: Vec<Override>,
}

impl LayoutSet<'_> {
    /// What they say, for the labels of their points; what is a list is a factor, and not said
    /// here.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let is_list =
            |said: &&Override| said.value.starts_with('[') && !said.value.starts_with("[[");
        let single = self.overrides.iter().filter(|said| !is_list(said));
        single
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

/// Divides the layouts of a study into sets, those without overrides first; there is at least one.
/// Keys that cannot differ between layouts are refused.
pub(crate) fn divide<'i>(root: DeTable<'i>, context: &mut Context) -> Vec<LayoutSet<'i>> {
    let whole = |root: DeTable<'i>, count: usize| LayoutSet {
        places: (0..count).collect(),
        root,
        overrides: Vec::new(),
    };
    let Some(DeValue::Array(layouts)) = root.get(LAYOUT).map(Spanned::get_ref) else {
        return vec![whole(root, 0)];
    };
    let count = layouts.len();
    // What is wrong with them is told by the grammar.
    if count > MOST_LAYOUTS || !layouts.iter().any(says_more) {
        return vec![whole(root, count)];
    }
    let mut sets: Vec<(Vec<Override>, Vec<usize>, DeTable<'i>)> = Vec::new();
    for (place, layout) in layouts.iter().enumerate() {
        let said = said_by(layout.get_ref(), context);
        let mut overrides = Vec::new();
        written(&said, &mut Vec::new(), &mut overrides);
        overrides.sort();
        match sets.iter_mut().find(|(known, ..)| *known == overrides) {
            Some((_, places, _)) => places.push(place),
            None => sets.push((overrides, vec![place], said)),
        }
    }
    sets.sort_by_key(|(overrides, ..)| !overrides.is_empty());
    sets.into_iter()
        .map(|(overrides, places, said)| LayoutSet {
            root: with_layouts(&root, &places, &said),
            places,
            overrides,
        })
        .collect()
}

/// Whether a layout has keys of sections.
fn says_more(layout: &Spanned<DeValue<'_>>) -> bool {
    let DeValue::Table(table) = layout.get_ref() else {
        return false;
    };
    table
        .iter()
        .any(|(key, value)| owner_of(key, value).is_some())
}

/// The section of a key that stands in a layout, or that the key is: one that has keys. `None` of
/// the layout's own keys and of unknown ones.
fn owner_of(key: &Spanned<Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Option<&'static str> {
    let is_section = SECTIONS
        .into_iter()
        .find(|section| *section == key.get_ref());
    match is_section {
        Some(section) => value.get_ref().is_table().then_some(section),
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

/// The keys of a layout by section, as tables of the study have them.
fn said_by<'i>(layout: &DeValue<'i>, context: &mut Context) -> DeTable<'i> {
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
    if let Some(why) = factors::fixed(section, key.get_ref()).filter(|_| section != QOS) {
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

/// The study with these layouts alone, and what they say laid over it.
fn with_layouts<'i>(root: &DeTable<'i>, places: &[usize], said: &DeTable<'i>) -> DeTable<'i> {
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
    if let Some(DeValue::Array(layouts)) = own.get_mut(LAYOUT).map(Spanned::get_mut) {
        let kept = places.iter().filter_map(|place| layouts.get(*place));
        *layouts = kept.map(own_keys).collect();
    }
    own
}

/// A layout without the keys of sections.
fn own_keys<'i>(layout: &Spanned<DeValue<'i>>) -> Spanned<DeValue<'i>> {
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

#[cfg(test)]
mod tests {
    use crate::{Document, GuestKind, HostFacts, Plan, Study};

    const HEAD: &str = "title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = 8\n\
                        [stack]\nkind = \"lamp\"\ntuning = [\"stock\", \"pureflex\"]\n[guest]\n\
                        kind = \"container\"\nmemory = \"512MiB\"\n";

    fn parse(layouts: &str) -> Result<Document, String> {
        Document::parse("s.toml", &format!("{HEAD}{layouts}"))
            .map_err(|problems| problems.list()[0].message.clone())
    }

    fn plan(layouts: &str) -> Plan {
        let document = parse(layouts).unwrap_or_else(|problem| panic!("{problem}"));
        let host = HostFacts {
            cpus: (0..5).collect(),
            memory_mib: 16_384,
            disk_free_mib: 65_536,
            root: true,
            places: Vec::new(),
        };
        Plan::of(&document, &host).unwrap_or_else(|problems| panic!("{problems}"))
    }

    const BARE: &str = "[[layout]]\nname = \"bare metal\"\nkind = \"bare\"\nvcpus = 2\n\
                        stack.tuning = \"pureflex\"\nqos.p95 = \"1s\"\n[[layout]]\nname = \
                        \"guests\"\nguests = [1, 2]\nbaseline = \"bare metal\"\n";

    #[test]
    fn a_layout_has_its_own_sections_and_keeps_its_place() {
        let plan = plan(BARE);
        let labels: Vec<String> = plan.points.iter().map(crate::Point::label).collect();
        insta::assert_snapshot!(labels.join("\n"), @r"
        1 x 2 vCPU, 8 users, kind=bare, p95=1s, tuning=pureflex
        1 x 1 vCPU, 8 users, tuning=stock
        1 x 1 vCPU, 8 users, tuning=pureflex
        2 x 1 vCPU, 16 users, tuning=stock
        2 x 1 vCPU, 16 users, tuning=pureflex
        ");
        let kinds: Vec<GuestKind> = plan
            .points
            .iter()
            .map(|point| plan.study_of(point).guest.kind())
            .collect();
        assert_eq!(kinds[0], GuestKind::Bare);
        assert!(kinds[1..].iter().all(|kind| *kind == GuestKind::Container));
        let limits: Vec<usize> = plan
            .variants
            .iter()
            .map(|variant| variant.study.qos.percentiles.len())
            .collect();
        assert_eq!(
            limits,
            [0, 0, 1],
            "limits of one layout are those of no other"
        );
        assert_eq!(plan.factors.len(), 1);
    }

    #[test]
    fn the_study_as_a_file_says_what_its_layouts_say() {
        let document = parse(BARE).expect("valid");
        let text = document.study().to_toml();
        assert!(
            text.contains("guest.kind = \"bare\"\nqos.p95 = \"1s\"\n"),
            "{text}"
        );
        let again = Study::parse("s.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(again.to_toml(), text);
        assert_eq!(again.layouts, document.study().layouts);
    }

    #[test]
    fn a_list_in_a_layout_is_a_factor_of_that_layout() {
        let plan = plan(
            "[[layout]]\nname = \"a\"\nstack.tuning = \"stock\"\nstack.server = [\"prefork\", \
             \"event\"]\n[[layout]]\nname = \"b\"\n",
        );
        let labels: Vec<String> = plan.points.iter().map(crate::Point::label).collect();
        insta::assert_snapshot!(labels.join("\n"), @r"
        1 x 1 vCPU, 8 users, tuning=stock
        1 x 1 vCPU, 8 users, tuning=pureflex
        1 x 1 vCPU, 8 users, server=prefork, tuning=stock
        1 x 1 vCPU, 8 users, server=event, tuning=stock
        ");
    }

    #[test]
    fn what_contradicts_has_its_line() {
        let said = |layouts: &str| parse(layouts).expect_err("refused");
        insta::assert_snapshot!(
            [
                said("[[layout]]\nname = \"a\"\nload.repeats = 7\n"),
                said("[[layout]]\nname = \"a\"\nstack.tunin = \"stock\"\n"),
                said("[[layout]]\nname = \"a\"\nkind = \"bare\"\nvcpus = 0.5\n"),
                said("[[layout]]\nname = \"a\"\nbaseline = \"bare\"\n[[layout]]\nname = \"bar\"\n"),
                said("[[layout]]\nname = \"a\"\nbaseline = \"a\"\n"),
                said("[[layout]]\nname = \"a\"\nkind = \"bare\"\n[[layout]]\nname = \"a\"\n"),
                said("[[layout]]\nname = \"a\"\nstack = 5\n"),
                said("[[layout]]\nname = \"a\"\nworkload.kind = \"orderentry\"\n"),
            ]
            .join("\n\n"),
            @r#"
        `load.repeats` cannot differ between layouts: all levels are repeated alike

        unknown key `tunin` in [stack]

        bare guests cannot have 0.5 vCPUs: nothing limits their CPU time

        no layout is named `bare`

        the layout `a` is its own baseline

        a layout named `a` exists already

        unknown key `stack` in [[layout]]

        `workload.kind` is "orderentry", which the stack "lamp" does not carry
        "#
        );
    }

    #[test]
    fn another_workload_begins_without_the_keys_of_the_first() {
        let text = "[[layout]]\nname = \"shop\"\n[[layout]]\nname = \"database\"\nworkload.kind = \
                    \"orderentry\"\nworkload.warehouses = 2\nstack.kind = \"mariadb\"\n";
        let document = parse(text).unwrap_or_else(|problem| panic!("{problem}"));
        let kinds: Vec<&str> = document
            .variants()
            .iter()
            .map(|variant| crate::names::Named::name(variant.study.workload.kind()))
            .collect();
        assert_eq!(kinds, ["dvdstore", "dvdstore", "orderentry"]);
    }
}
