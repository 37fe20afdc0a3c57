//! What the tests of the command line share: a private place for runs, small studies, a look at the
//! host.

#![allow(dead_code, reason = "every test binary uses its own part")]

mod host_state;
pub(crate) mod orderentry;
mod turn;
mod voids;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use turn::Turn;
use voids::Excuses;

#[allow(unused_imports, reason = "every test binary uses its own part")]
pub(crate) use host_state::{assert_host_as, host_state};

/// The niceness of what is tested.
const PREFERENCE: &str = "-10";

/// Attempts at a trial that ends well, on a machine that may be busy.
const ATTEMPTS: u32 = 3;

/// How long a load may be in coming, where machines are translated on a busy host.
const LOAD_LIMIT: Duration = Duration::from_secs(900);

/// A private place: its own runs, a template cache shared by the tests of one binary, and the turn
/// on this machine.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    excuses: Excuses,
    turn: Turn,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::on(Turn::alone(), Excuses::Machine)
    }

    /// A place for a small load that leaves most of the machine free, by a test that looks at
    /// nothing but its own runs: several of them have their turn at the same time. A load that
    /// begins or ends beside a trial may also make its window unsteady.
    pub(crate) fn among_others() -> Self {
        Self::on(Turn::shared(), Excuses::Neighbours)
    }

    fn on(turn: Turn, excuses: Excuses) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        host_state::enter(dir.path());
        Self { dir, excuses, turn }
    }

    /// A place for studies that look for the edge, and so go beyond it: a trial may also be void
    /// because the system does not keep up with its load.
    pub(crate) fn overloaded() -> Self {
        Self::on(Turn::alone(), Excuses::Overload)
    }

    /// A place for what only computes, on a simulated host or from stored runs: several of them
    /// have their turn at the same time. A trial may be void because the system does not keep up.
    pub(crate) fn computing() -> Self {
        Self::on(Turn::shared(), Excuses::Overload)
    }

    /// A place for a run whose first trial the test itself spoils.
    pub(crate) fn with_planted_fault() -> Self {
        Self::on(Turn::alone(), Excuses::FirstTrial)
    }

    /// The same among others.
    pub(crate) fn with_planted_fault_among_others() -> Self {
        Self::on(Turn::shared(), Excuses::FirstTrial)
    }

    /// The command `rookery ARGS` in this place. Where root may have it so, it is preferred to
    /// other work on the machine: a driver that has to wait for its CPU makes its trial void.
    pub(crate) fn rookery(&self, args: &[&str]) -> Command {
        self.rookery_at(Path::new(env!("CARGO_BIN_EXE_rookery")), args)
    }

    /// The same by another build of the program.
    pub(crate) fn rookery_at(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("/usr/bin/nice");
            command.args(["-n", PREFERENCE]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(args).current_dir(self.dir.path());
        command
            // Wide enough that no line is broken: tests look for whole sentences.
            .env("COLUMNS", "10000")
            .env("ROOKERY_RUNS", self.runs())
            .env("ROOKERY_TEMPLATES", templates());
        command
    }

    /// The command `WITHIN rookery ARGS` in this place.
    pub(crate) fn rookery_within(&self, within: &[&str], args: &[&str]) -> Command {
        self.within(within, self.rookery(args))
    }

    /// The same of any command of this place.
    pub(crate) fn within(&self, within: &[&str], plain: Command) -> Command {
        let Some((program, words)) = within.split_first() else {
            return plain;
        };
        let mut command = Command::new(program);
        command
            .args(words)
            .arg(plain.get_program())
            .args(plain.get_args())
            .current_dir(self.dir.path());
        for (name, value) in plain.get_envs() {
            command.env(name, value.expect("only set"));
        }
        command
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    /// Start a study, and give what its run tells after its load has become steady.
    pub(crate) fn under_load(
        &self,
        text_of: &str,
    ) -> (Child, impl Iterator<Item = String> + use<>) {
        self.under_load_within(&[], text_of)
    }

    /// The same by a command such as `unshare --mount --`, which runs what follows it.
    pub(crate) fn under_load_within(
        &self,
        within: &[&str],
        text_of: &str,
    ) -> (Child, impl Iterator<Item = String> + use<>) {
        let study = self.study("loaded.toml", text_of);
        let mut child = self
            .rookery_within(within, &["run", &study, "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("rookery starts");
        let mut events = BufReader::new(child.stdout.take().expect("piped"))
            .lines()
            .map_while(Result::ok);
        let began = Instant::now();
        while !events
            .next()
            .expect("the load becomes steady")
            .contains("\"steady\"")
        {
            assert!(began.elapsed() < LOAD_LIMIT, "no load came");
        }
        (child, events)
    }

    /// Write a study and return its path.
    pub(crate) fn study(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, text).expect("the study is written");
        path.display().to_string()
    }

    /// The log of the last run: on a busy machine there were others before it.
    pub(crate) fn run_log(&self) -> String {
        let runs = fs::read_dir(self.runs()).expect("runs");
        let logs = runs.map(|run| run.expect("a run").path().join("run.log"));
        let logs = logs.filter(|log| log.exists());
        let latest = logs.max_by_key(|log| fs::metadata(log).and_then(|log| log.modified()).ok());
        fs::read_to_string(latest.expect("a run with a log")).expect("a log")
    }

    /// The logs of all runs say nothing of what lets one into a database.
    pub(crate) fn no_password_is_logged(&self) {
        let runs = fs::read_dir(self.runs()).expect("runs");
        let logs: Vec<PathBuf> = runs
            .map(|run| run.expect("a run").path().join("run.log"))
            .filter(|log| log.exists())
            .collect();
        assert!(!logs.is_empty(), "runs have logs");
        for path in logs {
            let log = fs::read_to_string(&path).expect("a log").to_lowercase();
            assert!(log.contains("trial"), "{} says something", path.display());
            for word in ["password", "identified by"] {
                assert!(!log.contains(word), "{word} in {}", path.display());
            }
        }
    }

    /// Perform a study until a trial of it ends well and none fails, at most three times; gives
    /// what that run told and its export. What kept each other attempt from it is printed.
    pub(crate) fn done(&self, name: &str, text_of: &str) -> (String, serde_json::Value) {
        self.done_when(name, text_of, |run| done_points(run) > 0)
    }

    /// The same until one of each point does.
    pub(crate) fn done_everywhere(&self, name: &str, text_of: &str) -> (String, serde_json::Value) {
        let points = |run: &serde_json::Value| run["points"].as_array().map_or(0, Vec::len);
        self.done_when(name, text_of, |run| done_points(run) == points(run))
    }

    fn done_when(
        &self,
        name: &str,
        text_of: &str,
        well: impl Fn(&serde_json::Value) -> bool,
    ) -> (String, serde_json::Value) {
        let study = self.study(name, text_of);
        for attempt in 1..=ATTEMPTS {
            if attempt > 1 {
                // Neighbours were too much for it.
                self.turn.have_alone();
            }
            let output = self
                .rookery(&["run", &study])
                .output()
                .expect("rookery starts");
            let told = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
            let run = self.export();
            let ended = went_to_its_end(&output);
            assert!(ended || attempt < ATTEMPTS && starved(&run), "{told}");
            if ended && well(&run) {
                return (told, run);
            }
            eprintln!(
                "attempt {attempt} of {ATTEMPTS}: too few trials ended well: {}",
                run["reasons"]
            );
        }
        panic!("too few trials ended well in {ATTEMPTS} attempts");
    }

    /// What `rookery report` prints of the newest run, in lines that are not broken.
    pub(crate) fn tables(&self) -> String {
        let output = self
            .rookery(&["report", "latest"])
            .env("COLUMNS", "250")
            .output()
            .expect("rookery starts");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The exported run `latest`.
    pub(crate) fn export(&self) -> serde_json::Value {
        let output = self
            .rookery(&["export", "latest", "--format", "json"])
            .output()
            .expect("rookery starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("the export is JSON")
    }
}

/// Whether all that failed of a run are guests that had no CPU to answer anything: neighbours took
/// it, or they are broken, and then will be alone as well.
fn starved(run: &serde_json::Value) -> bool {
    let trials = run["trials"].as_array().expect("trials");
    let reasons = run["reasons"].as_array().expect("reasons");
    let mut failed = trials
        .iter()
        .filter(|trial| trial["status"] == "failed")
        .peekable();
    failed.peek().is_some()
        && failed.all(|trial| {
            let mut own = reasons.iter().filter(|row| row["trial"] == trial["trial"]);
            own.all(|row| row["code"] == "silent")
        })
}

/// How many points of an exported run have a trial that ended well.
fn done_points(run: &serde_json::Value) -> usize {
    let trials = run["trials"].as_array().expect("trials");
    let done = trials.iter().filter(|trial| trial["status"] == "done");
    done.filter_map(|trial| trial["point"].as_u64())
        .collect::<BTreeSet<_>>()
        .len()
}

/// A metric of a guest in an exported run.
pub(crate) fn metric(run: &serde_json::Value, guest: &serde_json::Value, name: &str) -> f64 {
    let rows = run["metrics"].as_array().expect("metrics");
    let own = rows.iter().find(|row| {
        row["trial"] == guest["trial"] && row["guest"] == guest["guest"] && row["metric"] == name
    });
    own.and_then(|row| row["value"].as_f64())
        .unwrap_or_else(|| panic!("{name} of {guest}"))
}

/// How many guests of an exported run were asked for `asked` in the setting `name`, and had it
/// before and after the load.
pub(crate) fn settings_kept(run: &serde_json::Value, name: &str, asked: &str) -> usize {
    let rows = run["tunings"].as_array().expect("tunings");
    let kept = rows.iter().filter(|row| {
        row["name"] == name
            && [&row["asked"], &row["effective"], &row["at_end"]]
                .iter()
                .all(|value| **value == asked)
    });
    kept.count()
}

impl Drop for Place {
    fn drop(&mut self) {
        host_state::leave(self.dir.path());
        if !std::thread::panicking() {
            let unexcused = voids::unexcused(&self.runs(), self.excuses);
            assert!(
                unexcused.is_empty(),
                "void for another reason than a driver that this machine kept from its work: \
                 {unexcused:#?}"
            );
        }
    }
}

/// Templates are content-addressed, so all tests may share them.
pub(crate) fn templates() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates")
}

/// The program without what debuggers read: where hosts each get a copy of it, it is copied in less
/// than half the time.
pub(crate) fn stripped_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let whole = Path::new(env!("CARGO_BIN_EXE_rookery"));
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stripped");
        fs::create_dir_all(&directory).expect("made");
        let small = directory.join("rookery");
        let mut strip = Command::new("strip");
        let done = strip.arg("-o").arg(&small).arg(whole).status();
        // It is part of what links programs; without it the whole one does as well.
        match done.is_ok_and(|status| status.success()) {
            true => small,
            false => whole.to_owned(),
        }
    })
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The run went to its end. On a busy machine the driver may have accused itself of every trial of
/// a point (exit code 6): that is the rule at work, and no fault of the road under test. That it
/// was the machine is seen to where the [`Place`] ends.
pub(crate) fn went_to_its_end(output: &Output) -> bool {
    matches!(code(output), 0 | 6)
}

/// The trial was measured to its end: done, or void on a busy machine (see [`Place`]).
pub(crate) fn measured(trial: &serde_json::Value) -> bool {
    trial["status"] == "done" || trial["status"] == "void"
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// A study of a few seconds: one guest and two guests of `kind`.
pub(crate) fn tiny_study(kind: &str, vcpus: &str, extra: &str) -> String {
    format!(
        r#"
title = "tiny"
seed = 7

[workload]
kind = "dvdstore"
database = "1MB per guest"
think_time = "20ms"

[load]
users = "6 per guest"
ramp_up = "200ms"
settle = "300ms"
steady = "1s"
drain = "2s"
repeats = 1
retry_void = 0

[qos]
p95 = "5s"
errors = 0.01
min_operations = 10

[stack]
kind = "embedded"

[guest]
kind = "{kind}"
memory = "128MiB per guest"

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "scale-out"
guests = [1, 2]
vcpus = {vcpus}
{extra}
"#
    )
}

/// Processes of this name in guests of the run that `child` conducts: it has the only run directory
/// of its place.
pub(crate) fn processes_of(child: &Child, name: &str) -> Vec<u32> {
    let directory = fs::read_link(format!("/proc/{}/cwd", child.id())).expect("it runs");
    let runs = fs::read_dir(directory.join("runs")).expect("runs");
    let labels: Vec<String> = runs
        .flatten()
        .filter_map(|run| {
            Some(
                run.file_name()
                    .to_string_lossy()
                    .rsplit('-')
                    .next()?
                    .to_owned(),
            )
        })
        .map(|id| format!("ROOKERY_RUN={id}"))
        .collect();
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let own = processes.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
        let comm = fs::read_to_string(entry.path().join("comm")).ok()?;
        let environ = fs::read(entry.path().join("environ")).ok()?;
        let labelled = environ
            .split(|byte| *byte == 0)
            .any(|variable| labels.iter().any(|label| label.as_bytes() == variable));
        (labelled && comm.trim() == name).then_some(pid)
    });
    own.collect()
}

/// Whether tests that measure for minutes are to run (`ROOKERY_LONG_TESTS=1`), as root.
pub(crate) fn long_tests() -> bool {
    let wanted = std::env::var("ROOKERY_LONG_TESTS").is_ok_and(|value| value == "1");
    if !wanted {
        eprintln!("SKIPPED: it measures for minutes; ROOKERY_LONG_TESTS=1 runs it");
    }
    wanted && root_tests()
}

/// Whether the root tests are to run. They must not be skipped silently: only an explicit wish
/// skips them.
pub(crate) fn root_tests() -> bool {
    if std::env::var_os("ROOKERY_SKIP_ROOT_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_ROOT_TESTS=1");
        return false;
    }
    true
}

/// Whether the tests of bare LAMP guests, which run this host's own servers, are to run; as
/// [`root_tests`].
pub(crate) fn lamp_tests() -> bool {
    if std::env::var_os("ROOKERY_SKIP_LAMP_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_LAMP_TESTS=1");
        return false;
    }
    true
}
