//! A driver on another host, through a tunnel, against one on this host: the same users, the same
//! guest on CPU 0, the driver on CPU 1. The other host is a network namespace of this machine, so
//! that both have the same CPUs, and both ends of the tunnel are paid here.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use rookery_testkit::PretendHosts;
use serde_json::Value;

use crate::bench::{
    driver::quartiles,
    lamp::{median, say, shuffle},
};

/// The least and the largest ratio of CPU per request.
const GOAL: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// Where a driver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    Elsewhere,
}

/// Measure pairs, and say their ratio.
pub(super) fn compare(pairs: u32) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let hosts = PretendHosts::new(place.path(), 1);
    let file = hosts.file(&[hosts.entry(0, "cpus = \"1\"")]);
    let lab = Lab {
        hosts,
        place: place.path(),
    };
    lab.rookery(&["fleet", "up", &file])?;
    let measured = lab.measure(pairs, &file);
    lab.rookery(&["fleet", "down", &file])?;
    measured
}

/// The controller and its host.
struct Lab<'p> {
    hosts: PretendHosts,
    place: &'p Path,
}

impl Lab<'_> {
    fn measure(&self, pairs: u32, file: &str) -> Result<(), String> {
        let (mut here, mut elsewhere, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..pairs {
            let mut order = [Place::Here, Place::Elsewhere];
            shuffle(&mut order);
            for place in order {
                let cost = self.cost(place, file)?;
                match place {
                    Place::Here => here.push(cost),
                    Place::Elsewhere => elsewhere.push(cost),
                }
            }
            ratios.extend(
                elsewhere
                    .last()
                    .zip(here.last())
                    .map(|(far, near)| far / near),
            );
        }
        for (name, costs) in [("here", &mut here), ("elsewhere", &mut elsewhere)] {
            let [low, middle, high] = quartiles(costs);
            say(&format!(
                "driver {name:<9} {middle:6.2} us of CPU per request (quartiles {low:.2} to \
                 {high:.2})"
            ))?;
        }
        let ratio = median(&ratios);
        say(&format!(
            "driver elsewhere / here: {ratio:.3} (median of {pairs} pairs){}",
            if GOAL.contains(&ratio) {
                ""
            } else {
                ", beyond 5 %"
            }
        ))
    }

    /// CPU time of the driver for a request, us.
    fn cost(&self, place: Place, file: &str) -> Result<f64, String> {
        let study = self.place.join("fleet.toml");
        fs::write(&study, study_of(place)).map_err(|error| error.to_string())?;
        let runs = self.place.join("runs");
        let _ = fs::remove_dir_all(&runs);
        let run = ["run", "fleet.toml", "-q"];
        match place {
            Place::Here => self.rookery(&run)?,
            Place::Elsewhere => self.rookery(&[&run[..], &["--drivers", file]].concat())?,
        };
        let export = self.rookery(&["export", "latest", "--format", "json"])?;
        let export: Value = serde_json::from_slice(&export).map_err(|error| error.to_string())?;
        let cost = export["measurements"][0]["driver_cpu_ms_per_request"].as_f64();
        let cost = cost.ok_or_else(|| format!("nothing was measured: {}", export["reasons"]))?;
        Ok(1e3 * cost)
    }

    /// What the program prints on the controller's machine. Void trials are measured all the same.
    fn rookery(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let output = Command::new("nsenter")
            .args([&self.hosts.controller_net(), "--"])
            .arg(own.with_file_name("rookery"))
            .args(args)
            .current_dir(self.place)
            .env("ROOKERY_RUNS", self.place.join("runs"))
            .env("ROOKERY_TEMPLATES", self.place.join("templates"))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run rookery: {error}"))?;
        match output.status.code() {
            Some(0 | 6 | 7) => Ok(output.stdout),
            _ => Err(format!(
                "`rookery {}`: {}",
                args.join(" "),
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

/// More users than the guest carries, so that the driver is at work.
fn study_of(place: Place) -> String {
    let driver = match place {
        Place::Here => "driver_cpus = 1",
        Place::Elsewhere => "driver = \"elsewhere\"",
    };
    format!(
        "title = \"Drivers\"\nseed = 3\n\n[workload]\nkind = \"sample\"\nthink_time = \"1ms\"\n\n\
         [load]\nusers = 16\nramp_up = \"500ms\"\nsettle = \"1s\"\nsteady = \"10s\"\n\
         repeats = 1\nretry_void = 0\n\n[qos]\nerrors = 0.5\n\n[stack]\nkind = \"bundled\"\n\n\
         [guest]\nkind = \"container\"\nmemory = \"128MiB per guest\"\n\n[host]\n{driver}\n\
         guest_cpus = 0\nother_work = 1\n\n[[layout]]\nname = \"one\"\nguests = 1\nvcpus = 1\n"
    )
}

#[cfg(test)]
mod tests {
    use rookery_study::Study;

    use super::*;

    #[test]
    fn its_studies_are_valid() {
        for place in [Place::Here, Place::Elsewhere] {
            let text = study_of(place);
            assert!(Study::parse("fleet.toml", &text).is_ok(), "{text}");
        }
    }
}
