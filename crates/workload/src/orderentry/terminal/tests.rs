//! Shares, ranges and bindings of what terminals draw.

use std::{collections::BTreeSet, time::Duration};

use super::*;
use crate::{
    DelayDistribution,
    orderentry::{last_name, load_constant},
};

const DRAWS: u32 = 100_000;
/// As the specification draws think times.
const SPEC: DelayDistribution = DelayDistribution::TruncatedExponential;

fn plan(warehouses: u32, divisor: u32) -> TerminalPlan {
    TerminalPlan {
        scale: Scale::new(warehouses, divisor).expect("valid"),
        constants: RunConstants::new(9, load_constant(42)),
        terminals: 8,
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::Spec,
        think: SPEC,
        seed: 9,
    }
}

fn source(warehouses: u32) -> InputSource {
    let plan = plan(warehouses, 1);
    InputSource::new(
        plan.scale,
        plan.constants,
        Stream::new(1, Purpose::Input, 0),
    )
}

fn share(count: u32, of: u32) -> f64 {
    100.0 * f64::from(count) / f64::from(of)
}

fn near(value: f64, expected: f64, margin: f64) {
    assert!(
        (value - expected).abs() <= margin,
        "{value} is not {expected} within {margin}"
    );
}

#[test]
fn decks_are_exact() {
    let mut cards = Cards::new(Mix::Deck, Stream::new(1, Purpose::Deck, 0));
    let mut counts = PerKind([0; 5]);
    let mut first = BTreeSet::new();
    for deck in 0..100 {
        for card in 0..23 {
            let kind = cards.draw();
            counts[kind] += 1;
            if card == 0 {
                first.insert((kind, deck));
            }
        }
    }
    assert_eq!(counts, PerKind([1000, 1000, 100, 100, 100]));
    let kinds: BTreeSet<_> = first.iter().map(|(kind, _)| kind).collect();
    assert!(kinds.len() >= 3, "decks are shuffled anew");
}

#[test]
fn weights_are_shares() {
    let mut cards = Cards::new(Mix::MINIMUMS, Stream::new(1, Purpose::Deck, 0));
    let mut counts = PerKind([0u32; 5]);
    for _ in 0..DRAWS {
        counts[cards.draw()] += 1;
    }
    for kind in Kind::ALL {
        near(
            share(counts[kind], DRAWS),
            100.0 * Mix::MINIMUMS.share(kind),
            0.7,
        );
    }
    assert_eq!(Mix::weighted([0; 5]), Err(MixError([0; 5])));
    assert!(Mix::weighted([u32::MAX; 5]).is_err());
    let mut only = Cards::new(
        Mix::weighted([0, 0, 0, 7, 0]).expect("valid"),
        Stream::new(1, Purpose::Deck, 0),
    );
    assert!((0..100).all(|_| only.draw() == Kind::Delivery));
}

#[test]
fn new_orders_have_their_shares() {
    let mut source = source(10);
    let (mut rolled_back, mut lines, mut remote, mut orders_with_remote) = (0, 0, 0, 0);
    for _ in 0..DRAWS {
        let order = source.new_order(3);
        rolled_back += u32::from(order.unused_item);
        lines += order.lines().len() as u32;
        let others = order.lines().iter().filter(|line| line.supply != 3).count() as u32;
        remote += others;
        orders_with_remote += u32::from(others > 0);
        assert_eq!(order.all_local(), others == 0);
        assert!(
            order
                .lines()
                .iter()
                .all(|line| (1..=10).contains(&line.supply) && (1..=10).contains(&line.quantity))
        );
        assert!(
            order
                .valid_lines()
                .iter()
                .all(|line| (1..=100_000).contains(&line.item))
        );
        assert!(
            order
                .valid_lines()
                .is_sorted_by_key(|line| (line.supply, line.item, line.number))
        );
        if order.unused_item {
            let last = order.lines().last().expect("lines");
            assert_eq!(
                (last.item, last.number),
                (100_001, order.lines().len() as u32)
            );
        }
        let numbers: BTreeSet<_> = order.lines().iter().map(|line| line.number).collect();
        assert!(numbers.into_iter().eq(1..=order.lines().len() as u32));
    }
    near(share(rolled_back, DRAWS), 1.0, 0.2);
    near(share(remote, lines), 1.0, 0.1);
    near(share(orders_with_remote, DRAWS), 9.5, 0.5);
    near(f64::from(lines) / f64::from(DRAWS), 10.0, 0.05);
}

#[test]
fn payments_have_their_shares() {
    let mut source = source(10);
    let (mut remote, mut by_name, mut odd_cents) = (0, 0, 0);
    let mut suppliers = BTreeSet::new();
    for _ in 0..DRAWS {
        let payment = source.payment(3);
        if payment.customer_warehouse == 3 {
            assert_eq!(payment.customer_district, payment.district);
        } else {
            remote += 1;
            suppliers.insert(payment.customer_warehouse);
        }
        by_name += u32::from(matches!(payment.customer, CustomerChoice::Name(_)));
        odd_cents += u32::from(payment.amount_cents % 100 != 0);
        assert!((100..=500_000).contains(&payment.amount_cents));
    }
    near(share(remote, DRAWS), 15.0, 1.0);
    near(share(by_name, DRAWS), 60.0, 1.0);
    near(share(odd_cents, DRAWS), 99.0, 0.5);
    assert!(
        suppliers
            .into_iter()
            .eq((1..=10).filter(|&warehouse| warehouse != 3))
    );
}

