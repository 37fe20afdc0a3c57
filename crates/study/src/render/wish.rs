//! What is wished of intervals, what is chosen for it and what is not yet known.

use std::fmt::Write as _;

use rookery_cast::count_u32;

use crate::{Plan, Study, Wish, WishPlan, WishTimes, time_text::plain_time};

/// Most pilots that are named.
const NAMED: usize = 8;

/// A time of the trials, or who chooses it.
pub(super) fn time(time: std::time::Duration, open: bool) -> String {
    if open {
        "chosen by pilots".to_owned()
    } else {
        plain_time(time)
    }
}

/// The pilots of a wish, and what follows from them.
pub(super) fn write(out: &mut String, plan: &Plan, study: &Study, wish: &Wish, planned: &WishPlan) {
    let points = count_u32(plan.points.len());
    let lot = study.load.repeats * points;
    match planned.times {
        WishTimes::Given => {
            let _ = writeln!(out, "  settle and steady are as written");
        }
        WishTimes::Open { pilot } => {
            let open = match (wish.open.settle, wish.open.steady) {
                (true, true) => "settle and steady",
                (true, false) => "settle",
                (false, _) => "steady",
            };
            let named: Vec<String> = plan
                .trials
                .iter()
                .take(NAMED)
                .map(|trial| trial.point.to_string())
                .collect();
            let (noun, verb) = match named.len() {
                1 => ("pilot", "chooses"),
                _ => ("pilots", "choose"),
            };
            let _ = writeln!(
                out,
                "  {} {noun} of {} {verb} {open}, at points {}",
                named.len(),
                plain_time(pilot),
                named.join(" ")
            );
        }
        WishTimes::Chosen(ref chosen) => {
            let _ = writeln!(
                out,
                "  pilots have chosen settle {}, steady {}",
                plain_time(chosen.settle),
                plain_time(chosen.steady)
            );
        }
    }
    let _ = writeln!(
        out,
        "  then {lot} trials ({} of each point); more, as many as the first show to be needed, \
         while the time lasts",
        study.load.repeats
    );
}
