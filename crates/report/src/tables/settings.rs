//! Settings in force: what was asked for, what the servers said at the start, and what at the end.

use std::collections::BTreeSet;

use rookery_analysis::Run;

use super::Table;
use crate::prose::{format, settings::grouped};

/// The section of the page: what is not as it was asked for, and all the rest.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Settings {
    /// Not as asked, or not the same at the end.
    pub(crate) differing: Table,
    /// As asked.
    pub(crate) kept: Table,
}

/// Both tables.
pub(crate) fn settings(run: &Run) -> Settings {
    let (mut differing, mut kept) = (Vec::new(), Vec::new());
    for ([name, asked, effective, at_end], group) in grouped(run) {
        let mut row = vec![name, asked, effective, at_end];
        let place = vec![ranges(&group.points), guest_words(&group.guests)];
        match group.remark {
            Some(remark) => {
                row.push(remark.to_owned());
                row.extend(place);
                differing.push(row);
            }
            None => {
                row.extend(place);
                kept.push(row);
            }
        }
    }
    let table = |heads: &[&str], rows| Table {
        label: String::new(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    };
    Settings {
        differing: table(
            &[
                "setting",
                "asked",
                "effective",
                "at the end",
                "remark",
                "points",
                "guests",
            ],
            differing,
        ),
        kept: table(
            &[
                "setting",
                "asked",
                "effective",
                "at the end",
                "points",
                "guests",
            ],
            kept,
        ),
    }
}

/// `1-3, 7`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(begin, end): &(u32, u32)| {
        if begin == end {
            begin.to_string()
        } else {
            format!("{begin}-{end}")
        }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn guest_words(guests: &BTreeSet<String>) -> String {
    if guests.len() > 3 {
        return format::counted(guests.len(), "guest");
    }
    guests
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_one_range() {
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 7, 9, 10])), "1-3, 7, 9-10");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }
}
