//! `rookery new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::PossibleValue};

/// What a new study asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// The largest load within the limits.
    Capacity,
    /// One big guest against several on the same CPUs.
    Splits,
    /// Two settings against each other.
    Tuning,
}

impl Question {
    /// All of them, as they are asked.
    pub(crate) const ALL: [Self; 3] = [Self::Capacity, Self::Splits, Self::Tuning];

    /// What is typed for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Splits => "splits",
            Self::Tuning => "tuning",
        }
    }

    /// In words.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Capacity => "how much one guest carries within its limits",
            Self::Splits => "whether one big guest does more than several on the same CPUs",
            Self::Tuning => "what a tuning is worth, with an interval",
        }
    }
}

impl ValueEnum for Question {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.meaning()))
    }
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// File to write; it must not exist [default: standard output]
    #[arg(value_name = "FILE")]
    pub(crate) study: Option<PathBuf>,
    /// What you want to know [default: asked]
    #[arg(long, value_enum)]
    pub(crate) question: Option<Question>,
    /// What is measured: embedded, lamp, mariadb or postgresql [default: asked]
    #[arg(long)]
    pub(crate) stack: Option<String>,
    /// CPUs of all guests together [default: asked]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) vcpus: Option<u32>,
}
