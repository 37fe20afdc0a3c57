//! A profile: recommended values of knobs, each with its reason and source; some come with Rookery.

use std::sync::Arc;

use rookery_diagnosis::Diagnosis;

use super::knob::{Knob, join, numbers, same};

/// Recommended values of knobs.
#[derive(Debug)]
pub struct Profile {
    /// Its name: `a-z`, `0-9` and `-`.
    pub name: String,
    /// What it is for, in one line.
    pub title: String,
    /// Settings in the order of [`super::KNOBS`].
    pub settings: Vec<Setting>,
}

/// What a profile says of one knob.
#[derive(Debug)]
pub struct Setting {
    /// The knob.
    pub knob: &'static Knob,
    /// What it should hold.
    pub wanted: Wanted,
    /// Devices that are meant, each possibly with `*` at its end; none = all.
    pub devices: Vec<String>,
    /// Why.
    pub reason: String,
    /// Who says so.
    pub source: String,
}

/// What a knob should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Any of these; the first that the kernel takes is set. Never empty.
    OneOf(Vec<String>),
    /// Each number at least this.
    AtLeast(Vec<u64>),
}

/// Everything that is wrong with a profile.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the profile {file} is not valid:{}", lines(problems))]
pub struct ProfileError {
    /// File or name.
    pub file: String,
    /// The problems, in the order of the file; never empty.
    pub problems: Vec<ProfileProblem>,
}

/// One thing that is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProfileProblem {
    /// File or name.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What the user can do.
    pub help: String,
}

fn lines(problems: &[ProfileProblem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n  line {}: {problem}", problem.line))
        .collect()
}

impl Diagnosis for ProfileProblem {
    fn code(&self) -> &'static str {
        "host::profile"
    }

    fn place(&self) -> Option<String> {
        Some(format!("{}:{}:{}", self.file, self.line, self.column))
    }

    fn help(&self) -> Option<String> {
        Some(self.help.clone())
    }
}

impl Diagnosis for ProfileError {
    fn code(&self) -> &'static str {
        "host::profile"
    }

    fn help(&self) -> Option<String> {
        self.problems.first().map(|problem| problem.help.clone())
    }
}

impl Wanted {
    /// Whether a present value is as wanted.
    #[must_use]
    pub fn holds(&self, present: &str) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|value| same(value, present)),
            Self::AtLeast(least) => numbers(present).is_some_and(|present| {
                present.len() == least.len()
                    && present
                        .iter()
                        .zip(least)
                        .all(|(present, least)| present >= least)
            }),
        }
    }

    /// Values to try, the preferred first.
    pub(crate) fn candidates(&self, present: &str) -> Vec<String> {
        match self {
            Self::OneOf(values) => values.clone(),
            Self::AtLeast(least) => {
                let present = numbers(present).filter(|present| present.len() == least.len());
                let raised = present.map(|present| {
                    present
                        .iter()
                        .zip(least)
                        .map(|(a, b)| *a.max(b))
                        .collect::<Vec<_>>()
                });
                vec![join(raised.as_deref().unwrap_or(least))]
            }
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneOf(values) => f.write_str(&values.join(" or ")),
            Self::AtLeast(least) => write!(f, "at least {}", join(least)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_profiles_are_valid_and_give_reasons() {
        for name in Profile::embedded_names() {
            let profile = Profile::embedded(name)
                .expect("embedded")
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(profile.name, name);
            assert!(
                !profile.title.is_empty() && !profile.settings.is_empty(),
                "{name}"
            );
        }
        assert!(Profile::embedded("no-such").is_none());
    }

    #[test]
    fn enterprise_storage_is_that_of_the_paper() {
        let profile = Profile::embedded("enterprise-storage")
            .expect("embedded")
            .expect("valid");
        let wanted = |key: &str| {
            let setting = profile
                .settings
                .iter()
                .find(|setting| setting.knob.key == key);
            setting
                .unwrap_or_else(|| panic!("{key} is missing"))
                .wanted
                .clone()
        };
        assert_eq!(wanted("vm.swappiness"), Wanted::OneOf(vec!["0".to_owned()]));
        assert_eq!(wanted("ksm.run"), Wanted::OneOf(vec!["0".to_owned()]));
        assert_eq!(
            wanted("thp.defrag"),
            Wanted::OneOf(vec!["never".to_owned()])
        );
        assert_eq!(wanted("block.queue_depth"), Wanted::AtLeast(vec![64]));
        assert!(
            wanted("block.scheduler").holds("mq-deadline")
                && wanted("block.scheduler").holds("deadline")
        );
        assert!(wanted("block.write_cache").holds("write through"));
    }

    #[test]
    fn at_least_never_lowers() {
        let wanted = Wanted::AtLeast(vec![100, 32_000, 100, 100]);
        assert!(wanted.holds("32000\t1024000000\t500\t32000"));
        assert!(!wanted.holds("250\t256000\t32\t1024"));
        assert_eq!(
            wanted.candidates("250\t256000\t32\t1024"),
            ["250 256000 100 1024"]
        );
        assert!(!wanted.holds("unlimited"));
        assert_eq!(wanted.candidates("?"), ["100 32000 100 100"]);
        assert_eq!(wanted.to_string(), "at least 100 32000 100 100");
    }
}
