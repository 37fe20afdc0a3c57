//! What can be asked of a host for a file that is no study yet.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use crate::{
    Choices, Document, GuestKind, StackKind, WorkloadKind, document::MOST_BYTES, names::Named,
    workloads::stacks,
};

/// The smallest studies with the kinds of guests and stacks that a file names, whatever else is
/// wrong with it: where a host cannot run these, it cannot run the study either. Kinds that no
/// workload goes with are left out. The file is read as far as it is TOML; of one that is not even
/// text, and of one that names nothing, there is a study with the default kinds.
#[must_use]
pub fn host_probes(bytes: &[u8], guest: Option<GuestKind>) -> Vec<Document> {
    let bytes = bytes.get(..MOST_BYTES).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let (root, _) = DeTable::parse_recoverable(&text);
    let mut named = Kinds::default();
    named.read(root.get_ref());
    if let Some(guest) = guest {
        named.guests = vec![guest];
    }
    if named.guests.is_empty() {
        named.guests.push(GuestKind::Bare);
    }
    if named.stacks.is_empty() {
        named.stacks.push(StackKind::Embedded);
    }
    let mut probes = BTreeMap::new();
    for guest in &named.guests {
        for stack in &named.stacks {
            let probe = named
                .workloads_of(*stack)
                .find_map(|workload| probe(*guest, *stack, workload));
            if let Some(document) = probe {
                probes.insert((guest.name(), Named::name(*stack)), document);
            }
        }
    }
    probes.into_values().collect()
}

/// The kinds that a file names, in its order.
#[derive(Default)]
struct Kinds {
    guests: Vec<GuestKind>,
    stacks: Vec<StackKind>,
    workloads: Vec<WorkloadKind>,
}

impl Kinds {
    /// Sections, layouts and groups say them alike: `kind = "NAME"`, or a list of names.
    fn read(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            if key.get_ref() == "kind" {
                self.read_names(value.get_ref());
            }
            self.read_below(value.get_ref());
        }
    }

    fn read_below(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.read(table),
            DeValue::Array(values) => values
                .iter()
                .for_each(|value| self.read_below(value.get_ref())),
            _ => {}
        }
    }

    fn read_names(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::String(name) => {
                add(&mut self.guests, name);
                add(&mut self.stacks, name);
                add(&mut self.workloads, name);
            }
            DeValue::Array(values) => values
                .iter()
                .for_each(|value| self.read_names(value.get_ref())),
            _ => {}
        }
    }

    /// The workloads that the stack serves, those that the file names before any other: some need
    /// more than their kind.
    fn workloads_of(&self, stack: StackKind) -> impl Iterator<Item = WorkloadKind> {
        self.workloads
            .iter()
            .copied()
            .chain(WorkloadKind::ALL)
            .filter(move |workload| stacks(*workload).contains(&stack))
    }
}

/// The value of this name, or the one that was probably meant.
fn add<T: Named>(known: &mut Vec<T>, name: &str) {
    let meant = T::MEANT
        .iter()
        .find_map(|(written, meant)| (*written == name).then_some(*meant))
        .unwrap_or(name);
    let value = T::NAMES
        .iter()
        .find_map(|(word, value, _)| (*word == meant).then_some(*value));
    if let Some(value) = value.filter(|value| !known.contains(value)) {
        known.push(value);
    }
}

fn probe(guest: GuestKind, stack: StackKind, workload: WorkloadKind) -> Option<Document> {
    // What must be said of a stack, and of what it serves.
    let (served, own) = match stack {
        StackKind::Image => (
            "operation = [{name = \"a\", path = \"/\"}]\n",
            "packages = [\"base-files\"]\nport = 8080\nservices = [{name = \"a\", command = \
             [\"a\"]}]\n",
        ),
        _ => ("", ""),
    };
    let text = format!(
        "title = \"host\"\n[workload]\nkind = \"{}\"\n{served}[load]\nusers = 1\n[stack]\nkind = \
         \"{}\"\n{own}[guest]\nkind = \"{}\"\n[[layout]]\nname = \"host\"\n",
        workload.name(),
        Named::name(stack),
        guest.name()
    );
    Document::parse_with("host", &text, Choices::default()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(GuestKind, StackKind)> {
        host_probes(text.as_bytes(), None)
            .iter()
            .map(|probe| (probe.study().guest.kind(), probe.study().stack.kind()))
            .collect()
    }

    #[test]
    fn kinds_are_found_wherever_they_stand() {
        assert_eq!(
            kinds(
                "[guest]\nkind = [\"container\", \"bare\"]\nsize = 3\n[stack]\nkind = \"lamp\"\n"
            ),
            [
                (GuestKind::Bare, StackKind::Lamp),
                (GuestKind::Container, StackKind::Lamp)
            ]
        );
        assert_eq!(
            kinds("[[layout]]\nkind = \"docker\"\n[layout.stack]\nkind = \"postgresql\"\n"),
            [(GuestKind::Container, StackKind::Postgresql)]
        );
    }

    #[test]
    fn a_file_that_is_not_even_toml_is_read_as_far_as_it_is() {
        assert_eq!(
            kinds("title = \n[guest]\nkind = \"container\"\n"),
            [(GuestKind::Container, StackKind::Embedded)]
        );
        assert_eq!(kinds("\u{0}"), [(GuestKind::Bare, StackKind::Embedded)]);
        assert_eq!(host_probes(&[0xff, 0xfe], None).len(), 1);
    }

    #[test]
    fn what_was_chosen_wins_over_the_file() {
        let probes = host_probes(b"[guest]\nkind = \"vm\"\n", Some(GuestKind::Fake));
        assert_eq!(probes.len(), 1);
        assert_eq!(probes[0].study().guest.kind(), GuestKind::Fake);
    }

    #[test]
    fn what_makes_no_study_is_left_out() {
        // A database needs a server that runs.
        assert_eq!(
            kinds("[guest]\nkind = \"fake\"\n[stack]\nkind = \"mariadb\"\n"),
            []
        );
    }
}
