//! The controller of pretend hosts, and what it runs.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rookery_testkit::PretendHosts;
use serde_json::Value;

/// A controller with the directory that it works in.
pub(super) struct Controller<'p> {
    pub(super) hosts: PretendHosts,
    place: &'p Path,
}

impl<'p> Controller<'p> {
    /// The controller of so many pretend hosts, none of which is up.
    pub(super) fn new(place: &'p Path, hosts: usize) -> Self {
        let hosts = PretendHosts::new(place, hosts);
        Self { hosts, place }
    }

    /// Do `work` with the hosts file of these entries, whose hosts are up meanwhile.
    pub(super) fn with_fleet<T>(
        &self,
        entries: &[String],
        work: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let file = self.hosts.file(entries);
        self.rookery(&["fleet", "up", &file])?;
        let done = work(&file);
        self.rookery(&["fleet", "down", &file])?;
        done
    }

    /// Run a study with these arguments: what it stored, and how long it took.
    pub(super) fn run(&self, study: &str, more: &[&str]) -> Result<(Value, Duration), String> {
        let file = self.place.join("fleet.toml");
        fs::write(&file, study).map_err(|error| error.to_string())?;
        let _ = fs::remove_dir_all(self.place.join("runs"));
        let begun = Instant::now();
        self.rookery(&[&["run", "fleet.toml", "-q"], more].concat())?;
        let took = begun.elapsed();
        let export = self.rookery(&["export", "latest", "--format", "json"])?;
        let export = serde_json::from_slice(&export).map_err(|error| error.to_string())?;
        Ok((export, took))
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
