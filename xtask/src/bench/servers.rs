//! Private database servers for the benchmarks: everything in a temporary directory, reached on a
//! port of 127.0.0.1 that was free.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_oltp::{Database, OltpError, Target};
use tempfile::TempDir;

/// Longest wait for a server to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// Databases refuse to run as root: then they run as nobody.
const NOBODY: u32 = 65_534;

/// Whose server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    MariaDb,
    Postgres,
}

/// A server of its own, with an empty database `bench`. It ends with its owner.
pub(super) struct Server {
    pub(super) kind: Kind,
    pub(super) port: u16,
    child: Option<Child>,
    dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        if let Ok(pid) = i32::try_from(child.id()) {
            // SAFETY: kill has no preconditions; the child has not been waited for, so that the id
            // is still its own.
            unsafe {
                libc::kill(
                    pid,
                    if self.kind == Kind::Postgres {
                        libc::SIGINT
                    } else {
                        libc::SIGTERM
                    },
                )
            };
        }
        let start = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if start.elapsed() > PATIENCE {
                let _ = child.kill();
            }
            sleep(Duration::from_millis(20));
        }
    }
}

impl Server {
    /// Makes and starts a server, on the processor `cpu` alone if one is named.
    pub(super) fn start(kind: Kind, cpu: Option<u32>) -> Result<Self, String> {
        let explain = |error: std::io::Error| format!("cannot make a database server: {error}");
        let dir = TempDir::with_prefix("rk-db-").map_err(explain)?;
        fs::create_dir(dir.path().join("tmp")).map_err(explain)?;
        if is_root() {
            for path in [dir.path().to_owned(), dir.path().join("tmp")] {
                chown(path, Some(NOBODY), Some(NOBODY)).map_err(explain)?;
            }
        }
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let mut server = Self {
            kind,
            port: port.map_err(explain)?.port(),
            child: None,
            dir,
        };
        server.initialise()?;
        server.spawn(cpu)?;
        server.wait()?;
        execute(
            &server.target(server.first_database())?,
            &["CREATE DATABASE bench"],
        )?;
        Ok(server)
    }

    /// The address of `database`, as its administrator.
    pub(super) fn url(&self, database: &str) -> String {
        let (scheme, user) = match self.kind {
            Kind::MariaDb => ("mysql", "root"),
            Kind::Postgres => ("postgresql", "oe"),
        };
        format!(
            "{scheme}://{user}@{}/{database}",
            SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
        )
    }

    pub(super) fn target(&self, database: &str) -> Result<Target, String> {
        self.url(database)
            .parse()
            .map_err(|error: OltpError| error.to_string())
    }

    /// A directory that the server may read.
    pub(super) fn directory(&self) -> &Path {
        self.dir.path()
    }

    fn first_database(&self) -> &'static str {
        if self.kind == Kind::MariaDb {
            "mysql"
        } else {
            "postgres"
        }
    }

    fn initialise(&self) -> Result<(), String> {
        let (data, tmp) = (self.dir.path().join("data"), self.dir.path().join("tmp"));
        let mut command = match self.kind {
            Kind::MariaDb => {
                let mut command = self.command(&program("mariadb-install-db")?, None);
                command
                    .arg("--no-defaults")
                    .arg(format!("--datadir={}", data.display()));
                command.arg(format!("--tmpdir={}", tmp.display()));
                command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
                command
            }
            Kind::Postgres => {
                let mut command = self.command(&program("initdb")?, None);
                command.arg("-D").arg(&data);
                command.args([
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
        let output = command
            .output()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn spawn(&mut self, cpu: Option<u32>) -> Result<(), String> {
        let dir = self.dir.path().display().to_string();
        let mut command = match self.kind {
            Kind::MariaDb => {
                let mut command = self.command(&program("mariadbd")?, cpu);
                command.args([
                    "--no-defaults".to_owned(),
                    format!("--datadir={dir}/data"),
                    format!("--socket={dir}/my.sock"),
                    format!("--pid-file={dir}/my.pid"),
                    format!("--tmpdir={dir}/tmp"),
                    "--bind-address=127.0.0.1".to_owned(),
                    format!("--port={}", self.port),
                ]);
                command.args([
                    "--innodb-buffer-pool-size=256M",
                    "--innodb-log-file-size=256M",
                    "--innodb-flush-log-at-trx-commit=2",
                    "--local-infile=1",
                ]);
                command
            }
            Kind::Postgres => {
                let mut command = self.command(&program("postgres")?, cpu);
                command.args([
                    "-D".to_owned(),
                    format!("{dir}/data"),
                    "-k".to_owned(),
                    dir.clone(),
                ]);
                command.args(["-p".to_owned(), self.port.to_string()]);
                command.args(
                    [
                        "listen_addresses=127.0.0.1",
                        "shared_buffers=256MB",
                        "max_wal_size=4GB",
                        "synchronous_commit=off",
                    ]
                    .iter()
                    .flat_map(|setting| ["-c", setting]),
                );
                command
            }
        };
        let explain = |error: std::io::Error| format!("cannot start {command:?}: {error}");
        let log = File::create(self.dir.path().join("log")).map_err(explain)?;
        let errors = log.try_clone().map_err(explain)?;
        let started = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn();
        self.child = Some(started.map_err(|error| format!("cannot start {command:?}: {error}"))?);
        Ok(())
    }

    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        let target = self.target(self.first_database())?;
        loop {
            let Err(why) = execute(&target, &["SELECT 1"]) else {
                return Ok(());
            };
            let ended = self
                .child
                .as_mut()
                .is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || start.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                return Err(format!("the database server is not ready: {why}\n{log}"));
            }
            sleep(Duration::from_millis(50));
        }
    }

    fn command(&self, program: &Path, cpu: Option<u32>) -> Command {
        let mut command = match cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &cpu.to_string()]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// Executes statements one after another.
pub(super) fn execute(target: &Target, statements: &[&str]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let done = runtime.block_on(async {
        let mut database = Database::connect(target).await?;
        for statement in statements {
            database.execute(statement).await?;
        }
        Ok::<_, OltpError>(())
    });
    done.map_err(|error| error.to_string())
}

/// A program of the search path, or of where Debian keeps PostgreSQL's.
pub(super) fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = [
        "/usr/sbin",
        "/usr/lib/postgresql/15/bin",
        "/usr/lib/postgresql/17/bin",
    ]
    .map(PathBuf::from);
    let found = std::env::split_paths(&path)
        .chain(others)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file());
    found.ok_or_else(|| {
        format!(
            "there is no {name}\n  help: apt-get install --no-install-recommends \
                 mariadb-server-core postgresql-15 sysbench"
        )
    })
}
