//! The operations of shoppers, as they are recorded.

use rookery_driver::{OperationEntry, OperationId, OperationTable};
use rookery_workload::dvdstore::INFO;

/// The first page of a user.
pub const INDEX: OperationId = OperationId::new(0);
/// The login page.
pub const LOGIN: OperationId = OperationId::new(1);
/// One attempt to register; a taken name makes the user try again.
pub const NEW_CUSTOMER: OperationId = OperationId::new(2);
/// A search.
pub const BROWSE: OperationId = OperationId::new(3);
/// A purchase.
pub const PURCHASE: OperationId = OperationId::new(4);
/// A whole order.
pub const ORDER: OperationId = OperationId::new(5);

/// All of them: those of the workload, and the first page before.
pub(crate) const OPERATIONS: OperationTable = OperationTable::new(&ENTRIES);

static ENTRIES: [OperationEntry; 6] = [
    OperationEntry::unlisted("index"),
    OperationEntry::listed(INFO.operations[0]),
    OperationEntry::listed(INFO.operations[1]),
    OperationEntry::listed(INFO.operations[2]),
    OperationEntry::listed(INFO.operations[3]),
    OperationEntry::listed(INFO.operations[4]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_name() {
        assert_eq!(OPERATIONS.entries().len(), 1 + INFO.operations.len());
        let named = [
            (INDEX, "index"),
            (LOGIN, "login"),
            (NEW_CUSTOMER, "new-customer"),
            (BROWSE, "browse"),
            (PURCHASE, "purchase"),
            (ORDER, "order"),
        ];
        for (operation, name) in named {
            assert_eq!(OPERATIONS.name(operation), name);
        }
        assert_eq!(OPERATIONS.main(), ORDER);
    }
}