#[test]
fn one_warehouse_has_nothing_remote() {
    let mut source = source(1);
    for _ in 0..2000 {
        assert!(source.new_order(1).all_local());
        assert_eq!(source.payment(1).customer_warehouse, 1);
    }
}

#[test]
fn a_mini_database_is_asked_for_what_it_has() {
    let plan = plan(2, 100);
    let mut terminal = Terminal::new(&plan, 0);
    let names: Vec<_> = (0..30).map(last_name).collect();
    for _ in 0..5000 {
        match terminal.next_input(Timestamp(0)) {
            Input::NewOrder(order) => {
                assert!((1..=30).contains(&order.customer));
                assert!(
                    order
                        .valid_lines()
                        .iter()
                        .all(|line| (1..=1000).contains(&line.item))
                );
                assert!(
                    !order.unused_item
                        || order.lines().last().is_some_and(|line| line.item == 1001)
                );
            }
            Input::Payment(PaymentInput { customer, .. })
            | Input::OrderStatus(OrderStatusInput { customer, .. }) => match customer {
                CustomerChoice::Id(id) => assert!((1..=30).contains(&id)),
                CustomerChoice::Name(name) => assert!(names.contains(&name)),
            },
            Input::Delivery(delivery) => assert!((1..=10).contains(&delivery.carrier)),
            Input::StockLevel(level) => {
                assert!((10..=20).contains(&level.threshold) && (1..=10).contains(&level.district))
            }
        }
    }
}

#[test]
fn terminals_keep_to_their_warehouses() {
    let mut source = source(10);
    let mut visited = |binding, warehouses, number, terminals| -> Vec<u32> {
        let mut own = Warehouses::new(binding, warehouses, number, terminals);
        (0..6).map(|_| own.next(&mut source)).collect()
    };
    assert_eq!(visited(Binding::Fixed, 4, 6, 8), [3; 6]);
    assert_eq!(visited(Binding::Slice, 10, 1, 4), [2, 6, 10, 2, 6, 10]);
    assert_eq!(visited(Binding::Slice, 10, 3, 4), [4, 8, 4, 8, 4, 8]);
    assert_eq!(visited(Binding::Slice, 4, 6, 8), [3; 6]);
    let all: BTreeSet<_> = (0..100)
        .flat_map(|_| visited(Binding::Uniform, 10, 0, 1))
        .collect();
    assert!(all.into_iter().eq(1..=10));
}

#[test]
fn a_fixed_terminal_asks_for_one_district() {
    let plan = TerminalPlan {
        binding: Binding::Fixed,
        mix: Mix::Weighted([0, 0, 0, 0, 1]),
        terminals: 20,
        ..plan(2, 1)
    };
    for number in 0..20 {
        let mut terminal = Terminal::new(&plan, number);
        for _ in 0..5 {
            let Input::StockLevel(level) = terminal.next_input(Timestamp(0)) else {
                panic!("only stock levels are drawn");
            };
            assert_eq!(
                (level.warehouse, level.district),
                (number % 2 + 1, number / 2 % 10 + 1)
            );
        }
    }
}

#[test]
fn terminals_draw_the_same_again_and_differ_from_each_other() {
    let plan = plan(5, 1);
    let inputs = |number| -> Vec<_> {
        let mut terminal = Terminal::new(&plan, number);
        (0..50).map(|_| terminal.next_input(Timestamp(7))).collect()
    };
    assert_eq!(inputs(0), inputs(0));
    assert_ne!(inputs(0), inputs(1));
}

#[test]
fn pauses_are_those_of_the_specification() {
    let mut stream = Stream::new(1, Purpose::Pause, 0);
    let mean_think = |pacing: Pacing, kind, stream: &mut Stream| {
        let sum: Duration = (0..20_000)
            .map(|_| pacing.pauses(kind, SPEC, stream).think)
            .sum();
        sum.as_secs_f64() / 20_000.0
    };
    near(
        mean_think(Pacing::Spec, Kind::NewOrder, &mut stream),
        12.0,
        0.35,
    );
    near(
        mean_think(Pacing::Spec, Kind::Delivery, &mut stream),
        5.0,
        0.15,
    );
    near(
        mean_think(Pacing::Scaled(0.1), Kind::OrderStatus, &mut stream),
        1.0,
        0.03,
    );
    assert_eq!(
        Pacing::Spec
            .pauses(Kind::NewOrder, SPEC, &mut stream)
            .keying,
        Duration::from_secs(18)
    );
    assert_eq!(
        Pacing::Scaled(0.1)
            .pauses(Kind::Payment, SPEC, &mut stream)
            .keying,
        Duration::from_millis(300)
    );
    assert_eq!(
        Pacing::None.pauses(Kind::Payment, SPEC, &mut stream),
        Pauses::default()
    );
    assert_eq!(
        Pacing::Rate(5.0).pauses(Kind::Payment, SPEC, &mut stream),
        Pauses::default()
    );
    let longest = (0..200_000)
        .map(|_| {
            Pacing::Spec
                .pauses(Kind::StockLevel, SPEC, &mut stream)
                .think
        })
        .max();
    assert!(longest <= Some(Duration::from_secs(50)));
    assert!(longest > Some(Duration::from_secs(45)));
    assert!(Pacing::Scaled(0.0).checked().is_err());
    assert!(Pacing::Rate(f64::NAN).checked().is_err());
    assert_eq!(Pacing::Rate(2.0).checked(), Ok(Pacing::Rate(2.0)));
}

#[test]
fn arrivals_come_at_their_rate() {
    let sum: Duration = Arrivals::new(500.0, 3).take(50_000).sum();
    near(sum.as_secs_f64(), 100.0, 2.0);
}
