//! The plan as plain text, for the terminal.

use std::{fmt::Write as _, time::Duration};

use crate::{
    GuestKind, Order, Plan, Point, Study,
    grammar::kinds::{Named as _, cpu_list, plain_time},
    source::printable,
};

/// Points, trials in their order, cost and notes of a plan, in aligned columns without colours.
#[must_use]
pub fn render_plan(plan: &Plan, study: &Study) -> String {
    let mut out = String::new();
    write_head(&mut out, plan, study);
    out.push('\n');
    write_points(&mut out, &plan.points);
    out.push('\n');
    write_trials(&mut out, plan, study);
    out.push('\n');
    write_cost(&mut out, plan);
    if !plan.notes.is_empty() {
        out.push_str("\nNotes\n");
        for note in &plan.notes {
            let _ = writeln!(out, "  - {note}");
        }
    }
    out
}

fn write_head(out: &mut String, plan: &Plan, study: &Study) {
    let (load, workload) = (&study.load, &study.workload);
    let kind = match study.guest.kind {
        GuestKind::Bare => "bare guests",
        GuestKind::Container => "containers",
        GuestKind::Fake => "fake guests",
    };
    let _ = writeln!(out, "{}", printable(&study.title, 200));
    let _ = writeln!(
        out,
        "  {} on the {} stack in {kind}, seed {}",
        workload.kind.name(),
        study.stack.kind.name(),
        study.seed
    );
    let _ = writeln!(
        out,
        "  {} model, {} time {} ({} pacing); ramp-up {}, settle {}, steady {}, ramp-down {}",
        load.model.name(),
        workload.pacing.name(),
        plain_time(workload.think_time),
        workload.pacing.name(),
        plain_time(load.ramp_up),
        plain_time(load.settle),
        plain_time(load.steady),
        plain_time(load.ramp_down)
    );
    let (driver, guests) = (cpu_list(&plan.driver_cpus), cpu_list(&plan.guest_cpus));
    let _ = writeln!(
        out,
        "  driver on CPU {driver}; guests on CPU {guests}, pinned: {}",
        study.guest.pin.name()
    );
}

fn write_points(out: &mut String, points: &[Point]) {
    let head = [
        "point", "layouts", "guests", "vCPU", "users", "memory", "database", "pins", "capacity", "baseline",
    ];
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).to_vec()];
    for point in points {
        rows.push(vec![
            point.id.to_string(),
            printable(&point.layouts.join(", "), 60),
            point.guests.to_string(),
            point.vcpus.to_string(),
            users_of(point),
            format!("{} MiB", point.memory_mib),
            point.database.to_string(),
            pins_of(point),
            format!("{} CPU", point.capacity_cpus),
            baseline_of(point),
        ]);
    }
    write_table(out, &rows);
}

fn baseline_of(point: &Point) -> String {
    match point.baseline {
        Some(id) if id == point.id => "itself".to_owned(),
        Some(id) => format!("point {id}"),
        None => "none".to_owned(),
    }
}

/// `200`, `200 (50 each)`, `10 (2-3 each)`.
fn users_of(point: &Point) -> String {
    let total = point.total_users();
    match (point.users.last(), point.users.first()) {
        (Some(few), Some(many)) if point.guests > 1 && few == many => format!("{total} ({few} each)"),
        (Some(few), Some(many)) if point.guests > 1 => format!("{total} ({few}-{many} each)"),
        _ => total.to_string(),
    }
}

/// Guests that are shown one by one.
const PINS_SHOWN: usize = 4;

/// `0-3`, or `0 | 1 | 0 | 1` guest by guest.
fn pins_of(point: &Point) -> String {
    let mut different = point.pins.clone();
    different.dedup();
    if let [all] = different.as_slice() {
        return cpu_list(all);
    }
    let mut shown: Vec<String> = point.pins.iter().take(PINS_SHOWN).map(|pin| cpu_list(pin)).collect();
    if point.pins.len() > PINS_SHOWN {
        shown.push("...".to_owned());
    }
    shown.join(" | ")
}

/// Left-aligned columns, two spaces apart.
fn write_table(out: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
}

/// Rounds and trials of a round that are shown one by one.
const ROUNDS_SHOWN: u32 = 5;
const TRIALS_SHOWN: usize = 24;

fn write_trials(out: &mut String, plan: &Plan, study: &Study) {
    let order = match study.load.order {
        Order::Random => "random order, new in every repeat",
        Order::Interleaved => "the order of the file in every repeat",
    };
    let count = |n: usize, noun: &str| if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") };
    let (trials, points) = (count(plan.trials.len(), "trial"), count(plan.points.len(), "point"));
    let _ = writeln!(
        out,
        "{trials}: {points} x {}, {order}",
        count(study.load.repeats as usize, "repeat")
    );
    for repeat in 1..=study.load.repeats.min(ROUNDS_SHOWN) {
        let mut ids: Vec<String> = plan
            .trials
            .iter()
            .filter(|trial| trial.repeat == repeat)
            .map(|trial| trial.point.to_string())
            .collect();
        if ids.len() > TRIALS_SHOWN {
            let more = ids.len() - TRIALS_SHOWN;
            ids.truncate(TRIALS_SHOWN);
            ids.push(format!("and {more} more"));
        }
        let _ = writeln!(out, "  repeat {repeat}: points {}", ids.join(" "));
    }
    if study.load.repeats > ROUNDS_SHOWN {
        let _ = writeln!(out, "  and {} more repeats", study.load.repeats - ROUNDS_SHOWN);
    }
}

fn write_cost(out: &mut String, plan: &Plan) {
    let estimate = &plan.estimate;
    let _ = writeln!(
        out,
        "About {}, up to {} of memory for guests, {} of disk",
        clock(estimate.duration),
        size(estimate.memory_mib),
        size(estimate.disk_mib)
    );
}

/// `45 s`, `3 min 20 s`, `2 h 5 min`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// `300 MiB`, `12.5 GiB`.
fn size(mib: u64) -> String {
    if mib < 10 * 1024 {
        format!("{mib} MiB")
    } else {
        format!("{:.1} GiB", mib as f64 / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_well() {
        let seconds = |s| clock(Duration::from_secs(s));
        assert_eq!(seconds(45), "45 s");
        assert_eq!(seconds(200), "3 min 20 s");
        assert_eq!(seconds(7500), "2 h 5 min");
        assert_eq!(size(300), "300 MiB");
        assert_eq!(size(12_800), "12.5 GiB");
    }
}
