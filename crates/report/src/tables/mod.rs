//! What an analysis says, in tables: shared by terminal and page.

pub(crate) mod arrivals;
pub(crate) mod baselines;
pub(crate) mod compare;
pub(crate) mod effects;
pub(crate) mod evidence;
pub(crate) mod layers;
pub(crate) mod loads;
pub(crate) mod machines;
pub(crate) mod metrics;
pub(crate) mod scaling;
pub(crate) mod searches;
pub(crate) mod settings;
pub(crate) mod summary;
pub(crate) mod tiles;
pub(crate) mod trust;
pub(crate) mod weights;

use crate::prose::format::NONE;

/// Lines of a data table: heads, then rows of cells.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Table {
    pub(crate) label: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A table without a title.
pub(crate) fn table(heads: &[&str], rows: Vec<Vec<String>>) -> Table {
    labelled("", heads, rows)
}

/// A table with its title. A column without any value says nothing and is left out; so are the rows
/// where only their labels would stay.
pub(crate) fn labelled(label: &str, heads: &[&str], rows: Vec<Vec<String>>) -> Table {
    let says = |column: &usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(*column));
        rows.is_empty() || cells.any(|cell| cell != NONE)
    };
    let kept: Vec<usize> = (0..heads.len()).filter(says).collect();
    let says_nothing = kept.len() < heads.len().min(2);
    let rows = rows.iter().filter(|_| !says_nothing).map(|row| {
        let cells = kept.iter().map(|column| row.get(*column));
        cells
            .map(|cell| cell.cloned().unwrap_or_default())
            .collect()
    });
    Table {
        label: label.to_owned(),
        rows: rows.collect(),
        heads: kept
            .iter()
            .map(|column| heads[*column].to_owned())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_any_value_is_left_out() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = vec![row(["one", NONE, NONE]), row(["two", NONE, "5"])];
        let table = table(&["point", "share", "errors"], rows);
        assert_eq!(table.heads, ["point", "errors"]);
        assert_eq!(table.rows, [["one", NONE], ["two", "5"]]);
        let empty = super::table(&["point", "share"], vec![vec!["one".into(), NONE.into()]]);
        assert!(empty.rows.is_empty(), "{empty:?}");
    }
}
