//! A private MariaDB, and PHP's own web server on the pages, for the tests of the LAMP stack.
//!
//! Everything lives in a temporary directory and on a loopback address; nothing of the host's
//! services is touched. The tests need the LAMP packages; without them they fail, unless
//! `ROOKERY_SKIP_LAMP_TESTS=1` says that this is meant.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_stack::lamp::{
    SCHEMA_SETTINGS, Software, initialise,
    sql::{Account, Database},
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) mod php;
pub(crate) mod shop;

/// Longest wait for a server, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the tests are to be left out; says so.
pub(crate) fn skipped() -> bool {
    let skip = std::env::var_os("ROOKERY_SKIP_LAMP_TESTS").is_some_and(|value| value == "1");
    if skip {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_LAMP_TESTS=1");
    }
    skip
}

/// A process that is ended with its owner, and its children with it: PHP's server leaves its
/// workers behind.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let id = self.0.id();
        let children =
            fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        let children: Vec<Pid> = children
            .split_whitespace()
            .filter_map(|child| Pid::from_raw(child.parse().ok()?))
            .collect();
        // They may have ended by themselves; there is nobody left to tell.
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A MariaDB of its own.
pub(crate) struct MariaDb {
    _process: Process,
    pub(crate) dir: TempDir,
}

impl MariaDb {
    /// Start one with the settings that the schema needs and `more`.
    pub(crate) fn start(more: &[&str]) -> Self {
        let dir = TempDir::with_prefix("rk-").expect("a temporary directory");
        let options = options(dir.path(), more);
        let software = Software::find(Path::new("/"))
            .unwrap_or_else(|error| panic!("{error}\n  or set ROOKERY_SKIP_LAMP_TESTS=1"));
        initialise(&software, &dir.path().join("mysql")).expect("an empty database");
        let log = fs::File::create(dir.path().join("mariadb.log")).expect("a log");
        let process = Command::new(&software.mariadbd)
            .args(&options)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("mariadbd starts");
        let mut server = Self {
            _process: Process(process),
            dir,
        };
        server.wait();
        server
    }

    fn wait(&mut self) {
        let start = Instant::now();
        loop {
            let last = match Database::connect(&self.socket(), Account::Root) {
                Ok(_) => return,
                Err(error) => error,
            };
            let log = fs::read_to_string(self.dir.path().join("mariadb.log")).unwrap_or_default();
            assert!(
                start.elapsed() < PATIENCE,
                "MariaDB does not answer: {last}\n{log}"
            );
            sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("mysql.sock")
    }

    pub(crate) fn root(&self) -> Database {
        Database::connect(&self.socket(), Account::Root).expect("a connection")
    }
}

/// Options of the server: one private directory, small, and never waiting for the disk.
fn options(dir: &Path, more: &[&str]) -> Vec<String> {
    let path = |name: &str| dir.join(name).display().to_string();
    let mut options = vec![
        "--no-defaults".to_owned(),
        format!("--datadir={}", path("mysql")),
        format!("--socket={}", path("mysql.sock")),
        format!("--pid-file={}", path("mysql.pid")),
        format!("--tmpdir={}", dir.display()),
        "--skip-networking".to_owned(),
        "--innodb-log-file-size=32M".to_owned(),
        "--innodb-buffer-pool-size=64M".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
    ];
    if rustix::process::geteuid().is_root() {
        options.push("--user=root".to_owned());
    }
    options.extend(
        SCHEMA_SETTINGS
            .iter()
            .map(|(name, value)| format!("--{name}={value}")),
    );
    options.extend(more.iter().map(|option| (*option).to_owned()));
    options
}
