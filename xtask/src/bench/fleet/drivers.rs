//! A driver on another host, by each way, against one on this host: the same users, the same guest
//! on CPU 0, the driver on CPU 1. The other host is a network namespace of this machine, so that
//! both have the same CPUs.
//!
//! On one kernel a packet is handled on the CPU of whoever sent it, so that a driver would do what
//! the guests' host receives from it. Each host has a CPU here, and handles what it receives from
//! the other there, as two machines do. What counts is all that the driver's CPU did in the window:
//! the driver's thread, interrupts, and whatever else ran there.

use std::fs;

use serde_json::Value;

use super::controller::Controller;
use crate::bench::{
    driver::quartiles,
    lamp::{median, say, shuffle},
};

/// The least and the largest ratio of CPU per request.
const GOAL: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// The CPUs of the guest and its host, and of the driver and its host.
const GUEST_CPU: u32 = 0;
const DRIVER_CPU: u32 = 1;

/// Where a driver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    /// On the other host, by the way of this name.
    Elsewhere(&'static str),
}

/// Where drivers are, the one that others are compared with first.
const PLACES: [Place; 3] = [
    Place::Here,
    Place::Elsewhere("tunnel"),
    Place::Elsewhere("direct"),
];

/// CPU time for a request, us.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Of the driver's thread, as reports tell it.
    thread: f64,
    /// Of all that its CPU did.
    cpu: f64,
}

/// What is compared, and what it is called.
type Measure = (&'static str, fn(&Cost) -> f64);

const MEASURES: [Measure; 2] = [
    ("all of its CPU", |cost| cost.cpu),
    ("its thread", |cost| cost.thread),
];

/// Measure rounds of all places, and say their ratios.
pub(super) fn compare(rounds: u32) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let controller = Controller::new(place.path(), 1);
    controller.hosts.controller_receives_on(GUEST_CPU);
    controller.hosts.receive_on(0, DRIVER_CPU);
    let entry = controller
        .hosts
        .entry(0, &format!("cpus = \"{DRIVER_CPU}\""));
    controller.with_fleet(&[entry], |file| {
        let costs = measure(&controller, rounds, file)?;
        MEASURES.iter().try_for_each(|of| tell(&costs, *of))
    })
}

/// By place: what a request cost in each round.
fn measure(controller: &Controller<'_>, rounds: u32, file: &str) -> Result<[Vec<Cost>; 3], String> {
    let common = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let mut costs = PLACES.map(|_| Vec::new());
    for _ in 0..rounds {
        let mut order = [0, 1, 2];
        shuffle(&mut order);
        for place in order {
            if let Place::Elsewhere(way) = PLACES[place] {
                // The host is the last table of the file.
                fs::write(file, format!("{common}way = \"{way}\"\n"))
                    .map_err(|error| error.to_string())?;
            }
            costs[place].push(cost(controller, PLACES[place], file)?);
        }
    }
    Ok(costs)
}

/// Say what was measured.
fn tell(costs: &[Vec<Cost>; 3], (what, of): Measure) -> Result<(), String> {
    for (place, costs) in PLACES.iter().zip(costs) {
        let mut own: Vec<f64> = costs.iter().map(of).collect();
        let [low, middle, high] = quartiles(&mut own);
        say(&format!(
            "driver {:<16} {middle:6.2} us of CPU per request, {what} (quartiles {low:.2} to \
             {high:.2})",
            place.name()
        ))?;
    }
    let [here, elsewhere @ ..] = costs;
    for (place, far) in PLACES[1..].iter().zip(elsewhere) {
        let pairs = far.iter().zip(here);
        let ratios: Vec<f64> = pairs.map(|(far, near)| of(far) / of(near)).collect();
        let ratio = median(&ratios);
        let beyond = match GOAL.contains(&ratio) {
            true => "",
            false => ", beyond 5 %",
        };
        say(&format!(
            "driver {} / here, {what}: {ratio:.3} (median of {} pairs){beyond}",
            place.name(),
            ratios.len()
        ))?;
    }
    Ok(())
}

impl Place {
    fn name(self) -> String {
        match self {
            Self::Here => "here".to_owned(),
            Self::Elsewhere(way) => format!("elsewhere, {way}"),
        }
    }
}

