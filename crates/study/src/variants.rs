//! From the tables of a parsed file to its variants: the study under every combination of levels
//! that the design asks for.

use std::ops::Range;

use rookery_cast::count_u32;
use toml::de::DeTable;

use crate::{
    design::{self, Aliases, Design},
    factors::{self, Found},
    grammar::{Context, Spans},
    model::{Measure, Study},
    names::nearest,
    overrides::{self, LayoutSet},
    plan::{Factor, Variant},
    problem::Code,
    reading::{check_size, read_study},
    source::{Source, printable, quoted},
    values::{Layout, LayoutGroup, Override},
};

/// Most variants of a study.
const MOST: usize = 256;

/// A study with all its variants.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    /// The study of the first variant with the layouts of all.
    pub(crate) study: Study,
    /// At least one; the first has the first level of every factor.
    pub(crate) variants: Vec<Variant>,
    /// Where the keys of each variant stand, for each of its studies.
    pub(crate) spans: Vec<Vec<Spans>>,
    pub(crate) factors: Vec<Factor>,
    pub(crate) design: Design,
    /// The level of each factor in each variant.
    rows: Vec<Vec<usize>>,
}

/// Reads a study with its factors, in each set of layouts that says something else of the sections.
pub(crate) fn expand(
    root: DeTable<'_>,
    source: &Source,
    context: &mut Context,
) -> Option<Expansion> {
    let before = context.findings.len();
    let sets = overrides::divide(root, context);
    let mut parts = Vec::new();
    for set in sets {
        let known = context.findings.len();
        let part = expand_set(set, source, context);
        // What is wrong with a section is wrong in every set.
        let told = context.findings.split_off(known);
        for finding in told {
            if known == before || !context.findings.contains(&finding) {
                context.findings.push(finding);
            }
        }
        parts.extend(part);
    }
    if context.findings.len() > before {
        return None;
    }
    join(parts, context)
}

/// One set of layouts: its own variants, and their places in the file.
struct Part {
    places: Vec<usize>,
    overrides: Vec<Override>,
    groups: Vec<LayoutGroup>,
    expansion: Expansion,
}

/// Reads one set. Each level is read once in the company of first levels, so that problems are
/// found in little time; only a study without problems is read under every combination.
///
/// The groups of a layout share the levels of a factor that several of them have.
fn expand_set(mut set: LayoutSet<'_>, source: &Source, context: &mut Context) -> Option<Part> {
    let before = context.findings.len();
    let said = set.levels();
    let groups: Vec<SetGroup<'_>> = std::mem::take(&mut set.roots)
        .into_iter()
        .map(|root| SetGroup::read(root, source, context))
        .collect();
    let shared = shared_factors(&groups, context);
    let bases: Option<Vec<&Read>> = groups.iter().map(|group| group.base.as_ref()).collect();
    let bases = bases?;
    let (study, design, spans) = bases.first()?;
    check_groups(study, &set.groups, spans, context);
    let rows = rows(*design, &shared, spans, context);
    for (study, _, spans) in &bases {
        context.spans = spans.clone();
        check_size(study, rows.as_ref().map_or(1, Vec::len), context);
    }
    if context.findings.len() > before {
        return None;
    }
    let rows = rows?;
    let (mut variants, mut places) = (Vec::new(), Vec::new());
    for (id, row) in (1..).zip(&rows) {
        let mut studies = Vec::new();
        let mut spans_of = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            let row = group.row(&shared, row);
            let chosen = factors::choose(&group.root, &group.found, &row);
            let (study, _, spans) = read(&chosen, source, context)?;
            let mut study = alone(study);
            if is_front(&set.groups, place) {
                study.storage.roles.clear();
            }
            studies.push(study);
            spans_of.push(spans);
        }
        let levels = shared
            .iter()
            .zip(row)
            .map(|(factor, level)| factor.level(*level));
        let levels = levels.chain(said.iter().cloned()).collect();
        let study = studies.remove(0);
        variants.push(Variant {
            id,
            levels,
            study,
            further: studies,
        });
        places.push(spans_of);
    }
    let expansion = Expansion {
        study: (*study).clone(),
        variants,
        spans: places,
        factors: shared.iter().map(|factor| factor.named()).collect(),
        design: *design,
        rows,
    };
    Some(Part {
        places: set.places,
        overrides: set.overrides,
        groups: set.groups,
        expansion,
    })
}

