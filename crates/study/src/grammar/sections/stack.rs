//! `[stack]`: what runs in a guest.

use crate::{
    grammar::{
        SectionInfo, keys,
        kinds::{Choice, Named},
    },
    model::{Pages, StackKind, StackUse},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "stack",
    many: false,
    meaning: "What runs in a guest.",
    keys: StackKeys::keys,
    below: None,
};

impl Named for StackKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] =
        &[("embedded", Self::Embedded, "Rookery's own application server on SQLite")];
}

impl Named for Pages {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("faithful", Self::Faithful, "as the original, with its defects"),
        ("corrected", Self::Corrected, "without them"),
    ];
}

keys! {
    /// Keys of `[stack]`.
    StackKeys {
        /// Which stack.
        kind: Choice<StackKind> = Choice::NEW, Default("\"embedded\"");
        /// Whether the pages reproduce the known defects of the original.
        pages: Choice<Pages> = Choice::NEW, Default("\"corrected\"");
    }
}

impl StackKeys {
    pub(crate) fn build(self) -> Option<StackUse> {
        Some(StackUse {
            kind: self.kind?,
            pages: self.pages?,
        })
    }

    pub(crate) fn of(stack: &StackUse) -> Self {
        Self {
            kind: Some(stack.kind),
            pages: Some(stack.pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn pages_are_corrected_unless_said() {
        assert_eq!(with("").expect("valid").stack.pages, Pages::Corrected);
        assert_eq!(with("[stack]\npages = \"faithful\"\n").expect("valid").stack.pages, Pages::Faithful);
    }
}
