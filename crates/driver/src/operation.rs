//! Operations as data: what users do, as far as recorders know it.
//!
//! A workload has one [`OperationTable`]; its users and its recorders name an operation by its
//! place in the table, so that recording costs an index and no comparison of names.

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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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