/// Groups of guests that differ have no load time of their own.
fn check_groups(study: &Study, groups: &[LayoutGroup], spans: &Spans, context: &mut Context) {
    if study.measure == Measure::LoadTime && !groups.is_empty() {
        let message = "`measure.load_time` loads guests that are alike, and this layout has groups";
        let help = "write a layout without groups for each database whose load time matters";
        let span = spans.nearest("measure.load_time");
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}

/// Whether the guests of the group at this place have their database in those of another, its tier:
/// they have no log and no temporary files that could lie apart.
fn is_front(groups: &[LayoutGroup], place: usize) -> bool {
    let Some(own) = groups.get(place) else {
        return false;
    };
    let mut fronts = groups.iter().filter_map(|group| group.tier_of.as_ref());
    fronts.any(|front| *front == own.name)
}

/// A study of a variant without what its layouts are compared with, how they are repeated and where
/// they are: that is in the study of the file, and other layouts may not be in this one.
fn alone(mut study: Study) -> Study {
    for layout in &mut study.layouts {
        layout.baseline = None;
        layout.tiles.clear();
        layout.hosts.clear();
    }
    study
}

/// The study of one group of a set, or of all guests where they are alike.
struct SetGroup<'i> {
    root: DeTable<'i>,
    found: Vec<Found<'i>>,
    /// With the first level of each factor.
    base: Option<Read>,
}

impl<'i> SetGroup<'i> {
    /// Reads every level once.
    fn read(mut root: DeTable<'i>, source: &Source, context: &mut Context) -> Self {
        let found = factors::find(&mut root, context);
        let base = read(&root, source, context);
        for (index, factor) in found.iter().enumerate() {
            read_levels(&root, &found, index, factor, base.as_ref(), source, context);
        }
        Self { root, found, base }
    }

    /// Its own levels in a row of those of all groups.
    fn row(&self, shared: &[&Found<'_>], row: &[usize]) -> Vec<usize> {
        let level = |own: &Found<'_>| {
            let place = shared.iter().position(|factor| factor.key == own.key);
            place.and_then(|place| row.get(place)).copied().unwrap_or(0)
        };
        self.found.iter().map(level).collect()
    }
}

/// The factors of all groups, each once, with the same levels wherever they are.
fn shared_factors<'g, 'i>(groups: &'g [SetGroup<'i>], context: &mut Context) -> Vec<&'g Found<'i>> {
    let mut shared: Vec<&Found<'_>> = Vec::new();
    for factor in groups.iter().flat_map(|group| &group.found) {
        match shared.iter().find(|known| known.key == factor.key) {
            None => shared.push(factor),
            Some(known) if known.named() == factor.named() => {}
            Some(_) => {
                let key = printable(&factor.key, 100);
                let message = format!("the groups compare other levels of `{key}`");
                let help = "give all of them the same list, or each one value";
                context.refuse::<()>(Code::Contradiction, factor.span.clone(), message, help);
            }
        }
    }
    shared
}

/// All sets together: variants are numbered through, factors united, layouts in the order of the
/// file.
fn join(parts: Vec<Part>, context: &mut Context) -> Option<Expansion> {
    let mut layouts = Vec::new();
    for part in &parts {
        let own = part.expansion.study.layouts.iter().zip(&part.places);
        for (index, (layout, place)) in own.enumerate() {
            let overrides = part.overrides.clone();
            let layout = Layout {
                overrides,
                ..with_groups(layout.clone(), &part.groups)
            };
            let spans = part.expansion.spans.first()?.first()?;
            let span = |key: &str| spans.nearest(&format!("layout[{index}].{key}"));
            layouts.push((*place, layout, span("name"), span("baseline")));
        }
    }
    layouts.sort_by_key(|(place, ..)| *place);
    check_layouts(&layouts, context)?;
    let mut parts = parts.into_iter().map(|part| part.expansion);
    let mut all = parts.next()?;
    for part in parts {
        if all.design == Design::Screening && part.factors != all.factors {
            let message = "a screening design compares the same factors in every layout";
            let help = "write `design = \"full\"`, or keep the layout from its own values";
            let span = part.spans.first()?.first()?.nearest("design");
            return context.refuse(Code::Contradiction, span, message, help);
        }
        unite(&mut all.factors, part.factors);
        let count = count_u32(all.variants.len());
        all.variants
            .extend(part.variants.into_iter().map(|variant| Variant {
                id: variant.id + count,
                ..variant
            }));
        all.spans.extend(part.spans);
    }
    if all.variants.len() > MOST {
        let message = format!(
            "all combinations of all layouts are {} variants, at most {MOST} are allowed",
            all.variants.len()
        );
        let help = "split the study into several files";
        return context.refuse(Code::TooMany, 0..0, message, help);
    }
    all.study.layouts = layouts.into_iter().map(|(_, layout, ..)| layout).collect();
    Some(all)
}

/// A layout with its groups, which has no guests of its own.
fn with_groups(layout: Layout, groups: &[LayoutGroup]) -> Layout {
    if groups.is_empty() {
        return layout;
    }
    Layout {
        guests: Vec::new(),
        vcpus: Vec::new(),
        users: None,
        groups: groups.to_vec(),
        ..layout
    }
}

