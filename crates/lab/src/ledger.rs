//! The audit of an order-entry database after a trial: its consistency conditions, and what it holds beyond the loaded rows.

use std::time::Duration;

use rookery_guest::Guest;
use rookery_oltp::Verification;
use rookery_stats::{LedgerCounts, OrderEntryCounters};
use rookery_study::PointData;
use rookery_workload::orderentry::Ledger;

use crate::stack::{Found, OrderEntry, Place, STOP_GRACE};

/// Offenders of a condition that are told.
const TOLD: usize = 3;

/// Look into the database of a guest, and end the guest. One that died is started again: what it recovers counts.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn audit(
    stack: &dyn OrderEntry,
    place: &Place<'_>,
    guest: &mut dyn Guest,
    data: PointData,
    dead: bool,
    verify: bool,
) -> Result<Found, String> {
    if dead {
        stack.revive(place, guest)?;
    }
    let found = look(stack, guest, verify, limit(data));
    // A guest that does not end is killed with its removal.
    let _ = guest.stop(STOP_GRACE);
    found
}

/// How long a look may take: a minute for each warehouse, beside two for a host that is busy with many guests.
fn limit(data: PointData) -> Duration {
    let warehouses = data.orderentry().map_or(1, |data| data.scale.warehouses());
    Duration::from_secs(120 + 60 * u64::from(warehouses))
}

fn look(
    stack: &dyn OrderEntry,
    guest: &dyn Guest,
    verify: bool,
    limit: Duration,
) -> Result<Found, String> {
    let target = stack.inside(guest.sockets_dir());
    let (ledger, faults) = if verify {
        let found =
            rookery_oltp::verify_within(&target, limit).map_err(|error| error.to_string())?;
        (found.ledger, broken(&found))
    } else {
        (
            rookery_oltp::ledger(&target, limit).map_err(|error| error.to_string())?,
            Vec::new(),
        )
    };
    let ledger = counts(ledger);
    Ok(Found {
        orders: ledger.new_orders,
        ledger: Some(ledger),
        faults,
    })
}

fn broken(found: &Verification) -> Vec<String> {
    let broken = found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty());
    let told = broken.map(|check| {
        let offenders: Vec<&str> = check
            .offenders
            .iter()
            .take(TOLD)
            .map(String::as_str)
            .collect();
        format!(
            "condition {} does not hold: {}",
            check.condition.number(),
            offenders.join("; ")
        )
    });
    told.collect()
}

/// A database never holds less than was loaded; if it does all the same, the conditions tell.
fn counts(ledger: Ledger) -> LedgerCounts {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    LedgerCounts {
        new_orders: count(ledger.new_orders),
        payments: count(ledger.payments),
        delivered: count(ledger.delivered),
    }
}

/// What a database holds against what terminals were told; the first fault in words.
pub(crate) fn compare(seen: &OrderEntryCounters, found: LedgerCounts) -> Option<String> {
    let rows = [
        (
            "new orders",
            found.new_orders,
            seen.told.new_orders,
            seen.unknown.new_orders,
        ),
        (
            "payments",
            found.payments,
            seen.told.payments,
            seen.unknown.payments,
        ),
        (
            "delivered orders",
            found.delivered,
            seen.told.delivered,
            seen.unknown.delivered,
        ),
    ];
    rows.into_iter()
        .find(|(_, found, told, unknown)| !(*told..=told + unknown).contains(found))
        .map(|(what, found, told, unknown)| {
            format!("the database holds {found} {what}, terminals were told of {told} (and of {unknown} nobody knows)")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(new_orders: u64, payments: u64, delivered: u64) -> LedgerCounts {
        LedgerCounts {
            new_orders,
            payments,
            delivered,
        }
    }

    #[test]
    fn unknown_outcomes_are_slack_and_nothing_else_is() {
        let seen = OrderEntryCounters {
            told: ledger(10, 20, 30),
            unknown: ledger(1, 0, 10),
            ..OrderEntryCounters::default()
        };
        assert_eq!(compare(&seen, ledger(10, 20, 30)), None);
        assert_eq!(compare(&seen, ledger(11, 20, 40)), None);
        assert_eq!(
            compare(&seen, ledger(12, 20, 30)).as_deref(),
            Some(
                "the database holds 12 new orders, terminals were told of 10 (and of 1 nobody knows)"
            )
        );
        assert!(
            compare(&seen, ledger(10, 19, 30)).is_some_and(|fault| fault.contains("19 payments"))
        );
        assert!(compare(&seen, ledger(10, 20, 41)).is_some());
    }
}
