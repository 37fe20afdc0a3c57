//! What layouts say of sections: keys of `[guest]`, `[stack]`, ... that hold in one layout alone.
//!
//! The layouts of a file are divided into sets that say the same. Each set is read as a study of
//! its own, with the sections as it has them: whatever the grammar allows in a section, it allows
//! in a layout, factors included.

mod groups;
mod named;
mod said;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    grammar::Context,
    sections::{LAYOUT, MOST_LAYOUTS},
    values::Override,
};

use groups::LayoutAround;
use named::NamedWorkloads;
pub(crate) use said::{LayoutSet, SECTIONS, owner};
use said::{listed, own_keys, owner_of, said_by, with_sections};

/// Divides the layouts of a study into sets, those without overrides first; there is at least one.
/// Keys that cannot differ between layouts are refused.
pub(crate) fn divide<'i>(mut root: DeTable<'i>, context: &mut Context) -> Vec<LayoutSet<'i>> {
    let mut named = NamedWorkloads::take(&mut root);
    let whole = |root: DeTable<'i>, count: usize| LayoutSet {
        places: (0..count).collect(),
        roots: vec![root],
        overrides: Vec::new(),
        alike: Vec::new(),
        groups: Vec::new(),
    };
    let Some(DeValue::Array(layouts)) = root.get(LAYOUT).map(Spanned::get_ref) else {
        return vec![whole(root, 0)];
    };
    let count = layouts.len();
    // What is wrong with them is told by the grammar.
    if count > MOST_LAYOUTS || !layouts.iter().any(says_more) {
        named.refuse_unused(context);
        return vec![whole(root, count)];
    }
    let mut sets: Vec<(Vec<Override>, Vec<usize>, DeTable<'i>)> = Vec::new();
    let mut grouped = Vec::new();
    for (place, layout) in layouts.iter().enumerate() {
        let said = said_by(layout.get_ref(), &mut named, context);
        let overrides = listed(&said);
        if let Some(groups) = groups::of_layout(layout) {
            let around = LayoutAround {
                root: &root,
                layout,
                place,
                said: &said,
            };
            grouped.extend(groups::divide(
                &around, groups, overrides, &mut named, context,
            ));
            continue;
        }
        groups::check_without(layout, context);
        match sets.iter_mut().find(|(known, ..)| *known == overrides) {
            Some((_, places, _)) => places.push(place),
            None => sets.push((overrides, vec![place], said)),
        }
    }
    named.refuse_unused(context);
    sets.sort_by_key(|(overrides, ..)| !overrides.is_empty());
    let plain = sets.into_iter().map(|(overrides, places, said)| LayoutSet {
        roots: vec![with_layouts(&root, &places, &said)],
        places,
        overrides,
        alike: Vec::new(),
        groups: Vec::new(),
    });
    let mut sets: Vec<LayoutSet<'i>> = plain.chain(grouped).collect();
    let alike = said_by_all(&sets);
    sets.iter_mut().for_each(|set| set.alike.clone_from(&alike));
    sets
}

/// What all layouts say alike.
fn said_by_all(sets: &[LayoutSet<'_>]) -> Vec<Override> {
    let Some((first, others)) = sets.split_first() else {
        return Vec::new();
    };
    let is_said_by_all = |said: &&Override| others.iter().all(|set| set.overrides.contains(said));
    first
        .overrides
        .iter()
        .filter(is_said_by_all)
        .cloned()
        .collect()
}

/// Whether a layout has keys of sections.
fn says_more(layout: &Spanned<DeValue<'_>>) -> bool {
    let DeValue::Table(table) = layout.get_ref() else {
        return false;
    };
    groups::of_layout(layout).is_some()
        || groups::KEYS_OF_GROUPS
            .iter()
            .any(|(key, _)| table.contains_key(*key))
        || table
            .iter()
            .any(|(key, value)| owner_of(key, value).is_some())
}

/// The study with these layouts alone, and what they say laid over it.
fn with_layouts<'i>(root: &DeTable<'i>, places: &[usize], said: &DeTable<'i>) -> DeTable<'i> {
    let mut own = with_sections(root, said);
    if let Some(DeValue::Array(layouts)) = own.get_mut(LAYOUT).map(Spanned::get_mut) {
        let kept = places.iter().filter_map(|place| layouts.get(*place));
        *layouts = kept.map(own_keys).collect();
    }
    own
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
    fn what_all_layouts_say_alike_is_in_no_label() {
        let plan = plan(
            "[[layout]]\nname = \"one\"\nguests = 1\nstack.tuning = \"stock\"\nguest.memory = \
             \"600MiB\"\n[[layout]]\nname = \"two\"\nguests = 2\nstack.tuning = \
             \"stock\"\nguest.memory = \"700MiB\"\n",
        );
        let labels: Vec<String> = plan.points.iter().map(crate::Point::label).collect();
        insta::assert_snapshot!(labels.join("\n"), @r"
        1 x 1 vCPU, 8 users, memory=600MiB
        2 x 1 vCPU, 16 users, memory=700MiB
        ");
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
