//! Checks of order entry: what failed, what rolled back, what deliveries found, and whether the
//! database tells the same.

use rookery_cast::truncate_u64;
use rookery_workload::orderentry::{DatabaseReadings, NEW_ORDER, OrderEntryCounters};

use crate::{
    GuestMeasurement, Measurement,
    checks::{Remark, Z_999},
    faults::FaultCode,
};

/// Largest share of transactions that may fail, or end in the dark.
const LOST_LIMIT: f64 = 0.001;
/// Share of New-Orders that ask for an unused item and roll back.
const ROLLED_BACK: f64 = 0.01;
/// Largest distance of their share from it.
const ROLLED_BACK_LIMIT: f64 = 0.005;
/// Largest share of deliveries that may find a district without an undelivered order.
const SHORT_LIMIT: f64 = 0.01;
/// Share of deferred deliveries that must be executed in time.
const IN_TIME: f64 = 0.9;
/// Largest distance of the hit ratio from the one that was asked for.
const HIT_LIMIT: f64 = 0.02;

/// The counters of the guests.
fn counters(measurement: &Measurement) -> impl Iterator<Item = &OrderEntryCounters> {
    measurement
        .guests
        .iter()
        .filter_map(|guest| guest.counters.orderentry())
}

/// New-Orders that roll back are part of the mix.
pub(super) fn mix_remarks(measurement: &Measurement) -> Vec<Remark> {
    rolled_back(measurement).into_iter().collect()
}

/// One New-Order in a hundred rolls back: far from it the work is another one.
fn rolled_back(measurement: &Measurement) -> Option<Remark> {
    let (mut rolled, mut all) = (0, 0);
    for counters in counters(measurement) {
        rolled += counters.rolled_back;
        all += counters.rolled_back
            + counters
                .transaction(NEW_ORDER)
                .map_or(0, |new_orders| new_orders.completed);
    }
    let (expected, share) = (ROLLED_BACK * all as f64, rolled as f64 / all as f64);
    let chance = Z_999 * (expected * (1.0 - ROLLED_BACK)).sqrt() + 1.0;
    let off = (rolled as f64 - expected).abs() > chance
        && (share - ROLLED_BACK).abs() > ROLLED_BACK_LIMIT;
    off.then(|| {
        Remark::fault(
            FaultCode::Mix,
            format!(
                "{:.2} % of the New-Orders rolled back instead of 1 % (limit 0.5 points)",
                100.0 * share
            ),
        )
    })
}

/// What voids a trial of order entry whatever its times are, and what a reader should know of it.
pub(super) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = lost(measurement).into_iter().collect();
    remarks.extend(short(measurement));
    remarks.extend(late(measurement));
    for guest in &measurement.guests {
        let Some(counters) = guest.counters.orderentry() else {
            continue;
        };
        let Some(readings) = &counters.database else {
            continue;
        };
        remarks.extend(orders_differ(measurement, guest, counters));
        remarks.extend(hit_missed(guest, readings));
    }
    remarks
}

/// More transactions failed, or ended in the dark, than a valid run may have.
fn lost(measurement: &Measurement) -> Option<Remark> {
    let sum = |of: fn(&OrderEntryCounters) -> u64| {
        counters(measurement).map(of).fold(0, u64::saturating_add)
    };
    let (lost, attempts) = (
        sum(OrderEntryCounters::lost),
        sum(OrderEntryCounters::attempts),
    );
    (lost as f64 > LOST_LIMIT * attempts as f64).then(|| {
        Remark::fault(FaultCode::Workload, format!(
            "{lost} of {attempts} transactions failed or ended without an answer ({:.2} %, limit \
             0.1 %)",
            100.0 * lost as f64 / attempts as f64
        ))
    })
}

/// Deliveries that ran out of orders: the mix drained the queue.
fn short(measurement: &Measurement) -> Option<Remark> {
    let (mut short, mut all) = (0, 0);
    for counters in counters(measurement) {
        short += counters.short_deliveries;
        all += counters
            .transaction("delivery")
            .map_or(0, |deliveries| deliveries.completed);
    }
    (short as f64 > SHORT_LIMIT * all as f64).then(|| {
        Remark::Warning(format!(
            "{short} of {all} deliveries skipped a district that had no order left (above 1 %): \
             the mix drained the queue of orders"
        ))
    })
}

/// Deferred deliveries that were executed too late, or not at all.
fn late(measurement: &Measurement) -> Option<Remark> {
    let (mut queued, mut in_time) = (0, 0);
    for deferred in counters(measurement).filter_map(|counters| counters.deferred) {
        queued += deferred.queued;
        in_time += deferred.in_time;
    }
    ((in_time as f64) < IN_TIME * queued as f64).then(|| {
        Remark::Warning(format!(
            "{:.1} % of the deferred deliveries were executed within 80 s (below 90 %)",
            100.0 * in_time as f64 / queued as f64
        ))
    })
}