/// What a request costs a driver at this place.
fn cost(controller: &Controller<'_>, place: Place, file: &str) -> Result<Cost, String> {
    let more = match place {
        Place::Here => vec![],
        Place::Elsewhere(_) => vec!["--drivers", file],
    };
    for _ in 0..ATTEMPTS {
        let (export, _) = controller.run(&study_of(place), &more)?;
        let others = others(&export);
        if others <= MOST_OTHERS {
            let none = || format!("nothing was measured: {}", export["reasons"]);
            return cost_of(&export).ok_or_else(none);
        }
        say(&format!(
            "other programs had {others:.2} cores while a driver was measured: once more"
        ))?;
    }
    Err("this machine is at work for others: measure when it is idle".to_owned())
}

/// How often a driver is measured where other programs are at work.
const ATTEMPTS: u32 = 5;
/// Most cores of theirs: their work on the driver's CPU would be taken for that of the driver.
const MOST_OTHERS: f64 = 0.05;

/// Cores that programs had which are no part of the trial. The agent is none of them: to the host
/// of the guests, whose kernel is that of all here, it is another program.
fn others(export: &Value) -> f64 {
    let programs = export["other_programs"].as_array().into_iter().flatten();
    let others = programs.filter(|program| program["name"] != "rookery");
    let cores = others.filter_map(|program| program["cpu_cores"].as_f64());
    cores.sum()
}

/// Where the time goes in which a CPU does no work here, by the names of its counters. What it works
/// on is told by what ticks meet, which a driver that wakes with them meets too often or never.
const NO_WORK: [&str; 2] = ["idle_us", "steal_us"];

/// What a request of a run costs.
fn cost_of(export: &Value) -> Option<Cost> {
    let measured = &export["measurements"][0];
    let number = |name: &str| measured[name].as_f64();
    let thread_ms = number("driver_cpu_ms_per_request")?;
    let window_s = number("window_end_s")? - number("window_start_s")?;
    let requests = number("driver_cpu_share")? * window_s * 1e3 / thread_ms;
    let scope = format!("cpu {DRIVER_CPU}");
    let no_work = |row: &&Value| {
        row["scope"] == *scope && NO_WORK.iter().any(|counter| row["counter"] == **counter)
    };
    let own = export["kernel_counts"].as_array()?.iter().filter(no_work);
    let no_work_us: f64 = own.filter_map(|row| row["count"].as_f64()).sum();
    let busy_us = window_s * 1e6 - no_work_us;
    (busy_us > 0.0).then(|| Cost {
        thread: 1e3 * thread_ms,
        cpu: busy_us / requests,
    })
}

/// More users than the guest carries, so that the driver is at work.
fn study_of(place: Place) -> String {
    let driver = match place {
        Place::Here => format!("driver_cpus = {DRIVER_CPU}"),
        Place::Elsewhere(_) => "driver = \"elsewhere\"".to_owned(),
    };
    format!(
        "title = \"Drivers\"\nseed = 3\n\n[workload]\nkind = \"sample\"\nthink_time = \"1ms\"\n\n\
         [load]\nusers = 16\nramp_up = \"500ms\"\nsettle = \"1s\"\nsteady = \"10s\"\n\
         repeats = 1\nretry_void = 0\n\n[qos]\nerrors = 0.5\n\n[stack]\nkind = \"bundled\"\n\n\
         [guest]\nkind = \"container\"\nmemory = \"128MiB per guest\"\n\n[host]\n{driver}\n\
         guest_cpus = {GUEST_CPU}\nother_work = 1\n\n[[layout]]\nname = \"one\"\nguests = 1\n\
         vcpus = 1\n"
    )
}

#[cfg(test)]
mod tests {
    use rookery_study::Study;
    use serde_json::json;

    use super::*;

    #[test]
    fn its_studies_are_valid() {
        for place in PLACES {
            let text = study_of(place);
            assert!(Study::parse("fleet.toml", &text).is_ok(), "{text}");
        }
    }

    #[test]
    fn all_that_the_cpu_of_the_driver_did_is_divided_by_the_requests() {
        let count = |scope: &str, counter: &str, count: u64| json!({"scope": scope, "counter": counter, "count": count});
        let export = json!({
            "measurements": [{
                "driver_cpu_ms_per_request": 0.02, "driver_cpu_share": 0.5,
                "window_start_s": 1.0, "window_end_s": 11.0,
            }],
            // 250 000 requests.
            "kernel_counts": [
                count("cpu 0", "user_us", 9_000_000),
                count("cpu 1", "user_us", 1_000_000),
                count("cpu 1", "idle_us", 3_050_000),
                count("cpu 1", "steal_us", 700_000),
            ],
        });
        let cost = cost_of(&export).expect("measured");
        assert!((cost.thread - 20.0).abs() < 1e-9, "{cost:?}");
        assert!((cost.cpu - 25.0).abs() < 1e-9, "{cost:?}");
    }
}
