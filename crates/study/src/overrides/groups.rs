//! `[[layout.group]]`: guests of one layout that differ.
//!
//! A group is read as a study of its own: what it says is laid over what its layout says, and the
//! group is the only layout of that study.

use std::{borrow::Cow, ops::Range};

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use super::{
    named::NamedWorkloads,
    said::{LayoutSet, listed, own_keys, said_by, with_sections},
};
use crate::{
    grammar::{Context, Reader},
    names::nearest,
    problem::Code,
    sections::{self, GROUP, GroupKeys, LAYOUT, LOAD, MOST_GROUPS, MOST_GUESTS},
    source::quoted,
    values::{LayoutGroup, Override, host_by_host},
};

/// What a layout with groups must not say: its groups do.
const OF_GROUPS: [&str; 3] = ["guests", "vcpus", "users"];

/// Keys of `[load]` that all groups of a trial share: its phases are the same for all.
const SHARED: [&str; 5] = ["ramp_up", "settle", "steady", "ramp_down", "drain"];

/// A layout with groups, and what is around it.
pub(super) struct LayoutAround<'a, 'i> {
    pub(super) root: &'a DeTable<'i>,
    pub(super) layout: &'a Spanned<DeValue<'i>>,
    /// Its place in the file, from zero.
    pub(super) place: usize,
    /// What it says of the sections.
    pub(super) said: &'a DeTable<'i>,
}

/// The groups of a layout as they stand in the file; nothing where it names none.
pub(super) fn of_layout<'t, 'i>(layout: &'t Spanned<DeValue<'i>>) -> Option<&'t DeArray<'i>> {
    match layout.get_ref() {
        DeValue::Table(table) => table.get(GROUP)?.get_ref().as_array(),
        _ => None,
    }
}

/// Keys of a layout that say something of its groups, and what.
pub(super) const KEYS_OF_GROUPS: [(&str, &str); 2] = [
    ("tiles", "repeats the groups of a layout"),
    ("hosts", "says where the groups of a layout are"),
];

/// Refuses what says something of groups in a layout without groups.
pub(super) fn check_without(layout: &Spanned<DeValue<'_>>, context: &mut Context) {
    let DeValue::Table(table) = layout.get_ref() else {
        return;
    };
    for (name, what) in KEYS_OF_GROUPS {
        if let Some((key, _)) = table.get_key_value(name) {
            let message = format!("`{name}` {what}, and this one has none");
            let help = format!("write `guests = [1, 2, 3]`, or groups as `[[{LAYOUT}.{GROUP}]]`");
            context.refuse::<()>(Code::Contradiction, key.span(), message, help);
        }
    }
}

/// The hosts among which the plan chooses, where a layout names some; what is no name is refused
/// with the keys of the layout.
fn hosts_of<'t>(layout: &'t Spanned<DeValue<'_>>) -> Option<Vec<(&'t str, Range<usize>)>> {
    let DeValue::Table(table) = layout.get_ref() else {
        return None;
    };
    let hosts = table.get("hosts")?;
    let all = match hosts.get_ref() {
        DeValue::Array(list) => list.iter().collect(),
        _ => vec![hosts],
    };
    let name = |host: &'t Spanned<DeValue<'_>>| Some((host.get_ref().as_str()?, host.span()));
    Some(all.into_iter().filter_map(name).collect())
}