/// The database counts orders itself between two looks. What terminals were told second by second
/// bounds what it may have found: every order of the seconds that lie between the looks, none
/// outside of the seconds that the looks touch. Beside that each terminal may have one order at
/// each look that is committed but not yet told.
fn orders_differ(
    measurement: &Measurement,
    guest: &GuestMeasurement,
    counters: &OrderEntryCounters,
) -> Option<Remark> {
    let readings = counters.database.as_ref()?;
    let (found, looks) = (readings.new_orders?, readings.looks?);
    let told = |from: f64, to: f64, within: bool| {
        let counts = guest.series.iter().filter(|sample| {
            let (begin, end) = (f64::from(sample.second), f64::from(sample.second) + 1.0);
            if within {
                from <= begin && end <= to
            } else {
                from < end && begin < to
            }
        });
        counts.map(|sample| u64::from(sample.orders)).sum::<u64>()
    };
    // An open load has no users; as many arrivals as usual are under way, with their chance.
    let usual = guest.busy_s / measurement.window.seconds().max(f64::MIN_POSITIVE);
    let under_way = match guest.users {
        0 => truncate_u64((usual + Z_999 * usual.sqrt()).ceil()) + 1,
        users => u64::from(users),
    };
    let least = told(looks.start_s, looks.end_s - readings.look_s, true).saturating_sub(under_way);
    let most = told(looks.start_s - readings.look_s, looks.end_s, false)
        + under_way
        + counters.unknown.new_orders;
    (!(least..=most).contains(&found)).then(|| {
        Remark::fault(FaultCode::Workload, format!(
            "{}: terminals were told of {least} to {most} New-Orders in the {:.1} s in which the \
             database counted {found}: others worked on it, \
             or orders were lost",
            guest.guest,
            looks.seconds()
        ))
    })
}

fn hit_missed(guest: &GuestMeasurement, readings: &DatabaseReadings) -> Option<Remark> {
    let (target, ratio) = (readings.hit_target?, readings.hit_ratio()?);
    ((ratio - target).abs() > HIT_LIMIT).then(|| {
        Remark::Warning(format!(
            "{}: the buffer hit ratio was {:.1} % instead of {:.1} % (above 2 points)",
            guest.guest,
            100.0 * ratio,
            100.0 * target
        ))
    })
}

#[cfg(test)]
mod tests {
    use rookery_workload::{
        Counters, MixShare,
        orderentry::{DeferredDeliveries, TRANSACTIONS, TransactionCounters},
    };

    use super::*;
    use crate::{
        OperationMeasurement, SecondSample, Window, faults::tests::healthy,
        trial_checks::drawn_as_meant,
    };

    /// 2300 transactions of the deck, 10 of 1000 New-Orders rolled back.
    fn deck() -> Measurement {
        let counts = [1_000, 1_000, 100, 100, 100];
        let mut measurement = healthy();
        let guest = &mut measurement.guests[0];
        guest.operations = TRANSACTIONS
            .iter()
            .zip(counts)
            .map(|(name, started)| OperationMeasurement {
                started,
                ..OperationMeasurement::empty(name)
            })
            .collect();
        let completed = |(name, count): (&&str, u64)| TransactionCounters {
            name: (*name).to_owned(),
            completed: count - if *name == NEW_ORDER { 10 } else { 0 },
            ..TransactionCounters::default()
        };
        let second = |second| SecondSample {
            second,
            orders: 17,
            ..SecondSample::default()
        };
        guest.series = (0..80).map(second).collect();
        guest.counters = Counters::Orderentry(OrderEntryCounters {
            nopm: 990.0,
            tpm: 2_300.0,
            transactions: TRANSACTIONS.iter().zip(counts).map(completed).collect(),
            rolled_back: 10,
            short_deliveries: 1,
            deferred: Some(DeferredDeliveries {
                queued: 100,
                executed: 100,
                in_time: 90,
            }),
            database: Some(DatabaseReadings {
                seconds: 61.0,
                looks: Some(Window {
                    start_s: 10.2,
                    end_s: 71.2,
                }),
                look_s: 0.1,
                logical_reads: 100_000,
                misses: 20_000,
                new_orders: Some(1_020),
                hit_target: Some(0.82),
                ..DatabaseReadings::default()
            }),
            ..OrderEntryCounters::default()
        });
        measurement
    }

    const SHARES: [f64; 5] = [10.0, 10.0, 1.0, 1.0, 1.0];

