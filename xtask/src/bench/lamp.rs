//! A LAMP guest of this host's own packages, in a temporary directory and on a loopback address,
//! for the benchmarks.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use rookery_cast::low_u64;
use rookery_stack::{
    SupervisedService,
    lamp::{
        Software,
        sql::{Account, Database},
    },
};
use rookery_workload::random::{RandomSource as _, SplitMix64};
use tempfile::TempDir;

/// Longest wait for a server to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// Directories of a guest; its data outlive the services that run on them.
pub(super) struct Place {
    dir: TempDir,
}

/// Services that run in a place. Dropping them stops them in order.
pub(super) struct Running<'a> {
    place: &'a Place,
    child: Child,
}

/// The programs of this host.
pub(super) fn software() -> Result<Software, String> {
    Software::find(Path::new("/")).map_err(|error| error.to_string())
}

impl Place {
    pub(super) fn new() -> Result<Self, String> {
        let dir = TempDir::with_prefix("rk-")
            .map_err(|error| format!("cannot make a temporary directory: {error}"))?;
        for name in ["data", "conf", "run"] {
            fs::create_dir(dir.path().join(name))
                .map_err(|error| format!("cannot make a directory: {error}"))?;
        }
        Ok(Self { dir })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Write a file below the configuration.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.dir.path().join("conf").join(path);
        let written = fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))
            .and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// Start `service`, on the processor `cpu` alone if one is named; Apache, if it has one,
    /// listens on `address`.
    pub(super) fn start(
        &self,
        service: &SupervisedService,
        address: &str,
        cpu: Option<u32>,
    ) -> Result<Running<'_>, String> {
        let fill = |text: &str| {
            ["data", "conf", "run"]
                .iter()
                .fold(text.replace("{listen}", address), |text, name| {
                    text.replace(
                        &format!("{{{name}}}"),
                        &self.dir.path().join(name).display().to_string(),
                    )
                })
        };
        for (path, text) in &service.files {
            self.write(path, &fill(text))?;
        }
        let io = |error: std::io::Error| format!("cannot start the guest: {error}");
        let log = File::create(self.log_path()).map_err(io)?;
        let program = std::env::current_exe()
            .map_err(io)?
            .with_file_name("rookery");
        let mut command = match cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &cpu.to_string()]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args(service.args.iter().map(|arg| fill(arg)));
        // A group of its own: a guest that ends kills what is left of its group.
        command.process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(io)?)
            .stderr(log);
        let child = command.spawn().map_err(io)?;
        Ok(Running { place: self, child })
    }

    /// Connect to its MariaDB as the administrator.
    pub(super) fn database(&self) -> Result<Database, String> {
        Database::connect(&self.dir.path().join("data/mysql.sock"), Account::Root)
            .map_err(|error| error.to_string())
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

impl Running<'_> {
    /// Wait until `ready` gives something.
    pub(super) fn wait<T>(&mut self, ready: impl Fn() -> Option<T>) -> Result<T, String> {
        let start = Instant::now();
        loop {
            if let Some(found) = ready() {
                return Ok(found);
            }
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || start.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.place.log_path()).unwrap_or_default();
                return Err(format!("the guest is not ready ({ended:?}):\n{log}"));
            }
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // SAFETY: kill has no preconditions; the child has not been waited for, so that the id
            // is still its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > PATIENCE {
                // Its services end with it: it is their last resort too.
                let _ = self.child.kill();
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// Median; 0 of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => 0.0,
        (length, middle) if length % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        (_, middle) => sorted[middle],
    }
}

/// Another order each time: from a seed of the clock, for only the order of runs depends on it.
pub(super) fn shuffle<T>(items: &mut [T]) {
    let seed = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(1, |time| low_u64(time.as_nanos()));
    SplitMix64::new(seed).shuffle(items);
}

/// Print one line of the result.
pub(super) fn say(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| format!("cannot write to standard output: {error}"))
}
