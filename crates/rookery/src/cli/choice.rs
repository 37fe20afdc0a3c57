//! What is chosen of a study file.

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use rookery_study::{Choices, GuestKind};

/// How a study file is read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChoiceArgs {
    /// Take the study in one of the scales of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// Take guests of this kind, whatever the file says
    #[arg(long, value_name = "KIND", value_parser = guest_kinds())]
    pub(crate) guest: Option<GuestKind>,
}

impl ChoiceArgs {
    /// In the words of the grammar.
    pub(crate) fn choices(&self) -> Choices<'_> {
        Choices {
            scale: self.scale.as_deref(),
            guest: self.guest,
            files: &[],
        }
    }
}

/// The kinds that can be chosen; guests in name only are for simulations and tests.
const KINDS: [(GuestKind, &str); 3] = [
    (GuestKind::Bare, "Processes on loopback addresses"),
    (GuestKind::Container, "Containers run by runc"),
    (GuestKind::Vm, "Virtual machines on libvirt and QEMU"),
];

fn guest_kinds() -> impl TypedValueParser<Value = GuestKind> {
    PossibleValuesParser::new(KINDS.map(|(kind, help)| PossibleValue::new(kind.name()).help(help)))
        .try_map(|name| {
            KINDS
                .into_iter()
                .find_map(|(kind, _)| (kind.name() == name).then_some(kind))
                .ok_or("no kind of guest")
        })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        choice: ChoiceArgs,
    }

    #[test]
    fn every_kind_is_taken_by_its_name_and_others_are_refused() {
        let parse = |kind| Line::try_parse_from(["x", "--guest", kind]);
        for (kind, _) in KINDS {
            let line = parse(kind.name()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(line.choice.choices().guest, Some(kind));
        }
        let refused = parse("fake").err().map(|error| error.to_string());
        assert!(refused.is_some_and(|text| text.contains("bare, container, vm")));
    }
}
