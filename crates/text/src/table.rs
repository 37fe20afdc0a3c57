//! Tables that fit a width: columns side by side, with cells of several lines, or one record for
//! each row.

use crate::lines::{hanging, in_room};

/// Blanks between two columns.
const GAP: usize = 2;

/// Most lines of a row. A table that needs more is easier to read as records.
const MOST_LINES: usize = 2;

/// A table: heads, then rows of as many cells. Cells are single lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table; rows are made as long as the heads.
    #[must_use]
    pub fn new(heads: Vec<String>, mut rows: Vec<Vec<String>>) -> Self {
        for row in &mut rows {
            row.resize(heads.len(), String::new());
        }
        Self { heads, rows }
    }

    /// The table in lines of `width`, the last one ended; nothing without rows.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        match self.widths(width) {
            Some(widths) => self.side_by_side(&widths),
            None => self.records(width),
        }
    }

    /// Width of each column, where the table fits with rows of few lines.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = self.each_column(|cell| cell.chars().count());
        let least: Vec<usize> = self.each_column(longest_word);
        let room = width.checked_sub(GAP * self.heads.len().saturating_sub(1))?;
        while widths.iter().sum::<usize>() > room {
            let widest = (0..widths.len())
                .filter(|column| widths[*column] > least[*column])
                .max_by_key(|column| widths[*column])?;
            widths[widest] -= 1;
        }
        let lines = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths);
            cells.map(|(cell, width)| in_room(cell, *width).len()).max()
        };
        let few = self
            .rows
            .iter()
            .filter_map(lines)
            .all(|lines| lines <= MOST_LINES);
        few.then_some(widths)
    }

    /// The largest `size` of the cells of each column, its head included.
    fn each_column(&self, size: impl Fn(&str) -> usize) -> Vec<usize> {
        (0..self.heads.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| row[column].as_str());
                let sizes = cells.chain([self.heads[column].as_str()]).map(&size);
                sizes.max().unwrap_or(0)
            })
            .collect()
    }

    fn side_by_side(&self, widths: &[usize]) -> String {
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text = row_lines(&self.heads, widths) + &row_lines(&rule, widths);
        for row in &self.rows {
            text += &row_lines(row, widths);
        }
        text
    }

    /// One record for each row: its first cell, and below it the other cells with their heads.
    fn records(&self, width: usize) -> String {
        let names = self.heads.iter().skip(1);
        let longest = names.map(|head| head.chars().count()).max().unwrap_or(0);
        let column = longest.min(width / 2);
        let mut records = Vec::new();
        for row in &self.rows {
            let mut record = hanging("", &row[0], width).join("\n") + "\n";
            for (head, cell) in self.heads.iter().zip(row).skip(1) {
                if !cell.is_empty() {
                    record += &field(head, cell, column, width);
                }
            }
            records.push(record);
        }
        records.join("\n")
    }
}

/// A head and its value; a long head has lines of its own above it.
fn field(head: &str, cell: &str, column: usize, width: usize) -> String {
    let mut heads = in_room(head, column);
    let last = heads.pop().unwrap_or_default();
    let mut text: String = heads.iter().map(|line| format!("  {line}\n")).collect();
    for line in hanging(&format!("  {last:column$}  "), cell, width) {
        text += &format!("{}\n", line.trim_end());
    }
    text
}

fn longest_word(cell: &str) -> usize {
    let words = cell.split(' ').map(|word| word.chars().count());
    words.max().unwrap_or(0)
}

/// The lines of one row.
fn row_lines(cells: &[String], widths: &[usize]) -> String {
    let cells: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| in_room(cell, *width))
        .collect();
    let count = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for number in 0..count {
        let line: Vec<String> = cells
            .iter()
            .zip(widths)
            .map(|(lines, width)| {
                let part = lines.get(number).map_or("", String::as_str);
                format!("{part:width$}")
            })
            .collect();
        text += &format!("{}\n", line.join(&" ".repeat(GAP)).trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(heads: &[&str], rows: &[&[&str]]) -> Table {
        let owned = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        Table::new(owned(heads), rows.iter().map(|row| owned(row)).collect())
    }

    #[test]
    fn a_narrow_table_stands_in_columns() {
        let table = table(&["point", "orders/min"], &[&["1 x 1 vCPU", "1500"]]);
        assert_eq!(
            table.render(80),
            "point       orders/min\n----------  ----------\n1 x 1 vCPU  1500\n"
        );
    }

    #[test]
    fn cells_have_two_lines_where_that_is_enough() {
        let table = table(
            &["point", "purchase p95, ms"],
            &[&["1 x 1 vCPU, 10 users", "1.00 to 2.00"]],
        );
        assert_eq!(
            table.render(24),
            "point        purchase\n             p95, ms\n-----------  -----------\n\
             1 x 1 vCPU,  1.00 to\n10 users     2.00\n"
        );
    }

    #[test]
    fn a_wide_table_is_one_record_for_each_row() {
        let table = table(
            &["point", "orders/min", "verdict of the limits"],
            &[
                &["1 x 1 vCPU, 10 users", "1500 (1400 to 1600)", "met"],
                &["2 x 1 vCPU, 20 users", "3000 (2800 to 3200)", ""],
            ],
        );
        assert_eq!(
            table.render(30),
            "1 x 1 vCPU, 10 users\n  orders/min       1500 (1400\n                   to 1600)\n  \
             verdict of the\n  limits           met\n\n2 x 1 vCPU, 20 users\n  \
             orders/min       3000 (2800\n                   to 3200)\n"
        );
    }

    proptest! {
        #[test]
        fn every_table_fits_its_width_unless_a_word_is_longer(
            rows in proptest::collection::vec(
                proptest::collection::vec("([a-z0-9]{1,9} ){0,6}", 5),
                1..5,
            ),
            width in 40_usize..120,
        ) {
            let heads = ["a", "bb cc", "ddd", "e", "f"].map(str::to_owned).to_vec();
            let text = Table::new(heads, rows.clone()).render(width);
            for line in text.lines() {
                prop_assert!(line.chars().count() <= width, "{line:?}");
            }
            for word in rows.iter().flatten().flat_map(|cell| cell.split_whitespace()) {
                prop_assert!(text.contains(word), "{word} is lost:\n{text}");
            }
        }
    }
}
