//! Effects that were planted are found, on real servers: a tuning that must help is reported with
//! its sign and an interval without zero, one that cannot matter with an effect that is small
//! beside it.

use crate::common::{Place, long_tests, root_tests, text};

/// One LAMP container under a load that wants more than one web server process; `extra` goes below
/// `[stack.settings]`.
fn study(database: &str, users: u32, think_time: &str, repeats: u32, settings: &str) -> String {
    format!(
        r#"
title = "planted"
seed = 3

[workload]
kind = "dvdstore"
database = "{database}"
think_time = "{think_time}"
new_customers = 0.0

[load]
users = {users}
ramp_up = "200ms"
settle = "500ms"
steady = "2s"
ramp_down = "100ms"
timeout = "20s"
repeats = {repeats}

[stack]
kind = "lamp"
buffer_pool = "warm"

[stack.settings]
{settings}

[guest]
kind = "container"
memory = "768MiB per guest"

[[layout]]
name = "one"
guests = 1
vcpus = 1
"#
    )
}

/// An effect as the terminal tells it, in per cent: the value and, if there is one, its interval.
#[derive(Debug)]
struct Told {
    value: f64,
    interval: Option<(f64, f64)>,
    verdict: String,
}

impl Told {
    /// More, and the interval holds no change.
    fn is_better(&self) -> bool {
        self.interval.is_some_and(|(low, _)| low > 0.0)
    }
}

/// Run a study until its effects on orders per minute, one for each of the factors named, are as
/// they were planted. A busy machine makes trials void and intervals wide, so that a single run may
/// decide nothing: three runs that all fail to show what was planted are a defect.
fn shows(study: &str, factors: &[&str], planted: impl Fn(&[Told]) -> bool) {
    // Too few workers keep users waiting for longer than a window.
    let place = Place::overloaded();
    let study = place.study("planted.toml", study);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let output = place
            .rookery(&["run", &study])
            .output()
            .expect("rookery starts");
        eprintln!("{}", text(&output.stderr));
        let told = place.tables();
        eprintln!("{told}");
        let effects: Vec<Told> = factors.iter().map(|factor| effect(&told, factor)).collect();
        if planted(&effects) {
            return;
        }
        seen.push(effects);
    }
    panic!("three runs do not show what was planted: {seen:?}");
}

/// The effect of a factor: the first line that begins with it is that of the table over all
/// layouts.
fn effect(told: &str, factor: &str) -> Told {
    let row = told.lines().find(|line| line.starts_with(factor));
    let row = row.unwrap_or_else(|| panic!("{factor} has no effect in what was told"));
    let columns: Vec<&str> = row
        .split("  ")
        .map(str::trim)
        .filter(|column| !column.is_empty())
        .collect();
    // Where every trial was void there is no number.
    read(columns[3], columns[4]).unwrap_or(Told {
        value: f64::NAN,
        interval: None,
        verdict: columns[4].to_owned(),
    })
}

/// Reads `+5.2 % (−15.6 to +31.0)` or `−1.9 %`.
fn read(effect: &str, verdict: &str) -> Option<Told> {
    let plain = effect.replace('−', "-").replace('%', "");
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let (value, interval) = match plain.split_once('(') {
        Some((value, interval)) => {
            let (low, high) = interval.trim().trim_end_matches(')').split_once(" to ")?;
            (number(value)?, Some((number(low)?, number(high)?)))
        }
        None => (number(&plain)?, None),
    };
    Some(Told {
        value,
        interval,
        verdict: verdict.to_owned(),
    })
}

#[test]
fn too_few_workers_and_a_placebo_are_told_apart() {
    if !root_tests() {
        return;
    }
    let settings =
        "\"apache.MaxRequestWorkers\" = [2, 64]\n\"mariadb.max_connect_errors\" = [100, 200]";
    let factors = ["apache.MaxRequestWorkers", "mariadb.max_connect_errors"];
    shows(
        &study("1MB per guest", 24, "100ms", 3, settings),
        &factors,
        |told| {
            let (workers, placebo) = (&told[0], &told[1]);
            workers.is_better()
                && placebo.value.abs() < workers.value / 4.0
                && placebo.verdict != "better"
                && placebo.verdict != "worse"
        },
    );
}

#[test]
fn a_buffer_pool_smaller_than_the_database_is_found() {
    if !long_tests() {
        return;
    }
    let settings = "\"mariadb.innodb_buffer_pool_size\" = [\"8MiB\", \"256MiB\"]";
    let factors = ["mariadb.innodb_buffer_pool_size"];
    shows(
        &study("100MB per guest", 6, "0s", 5, settings),
        &factors,
        |told| told[0].is_better(),
    );
}
