//! The top of the file.

use crate::{
    design::Design,
    grammar::{
        SectionInfo, keys,
        kinds::{Choice, Text, Whole},
    },
    model::Study,
    names::Named,
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "",
    many: false,
    meaning: "The top of the file, before the first section.",
    keys: RootKeys::keys,
    below: &[],
};

impl Named for Design {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("full", Self::Full, "every combination"),
        (
            "screening",
            Self::Screening,
            "a balanced part of the combinations of factors of two levels each, which shows the \
             effect of each factor alone",
        ),
    ];
}

/// Seeds stay within what TOML promises for integers.
const LARGEST_SEED: u64 = i64::MAX as u64;

keys! {
    /// Keys at the top of the file.
    RootKeys {
        /// Title of the report.
        title: Text = Text { most: 200, lines: false, example: "One big guest or many small \
            ones?" }, Required;
        /// The question in words; opens the report.
        question: Text = Text { most: 2000, lines: true, example: "What does each layer \
            cost?" }, Optional("the title \
            asks it");
        /// Every random stream derives from it: the same seed gives the same data, users and order
        /// of trials.
        seed: Whole<u64> = Whole { min: 0, max: LARGEST_SEED }, Default("1");
        /// How the levels of factors (keys with a list of values) are combined.
        design: Choice<Design> = Choice::NEW, Default("\"full\"");
    }
}

impl RootKeys {
    pub(crate) fn of(study: &Study) -> Self {
        Self {
            title: Some(study.title.clone()),
            question: study.question.clone(),
            seed: Some(study.seed),
            // One variant of a study has no factors to combine.
            design: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn defaults() {
        let study = with("").expect("valid");
        assert_eq!(
            (study.title.as_str(), study.question, study.seed),
            ("t", None, 1)
        );
    }

    #[test]
    fn seeds_are_not_negative() {
        assert_eq!(
            refusal("seed = -1"),
            "study::out-of-range: `seed` is negative"
        );
    }
}
