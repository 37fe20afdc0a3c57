//! The per-page table, with the columns of the published results.

use super::{Model, PageCount};

/// One row: a page type, or all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRow {
    /// The page type; `total` of all.
    pub name: &'static str,
    /// Requests, those with validation errors included.
    pub requests: u64,
    /// Good ones.
    pub good: u64,
    /// Tolerable ones that are not good.
    pub tolerable: u64,
    /// Those beyond, or without a whole answer.
    pub fail: u64,
    /// Those with a validation error.
    pub invalid: u64,
    /// Mean time, s; nothing without a right page.
    pub mean_response_s: Option<f64>,
    /// Mean bytes, heads of answers and embedded files included.
    pub mean_bytes: Option<f64>,
    /// Bytes of this page type by the time of all page types, bytes/s, so that rows add up to the
    /// total.
    pub weighted_abr: Option<f64>,
    /// Share of embedded files that had not changed, 0 to 1.
    pub not_modified: Option<f64>,
    /// Share of the requests of all page types, 0 to 1.
    pub share: Option<f64>,
}

/// The rows of all page types, and of all together.
#[derive(Clone, Debug, PartialEq)]
pub struct PageTable {
    /// By page type.
    pub rows: Vec<PageRow>,
    /// All page types.
    pub total: PageRow,
}

impl PageTable {
    /// That of these counts, which are in the order of [`Model::pages`].
    #[must_use]
    pub fn new(model: Model, counts: &[PageCount]) -> Self {
        let mut all = PageCount::default();
        counts.iter().for_each(|count| all.merge(count));
        let rows = model.pages().iter().zip(counts);
        Self {
            rows: rows
                .map(|(page, count)| row(page.name, count, &all))
                .collect(),
            total: row("total", &all, &all),
        }
    }

    /// Good pages; good and tolerable ones; failed ones: percent of all requests. Nothing without
    /// a request.
    #[must_use]
    pub fn aggregate(&self) -> Option<[f64; 3]> {
        self.total.percentages()
    }
}

impl PageRow {
    /// Good pages; good and tolerable ones; failed ones: percent of the requests of the row.
    #[must_use]
    pub fn percentages(&self) -> Option<[f64; 3]> {
        let percent = |count: u64| 100.0 * count as f64 / self.requests as f64;
        (self.requests > 0).then(|| {
            [
                percent(self.good),
                percent(self.good.saturating_add(self.tolerable)),
                percent(self.fail),
            ]
        })
    }
}

fn row(name: &'static str, count: &PageCount, all: &PageCount) -> PageRow {
    let right = count.right();
    let mean = |sum: f64| (right > 0).then(|| sum / right as f64);
    let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    PageRow {
        name,
        requests: count.requests,
        good: count.good,
        tolerable: count.tolerable,
        fail: count.fail,
        invalid: count.invalid,
        mean_response_s: mean(count.response_us as f64 / 1e6),
        mean_bytes: mean(count.bytes as f64),
        weighted_abr: (all.response_us > 0)
            .then(|| count.bytes as f64 / (all.response_us as f64 / 1e6)),
        not_modified: share(count.not_modified, count.objects),
        share: share(count.requests, all.requests),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published result: every row of nine iterations, as printed. The time of the damaged row
    /// of the third iteration of banking is restored.
    const PUBLISHED: &str = include_str!("published/operations.csv");
    /// Its printed totals.
    const TOTALS: &str = include_str!("published/totals.csv");

    struct Printed {
        counts: Vec<PageCount>,
        abr: Vec<f64>,
    }

    fn model_of(name: &str) -> Model {
        Model::of_name(name).expect("one of the three")
    }

    fn number(text: &str) -> f64 {
        text.parse().unwrap_or_else(|_| panic!("{text:?}"))
    }

    fn printed(model: Model, iteration: &str) -> Printed {
        let mut counts = vec![PageCount::default(); model.pages().len()];
        let mut abr = vec![0.0; counts.len()];
        for line in PUBLISHED.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            if cells[0] != model.name() || cells[1] != iteration {
                continue;
            }
            let place = model.pages().iter().position(|page| page.name == cells[2]);
            let place = place.unwrap_or_else(|| panic!("no page {}", cells[2]));
            let requests = number(cells[3]);
            counts[place] = PageCount {
                requests: requests as u64,
                good: number(cells[4]) as u64,
                tolerable: number(cells[5]) as u64,
                fail: number(cells[6]) as u64,
                response_us: (requests * number(cells[8]) * 1e6) as u64,
                bytes: (requests * number(cells[9])) as u64,
                ..PageCount::default()
            };
            abr[place] = number(cells[7]);
        }
        Printed { counts, abr }
    }

    #[test]
    fn the_published_rows_give_the_published_totals() {
        let mut iterations = 0;
        for line in TOTALS.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let model = model_of(cells[0]);
            let printed = printed(model, cells[2]);
            let table = PageTable::new(model, &printed.counts);
            let total = &table.total;
            let counts = [total.requests, total.good, total.tolerable, total.fail];
            for (found, cell) in counts.iter().zip(&cells[3..7]) {
                assert_eq!(*found as f64, number(cell), "{line}");
            }
            let mean = total.mean_response_s.expect("pages");
            assert!((mean - number(cells[7])).abs() < 0.0006, "{line}: {mean}");
            if !cells[8].is_empty() {
                let bytes = total.mean_bytes.expect("pages");
                assert!((bytes - number(cells[8])).abs() < 2.0, "{line}: {bytes}");
            }
            let found = table.aggregate().expect("pages");
            for (found, cell) in found.iter().zip(&cells[9..12]) {
                assert_eq!(format!("{found:.1}"), *cell, "{line}");
            }
            iterations += 1;
        }
        assert_eq!(iterations, 9);
    }

    #[test]
    fn every_published_byte_rate_is_that_of_the_formula() {
        let mut rows = 0;
        for model in Model::ALL {
            for iteration in ["1", "2", "3"] {
                let printed = printed(model, iteration);
                let table = PageTable::new(model, &printed.counts);
                for (row, abr) in table.rows.iter().zip(&printed.abr) {
                    let off = row.weighted_abr.expect("pages") / abr - 1.0;
                    // Printed times are cut to milliseconds.
                    assert!(off.abs() < 0.0012, "{} {iteration}: {off}", row.name);
                    rows += 1;
                }
                let sum: f64 = table.rows.iter().filter_map(|row| row.weighted_abr).sum();
                let total = table.total.weighted_abr.expect("pages");
                assert!((sum / total - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!(rows, 108);
    }

    #[test]
    fn without_requests_there_are_no_means() {
        let counts = vec![PageCount::default(); 7];
        let table = PageTable::new(Model::Support, &counts);
        assert_eq!(table.aggregate(), None);
        assert_eq!(
            (table.total.mean_bytes, table.total.weighted_abr),
            (None, None)
        );
    }
}
