//! The workload of the tests: a test database of some warehouses, terminals for a short time, and
//! what must hold after them.

use std::{
    sync::{Mutex, atomic::AtomicBool},
    time::Duration,
};

use rookery_oltp::{
    DriveOptions, LoadOptions, Report, SessionOptions, Target, drive, load, verify,
};
use rookery_workload::orderentry::{
    DeliveryMode, Isolation, Kind, Ledger, Moment, Population, Scale, Table,
    sql::Style,
    terminal::{Binding, Mix, Pacing},
};

/// Nobody stops these tests.
pub(crate) static RUNNING: AtomicBool = AtomicBool::new(false);

/// A hundredth of so many warehouses.
pub(crate) fn population(warehouses: u32) -> Population {
    Population::new(Scale::new(warehouses, 100).expect("valid"), 42)
}

/// Loads it, and gives the server's version.
pub(crate) fn load_mini(target: &Target, warehouses: u32) -> String {
    let options = LoadOptions::new(population(warehouses), 3);
    let sent = Mutex::new(0);
    let loaded = load(target, &options, &RUNNING, &|step| {
        *sent.lock().expect("not poisoned") += step.rows
    })
    .expect("loaded");
    assert!(loaded.broken.is_empty(), "{:?}", loaded.broken);
    assert_eq!(
        loaded.rows,
        sent.into_inner().expect("not poisoned"),
        "progress tells of every row"
    );
    let scale = options.population.scale;
    let exact: u64 = Table::LOADED
        .iter()
        .filter(|&&table| table != Table::OrderLine)
        .map(|&table| scale.rows(table))
        .sum();
    let lines = loaded.rows - exact;
    assert!(
        lines.abs_diff(scale.rows(Table::OrderLine)) < scale.rows(Table::OrderLine) / 10,
        "{lines}"
    );
    loaded.version
}

/// So many terminals without pauses.
pub(crate) fn options(style: Style, terminals: u32, steady: Duration) -> DriveOptions {
    DriveOptions {
        terminals,
        threads: 2,
        session: SessionOptions {
            style,
            isolation: Isolation::Default,
        },
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        delivery: DeliveryMode::Inline,
        max_retries: 10,
        seed: 7,
        ramp_up: Duration::ZERO,
        steady,
        patience: Duration::from_secs(60),
    }
}

/// Drives for a short time, and checks what must hold whatever the machine does meanwhile.
pub(crate) fn drive_and_verify(target: &Target, style: Style) -> Report {
    let options = options(style, 6, Duration::from_millis(1500));
    let report =
        drive(target, &options, &RUNNING).unwrap_or_else(|error| panic!("{style:?}: {error}"));
    eprintln!(
        "{target} {style:?}: {:?}, retries {:?}, told {:?}",
        report.counts, report.retries, report.told
    );
    assert!(
        report.ledger_holds(),
        "{style:?}: told {:?}, found {:?}",
        report.told,
        report.found
    );
    assert_eq!(report.unknown, Ledger::default());
    assert!(
        report.told.new_orders > 0 && report.told.payments > 0,
        "{style:?}: {:?}",
        report.told
    );
    assert_eq!(report.counts.failed, 0, "{style:?}");
    let new_orders = report.counts.completed[Kind::NewOrder] + report.counts.rolled_back;
    // Times are of those that began within the window, counts of those that ended there.
    assert!(
        report.latencies[Kind::NewOrder].count.abs_diff(new_orders) <= 6,
        "{style:?}"
    );
    let found = verify(target, Moment::AnyTime, &crate::support::NEVER).expect("verified");
    let broken: Vec<_> = found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty())
        .collect();
    assert!(broken.is_empty(), "{style:?}: {broken:?}");
    report
}

/// After the turnover of warehouse 2 was changed behind the terminals' backs, two conditions do not
/// hold.
pub(crate) fn the_broken_warehouse_is_found(target: &Target) {
    let found = verify(target, Moment::AnyTime, &crate::support::NEVER).expect("verified");
    let broken = found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty());
    let numbers: Vec<_> = broken.map(|check| check.condition.number()).collect();
    assert_eq!(numbers, [1, 8], "the sums of a warehouse");
    assert!(!found.holds());
    let first = &found.checks[0].offenders;
    assert!(first.len() == 1 && first[0].starts_with("2, "), "{first:?}");
}