    fn drawn(measurement: &Measurement) -> Vec<Remark> {
        let shares: Vec<MixShare> = TRANSACTIONS
            .into_iter()
            .zip(SHARES)
            .map(|(name, share)| MixShare::new(name, share))
            .collect();
        [
            drawn_as_meant(measurement, &shares),
            mix_remarks(measurement),
        ]
        .concat()
    }

    fn told(change: impl FnOnce(&mut OrderEntryCounters)) -> String {
        let mut measurement = deck();
        change(
            measurement.guests[0]
                .counters
                .orderentry_mut()
                .expect("order entry"),
        );
        let remarks = [drawn(&measurement), own_checks(&measurement)].concat();
        remarks
            .iter()
            .map(|remark| format!("{remark:?}\n"))
            .collect()
    }

    #[test]
    fn each_limit_is_kept_or_told() {
        assert_eq!(told(|_| {}), "");
        assert_eq!(
            told(|counters| counters.transactions[1].failed = 2),
            "",
            "2 of 2302"
        );
        assert_eq!(told(|counters| counters.rolled_back = 19), "", "chance");
        assert_eq!(
            told(|counters| counters.rolled_back = 0),
            "",
            "so few may all be absent"
        );
        let texts = [
            told(|counters| counters.transactions[1].unknown = 3),
            told(|counters| counters.rolled_back = 40),
            told(|counters| counters.short_deliveries = 2),
            told(|counters| {
                counters.deferred = counters.deferred.map(|deferred| DeferredDeliveries {
                    in_time: 89,
                    ..deferred
                })
            }),
            told(|counters| counters.database.as_mut().expect("readings").new_orders = Some(1_300)),
            told(|counters| counters.database.as_mut().expect("readings").hit_target = Some(0.9)),
        ];
        insta::assert_snapshot!(texts.concat(), @r#"
        Fault(Fault { code: Workload, text: "3 of 2303 transactions failed or ended without an answer (0.13 %, limit 0.1 %)" })
        Fault(Fault { code: Mix, text: "3.88 % of the New-Orders rolled back instead of 1 % (limit 0.5 points)" })
        Warning("2 of 100 deliveries skipped a district that had no order left (above 1 %): the mix drained the queue of orders")
        Warning("89.0 % of the deferred deliveries were executed within 80 s (below 90 %)")
        Fault(Fault { code: Workload, text: "g1: terminals were told of 1010 to 1064 New-Orders in the 61.0 s in which the database counted 1300: others worked on it, or orders were lost" })
        Warning("g1: the buffer hit ratio was 80.0 % instead of 90.0 % (above 2 points)")
        "#);
    }

    /// What is said of a database that counted so many orders between looks at these moments, the
    /// longer of `look_s`.
    fn of_database(found: u64, start_s: f64, end_s: f64, look_s: f64) -> String {
        told(|counters| {
            let readings = counters.database.as_mut().expect("readings");
            (readings.new_orders, readings.looks, readings.look_s) =
                (Some(found), Some(Window { start_s, end_s }), look_s);
        })
    }

    #[test]
    fn the_database_counts_what_was_told_between_its_looks() {
        // 17 orders a second, ten terminals.
        for found in [19 * 17 - 10, 20 * 17, 21 * 17 + 10] {
            assert_eq!(of_database(found, 20.5, 40.5, 0.0), "", "{found}");
        }
        for found in [19 * 17 - 11, 21 * 17 + 11] {
            assert!(
                of_database(found, 20.5, 40.5, 0.0).starts_with("Fault"),
                "{found}"
            );
        }
        // Looks that took long blur both ends; the load may be another one at another time.
        assert_eq!(of_database(16 * 17, 20.5, 40.5, 3.0), "");
        assert!(
            of_database(20 * 17, 65.5, 85.5, 0.0).starts_with("Fault"),
            "the load ended at 80 s"
        );
        assert_eq!(of_database(15 * 17, 65.5, 85.5, 0.0), "");
        assert_eq!(
            told(|counters| counters.database.as_mut().expect("readings").looks = None),
            "",
            "runs of old"
        );
    }

    #[test]
    fn a_mix_without_its_deck_is_told() {
        let mut measurement = deck();
        assert_eq!(drawn(&measurement), Vec::new());
        measurement.guests[0].operations[0].started = 1_400;
        assert!(
            matches!(&drawn(&measurement)[..], [Remark::Fault(fault)] if fault.text.contains("`new-order`"))
        );
    }

    #[test]
    fn nothing_is_said_of_other_workloads() {
        assert_eq!(own_checks(&healthy()), Vec::new());
        assert_eq!(mix_remarks(&healthy()), Vec::new());
    }
}
