//! Private database servers: everything in a temporary directory, reached over its sockets alone.
//!
//! The tests need the packages mariadb-server-core and postgresql-15; without them they fail,
//! unless `ROOKERY_SKIP_DATABASE_TESTS=1` says that this is meant.

pub(crate) mod workload;

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::AtomicBool,
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_oltp::{Database, OltpError, Target};
use rustix::process::{Gid, Pid, Signal, Uid, geteuid, getgid, kill_process};
use tempfile::TempDir;

/// The flag of somebody who never says stop.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// Longest wait for a server, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the tests are to be left out; says so.
pub(crate) fn skipped() -> bool {
    let skip = std::env::var_os("ROOKERY_SKIP_DATABASE_TESTS").is_some_and(|value| value == "1");
    if skip {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_DATABASE_TESTS=1");
    }
    skip
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    MariaDb,
    Postgres,
}

/// A server of its own. It ends with its owner.
pub(crate) struct Server {
    kind: Kind,
    process: Option<Child>,
    dir: TempDir,
    account: (Uid, Gid),
}

impl Drop for Server {
    fn drop(&mut self) {
        // The processes of a killed PostgreSQL go on for a while: at the end it is told to take
        // them along.
        if let (Kind::Postgres, Some(process)) = (self.kind, &mut self.process)
            && let Some(pid) = i32::try_from(process.id()).ok().and_then(Pid::from_raw)
            && kill_process(pid, Signal::QUIT).is_ok()
        {
            let _ = process.wait();
            self.process = None;
        }
        self.kill();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

impl Server {
    /// Makes an empty database `shop` and starts the server.
    pub(crate) fn start(kind: Kind) -> Self {
        let dir = TempDir::with_prefix("oltp-").expect("a temporary directory");
        let mut server = Self {
            kind,
            process: None,
            account: account(),
            dir,
        };
        // The server's account must be able to enter the directory and to write there.
        std::os::unix::fs::chown(
            server.dir.path(),
            Some(server.account.0.as_raw()),
            Some(server.account.1.as_raw()),
        )
        .expect("a directory of its own");
        // A server that starts removes the temporary tables of others from a directory that it
        // shares.
        let tmp = server.tmp();
        fs::create_dir(&tmp).expect("a directory for temporary tables");
        std::os::unix::fs::chown(
            &tmp,
            Some(server.account.0.as_raw()),
            Some(server.account.1.as_raw()),
        )
        .expect("a directory of its own");
        server.initialise();
        server.run();
        let create = "CREATE DATABASE shop";
        server.execute(&server.target_of(server.first_database()), create);
        server
    }

    fn initialise(&self) {
        let data = self.data();
        let mut command = match self.kind {
            Kind::MariaDb => {
                let mut command = self.command(&program("mariadb-install-db", &[]));
                command
                    .arg("--no-defaults")
                    .arg(format!("--datadir={}", data.display()));
                command.arg(format!("--tmpdir={}", self.tmp().display()));
                command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
                command
            }
            Kind::Postgres => {
                let mut command = self.command(&program("initdb", POSTGRES_DIRECTORIES));
                command.arg("-D").arg(&data).args([
                    "-U",
                    "oe",
                    "--auth=trust",
                    "--no-sync",
                    "-E",
                    "UTF8",
                    "--locale=C",
                ]);
                command
            }
        };
        let output = command.output().expect("the program starts");
        assert!(
            output.status.success(),
            "{:?}: {}",
            self.kind,
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Starts the server on its data and waits until it answers.
    pub(crate) fn run(&mut self) {
        let start = Instant::now();
        self.spawn();
        let target = self.target_of(self.first_database());
        while let Err(error) = connect(&target) {
            let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(
                start.elapsed() < PATIENCE,
                "the server does not answer: {error}\n{log}"
            );
            sleep(Duration::from_millis(50));
            // PostgreSQL does not start as long as processes of a killed one live.
            if self
                .process
                .as_mut()
                .is_some_and(|process| process.try_wait().is_ok_and(|end| end.is_some()))
            {
                self.spawn();
            }
        }
    }

    fn spawn(&mut self) {
        let (data, dir) = (self.data(), self.dir.path().display().to_string());
        let mut command = match self.kind {
            Kind::MariaDb => {
                let mut command = self.command(&program("mariadbd", &[]));
                command.args([
                    "--no-defaults".to_owned(),
                    format!("--datadir={}", data.display()),
                    format!("--socket={dir}/my.sock"),
                    format!("--pid-file={dir}/my.pid"),
                    format!("--tmpdir={}", self.tmp().display()),
                ]);
                command.args([
                    "--skip-networking",
                    "--innodb-log-file-size=32M",
                    "--innodb-buffer-pool-size=64M",
                    "--local-infile=1",
                ]);
                command
            }
            Kind::Postgres => {
                let mut command = self.command(&program("postgres", POSTGRES_DIRECTORIES));
                command.arg("-D").arg(&data).args([
                    "-k",
                    &dir,
                    "-c",
                    "listen_addresses=",
                    "-c",
                    "shared_buffers=32MB",
                ]);
                command
            }
        };
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.path().join("log"))
            .expect("a log");
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log);
        self.process = Some(command.spawn().expect("the server starts"));
    }

    /// Kills the server as a power cut would: without a word.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself; there is nobody left to tell.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Shuts the server down in an orderly way, its connections included, and waits for its end.
    pub(crate) fn stop(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        let word = if self.kind == Kind::Postgres {
            Signal::INT
        } else {
            Signal::TERM
        };
        if let Some(pid) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, word).expect("the server is ours");
        }
        let start = Instant::now();
        while process.try_wait().expect("the server is ours").is_none() {
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The database of the tests.
    pub(crate) fn target(&self) -> Target {
        self.target_of("shop")
    }

    pub(crate) fn url(&self, account: &str, database: &str) -> String {
        let dir = self.dir.path().display();
        match self.kind {
            Kind::MariaDb => format!("mysql://{account}@/{database}?socket={dir}/my.sock"),
            Kind::Postgres => format!("postgresql://{account}@/{database}?host={dir}"),
        }
    }

    fn target_of(&self, database: &str) -> Target {
        let user = if self.kind == Kind::MariaDb {
            "root"
        } else {
            "oe"
        };
        self.url(user, database).parse().expect("a valid target")
    }

    fn first_database(&self) -> &'static str {
        if self.kind == Kind::MariaDb {
            "mysql"
        } else {
            "postgres"
        }
    }

    pub(crate) fn execute(&self, target: &Target, statement: &str) {
        runtime()
            .block_on(async { Database::connect(target).await?.execute(statement).await })
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// What a query gives.
    pub(crate) fn rows(&self, query: &str) -> Vec<Vec<Option<String>>> {
        runtime()
            .block_on(async { Database::connect(&self.target()).await?.rows(query).await })
            .unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The password rules of the server's own file apply to new connections.
    pub(crate) fn demand_passwords(&mut self) {
        assert_eq!(self.kind, Kind::Postgres);
        fs::write(
            self.data().join("pg_hba.conf"),
            "local all oe trust\nlocal all all scram-sha-256\n",
        )
        .expect("written");
        self.execute(&self.target(), "SELECT pg_reload_conf()");
    }

    fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A command as the server's account, in its own directory.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path());
        if geteuid().is_root() {
            command
                .uid(self.account.0.as_raw())
                .gid(self.account.1.as_raw());
        }
        command
    }
}

fn connect(target: &Target) -> Result<(), OltpError> {
    runtime().block_on(async { Database::connect(target).await.map(|_| ()) })
}

/// Databases refuse to run as root: then they run as nobody.
fn account() -> (Uid, Gid) {
    const NOBODY: u32 = 65_534;
    if geteuid().is_root() {
        (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY))
    } else {
        (geteuid(), getgid())
    }
}

const POSTGRES_DIRECTORIES: &[&str] = &[
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/17/bin",
];

/// A program of the search path, or of these directories.
fn program(name: &str, directories: &[&str]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
    let all = directories
        .iter()
        .map(PathBuf::from)
        .chain(std::env::split_paths(&path))
        .chain(system);
    let runnable = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    all.map(|directory| directory.join(name))
        .find(runnable)
        .unwrap_or_else(|| {
            panic!(
                "there is no {name}: install mariadb-server-core and postgresql-15, or set \
                ROOKERY_SKIP_DATABASE_TESTS=1"
            )
        })
}
