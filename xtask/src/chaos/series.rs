//! One series: a study is run, interrupted, cleaned away and resumed until its kills are used.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::Duration,
};

use rookery_workload::random::{RandomSource as _, SplitMix64};

use super::{
    interruption::{Interruption, await_end},
    kind::RunKind,
    outcome::check_run,
    remains::nothing_left,
};

/// Kills until a run is led to its end and a new one begun.
const KILLS_OF_A_RUN: u32 = 12;
/// Exit codes of a controller that was let go on to its end: done, only void trials, limits missed.
pub(super) const ENDS: [i32; 3] = [0, 6, 7];
/// The exit code where a point has no valid trial, and one that failed: an end like the others
/// where a process of a guest or a builder was killed, and the other trials of the point were void.
const GUEST_FAILED: i32 = 5;
/// The settings of the host that [`RunKind::Settings`] holds are read by this.
const AUDIT: [&str; 4] = ["host", "audit", "--profile", "throughput"];

/// What a series is made of.
pub(super) struct Series<'a> {
    pub(super) kind: RunKind,
    pub(super) program: &'a Path,
    /// Templates that are there, or are built once for all series.
    pub(super) templates: &'a Path,
    /// Where its runs are.
    pub(super) place: PathBuf,
    pub(super) random: SplitMix64,
}

/// What was done in a series.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How often each way was taken.
    pub(super) ways: BTreeMap<String, u32>,
    /// Clean-ups, and how many of them were killed themselves.
    pub(super) cleans: u32,
    pub(super) killed_cleans: u32,
    /// Resumes without a clean-up before.
    pub(super) bare_resumes: u32,
    /// Runs that came to their end, and their trials.
    pub(super) runs: u32,
    pub(super) trials: u32,
}

