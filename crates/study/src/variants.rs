//! From the tables of a parsed file to its variants: the study under every combination of levels
//! that the design asks for.

use toml::de::DeTable;

use crate::{
    design::{self, Aliases, Design},
    factors::{self, Found},
    grammar::{Context, Spans},
    model::Study,
    plan::{Factor, Variant},
    problem::Code,
    reading::{check_size, read_study},
    source::{Source, printable},
};

/// Most variants of a study.
const MOST: usize = 256;

/// A study with all its variants.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    /// At least one; the first has the first level of every factor.
    pub(crate) variants: Vec<Variant>,
    /// Where the keys of each variant stand.
    pub(crate) spans: Vec<Spans>,
    pub(crate) factors: Vec<Factor>,
    pub(crate) design: Design,
    /// The level of each factor in each variant.
    rows: Vec<Vec<usize>>,
}

/// Reads a study with its factors. Each level is read once in the company of first levels, so that
/// problems are found in little time; only a study without problems is read under every
/// combination.
pub(crate) fn expand(
    mut root: DeTable<'_>,
    source: &Source,
    context: &mut Context,
) -> Option<Expansion> {
    let before = context.findings.len();
    let found = factors::find(&mut root, context);
    let base = read(&root, source, context);
    for (index, factor) in found.iter().enumerate() {
        read_levels(&root, &found, index, factor, base.as_ref(), source, context);
    }
    let (study, design, spans) = base?;
    let rows = rows(design, &found, &spans, context);
    context.spans = spans;
    check_size(&study, rows.as_ref().map_or(1, Vec::len), context);
    if context.findings.len() > before {
        return None;
    }
    let rows = rows?;
    let (mut variants, mut places) = (Vec::new(), Vec::new());
    for (id, row) in (1..).zip(&rows) {
        let (study, _, spans) = read(&factors::choose(&root, &found, row), source, context)?;
        let levels = found
            .iter()
            .zip(row)
            .map(|(factor, level)| factor.level(*level))
            .collect();
        variants.push(Variant { id, levels, study });
        places.push(spans);
    }
    Some(Expansion {
        variants,
        spans: places,
        factors: found.iter().map(Found::named).collect(),
        design,
        rows,
    })
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
    found: &[Found<'_>],
    spans: &Spans,
    context: &mut Context,
) -> Option<Vec<Vec<usize>>> {
    let levels: Vec<usize> = found.iter().map(Found::len).collect();
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
