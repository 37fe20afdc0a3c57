//! Checks of DVD Store.

use rookery_workload::dvdstore::ShopCounters;

use crate::GuestMeasurement;

/// The operation that some orders begin with.
const NEW_CUSTOMER: &str = "new-customer";

/// How often an operation was drawn. A name that is taken was answered well, and another is tried:
/// the new customer is still one.
pub(super) fn drawn(
    guest: &GuestMeasurement,
    counters: &ShopCounters,
    operation: &str,
    started: u64,
) -> u64 {
    if operation != NEW_CUSTOMER {
        return started;
    }
    let completed = guest
        .operation(operation)
        .map_or(0, |tries| tries.completed);
    started.saturating_sub(completed.saturating_sub(counters.n_newcust_overall))
}
