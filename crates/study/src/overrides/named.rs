//! `[workload.NAME]`: workloads that layouts and groups name.

use std::{borrow::Cow, ops::Range};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    grammar::Context,
    names::nearest,
    problem::Code,
    sections::{self, WORKLOAD},
    source::quoted,
    workloads::WorkloadKind,
};

type Key<'i> = Spanned<Cow<'i, str>>;

/// The keys of a section.
type Keys<'i> = Vec<(Key<'i>, Spanned<DeValue<'i>>)>;

/// The named workloads of a file.
pub(super) struct NamedWorkloads<'i> {
    /// Name, keys, and whether someone has named it.
    sections: Vec<(Key<'i>, Keys<'i>, bool)>,
    /// Whether a name was refused, which may have been meant for any of them.
    mistyped: bool,
}

impl<'i> NamedWorkloads<'i> {
    /// Takes them out of `[workload]`, which is removed where it has nothing else.
    pub(super) fn take(root: &mut DeTable<'i>) -> Self {
        let mut found = Vec::new();
        let Some(DeValue::Table(table)) = root.get_mut(WORKLOAD).map(Spanned::get_mut) else {
            return Self {
                sections: found,
                mistyped: false,
            };
        };
        let names: Vec<String> = table
            .iter()
            .filter(|(key, value)| value.get_ref().is_table() && !is_key(key.get_ref()))
            .map(|(key, _)| key.get_ref().to_string())
            .collect();
        for name in names {
            let Some((key, value)) = table.remove_entry(name.as_str()) else {
                continue;
            };
            if let DeValue::Table(keys) = value.into_inner() {
                found.push((key, keys.into_iter().collect(), false));
            }
        }
        if table.is_empty() && !found.is_empty() {
            root.remove(WORKLOAD);
        }
        Self {
            sections: found,
            mistyped: false,
        }
    }

    /// The keys of the workload of this name: a section, or a kind.
    pub(super) fn get(
        &mut self,
        name: &str,
        span: Range<usize>,
        value: &Spanned<DeValue<'i>>,
        context: &mut Context,
    ) -> Keys<'i> {
        let section = self
            .sections
            .iter_mut()
            .find(|(key, ..)| key.get_ref() == name);
        if let Some((_, keys, used)) = section {
            *used = true;
            return keys.clone();
        }
        if WorkloadKind::ALL.iter().any(|kind| kind.name() == name) {
            let key = Spanned::new(span, Cow::Borrowed("kind"));
            return vec![(key, value.clone())];
        }
        self.mistyped = true;
        let sections = self.sections.iter().map(|(key, ..)| key.get_ref().as_ref());
        let kinds = WorkloadKind::ALL.iter().map(|kind| kind.name());
        let known: Vec<&str> = sections.chain(kinds).collect();
        let help = match nearest(name, &known) {
            Some(near) => format!("write `workload = \"{near}\"`"),
            None => format!(
                "name a kind or a section `[workload.NAME]`; there are: {}",
                known.join(", ")
            ),
        };
        let message = format!("no workload is named {}", quoted(name));
        context
            .refuse(Code::UnknownChoice, value.span(), message, help)
            .unwrap_or_default()
    }

    /// Refuses those that no one has named.
    pub(super) fn refuse_unused(&self, context: &mut Context) {
        for (key, _, used) in &self.sections {
            if *used || self.mistyped {
                continue;
            }
            let name = quoted(key.get_ref());
            let message = format!("unknown key {name} in [workload]");
            let help = "remove this section, or name it in a layout or a group with `workload = \
                        \"NAME\"`";
            context.refuse::<()>(Code::UnknownKey, key.span(), message, help);
        }
    }
}

/// Whether `[workload]` has such a key or section of its own.
fn is_key(name: &str) -> bool {
    let section = sections::ALL
        .iter()
        .find(|section| section.name == WORKLOAD);
    section.is_some_and(|section| {
        (section.keys)().iter().any(|key| key.name == name)
            || section
                .below
                .iter()
                .any(|below| (below.names)().contains(&name))
    })
}
