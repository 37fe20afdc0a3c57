//! The published digests of the 10 MB load files.

use sha2::{Digest, Sha256};

use super::*;
use crate::dvdstore::{Rows, Size};

fn rows() -> Rows {
    Size::Mb(10).rows()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn customers(half: CustomerHalf, random: CustomerRandom) -> Vec<u8> {
    let mut out = Vec::new();
    let more = fill(
        &mut Customers::new(rows(), half, random),
        usize::MAX,
        &mut out,
        |row, out| {
            csv::write_customer(row, LineEnd::Unix, out);
        },
    );
    assert!(!more, "the file is complete");
    out
}

fn months(
    months: std::ops::RangeInclusive<u8>,
    write: fn(&Order, LineEnd, &mut Vec<u8>),
) -> Vec<u8> {
    let mut out = Vec::new();
    for order in months.flat_map(|month| Orders::new(rows(), month)) {
        write(&order, LineEnd::Unix, &mut out);
    }
    out
}

#[test]
fn customers_are_the_published_files() {
    use CustomerHalf::{RestOfWorld, Us};
    use CustomerRandom::{Gnu, Newlib};
    let us = customers(Us, Newlib);
    assert_eq!(us.len(), 1_529_754);
    assert_eq!(
        digest(&us),
        "cde9f41c99cf5b6a2ca476b96a79216340c3c1328d0eb7680fcf826b9495a230"
    );
    let rest = customers(RestOfWorld, Newlib);
    assert_eq!(rest.len(), 1_575_244);
    assert_eq!(
        digest(&rest),
        "f79911d8fbeba4485ad5b76772dc3355fc7becae7ec082ede5bf038f71595c49"
    );
    assert_eq!(
        digest(&customers(Us, Gnu)),
        "554152c26efa3534e82a28a0bb12a0efb43fe4b22bdbea17d88b37565f775cee"
    );
    assert_eq!(
        digest(&customers(RestOfWorld, Gnu)),
        "a5ee2995912c120190fbe166775725eae1f397410d1085c43f85b52142ef3ece"
    );
}

#[test]
fn orders_are_the_published_files() {
    let january = months(1..=1, csv::write_order);
    assert!(january.starts_with(b"1,2009/01/27,7888,313.24,25.84,339.08\n"));
    assert_eq!(january.len(), 39_459);
    assert_eq!(
        digest(&january),
        "41d220dc9bfd030518ac8e063ce4f0fd8262949f5788f9a1a700d66da2d18410"
    );
    let year = months(1..=12, csv::write_order);
    assert_eq!(year.len(), 488_016);
    assert_eq!(
        digest(&year),
        "1aeadb8befe18faf11761ccb581acaaaba3b7c66e31a7d8dfd3e712de34446ab"
    );
}

#[test]
fn order_lines_are_the_published_files() {
    let january = months(1..=1, csv::write_order_lines);
    assert!(january.starts_with(b"1,1,9117,1,2009/01/27\n"));
    assert_eq!(january.len(), 120_882);
    assert_eq!(
        digest(&january),
        "01c6a693b2966085b7ebc47334e3d0a9b2b8b5a0e2fb65f877c3eab7b17983df"
    );
    let year = months(1..=12, csv::write_order_lines);
    assert_eq!(year.len(), 1_506_299);
    assert_eq!(
        digest(&year),
        "15f57229e2b3b7ea29f9307695964f28ef58137c790ac863b726b2d261912b98"
    );
}

#[test]
fn histories_are_the_published_files() {
    let january = months(1..=1, csv::write_history);
    assert_eq!(january.len(), 72_206);
    assert_eq!(
        digest(&january),
        "e58702d638a2b7077db708a31974db3854cef22beccc24c33630a7232f4b2b47"
    );
    let year = months(1..=12, csv::write_history);
    assert_eq!(year.len(), 929_948);
    assert_eq!(
        digest(&year),
        "eeaf9ae3f37918e48f340ff196e77c0d419e41fc2f3eff857c67f2e2685a3224"
    );
}

#[test]
fn the_inventory_is_the_published_file() {
    let mut sold = vec![0; rows().products as usize];
    for month in 1..=12 {
        count_month(rows(), month, &mut sold);
    }
    let mut out = Vec::new();
    for stock in Inventory::new(&sold) {
        csv::write_stock(&stock, LineEnd::Unix, &mut out);
    }
    assert!(out.starts_with(b"1,138,9\n"));
    assert_eq!(out.len(), 113_269);
    assert_eq!(
        digest(&out),
        "7e2d77a1ef44528cf927031d17624b1fb7e9769f3a7be1dc542bcb43f974f8e6"
    );
    assert_eq!(
        Inventory::new(&sold).last().map(|stock| stock.in_stock),
        Some(3800)
    );
}

#[test]
fn windows_lines_end_in_cr_lf_and_differ_in_nothing_else() {
    let mut unix = Vec::new();
    let mut windows = Vec::new();
    for customer in Customers::new(rows(), CustomerHalf::Us, CustomerRandom::Newlib).take(100) {
        csv::write_customer(&customer, LineEnd::Unix, &mut unix);
        csv::write_customer(&customer, LineEnd::Windows, &mut windows);
    }
    let text = String::from_utf8(windows).expect("the rows are text");
    assert_eq!(text.matches("\r\n").count(), 100);
    assert_eq!(text.replace("\r\n", "\n").into_bytes(), unix);
}
