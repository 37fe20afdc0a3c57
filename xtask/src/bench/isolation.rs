//! `bench isolation`: what the filter of system calls costs a container, by paired runs with and
//! without it.
//!
//! A run's program finds this one as `runc`: where the filter is to be away it is taken out of the
//! bundle's configuration, and the real `runc` goes on. Everything else of a container is the same.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

const USAGE: &str = "usage: cargo xtask bench isolation [--rounds N] [--seconds S]";

/// One guest that its users keep busy: what a system call costs shows in its throughput.
const STUDY: &str = r#"
title = "isolation"

[workload]
kind = "dvdstore"
database = "4MB per guest"
think_time = "0s"

[load]
users = "16 per guest"
ramp_up = "300ms"
settle = "1s"
steady = "SECONDSs"
repeats = 1
retry_void = 0

[stack]
kind = "embedded"

[guest]
kind = "container"
memory = "256MiB per guest"

[host]
other_work = 1

[[layout]]
name = "one"
guests = 1
vcpus = 1
"#;

/// Set for runs without the filter.
const WITHOUT: &str = "ROOKERY_BENCH_WITHOUT_FILTER";
/// The real `runc`, for the shim.
const RUNC: &str = "ROOKERY_BENCH_RUNC";

/// Measures and prints each pair, and the median of the ratios.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["runc", rest @ ..] = words.as_slice() {
        return Err(shim(rest));
    }
    let (mut rounds, mut seconds) = (7_u32, 5_u32);
    for option in words.chunks(2) {
        let number = |text: &str| {
            let number: u32 = text.parse().ok()?;
            (1..=600).contains(&number).then_some(number)
        };
        match option {
            ["--rounds", text] => rounds = number(text).ok_or(USAGE)?,
            ["--seconds", text] => seconds = number(text).ok_or(USAGE)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let bench = Bench::prepare(place.path(), seconds)?;
    println!(
        "{:>5}  {:>16}  {:>16}  {:>6}",
        "round", "with, orders/min", "without", "ratio"
    );
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        // Each is first in every other round.
        let (with, without) = if round % 2 == 0 {
            let without = bench.orders_per_min(false)?;
            (bench.orders_per_min(true)?, without)
        } else {
            let with = bench.orders_per_min(true)?;
            (with, bench.orders_per_min(false)?)
        };
        println!(
            "{round:>5}  {with:>16.0}  {without:>16.0}  {:>6.3}",
            with / without
        );
        ratios.push(with / without);
    }
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
    println!(
        "\nthroughput with the filter of system calls / without: {:.3} (median of {rounds}, \
         {low:.3} to {high:.3})",
        ratios[ratios.len() / 2]
    );
    Ok(())
}

struct Bench {
    place: PathBuf,
    program: PathBuf,
    path: String,
    runc: PathBuf,
}

impl Bench {
    fn prepare(place: &Path, seconds: u32) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", place.display());
        let path = std::env::var("PATH").map_err(|error| error.to_string())?;
        let runc = std::env::split_paths(&path)
            .map(|directory| directory.join("runc"))
            .find(|file| file.is_file())
            .ok_or("there is no runc: install the package runc")?;
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = own.with_file_name("rookery");
        let shims = place.join("bin");
        fs::create_dir(&shims).map_err(told)?;
        let shim = shims.join("runc");
        let text = format!(
            "#!/bin/sh\nexec '{}' bench isolation runc \"$@\"\n",
            own.display()
        );
        fs::write(&shim, text).map_err(told)?;
        fs::set_permissions(&shim, Permissions::from_mode(0o755)).map_err(told)?;
        let study = STUDY.replace("SECONDS", &seconds.to_string());
        fs::write(place.join("isolation.toml"), study).map_err(told)?;
        Ok(Self {
            place: place.to_owned(),
            program,
            path: format!("{}:{path}", shims.display()),
            runc,
        })
    }

    /// The throughput of one run.
    fn orders_per_min(&self, with_filter: bool) -> Result<f64, String> {
        let runs = self.place.join("runs");
        let rookery = |args: &[&str]| {
            let mut command = Command::new(&self.program);
            command
                .args(args)
                .current_dir(&self.place)
                .env("ROOKERY_RUNS", &runs)
                .env("ROOKERY_TEMPLATES", self.place.join("templates"))
                .env("PATH", &self.path)
                .env(RUNC, &self.runc);
            if !with_filter {
                command.env(WITHOUT, "1");
            }
            command.output().map_err(|error| error.to_string())
        };
        let ran = rookery(&["run", "isolation.toml", "--quiet"])?;
        let exported = rookery(&["export", "--table", "trials", "--format", "json"])?;
        let rows: Value = serde_json::from_slice(&exported.stdout)
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&ran.stderr)))?;
        fs::remove_dir_all(&runs).map_err(|error| error.to_string())?;
        let rows = rows.as_array().or_else(|| rows["trials"].as_array());
        let trial = rows.and_then(|rows| rows.first());
        trial
            .and_then(|trial| trial["throughput_per_min"].as_f64())
            .ok_or_else(|| {
                format!(
                    "no trial was measured: {}",
                    String::from_utf8_lossy(&ran.stderr)
                )
            })
    }
}

/// Be `runc`; returns only on an error.
fn shim(args: &[&str]) -> String {
    let bundle = args
        .windows(2)
        .find(|pair| pair[0] == "--bundle")
        .map(|pair| pair[1]);
    if let Some(bundle) = bundle.filter(|_| std::env::var_os(WITHOUT).is_some())
        && let Err(error) = take_filter_out(&Path::new(bundle).join("config.json"))
    {
        return error;
    }
    let Some(runc) = std::env::var_os(RUNC) else {
        return format!("{RUNC} is not set: {USAGE}");
    };
    Command::new(runc).args(args).exec().to_string()
}

fn take_filter_out(file: &Path) -> Result<(), String> {
    let told = |error: String| format!("{}: {error}", file.display());
    let text = fs::read(file).map_err(|error| told(error.to_string()))?;
    let mut config: Value =
        serde_json::from_slice(&text).map_err(|error| told(error.to_string()))?;
    let filter = config["linux"]
        .as_object_mut()
        .and_then(|linux| linux.remove("seccomp"));
    filter.ok_or_else(|| told("there is no filter of system calls".to_owned()))?;
    fs::write(file, config.to_string()).map_err(|error| told(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_alone_is_taken_out() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("config.json");
        fs::write(&file, r#"{"linux":{"seccomp":{},"resources":{}}}"#).expect("written");
        take_filter_out(&file).expect("taken out");
        assert_eq!(
            fs::read_to_string(&file).expect("read"),
            r#"{"linux":{"resources":{}}}"#
        );
        assert!(take_filter_out(&file).is_err());
    }
}