/// The set of a layout with groups; nothing where none of them can be read.
pub(super) fn divide<'i>(
    around: &LayoutAround<'_, 'i>,
    tables: &DeArray<'i>,
    overrides: Vec<Override>,
    named: &mut NamedWorkloads<'i>,
    context: &mut Context,
) -> Option<LayoutSet<'i>> {
    let outer = std::mem::take(&mut context.spans);
    let path = format!("{LAYOUT}[{}]", around.place);
    context.spans.insert(path.clone(), around.layout.span());
    check_layout(around, tables, context);
    let layout_root = with_sections(around.root, around.said);
    let (mut roots, mut groups, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    for (index, table) in tables.iter().enumerate().take(MOST_GROUPS) {
        let said = said_by(table.get_ref(), named, context);
        check_shared(&said, context);
        let path = format!("{path}.{GROUP}[{index}]");
        let Some(keys) = read_keys(table, &path, context) else {
            continue;
        };
        let mut root = with_sections(&layout_root, &said);
        if check_users(&keys, &root, &path, context).is_some() {
            let layout = as_layout(around, table, &keys, &root);
            root.remove(LAYOUT);
            root.insert(layout_key(around), layout);
            roots.push(root);
        }
        if let Some(group) = keys.build(listed(&said)) {
            groups.push(group);
            paths.push(path);
        }
    }
    check_groups(&groups, &paths, around.layout, context);
    if roots.len() == groups.len() {
        let order = host_by_host(&groups);
        let in_order = order.iter().map(|place| (&roots[*place], &groups[*place]));
        (roots, groups) = in_order
            .map(|(root, group)| (root.clone(), group.clone()))
            .unzip();
    }
    context.spans = outer;
    // What was refused is not planned; what else is wrong with its sections is told all the same.
    (!roots.is_empty()).then(|| LayoutSet {
        places: vec![around.place],
        roots,
        overrides,
        alike: Vec::new(),
        groups,
    })
}

/// What a layout with groups cannot have.
fn check_layout(around: &LayoutAround<'_, '_>, tables: &DeArray<'_>, context: &mut Context) {
    let DeValue::Table(table) = around.layout.get_ref() else {
        return;
    };
    for name in OF_GROUPS {
        if let Some((key, _)) = table.get_key_value(name) {
            let message = format!("a layout with groups has no `{name}` of its own");
            let help = format!("write `{name}` in its groups, `[[{LAYOUT}.{GROUP}]]`");
            context.refuse::<()>(Code::Contradiction, key.span(), message, help);
        }
    }
    check_hosts(around.layout, context);
    let span = around.layout.span();
    if tables.is_empty() {
        let help = format!("write `[[{LAYOUT}.{GROUP}]]` below it");
        let message = format!("`{LAYOUT}.{GROUP}` is an empty list");
        context.refuse::<()>(Code::EmptyList, span, message, help);
    } else if tables.len() > MOST_GROUPS {
        let message = format!(
            "a layout has {} groups, at most {MOST_GROUPS} are allowed",
            tables.len()
        );
        context.refuse::<()>(Code::TooMany, span, message, "use several layouts");
    }
    for key in ["search", "half_width", "precision"] {
        // As a word it only says how arrivals are started.
        let asked = if key == "precision" { has_table } else { has };
        if asked(around.root, LOAD, key) {
            let message = format!("`load.{key}` asks for one load, and the groups have several");
            let help =
                format!("remove `{key}` from [load], or put the groups into a study of their own");
            context.refuse::<()>(Code::Contradiction, around.layout.span(), message, help);
        }
    }
}

/// The hosts of a layout are different ones, at least one.
fn check_hosts(layout: &Spanned<DeValue<'_>>, context: &mut Context) {
    let Some(hosts) = hosts_of(layout) else {
        return;
    };
    if hosts.is_empty() {
        let message = "`layout.hosts` is an empty list";
        let help = "name hosts of the file of `--guests`, or remove it";
        context.refuse::<()>(Code::EmptyList, layout.span(), message, help);
    }
    for (index, (host, span)) in hosts.iter().enumerate() {
        if hosts[..index].iter().any(|(other, _)| other == host) {
            let message = format!("the host {} is named twice", quoted(host));
            let help = "name each host once";
            context.refuse::<()>(Code::DuplicateValue, span.clone(), message, help);
        }
    }
}

/// What a group says of `[load]` must leave the phases of the trial alone.
fn check_shared(said: &DeTable<'_>, context: &mut Context) {
    let Some(DeValue::Table(load)) = said.get(LOAD).map(Spanned::get_ref) else {
        return;
    };
    for name in SHARED {
        if let Some((key, _)) = load.get_key_value(name) {
            let message = format!(
                "`load.{name}` cannot differ between groups: all have the phases of their trial"
            );
            let help = format!("write `{name}` in the layout, or in [load]");
            context.refuse::<()>(Code::Contradiction, key.span(), message, help);
        }
    }
}

