//! The transactions as they are recorded.

use rookery_driver::{OperationEntry, OperationId, OperationTable};
use rookery_workload::orderentry::{INFO, Kind};

/// All of them, in the order of [`Kind`].
pub(super) const OPERATIONS: OperationTable = OperationTable::new(&ENTRIES);

static ENTRIES: [OperationEntry; 5] = [
    OperationEntry::listed(INFO.operations[0]),
    OperationEntry::listed(INFO.operations[1]),
    OperationEntry::listed(INFO.operations[2]),
    OperationEntry::listed(INFO.operations[3]),
    OperationEntry::listed(INFO.operations[4]),
];

/// What a transaction is recorded as.
pub(super) fn operation(kind: Kind) -> OperationId {
    OperationId::new(kind as u8)
}

/// The transaction that is recorded so.
pub(super) fn kind_of(operation: OperationId) -> Option<Kind> {
    Kind::ALL.get(operation.index()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_recorded_under_its_name() {
        for kind in Kind::ALL {
            let name = kind.name().replace(' ', "-");
            assert_eq!(OPERATIONS.name(operation(kind)), name);
            assert_eq!(kind_of(operation(kind)), Some(kind));
        }
        assert_eq!(OPERATIONS.main(), operation(Kind::NewOrder));
    }
}