impl Series<'_> {
    /// Interrupt `kills` times, and check what must hold after each and at the end.
    ///
    /// # Errors
    /// What does not hold, with what was done before.
    pub(super) fn interrupt(mut self, kills: u32) -> Result<Tally, String> {
        let mut tally = Tally::default();
        let settings = self.settings()?;
        let mut children_killed = 0;
        for kill in 1..=kills {
            let way = Interruption::draw(&mut self.random);
            *tally.ways.entry(format!("{way:?}")).or_default() += 1;
            children_killed += u32::from(way == Interruption::KillChild);
            self.kill_once(way, &mut tally)
                .and_then(|()| self.settings_as(&settings))
                .map_err(|error| format!("kill {kill} ({way:?}): {error}"))?;
            let last = kill == kills;
            if !self.kind.builds() && (last || kill % KILLS_OF_A_RUN == 0) {
                tally.trials += self
                    .lead_to_the_end(children_killed)
                    .and_then(|trials| self.settings_as(&settings).map(|()| trials))
                    .map_err(|error| format!("after kill {kill}: {error}"))?;
                tally.runs += 1;
                children_killed = 0;
            }
        }
        self.clean()?;
        nothing_left(&self.place)?;
        Ok(tally)
    }

    fn kill_once(&mut self, way: Interruption, tally: &mut Tally) -> Result<(), String> {
        let mut controller = self.start()?;
        let within = u64::try_from(self.kind.within().as_millis()).unwrap_or(u64::MAX);
        sleep(Duration::from_millis(self.random.below(within)));
        let mut random = self.random.clone();
        let struck = way.strike(&mut controller, &mut random, &|| self.clean());
        self.random = random;
        if struck.is_ok() && way.goes_on() {
            // It is ended a moment later, the plain way.
            sleep(Duration::from_millis(self.random.below(within)));
            Interruption::Kill.strike(&mut controller, &mut self.random.clone(), &|| Ok(()))?;
        }
        let _ = controller.kill();
        let _ = controller.wait();
        struck?;
        match self.random.below(100) {
            0..20 if way != Interruption::InterruptTwice => {
                tally.bare_resumes += 1;
                return Ok(());
            }
            20..35 => {
                tally.killed_cleans += 1;
                let mut clean = self.command(&["clean"]).spawn().map_err(starting)?;
                sleep(Duration::from_millis(self.random.below(50)));
                let _ = clean.kill();
                let _ = clean.wait();
            }
            _ => {}
        }
        tally.cleans += 1;
        self.clean()?;
        nothing_left(&self.place)
    }

    /// The run that is under way resumed, or a new one begun.
    fn start(&self) -> Result<Child, String> {
        let args: &[&str] = if self.run_under_way() {
            &["run", "--resume", "latest", "-q"]
        } else {
            &["run", "chaos.toml", "-q"]
        };
        self.command(args)
            .process_group(0)
            .spawn()
            .map_err(starting)
    }

    /// Whether a run has a store: one that was killed before has nothing to be resumed.
    fn run_under_way(&self) -> bool {
        let runs = fs::read_dir(self.place.join("runs"));
        runs.into_iter()
            .flatten()
            .flatten()
            .any(|run| run.path().join("run.sqlite").is_file())
    }

    /// Resume without interruptions; every trial is there once, and the report and the exports are
    /// made. Then the next run begins in an empty place.
    fn lead_to_the_end(&self, children_killed: u32) -> Result<u32, String> {
        let mut controller = self.start()?;
        await_end(&mut controller).or_else(|_| await_end(&mut controller))?;
        let code = controller
            .wait()
            .map_err(|error| format!("waiting for the run: {error}"))?
            .code();
        let ended = |code: i32| ENDS.contains(&code) || code == GUEST_FAILED;
        if !code.is_some_and(ended) {
            return Err(format!("the last resume ended with {code:?}"));
        }
        nothing_left(&self.place)?;
        let export = self.output(&["export", "latest", "--format", "json"])?;
        let outcome = check_run(&export.stdout, children_killed)?;
        if code == Some(GUEST_FAILED) && outcome.failed == 0 {
            return Err("guests failed, says its exit code; no trial does".to_owned());
        }
        self.output(&["report", "latest"])?;
        fs::remove_dir_all(self.place.join("runs"))
            .map_err(|error| format!("removing the runs: {error}"))?;
        Ok(outcome.trials)
    }

    fn clean(&self) -> Result<(), String> {
        self.output(&["clean"]).map(drop)
    }

    /// The settings of the host, where the series changes any.
    fn settings(&self) -> Result<String, String> {
        if self.kind != RunKind::Settings {
            return Ok(String::new());
        }
        let output = self
            .command(&AUDIT)
            .stdout(Stdio::piped())
            .output()
            .map_err(starting)?;
        // Its exit code says whether the profile is met, which is no matter here.
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// After a bare resume is ahead nothing is put back yet: the next controller does it.
    fn settings_as(&self, before: &str) -> Result<(), String> {
        if self.kind != RunKind::Settings {
            return Ok(());
        }
        self.clean()?;
        let now = self.settings()?;
        if now == before {
            return Ok(());
        }
        Err(format!(
            "settings of the host are not as before:\n{before}\nnow:\n{now}"
        ))
    }

    fn output(&self, args: &[&str]) -> Result<Output, String> {
        let output = self
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .map_err(starting)?;
        if output.status.success() {
            return Ok(output);
        }
        Err(format!(
            "`rookery {}` ended with {}:\n{}{}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn command(&self, args: &[&str]) -> Command {
        let templates = if self.kind.builds() {
            self.place.join("templates")
        } else {
            self.templates.to_owned()
        };
        let mut command = Command::new(self.program);
        command
            .args(args)
            .current_dir(&self.place)
            .env("ROOKERY_RUNS", self.place.join("runs"))
            .env("ROOKERY_TEMPLATES", templates)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

pub(super) fn starting(error: std::io::Error) -> String {
    format!("starting rookery: {error}")
}