/// The keys of a group, those of sections aside.
fn read_keys(table: &Spanned<DeValue<'_>>, path: &str, context: &mut Context) -> Option<GroupKeys> {
    let own = own_keys(table);
    let DeValue::Table(own) = own.get_ref() else {
        let message = format!("an element of `{LAYOUT}.{GROUP}` is no section");
        let help = format!("write `[[{LAYOUT}.{GROUP}]]` on a line of its own, and its keys below");
        return context.refuse(Code::WrongType, table.span(), message, help);
    };
    let before = context.findings.len();
    context.spans.insert(path.to_owned(), table.span());
    let mut reader = Reader::new(Some(own), path, table.span(), sections::home_of, context);
    let keys = GroupKeys::read(&mut reader);
    reader.finish();
    (context.findings.len() == before).then_some(keys)
}

/// A group has users, or others call it.
fn check_users(
    keys: &GroupKeys,
    root: &DeTable<'_>,
    path: &str,
    context: &mut Context,
) -> Option<()> {
    let name = keys.name.as_deref().unwrap_or_default();
    if keys.tier_of.is_some() {
        if keys.users.is_some() {
            let span = context.spans.nearest(&format!("{path}.users"));
            let message = format!("the group {} has users, and is a tier", quoted(name));
            let help = "remove `users`, or `tier_of`: the guests of a tier are called by others";
            return context.refuse(Code::Contradiction, span, message, help);
        }
        return Some(());
    }
    if keys.users.is_none() && !has_load(root) {
        let span = context.spans.nearest(&format!("{path}.name"));
        let message = format!("the group {} has no users", quoted(name));
        let help = "add `users = 20` to it or to [load], or `tier_of = \"GROUP\"` where the guests \
                    of another group call it";
        return context.refuse(Code::MissingKey, span, message, help);
    }
    Some(())
}

/// Whether `[load]` has users, or the arrivals of an open load.
fn has_load(root: &DeTable<'_>) -> bool {
    has(root, LOAD, "users") || has(root, LOAD, "rate")
}

fn has(root: &DeTable<'_>, section: &str, key: &str) -> bool {
    match root.get(section).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => table.contains_key(key),
        _ => false,
    }
}

/// Whether it has the key with a table.
fn has_table(root: &DeTable<'_>, section: &str, key: &str) -> bool {
    match root.get(section).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => table
            .get(key)
            .is_some_and(|value| value.get_ref().is_table()),
        _ => false,
    }
}

/// What cannot hold between the groups of a layout.
fn check_groups(
    groups: &[LayoutGroup],
    paths: &[String],
    layout: &Spanned<DeValue<'_>>,
    context: &mut Context,
) {
    let hosts = hosts_of(layout);
    let known: Option<Vec<&str>> = hosts
        .as_ref()
        .map(|hosts| hosts.iter().map(|(name, _)| *name).collect());
    let span = |index: usize, key: &str, context: &Context| {
        context.spans.nearest(&format!("{}.{key}", paths[index]))
    };
    let names: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
    for (index, group) in groups.iter().enumerate() {
        if names[..index].contains(&&*group.name) {
            let message = format!("a group named {} exists already", quoted(&group.name));
            let help = "give each group of the layout its own name";
            let place = span(index, "name", context);
            context.refuse::<()>(Code::DuplicateValue, place, message, help);
        }
        if let Some(front) = &group.tier_of {
            let place = span(index, "tier_of", context);
            check_tier(groups, index, front, place, context);
        }
        let place = span(index, "host", context);
        check_host(groups, group, known.as_deref(), place, context);
    }
    let guests: u64 = groups.iter().map(|group| u64::from(group.guests)).sum();
    if guests > u64::from(MOST_GUESTS) {
        let message = format!("the groups have {guests} guests, at most {MOST_GUESTS} are allowed");
        context.refuse::<()>(Code::TooMany, layout.span(), message, "use fewer guests");
    }
}

