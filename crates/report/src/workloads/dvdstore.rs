//! The metrics of the original DVD Store driver, under their names.

use rookery_analysis::Run;
use rookery_stats::Measurement;
use rookery_workload::dvdstore::ShopCounters;

use super::{Part, Section};
use crate::{
    prose::{format, loop_type::loop_type},
    tables::Table,
};

const HEADS: [&str; 16] = [
    "trial",
    "point",
    "state",
    "opm",
    "n_overall",
    "rt_tot_avg_msec",
    "rt_tot_lastn_max_msec",
    "rollback_rate",
    "n_login_overall",
    "n_newcust_overall",
    "n_browse_overall",
    "n_purchase_overall",
    "rt_login_avg_msec",
    "rt_newcust_avg_msec",
    "rt_browse_avg_msec",
    "rt_purchase_avg_msec",
];

/// The section of a run.
pub(super) fn section(run: &Run) -> Section {
    Section {
        id: "shop",
        name: "DVD Store",
        title: "Metrics of the original DVD Store driver",
        caption: format!(
            "Under the names of the original driver, all guests of a trial together, over the \
             window. {}.",
            loop_type(run)
        ),
        parts: vec![Part {
            heading: "",
            caption: "",
            fold_beyond: 24,
            rows: "trials",
            table: table(run),
        }],
    }
}

/// One row per measured trial, all guests together: counts are summed, means weighted by their
/// counts, maxima taken.
fn table(run: &Run) -> Table {
    let rows = run.trials.iter().filter_map(|trial| {
        let measured = trial.record.as_ref()?.measurement.as_ref()?;
        let point = run
            .header
            .plan
            .points
            .iter()
            .find(|point| point.id == trial.row.trial.point)?;
        let total = together(measured);
        Some(vec![
            trial.row.trial.id.to_string(),
            point.label(),
            format::status(trial.row.status).to_owned(),
            format::number(total.opm),
            total.n_overall.to_string(),
            format::number(total.rt_tot_avg_msec),
            format::number(total.rt_tot_lastn_max_msec),
            format::number(total.rollback_rate),
            total.n_login_overall.to_string(),
            total.n_newcust_overall.to_string(),
            total.n_browse_overall.to_string(),
            total.n_purchase_overall.to_string(),
            format::number(total.rt_login_avg_msec),
            format::number(total.rt_newcust_avg_msec),
            format::number(total.rt_browse_avg_msec),
            format::number(total.rt_purchase_avg_msec),
        ])
    });
    Table {
        label: String::new(),
        heads: HEADS.iter().map(|head| (*head).to_owned()).collect(),
        rows: rows.collect(),
    }
}

/// The counters of all guests together.
fn together(measured: &Measurement) -> ShopCounters {
    let mut all = ShopCounters::default();
    for guest in &measured.guests {
        if let Some(counters) = guest.counters.dvdstore() {
            all.merge(counters);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn the_metrics_of_the_original_driver_add_up_over_guests() {
        let run = Run::read(&fixture::complete().store).expect("a whole store");
        let (_, measured) = run.trials[4].valid().expect("a good trial");
        let total = together(measured);
        assert!((total.opm - measured.units_per_minute()).abs() < 1e-6);
        assert!(
            (total.rt_tot_avg_msec
                - measured.guests[0]
                    .counters
                    .dvdstore()
                    .expect("a DVD Store")
                    .rt_tot_avg_msec)
                .abs()
                < 1e-9
        );
    }
}
