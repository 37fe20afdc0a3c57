//! How long databases took to be made: the table.

use rookery_analysis::{Analysis, loads::LoadSummary};

use super::{Table, table};
use crate::prose::{format, loads::name};

/// One row for each point that loads, or for each template.
pub(crate) fn table_of(analysis: &Analysis) -> Table {
    let row = |load: &LoadSummary| {
        let part = |seconds: f64| format::seconds(seconds);
        vec![
            name(load),
            load.database.clone(),
            match (load.point, load.here) {
                (Some(_), _) => format::counted(load.count, "trial"),
                (None, true) => "this run".to_owned(),
                (None, false) => "before".to_owned(),
            },
            format::or_none(load.total_s.as_ref(), format::estimate),
            part(load.create_s),
            part(load.rows_s),
            part(load.index_s),
            part(load.check_s),
            part(load.close_s),
            // Of data of the user's own nobody counts the rows.
            format::or_none(Some(load.rows).filter(|rows| *rows > 0), |rows| {
                format::number(rows as f64)
            }),
            format::or_none(load.rows_per_s, format::number),
            format::or_none(load.bytes_per_s, |bytes| {
                format::number(bytes / f64::from(1 << 20))
            }),
        ]
    };
    let heads = [
        "what",
        "database",
        "loaded",
        "load time, s",
        "create",
        "rows",
        "indexes",
        "checks",
        "stop",
        "number of rows",
        "rows/s",
        "MiB/s",
    ];
    table(&heads, analysis.loads.iter().map(row).collect())
}
