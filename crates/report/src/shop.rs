//! The metrics of the original DVD Store driver, under their names.

use rookery_stats::{Measurement, ShopCounters};

use crate::{Run, figures::Table, format};

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

/// One row per measured trial, all guests together: counts are summed, means weighted by their counts, maxima taken.
pub(crate) fn table(run: &Run) -> Table {
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
pub(crate) fn together(measured: &Measurement) -> ShopCounters {
    let shops = || measured.guests.iter().map(|guest| &guest.shop);
    let sum = |count: fn(&ShopCounters) -> u64| shops().map(count).fold(0, u64::saturating_add);
    let mean = |value: fn(&ShopCounters) -> f64, weight: fn(&ShopCounters) -> u64| match sum(weight)
    {
        0 => 0.0,
        total => shops()
            .map(|shop| value(shop) * weight(shop) as f64 / total as f64)
            .sum(),
    };
    let n_overall = sum(|shop| shop.n_overall);
    let n_rollbacks_overall = sum(|shop| shop.n_rollbacks_overall);
    ShopCounters {
        n_overall,
        opm: shops().map(|shop| shop.opm).sum(),
        rt_tot_avg_msec: mean(|shop| shop.rt_tot_avg_msec, |shop| shop.n_overall),
        rt_tot_lastn_max_msec: shops()
            .map(|shop| shop.rt_tot_lastn_max_msec)
            .fold(0.0, f64::max),
        n_rollbacks_overall,
        rollback_rate: if n_overall > 0 {
            100.0 * n_rollbacks_overall as f64 / n_overall as f64
        } else {
            0.0
        },
        n_login_overall: sum(|shop| shop.n_login_overall),
        n_newcust_overall: sum(|shop| shop.n_newcust_overall),
        n_browse_overall: sum(|shop| shop.n_browse_overall),
        n_purchase_overall: sum(|shop| shop.n_purchase_overall),
        rt_login_avg_msec: mean(|shop| shop.rt_login_avg_msec, |shop| shop.n_login_overall),
        rt_newcust_avg_msec: mean(
            |shop| shop.rt_newcust_avg_msec,
            |shop| shop.n_newcust_overall,
        ),
        rt_browse_avg_msec: mean(|shop| shop.rt_browse_avg_msec, |shop| shop.n_browse_overall),
        rt_purchase_avg_msec: mean(
            |shop| shop.rt_purchase_avg_msec,
            |shop| shop.n_purchase_overall,
        ),
        n_purchase_from_start: sum(|shop| shop.n_purchase_from_start),
        n_rollbacks_from_start: sum(|shop| shop.n_rollbacks_from_start),
        n_purchase_unanswered: sum(|shop| shop.n_purchase_unanswered),
    }
}
