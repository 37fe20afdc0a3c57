//! What is chosen on the command line and not in the file: its scale, the kind of its guests.

use std::borrow::Cow;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{companions::Companion, sections, values::GuestKind};

/// How a study is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices<'a> {
    /// The parts that `[scale.NAME]` replaces.
    pub scale: Option<&'a str>,
    /// The kind of all guests, whatever `[guest]` says; its other kinds are left out. A layout that
    /// says its own kind keeps it.
    pub guest: Option<GuestKind>,
    /// The files that the study names; see [`companion_names`](crate::companion_names).
    pub files: &'a [Companion],
}

/// Puts the kind of guests in the place of what the file says.
pub(crate) fn put_guest(root: &mut DeTable<'_>, kind: GuestKind) {
    // The value stands where the file's own stood: problems with it are told there.
    let guest = entry(root, sections::GUEST, || DeValue::Table(DeTable::new()));
    if let DeValue::Table(table) = guest.get_mut() {
        let value = || DeValue::String(Cow::Borrowed(kind.name()));
        let kind = entry(table, "kind", value);
        *kind.get_mut() = value();
    }
}

fn entry<'t, 'i>(
    table: &'t mut DeTable<'i>,
    key: &'static str,
    absent: impl Fn() -> DeValue<'i>,
) -> &'t mut Spanned<DeValue<'i>> {
    table
        .entry(Spanned::new(0..0, Cow::Borrowed(key)))
        .or_insert_with(|| Spanned::new(0..0, absent()))
}

#[cfg(test)]
mod tests {
    use crate::{Choices, Document, GuestKind};

    fn kinds(guest: &str, scale: Option<&str>, kind: GuestKind) -> Vec<GuestKind> {
        let text = format!(
            "title = \"t\"\n{guest}[workload]\nkind = \"dvdstore\"\n[load]\nusers = \
             5\n[[layout]]\nname = \"one\"\n\
             [scale.large.guest]\nkind = \"container\"\n"
        );
        let choices = Choices {
            scale,
            guest: Some(kind),
            files: &[],
        };
        let document = Document::parse_with("s.toml", &text, choices)
            .unwrap_or_else(|problems| panic!("{problems}"));
        document
            .variants()
            .iter()
            .map(|variant| variant.study.guest.kind())
            .collect()
    }

    #[test]
    fn the_kind_that_is_chosen_replaces_all_others() {
        let wanted = vec![GuestKind::Vm];
        assert_eq!(kinds("", None, GuestKind::Vm), wanted);
        assert_eq!(
            kinds("[guest]\nkind = \"fake\"\n", None, GuestKind::Vm),
            wanted
        );
        assert_eq!(
            kinds(
                "[guest]\nkind = [\"bare\", \"container\"]\n",
                None,
                GuestKind::Vm
            ),
            wanted
        );
        assert_eq!(
            kinds("[guest]\npids = 100\n", Some("large"), GuestKind::Vm),
            wanted
        );
    }
}
