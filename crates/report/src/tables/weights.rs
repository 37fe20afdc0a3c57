//! Guests on the same CPUs: CPU time that their weights ask for, and what they got.

use rookery_analysis::{
    Analysis,
    weights::{WeightedGuest, WeightedGuests},
};

use super::{Table, table};
use crate::prose::format;

/// One row for each guest; no rows where no guest has a weight.
pub(crate) fn table_of(analysis: &Analysis) -> Table {
    let heads = [
        "point",
        "CPUs",
        "guest",
        "CPU weight",
        "asked by weight",
        "got",
        "CPU, cores",
        "threads waiting",
        "contended",
    ];
    let rows = analysis
        .weights
        .iter()
        .flat_map(|set| set.guests.iter().map(move |guest| row(set, guest)));
    table(&heads, rows.collect())
}

fn row(set: &WeightedGuests, guest: &WeightedGuest) -> Vec<String> {
    let contended = if set.contended { "yes" } else { "no" };
    vec![
        set.point.to_string(),
        set.cpus.clone(),
        guest.guest.clone(),
        guest.weight.to_string(),
        format::percent(guest.asked),
        format::percent(guest.got),
        format::few(guest.cores),
        format::or_none(guest.waiting, format::few),
        contended.to_owned(),
    ]
}
