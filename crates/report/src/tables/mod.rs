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

/// A table with its title.
pub(crate) fn labelled(label: &str, heads: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table {
        label: label.to_owned(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    }
}