/// Layouts have names of their own, and are compared with others that exist.
fn check_layouts(
    layouts: &[(usize, Layout, Range<usize>, Range<usize>)],
    context: &mut Context,
) -> Option<()> {
    let before = context.findings.len();
    for (index, (_, layout, name, baseline)) in layouts.iter().enumerate() {
        if layouts[..index]
            .iter()
            .any(|(_, other, ..)| other.name == layout.name)
        {
            let message = format!("a layout named {} exists already", quoted(&layout.name));
            let help = "give each layout its own name";
            context.refuse::<()>(Code::DuplicateValue, name.clone(), message, help);
        }
        let Some(wanted) = &layout.baseline else {
            continue;
        };
        if *wanted == layout.name {
            let message = format!("the layout {} is its own baseline", quoted(wanted));
            let help = "name another layout, or remove `baseline`";
            context.refuse::<()>(Code::Contradiction, baseline.clone(), message, help);
        } else if !layouts.iter().any(|(_, other, ..)| other.name == *wanted) {
            let names: Vec<&str> = layouts.iter().map(|(_, other, ..)| &*other.name).collect();
            let help = match nearest(wanted, &names) {
                Some(near) => format!("write `baseline = \"{near}\"`"),
                None => format!("the layouts are: {}", names.join(", ")),
            };
            let message = format!("no layout is named {}", quoted(wanted));
            context.refuse::<()>(Code::UnknownChoice, baseline.clone(), message, help);
        }
    }
    (context.findings.len() == before).then_some(())
}

/// Adds factors, and levels of factors, that are new.
fn unite(all: &mut Vec<Factor>, more: Vec<Factor>) {
    for factor in more {
        match all.iter_mut().find(|known| known.key == factor.key) {
            Some(known) => {
                let new = factor.levels.into_iter();
                let new: Vec<String> = new.filter(|level| !known.levels.contains(level)).collect();
                known.levels.extend(new);
            }
            None => all.push(factor),
        }
    }
}

/// What the design of an expansion cannot tell apart; a full one tells all.
pub(crate) fn aliases(expansion: &Expansion) -> Aliases {
    match expansion.design {
        Design::Full => Aliases::default(),
        Design::Screening => design::aliases(&expansion.rows),
    }
}

type Read = (Study, Design, Spans);

/// Beyond so many problems further combinations are not read: no one corrects more at once.
pub(crate) const ENOUGH: usize = 100;

/// Reads one combination; its places are its own. What an earlier combination was refused for
/// already is not told again.
fn read(root: &DeTable<'_>, source: &Source, context: &mut Context) -> Option<Read> {
    let before = context.findings.len();
    context.spans = Spans::default();
    let read = read_study(root, source, context);
    let told = context.findings.split_off(before);
    for finding in told {
        // Only the first of them is long: the others were read because it had few problems.
        if before == 0 || !context.findings.contains(&finding) {
            context.findings.push(finding);
        }
    }
    let spans = std::mem::take(&mut context.spans);
    read.map(|(study, design)| (study, design, spans))
}

/// Reads every level of one factor but the first, and refuses a level that means the same as an
/// earlier one.
fn read_levels(
    root: &DeTable<'_>,
    found: &[Found<'_>],
    index: usize,
    factor: &Found<'_>,
    base: Option<&Read>,
    source: &Source,
    context: &mut Context,
) {
    let mut studies: Vec<Option<Study>> = vec![base.map(|(study, ..)| study.clone())];
    for level in 1..factor.len() {
        if context.findings.len() > ENOUGH {
            return;
        }
        let mut row = vec![0; found.len()];
        row[index] = level;
        let study =
            read(&factors::choose(root, found, &row), source, context).map(|(study, ..)| study);
        if study.is_some() && studies.contains(&study) {
            let message = format!("`{}` has the same value twice", printable(&factor.key, 100));
            context.refuse::<()>(
                Code::DuplicateValue,
                factor.level_span(level),
                message,
                "remove one of them",
            );
        }
        studies.push(study);
    }
}

/// The combinations of levels, if the design can have them.
fn rows(
    design: Design,
    found: &[&Found<'_>],
    spans: &Spans,
    context: &mut Context,
) -> Option<Vec<Vec<usize>>> {
    let levels: Vec<usize> = found.iter().map(|factor| factor.len()).collect();
    if design == Design::Screening {
        if found.is_empty() {
            let message = "a screening design compares factors, and this study has none";
            let help = "give a key a list of two values, or remove `design`";
            return context.refuse(Code::Contradiction, spans.nearest("design"), message, help);
        }
        for factor in found.iter().filter(|factor| factor.len() != 2) {
            let key = printable(&factor.key, 100);
            let message = format!(
                "a screening design compares two levels of each factor, `{key}` has {}",
                factor.len()
            );
            let help = "keep the two that lie furthest apart, or write `design = \"full\"`";
            context.refuse::<()>(Code::Contradiction, factor.span.clone(), message, help);
        }
        if found.iter().any(|factor| factor.len() != 2) {
            return None;
        }
    }
    let count = design::count(design, &levels);
    if count > MOST {
        let span = found.last().map_or(0..0, |factor| factor.span.clone());
        let written: Vec<String> = levels.iter().map(usize::to_string).collect();
        let message = format!(
            "all combinations of {} levels are more than {MOST} variants",
            written.join(" x ")
        );
        let help = "write `design = \"screening\"` with two levels of each factor, or use fewer";
        return context.refuse(Code::TooMany, span, message, help);
    }
    Some(design::rows(design, &levels))
}
