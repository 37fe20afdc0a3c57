//! Operations as data: what users do, as far as recorders know it.
//!
//! A workload has one [`OperationTable`]; its users and its recorders name an operation by its
//! place in the table, so that recording costs an index and no comparison of names.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use rookery_cast::count_u8;
use rookery_workload::{OperationInfo, OperationRole};

/// An operation of a workload: its place in the workload's [`OperationTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperationId(u8);

impl OperationId {
    /// The operation at this place.
    #[must_use]
    pub const fn new(place: u8) -> Self {
        Self(place)
    }

    /// Its place in the table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One operation as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationEntry {
    /// Its name and role.
    pub info: OperationInfo,
    /// It is reported even when none was started; others only when they touched the window.
    pub always: bool,
}

impl OperationEntry {
    /// An operation that the workload lists: always reported.
    #[must_use]
    pub const fn listed(info: OperationInfo) -> Self {
        Self { info, always: true }
    }

    /// An operation beside the workload's list, reported when it touched the window.
    #[must_use]
    pub const fn unlisted(name: &'static str) -> Self {
        Self {
            info: OperationInfo::part(name),
            always: false,
        }
    }
}

/// The operations of a workload, at most 256, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationTable(&'static [OperationEntry]);

impl OperationTable {
    /// These operations.
    #[must_use]
    pub const fn new(entries: &'static [OperationEntry]) -> Self {
        assert!(entries.len() <= 256, "a place is one byte");
        Self(entries)
    }

    /// A whole of the name `whole` and these requests, of a workload that is known only at run
    /// time. Each different table is kept as long as the program runs.
    #[must_use]
    pub fn of_names<'n>(whole: &'static str, names: impl IntoIterator<Item = &'n str>) -> Self {
        static KEPT: Mutex<Vec<&'static [OperationEntry]>> = Mutex::new(Vec::new());
        let mut entries = vec![OperationEntry::listed(OperationInfo {
            name: whole,
            role: OperationRole::Whole,
        })];
        entries.extend(
            names
                .into_iter()
                .take(255)
                .map(|name| OperationEntry::listed(OperationInfo::part(kept_name(name)))),
        );
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| ***known == *entries) {
            return Self(known);
        }
        let entries: &'static [OperationEntry] = Box::leak(entries.into_boxed_slice());
        kept.push(entries);
        Self(entries)
    }

    /// All of them, each at its place.
    #[must_use]
    pub const fn entries(self) -> &'static [OperationEntry] {
        self.0
    }

    /// The name of an operation.
    #[must_use]
    pub fn name(self, operation: OperationId) -> &'static str {
        self.0[operation.index()].info.name
    }

    /// The operation that stands for a unit of work: the whole of several requests, else the
    /// request that is one.
    #[must_use]
    pub fn main(self) -> OperationId {
        let place = self
            .0
            .iter()
            .position(|entry| entry.info.role != OperationRole::Part);
        // Tables are static data with one such operation each, and at most 256 entries.
        OperationId(count_u8(place.unwrap_or_default()))
    }

    /// Whether users go through this operation again and again: the whole unit of work where there
    /// is one, else every listed operation.
    pub(crate) fn is_act(self, place: usize) -> bool {
        let has_whole = self
            .0
            .iter()
            .any(|entry| entry.info.role == OperationRole::Whole);
        let entry = &self.0[place];
        if has_whole {
            entry.info.role == OperationRole::Whole
        } else {
            entry.always
        }
    }
}

/// The same name, kept as long as the program runs.
fn kept_name(name: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    kept.insert(name);
    name
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_table_of_names_is_kept_once() {
        let table = || OperationTable::of_names("all", ["a", "b"]);
        assert!(std::ptr::eq(table().entries(), table().entries()));
        assert_eq!(table().name(table().main()), "all");
        assert!(!table().is_act(1));
    }

    /// A table with a whole of two requests, and a request beside them.
    pub(crate) const WHOLE: OperationTable = OperationTable::new(&[
        OperationEntry::unlisted("hello"),
        OperationEntry::listed(OperationInfo::part("look")),
        OperationEntry::listed(OperationInfo {
            name: "deal",
            role: OperationRole::Whole,
        }),
    ]);
    /// A table of requests alone.
    pub(crate) const REQUESTS: OperationTable = OperationTable::new(&[
        OperationEntry::listed(OperationInfo {
            name: "write",
            role: OperationRole::Main,
        }),
        OperationEntry::listed(OperationInfo::part("read")),
    ]);

    #[test]
    fn acts_are_wholes_else_all_listed_requests() {
        let acts = |table: OperationTable| -> Vec<bool> {
            (0..table.entries().len())
                .map(|place| table.is_act(place))
                .collect()
        };
        assert_eq!(acts(WHOLE), [false, false, true]);
        assert_eq!(acts(REQUESTS), [true, true]);
        assert_eq!(
            [WHOLE, REQUESTS].map(|table| table.name(table.main())),
            ["deal", "write"]
        );
    }
}
