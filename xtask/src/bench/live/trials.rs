//! Trials with and without open pages, in pairs of random order.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;

use super::{
    super::lamp::{median, shuffle},
    client::Client,
};

/// Pages that are open.
const PAGES: usize = 20;
/// The least ratio of throughput.
const LEAST_RATIO: f64 = 0.99;
/// The largest part of a CPU that the server takes.
const MOST_OF_A_CPU: f64 = 0.05;

/// What a page that follows a trial is sent at least.
const LEAST_BYTES: u64 = 10_000;

/// More users than one guest carries: a cost would show in the throughput.
const STUDY: &str = r#"title = "Open pages"

[workload]
kind = "sample"
think_time = "1ms"

[load]
users = 16
ramp_up = "1s"
settle = "2s"
steady = "20s"
repeats = 1

[qos]
errors = 0.5

[stack]
kind = "bundled"

[guest]
kind = "bare"
memory = "128MiB per guest"

[[layout]]
name = "one"
guests = 1
vcpus = 1
"#;

/// What a run gave.
struct Outcome {
    throughput: f64,
    /// CPU time of the server's threads over the time of the run; nothing without pages.
    server_cpus: Option<f64>,
}

/// Measure pairs; what missed its goal.
pub(super) fn compare(program: &Path, place: &Path, pairs: u32) -> Result<Vec<String>, String> {
    let study = place.join("pages.toml");
    fs::write(&study, STUDY).map_err(|error| error.to_string())?;
    let (mut ratios, mut cpus) = (Vec::new(), Vec::new());
    for pair in 1..=pairs {
        let mut order = [true, false];
        shuffle(&mut order);
        let (mut with, mut without) = (f64::NAN, f64::NAN);
        for pages in order {
            let outcome = conduct(program, place, &study, pages)?;
            if pages {
                with = outcome.throughput;
                cpus.extend(outcome.server_cpus);
            } else {
                without = outcome.throughput;
            }
        }
        println!("pair {pair}: {with:.0} writes/min with {PAGES} pages, {without:.0} without");
        ratios.push(with / without);
    }
    let (ratio, cpu) = (median(&ratios), median(&cpus));
    println!(
        "{PAGES} open pages: throughput {ratio:.4} of that without (median of {pairs} pairs); the \
         server takes {:.2} % of a CPU",
        100.0 * cpu
    );
    let mut missed = Vec::new();
    if ratio < LEAST_RATIO {
        missed.push(format!(
            "{PAGES} pages cost {:.2} % of the throughput",
            100.0 * (1.0 - ratio)
        ));
    }
    if cpu > MOST_OF_A_CPU {
        missed.push(format!("the server takes {:.1} % of a CPU", 100.0 * cpu));
    }
    Ok(missed)
}

fn conduct(program: &Path, place: &Path, study: &Path, pages: bool) -> Result<Outcome, String> {
    let said = |error: std::io::Error| error.to_string();
    let mut child = Command::new(program)
        .args(["run", "--json", "--live"])
        .arg(study)
        .arg("--runs")
        .arg(place.join("pages"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(said)?;
    let process = child.id();
    let output = child.stdout.take().ok_or("no output")?;
    let (mut throughput, mut url) = (f64::NAN, String::new());
    let mut open = Vec::new();
    let (mut at_start, mut server_cpus) = (None, None);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        match event["event"].as_str().unwrap_or_default() {
            "live" => event["url"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut url),
            "load-started" if pages => {
                let client = Client::admitted(&url)?;
                let key = client.get("/api/session")?["own"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                client.listed(&key)?;
                for _ in 0..PAGES {
                    let (client, key) = (client.clone(), key.clone());
                    open.push(thread::spawn(move || client.follow(&key)));
                }
            }
            "load" if pages && event["phase"] == "steady" => {
                let now = (
                    event["elapsed_s"].as_f64().unwrap_or(0.0),
                    server_time_s(process),
                );
                let (began, used) = *at_start.get_or_insert(now);
                if now.0 > began {
                    server_cpus = Some((now.1 - used) / (now.0 - began));
                }
            }
            "trial-ended" => throughput = event["headline"]["value"].as_f64().unwrap_or(f64::NAN),
            _ => {}
        }
    }
    child.wait().map_err(said)?;
    for page in open {
        let followed = page.join().map_err(|_| "a page has ended badly")??;
        if followed < LEAST_BYTES {
            return Err(format!("a page was sent {followed} bytes of the run"));
        }
    }
    if throughput.is_nan() {
        return Err("a trial measured nothing".to_owned());
    }
    Ok(Outcome {
        throughput,
        server_cpus,
    })
}

/// CPU time of the threads of the server in a process, s.
fn server_time_s(process: u32) -> f64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return 0.0;
    };
    let of_task = |task: std::path::PathBuf| -> Option<f64> {
        let name = fs::read_to_string(task.join("comm")).ok()?;
        if !name.starts_with("live") {
            return None;
        }
        // The time on a CPU, ns: work of less than a tick is in it.
        let text = fs::read_to_string(task.join("schedstat")).ok()?;
        let on_cpu_ns = text.split_whitespace().next()?.parse::<f64>().ok()?;
        Some(on_cpu_ns / 1e9)
    };
    tasks
        .flatten()
        .filter_map(|task| of_task(task.path()))
        .sum()
}