/// Groups that are on several hosts name theirs, unless the plan lays them on `hosts`, and do not
/// call each other.
fn check_host(
    groups: &[LayoutGroup],
    group: &LayoutGroup,
    hosts: Option<&[&str]>,
    span: Range<usize>,
    context: &mut Context,
) {
    let name = quoted(&group.name);
    let front = groups
        .iter()
        .find(|other| group.tier_of.as_ref() == Some(&other.name));
    let some_named = groups.iter().any(|one| one.host.is_some());
    let (message, help) = if group.host.is_none() && some_named && hosts.is_none() {
        (
            format!("the group {name} names no host, and other groups of its layout do"),
            "write `host` in all groups of the layout or in none, or in the layout `hosts`, on \
             which the plan lays those that name none",
        )
    } else if let Some(front) = front.filter(|front| front.host != group.host) {
        (
            format!(
                "the group {name} is a tier of {}, whose guests are on another host: only what is \
                 on one network of guests can be called",
                quoted(&front.name)
            ),
            "write the same `host` in both groups",
        )
    } else if let (Some(host), Some(hosts)) = (&group.host, hosts)
        && !hosts.contains(&host.as_str())
    {
        (
            format!(
                "the group {name} is on the host {}, which is none of the layout's `hosts`",
                quoted(host)
            ),
            "add it to `hosts`, or name one of them",
        )
    } else {
        return;
    };
    context.refuse::<()>(Code::Contradiction, span, message, help.to_owned());
}

fn check_tier(
    groups: &[LayoutGroup],
    index: usize,
    front: &str,
    span: Range<usize>,
    context: &mut Context,
) {
    let name = &groups[index].name;
    let (message, help) = match groups.iter().find(|group| group.name == front) {
        None => {
            let others = groups.iter().filter(|group| group.name != *name);
            let others: Vec<&str> = others.map(|group| &*group.name).collect();
            let help = match nearest(front, &others) {
                Some(near) => format!("write `tier_of = \"{near}\"`"),
                None => format!("name one of the layout's groups: {}", others.join(", ")),
            };
            (format!("no group is named {}", quoted(front)), help)
        }
        Some(_) if front == name => (
            format!("the group {} is a tier of itself", quoted(name)),
            "name the group whose guests call it".to_owned(),
        ),
        Some(other) if other.tier_of.is_some() => (
            format!(
                "the group {} is a tier itself: no one calls it but its callers",
                quoted(front)
            ),
            "name a group that has users".to_owned(),
        ),
        Some(_) => {
            let twice = groups[..index]
                .iter()
                .find(|other| other.tier_of.as_deref() == Some(front));
            let Some(other) = twice else { return };
            (
                format!(
                    "the group {} has the tier {} already",
                    quoted(front),
                    quoted(&other.name)
                ),
                "give it one tier".to_owned(),
            )
        }
    };
    context.refuse::<()>(Code::Contradiction, span, message, help);
}

fn layout_key<'i>(around: &LayoutAround<'_, 'i>) -> Spanned<Cow<'i, str>> {
    let key = around.root.get_key_value(LAYOUT);
    key.map_or_else(
        || Spanned::new(around.layout.span(), Cow::Borrowed(LAYOUT)),
        |(key, _)| key.clone(),
    )
}

/// A group as the only layout of its study: the name and the baseline are those of its layout. A
/// tier has the users of those who call it; until they are known, one for each guest.
fn as_layout<'i>(
    around: &LayoutAround<'_, 'i>,
    group: &Spanned<DeValue<'i>>,
    keys: &GroupKeys,
    root: &DeTable<'i>,
) -> Spanned<DeValue<'i>> {
    let span = group.span();
    let mut layout = DeTable::new();
    let mut copy = |from: &Spanned<DeValue<'i>>, names: &[&str]| {
        let DeValue::Table(from) = from.get_ref() else {
            return;
        };
        for (key, value) in from {
            if names.contains(&key.get_ref().as_ref()) {
                layout.insert(key.clone(), value.clone());
            }
        }
    };
    copy(around.layout, &["name", "baseline", "tiles", "hosts"]);
    copy(group, &OF_GROUPS);
    if keys.tier_of.is_some() && !has_load(root) {
        let users = DeValue::String(Cow::Borrowed("1 per guest"));
        let key = Spanned::new(span.clone(), Cow::Borrowed("users"));
        layout.insert(key, Spanned::new(span.clone(), users));
    }
    let layout = Spanned::new(span, DeValue::Table(layout));
    let mut layouts = DeArray::new();
    layouts.push(layout);
    Spanned::new(around.layout.span(), DeValue::Array(layouts))
}
