//! Laws of a fresh population: counts, shares, ranges, and the same rows whoever makes them.

use sha2::{Digest, Sha256};

use super::*;
use crate::orderentry::{last_name, schema::Table};

fn mini(warehouses: u32) -> Population {
    Population::new(Scale::new(warehouses, 100).expect("valid"), 42)
}

fn whole() -> Population {
    Population::new(Scale::new(1, 1).expect("valid"), 7)
}

fn text(part: Part, population: &Population, target: usize) -> (Vec<u8>, u64) {
    let (mut all, mut rows) = (Vec::new(), 0);
    let mut source = part.rows(population);
    loop {
        let mut piece = Vec::new();
        let (more_rows, more) = source.fill_text(&mut piece, TextFormat::Copy, target);
        rows += more_rows;
        all.extend(piece);
        if !more {
            return (all, rows);
        }
    }
}

#[test]
fn every_part_has_its_rows() {
    for population in [mini(3), whole()] {
        for part in Part::all(&population) {
            let (bytes, rows) = text(part, &population, 100_000);
            let expected = part.expected_rows(&population);
            if part.table == Table::OrderLine {
                assert!(rows.abs_diff(expected) * 20 < expected, "{part:?}: {rows}");
            } else {
                assert_eq!(rows, expected, "{part:?}");
            }
            let fields = part.table.loaded_columns().len() - 1;
            let tabs = bytes.iter().filter(|&&byte| byte == b'\t').count() as u64;
            assert_eq!(tabs, rows * fields as u64, "{part:?}");
        }
    }
}

#[test]
fn parts_are_the_same_in_any_order_and_in_any_pieces() {
    let population = mini(4);
    let digest = |parts: Vec<Part>, target: usize| {
        let mut digests: Vec<_> = parts
            .into_iter()
            .map(|part| {
                (
                    part.table.name(),
                    part.warehouse,
                    Sha256::digest(text(part, &population, target).0).to_vec(),
                )
            })
            .collect();
        digests.sort();
        digests
    };
    let forwards: Vec<_> = Part::all(&population).collect();
    let backwards: Vec<_> = forwards.iter().rev().copied().collect();
    let all = digest(forwards, usize::MAX);
    assert_eq!(all, digest(backwards, 1));
    let mut different: Vec<_> = all.iter().map(|(_, _, digest)| digest).collect();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), all.len(), "no two parts are alike");
}

#[test]
fn the_number_of_warehouses_does_not_change_a_warehouse() {
    let part = Part {
        table: Table::Stock,
        warehouse: 2,
    };
    assert_eq!(text(part, &mini(2), 1000), text(part, &mini(9), 1000));
}

#[test]
fn the_bytes_of_a_seed_stay_what_they_are() {
    let population = mini(2);
    let mut digest = Sha256::new();
    for part in Part::all(&population) {
        digest.update(text(part, &population, usize::MAX).0);
    }
    let digest: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    insta::assert_snapshot!(digest, @"c06207d806b7cc8bae5adb102367bcac323687eac6dac36e49676c5409844a23");
}

#[test]
fn items_are_in_their_ranges() {
    let items: Vec<_> = whole().items().collect();
    assert!(
        items
            .iter()
            .all(|item| (100..=10_000).contains(&item.price_cents))
    );
    assert!(items.iter().all(|item| (1..=10_000).contains(&item.image)));
    let original = items
        .iter()
        .filter(|item| item.data.as_str().contains("ORIGINAL"))
        .count();
    assert_eq!(original, 10_000);
    let lengths = items.iter().map(|item| item.data.as_bytes().len());
    assert_eq!((lengths.clone().min(), lengths.max()), (Some(26), Some(50)));
    let offsets: std::collections::BTreeSet<_> = items
        .iter()
        .filter_map(|item| item.data.as_str().find("ORIGINAL"))
        .collect();
    assert_eq!(offsets.len(), 43, "offsets 0 to 42");
}

#[test]
fn stock_is_in_its_ranges() {
    let population = whole();
    let mut original = 0;
    let mut quantities = [0u32; 101];
    for stock in population.stocks(1) {
        quantities[stock.quantity as usize] += 1;
        original += u32::from(stock.data.as_str().contains("ORIGINAL"));
        assert!(
            stock
                .districts
                .iter()
                .flatten()
                .all(|byte| byte.is_ascii_graphic())
        );
    }
    assert_eq!(original, 10_000);
    assert!(quantities[..10].iter().all(|&count| count == 0));
    assert!(quantities[10..].iter().all(|&count| count > 800));
}

#[test]
fn customers_have_the_names_of_the_rule() {
    let population = whole();
    let customers: Vec<_> = population.customers(1).collect();
    assert_eq!(
        customers
            .iter()
            .filter(|customer| customer.bad_credit)
            .count(),
        3000
    );
    for district in customers.chunks(3000) {
        for (number, customer) in district[..1000].iter().enumerate() {
            assert_eq!(customer.last, last_name(number as u32));
        }
        let many = district[1000..]
            .iter()
            .filter(|customer| customer.last == last_name(0))
            .count();
        assert!(
            many < 20,
            "names beyond the first thousand are drawn: {many}"
        );
    }
    assert!(
        customers
            .iter()
            .all(|customer| (300..=500).contains(&customer.data.as_bytes().len()))
    );
    assert!(
        customers
            .iter()
            .all(|customer| (0..=5000).contains(&customer.discount))
    );
    assert!(
        customers
            .iter()
            .all(|customer| customer.address.zip.ends_with(b"11111"))
    );
}

#[test]
fn each_customer_of_a_district_has_one_order() {
    let population = whole();
    let orders: Vec<_> = population.orders(1).collect();
    let mut permutations = std::collections::BTreeSet::new();
    for district in orders.chunks(3000) {
        let mut customers: Vec<_> = district.iter().map(|order| order.customer).collect();
        permutations.insert(customers[..10].to_vec());
        customers.sort_unstable();
        assert!(customers.into_iter().eq(1..=3000));
        assert!(district[..2100].iter().all(|order| {
            order
                .carrier
                .is_some_and(|carrier| (1..=10).contains(&carrier))
        }));
        assert!(district[2100..].iter().all(|order| order.carrier.is_none()));
    }
    assert_eq!(
        permutations.len(),
        10,
        "every district has its own permutation"
    );
}

#[test]
fn lines_belong_to_their_orders() {
    let population = whole();
    let mut lines = population.order_lines(1);
    for order in population.orders(1) {
        for number in 1..=order.lines {
            let line = lines.next().expect("as many lines as the order says");
            assert_eq!(
                (line.district, line.order, line.number),
                (order.district, order.id, number)
            );
            assert_eq!(line.delivered.is_some(), order.carrier.is_some());
            assert_eq!(line.amount_cents == 0, order.carrier.is_some());
            assert!(line.amount_cents <= 999_999);
        }
    }
    assert_eq!(lines.next(), None);
}
