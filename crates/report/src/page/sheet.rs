//! Pages that are no report of a run: sentences, figures and tables in the report's style.

use serde::Serialize;

use super::{Drawn, SCRIPT, STYLE, drawn, policy, rendered};
use crate::{ReportError, draw, figures::data::Figure, tables::Table};

const TEMPLATE: &str = include_str!("../../template/plain.html");

/// One section of such a page.
#[derive(Default, Serialize)]
pub(super) struct Section {
    /// Its anchor.
    pub(super) id: String,
    /// Its name in the navigation.
    pub(super) short: String,
    pub(super) heading: String,
    /// Class of the sentences: `answer`, `caveats`, or `said`.
    pub(super) kind: &'static str,
    pub(super) sentences: Vec<String>,
    /// Text of which the columns stand under each other.
    pub(super) text: String,
    pub(super) figure: Option<Drawn>,
    pub(super) tables: Vec<Table>,
}

impl Section {
    /// Sentences; `None` without any.
    pub(super) fn said(
        id: &str,
        heading: &str,
        kind: &'static str,
        all: Vec<String>,
    ) -> Option<Self> {
        (!all.is_empty()).then(|| Self {
            sentences: all,
            kind,
            ..Self::new(id, heading)
        })
    }

    /// A table; `None` without rows.
    pub(super) fn table(id: &str, heading: &str, table: Table) -> Option<Self> {
        (!table.rows.is_empty()).then(|| Self {
            tables: vec![table],
            ..Self::new(id, heading)
        })
    }

    /// A drawing with its data.
    pub(super) fn figure(figure: &Figure) -> Self {
        Self {
            figure: Some(drawn(figure)),
            ..Self::new(&figure.id, &figure.title)
        }
    }

    /// Text as a terminal shows it.
    pub(super) fn text(id: &str, heading: &str, text: &str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self {
            text: text.trim_matches('\n').to_owned(),
            ..Self::new(id, heading)
        })
    }

    fn new(id: &str, heading: &str) -> Self {
        Self {
            id: id.to_owned(),
            short: heading.chars().take(SHORT).collect(),
            heading: heading.to_owned(),
            ..Self::default()
        }
    }
}

/// Longest name in the navigation, characters.
const SHORT: usize = 28;

#[derive(Serialize)]
struct Sheet<'a> {
    kicker: &'a str,
    title: &'a str,
    sections: Vec<Section>,
    version: &'static str,
    style: &'static str,
    script: &'static str,
    library: &'static str,
    policy: String,
}

/// The page.
pub(super) fn render(
    kicker: &str,
    title: &str,
    sections: Vec<Section>,
) -> Result<String, ReportError> {
    let sheet = Sheet {
        kicker,
        title,
        sections,
        version: env!("CARGO_PKG_VERSION"),
        style: STYLE,
        script: SCRIPT,
        library: draw::LIBRARY,
        policy: policy(),
    };
    rendered("plain.html", TEMPLATE, sheet)
}
