//! Scales: `[scale.NAME]` holds parts of a study that replace those of the file when `--scale NAME`
//! asks for it.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    grammar::Context,
    names::nearest,
    problem::Code,
    source::{printable, quoted},
};

/// The section of scales.
pub(crate) const SECTION: &str = "scale";

pub(crate) const MEANING: &str = "Parts of a study that replace those of the file when `--scale \
                                  NAME` asks for it: the same sections and keys below \
     [scale.NAME], such as [scale.original.load] and [[scale.original.layout]]. Keys replace keys; \
                                  lists and layouts are replaced as a whole.";

/// Most scales of a study.
pub(crate) const MOST: usize = 16;

/// Longest name of a scale, characters.
const LONGEST_NAME: usize = 40;

/// One scale of a file.
pub(crate) struct Scale<'i> {
    pub(crate) name: String,
    overlay: DeTable<'i>,
}

/// Takes the scales out of the study.
pub(crate) fn take<'i>(root: &mut DeTable<'i>, context: &mut Context) -> Vec<Scale<'i>> {
    let Some(section) = root.remove(SECTION) else {
        return Vec::new();
    };
    let help = "write `[scale.NAME.SECTION]` with the keys that differ, for instance \
                `[scale.original.load]`";
    let span = section.span();
    let DeValue::Table(scales) = section.into_inner() else {
        return context
            .refuse(Code::WrongType, span, "`scale` is not a section", help)
            .unwrap_or_default();
    };
    if scales.len() > MOST {
        let message = format!(
            "there are {} scales, at most {MOST} are allowed",
            scales.len()
        );
        return context
            .refuse(
                Code::TooMany,
                span,
                message,
                "split the study into several files",
            )
            .unwrap_or_default();
    }
    let mut found = Vec::new();
    for (name, scale) in scales {
        let (name_span, span) = (name.span(), scale.span());
        let name = name.into_inner();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
            let message = format!("{} is not a name of a scale", quoted(&name));
            context.refuse::<()>(
                Code::Malformed,
                name_span,
                message,
                "use letters, digits, `-` and `_`",
            );
        } else if let DeValue::Table(overlay) = scale.into_inner() {
            found.push(Scale {
                name: name.into_owned(),
                overlay,
            });
        } else {
            let message = format!(
                "`scale.{}` is not a section",
                printable(&name, LONGEST_NAME)
            );
            context.refuse::<()>(Code::WrongType, span, message, help);
        }
    }
    found
}

/// The study with a scale laid over it.
pub(crate) fn apply<'i>(root: &DeTable<'i>, scale: &Scale<'i>) -> DeTable<'i> {
    let mut merged = root.clone();
    lay_over(&mut merged, &scale.overlay);
    merged
}

/// Tables are merged, everything else is replaced. The parser bounds the depth.
pub(crate) fn lay_over<'i>(below: &mut DeTable<'i>, above: &DeTable<'i>) {
    for (key, value) in above {
        match (
            below.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut),
            value.get_ref(),
        ) {
            (Some(DeValue::Table(below)), DeValue::Table(above)) => lay_over(below, above),
            _ => {
                // The key of the overlay must come along: its place is where an unknown key is
                // reported.
                below.remove(key.get_ref().as_ref());
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Refuses a name that the file does not have, and lists those that it has.
pub(crate) fn refuse_unknown(
    asked: &str,
    scales: &[Scale<'_>],
    place: Range<usize>,
    context: &mut Context,
) {
    let known: Vec<&str> = scales.iter().map(|scale| scale.name.as_str()).collect();
    let help = match (nearest(asked, &known), known.is_empty()) {
        (_, true) => "the file has no scales: leave `--scale` out".to_owned(),
        (Some(near), _) => format!("write `--scale {near}`; the file has: {}", known.join(", ")),
        (None, _) => format!("the file has: {}", known.join(", ")),
    };
    context.refuse::<()>(
        Code::UnknownChoice,
        place,
        format!("this study has no scale {}", quoted(asked)),
        help,
    );
}
