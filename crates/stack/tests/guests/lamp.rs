//! The configuration of LAMP guests, proven by really starting it: this host's packages in a
//! temporary directory, on loopback addresses.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use libtest_mimic::{Failed, Trial};
use rookery_stack::{
    SupervisedService,
    lamp::{
        self, HEALTH_PATH, Options, READ_BACK_PATHS, ReadBack, Software, WebServer,
        sql::{Account, Database},
    },
    tuning::{Effective, Family, Tuned},
};
use rookery_study::Variables;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tempfile::TempDir;

/// Servers may be slow to start on a busy machine; a test that waits longer has failed.
const LIMIT: Duration = Duration::from_secs(90);
/// Longest answer that is read, bytes.
const LONGEST: u64 = 1 << 20;

type Case = (&'static str, fn(&Software));

const CASES: [Case; 8] = [
    ("prefork_serves_and_stops_without_residue", |software| {
        serves(software, WebServer::Prefork)
    }),
    ("event_serves_and_stops_without_residue", |software| {
        serves(software, WebServer::Event)
    }),
    ("a_killed_group_leaves_nothing", killed_group),
    ("every_tuning_is_in_force", every_tuning_is_in_force),
    ("a_guest_without_database_serves", without_database),
    (
        "the_builder_leaves_a_small_clean_database",
        builder_leaves_a_clean_database,
    ),
    ("a_database_is_initialised_directly", initialised_directly),
    (
        "a_refused_setting_ends_the_guest_and_is_named",
        refused_setting,
    ),
];

pub(crate) fn trials() -> Vec<Trial> {
    let trials = CASES
        .iter()
        .map(|(name, case)| Trial::test(format!("lamp::{name}"), move || run_case(*case)));
    trials.collect()
}

/// A host without the packages fails the cases, unless the caller says that it knows.
fn run_case(case: fn(&Software)) -> Result<(), Failed> {
    if std::env::var_os("ROOKERY_SKIP_LAMP_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_LAMP_TESTS=1");
        return Ok(());
    }
    let software = Software::find(Path::new("/"));
    case(&software.map_err(|error| {
        format!("{error}\n  or set ROOKERY_SKIP_LAMP_TESTS=1 to leave these cases out")
    })?);
    Ok(())
}

/// A guest in a directory of its own, as the bare kind makes it. Dropping it kills its whole group.
struct Guest {
    dir: TempDir,
    address: SocketAddr,
    child: Child,
}

impl Guest {
    fn start(service: &SupervisedService, address: &str, data: Option<&Path>) -> Self {
        let dir = TempDir::with_prefix("rk-").expect("a temporary directory");
        for name in ["data", "conf", "run"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        if let Some(data) = data {
            let copied = Command::new("cp")
                .arg("-a")
                .arg(data)
                .arg(dir.path().join("data"))
                .status();
            assert!(
                copied.is_ok_and(|status| status.success()),
                "the data are copied"
            );
        }
        let fill = |text: &str| {
            let mut text = text.replace("{listen}", address);
            for name in ["data", "conf", "run"] {
                text = text.replace(
                    &format!("{{{name}}}"),
                    &dir.path().join(name).display().to_string(),
                );
            }
            text
        };
        for (path, text) in &service.files {
            let path = dir.path().join("conf").join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, fill(text)).expect("written");
        }
        let log = File::create(dir.path().join("log")).expect("a log");
        let program = std::env::current_exe().expect("the own executable");
        let mut command = Command::new(program);
        command
            .args(service.args.iter().map(|arg| fill(arg)))
            .env_clear();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("cloned"))
            .stderr(log);
        let child = command.process_group(0).spawn().expect("the guest starts");
        Self {
            dir,
            address: address.parse().expect("an address"),
            child,
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    fn group(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("small")).expect("a process")
    }

    /// Wait until `seen` gives something.
    fn wait_for<T>(&mut self, what: &str, seen: impl Fn(&Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = seen(self) {
                return found;
            }
            let ended = self.child.try_wait().expect("a child");
            assert!(
                ended.is_none() && begin.elapsed() < LIMIT,
                "{what}: {ended:?}\n{}",
                self.log()
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Wait until its health page answers 200.
    fn healthy(&mut self) {
        self.wait_for("no health", |guest| {
            (get(guest.address, HEALTH_PATH)?.0 == 200).then_some(())
        });
    }

    fn database(&self) -> Database {
        Database::connect(&self.dir.path().join("data/mysql.sock"), Account::Root)
            .expect("MariaDB answers")
    }

    /// Ask it to stop; gives the exit code.
    fn stop(&mut self) -> Option<i32> {
        kill_process(self.group(), Signal::TERM).expect("it lives");
        let status = self.child.wait().expect("it ends");
        assert!(
            test_kill_process_group(self.group()).is_err(),
            "nobody is left in its group\n{}",
            self.log()
        );
        status.code()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Of a group that has ended nothing is left to kill.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(self.group(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Status and body of a page; `None` when nobody answers.
fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: guest\r\n\r\n").ok()?;
    let mut bytes = Vec::new();
    stream.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn tuned(name: &str, overrides: &[(&str, &str)]) -> Tuned {
    let guest = Variables {
        vcpus: 0.5,
        memory_bytes: 320.0 * 1_048_576.0,
        users: 4.0,
        guests: 1.0,
        callers: 1.0,
    };
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Tuned::evaluate(Family::Lamp, name, &overrides, &guest).expect("a tuning")
}

/// A database with what the health page asks for, made by the builder; gives its directory.
fn template(software: &Software) -> (TempDir, Guest) {
    let mut builder = Guest::start(&lamp::builder(software), "127.77.203.1:8080", None);
    builder.wait_for("MariaDB is not ready", |guest| {
        guest.log().contains("mariadb ready").then_some(())
    });
    let mut database = builder.database();
    database
        .execute_script(
            "CREATE DATABASE DS2; CREATE TABLE DS2.CATEGORIES (CATEGORY INT PRIMARY KEY); INSERT \
             INTO DS2.CATEGORIES VALUES (1);
             CREATE USER web@localhost IDENTIFIED BY 'web'; GRANT ALL ON DS2.* TO web@localhost",
        )
        .expect("made");
    lamp::settle(&mut database).expect("settled");
    drop(database);
    assert_eq!(builder.stop(), Some(0), "{}", builder.log());
    let keep = TempDir::with_prefix("rk-").expect("a temporary directory");
    let data = keep.path().join("mysql");
    fs::rename(builder.dir.path().join("data/mysql"), data).expect("moved");
    (keep, builder)
}

fn start(software: &Software, tuned: &Tuned, options: &Options, address: &str) -> Guest {
    let (data, _) = template(software);
    let mut guest = Guest::start(
        &lamp::guest(software, tuned, options),
        address,
        Some(&data.path().join("mysql")),
    );
    guest.healthy();
    guest
}

/// What is in force, as the lab reads it back.
fn read_back(guest: &Guest, tuned: &Tuned, server: WebServer) -> Vec<Effective> {
    let page = |path: &str| {
        Some((
            path.to_owned(),
            get(guest.address, path)
                .filter(|(status, _)| *status == 200)?
                .1,
        ))
    };
    let bodies: BTreeMap<String, String> = READ_BACK_PATHS
        .iter()
        .filter_map(|path| page(path))
        .collect();
    assert_eq!(bodies.len(), READ_BACK_PATHS.len(), "every path answers");
    ReadBack::parse(
        Some(guest.database().variables().expect("variables")),
        &bodies,
    )
    .compare(tuned, server)
}

fn serves(software: &Software, server: WebServer) {
    let options = Options {
        server,
        ..Options::default()
    };
    let tuned = tuned("stock", &[]);
    let mut guest = start(software, &tuned, &options, "127.77.203.2:8080");
    assert_eq!(
        get(guest.address, "/ds2/index.html").map(|(status, _)| status),
        Some(200)
    );
    assert_eq!(
        get(guest.address, "/ds2/").map(|(status, _)| status),
        Some(200),
        "index.html is the directory's page"
    );
    assert_eq!(
        get(guest.address, "/ds2/config.php").map(|(status, _)| status),
        Some(403),
        "the settings are not served"
    );
    assert_eq!(
        get(guest.address, "/ds2/nothing.php").map(|(status, _)| status),
        Some(404)
    );
    let users = guest
        .database()
        .query::<(String, String)>("SELECT User, Host FROM mysql.global_priv ORDER BY User");
    let users: Vec<String> = users
        .expect("users")
        .into_iter()
        .map(|(user, host)| format!("{user}@{host}"))
        .collect();
    assert_eq!(
        users,
        ["mariadb.sys@localhost", "root@localhost", "web@localhost"]
    );
    assert_eq!(guest.stop(), Some(0), "{}", guest.log());
    let log = guest.log();
    for line in [
        "mariadb: ",
        "apache: ",
        "supervise: apache stopped",
        // Stopped after Apache, or by Apache's signal to its whole group, which bare guests share.
        "Shutdown complete",
    ] {
        assert!(log.contains(line), "{line} in\n{log}");
    }
    assert!(
        !log.contains("PHP Warning") && !log.contains("[ERROR]") && !log.contains("left behind"),
        "{log}"
    );
}

/// Who listens at the guest's address, or has its database open, after its process group was
/// killed.
fn killed_group(software: &Software) {
    let options = Options {
        server: WebServer::Event,
        ..Options::default()
    };
    let mut guest = start(
        software,
        &tuned("stock", &[]),
        &options,
        "127.77.203.8:8080",
    );
    let conf = guest.dir.path().join("run").display().to_string();
    kill_process_group(guest.group(), Signal::KILL).expect("it lives");
    guest.child.wait().expect("it ends");
    let begin = Instant::now();
    while test_kill_process_group(guest.group()).is_ok() {
        assert!(begin.elapsed() < LIMIT, "the group does not vanish");
        sleep(Duration::from_millis(5));
    }
    assert!(TcpStream::connect(guest.address).is_err(), "nobody listens");
    let held =
        |socket: &str| std::os::unix::net::UnixStream::connect(format!("{conf}/{socket}")).is_ok();
    assert!(
        !held("php-fpm.sock") && !held("../data/mysql.sock"),
        "no server is left"
    );
}

fn every_tuning_is_in_force(software: &Software) {
    let (data, _) = template(software);
    for name in Family::Lamp.names() {
        for server in [WebServer::Prefork, WebServer::Event] {
            let tuned = tuned(
                name,
                &[
                    ("php.memory_limit", "64MiB"),
                    ("mariadb.sort_buffer_size", "1MiB"),
                ],
            );
            let options = Options {
                server,
                ..Options::default()
            };
            let service = lamp::guest(software, &tuned, &options);
            let mut guest = Guest::start(
                &service,
                "127.77.203.3:8080",
                Some(&data.path().join("mysql")),
            );
            guest.healthy();
            let rows = read_back(&guest, &tuned, server);
            let different: Vec<&Effective> = rows.iter().filter(|row| row.differs).collect();
            assert!(different.is_empty(), "{name} on {server}: {different:#?}");
            let known = rows
                .iter()
                .filter(|row| row.asked.is_some() && row.effective.is_some())
                .count();
            assert!(known >= 8, "{name} on {server}: {rows:#?}");
            assert_eq!(guest.stop(), Some(0), "{}", guest.log());
        }
    }
}

fn without_database(software: &Software) {
    let options = Options {
        servers: rookery_stack::lamp::Servers::WithoutDatabase,
        ..Options::default()
    };
    let mut guest = Guest::start(
        &lamp::guest(software, &tuned("modern", &[]), &options),
        "127.77.203.4:8080",
        None,
    );
    guest.healthy();
    assert_eq!(
        get(guest.address, "/ds2/dslogin.php?username=a&password=b").map(|(status, _)| status),
        Some(503)
    );
    assert_eq!(guest.stop(), Some(0), "{}", guest.log());
}

fn builder_leaves_a_clean_database(software: &Software) {
    let (data, builder) = template(software);
    let log = builder.log();
    let order = ["initialise done", "mariadb ready", "mariadb stopped"].map(|text| log.find(text));
    assert!(order.is_sorted() && order[0].is_some(), "{log}");
    let length = |name: &str| {
        fs::metadata(data.path().join("mysql").join(name))
            .expect("a file")
            .len()
    };
    assert_eq!(
        length("ib_logfile0"),
        4 << 20,
        "the log of the load is not carried along"
    );
    assert!(
        length("ibdata1") <= 12 << 20,
        "what was undone lies elsewhere"
    );
    // A database that was not shut down properly says so at its next start.
    let service = lamp::guest(software, &tuned("stock", &[]), &Options::default());
    let mut guest = Guest::start(
        &service,
        "127.77.203.5:8080",
        Some(&data.path().join("mysql")),
    );
    guest.healthy();
    assert!(!guest.log().contains("crash recovery"), "{}", guest.log());
    assert_eq!(guest.stop(), Some(0));
}

fn initialised_directly(software: &Software) {
    let dir = TempDir::with_prefix("rk-").expect("a temporary directory");
    let datadir = dir.path().join("mysql");
    lamp::initialise(software, &datadir).expect("initialised");
    let again = lamp::initialise(software, &datadir).expect_err("it is there");
    assert!(
        rookery_diagnosis::Diagnosis::help(&again).is_some(),
        "{again}"
    );
    let service = lamp::builder(software);
    let mut guest = Guest::start(&service, "127.77.203.6:8080", Some(&datadir));
    guest.wait_for("MariaDB is not ready", |guest| {
        guest.log().contains("mariadb ready").then_some(())
    });
    assert!(
        guest.log().contains("initialise is done already"),
        "{}",
        guest.log()
    );
    assert_eq!(
        guest
            .database()
            .number("SELECT COUNT(*) FROM mysql.global_priv WHERE User = 'root'")
            .expect("a number"),
        1
    );
    assert_eq!(guest.stop(), Some(0));
}

fn refused_setting(software: &Software) {
    let tuned = tuned("stock", &[("mariadb.no_such_variable", "1")]);
    let service = lamp::guest(software, &tuned, &Options::default());
    let dir = TempDir::with_prefix("rk-").expect("a temporary directory");
    lamp::initialise(software, &dir.path().join("mysql")).expect("initialised");
    let mut guest = Guest::start(
        &service,
        "127.77.203.7:8080",
        Some(&dir.path().join("mysql")),
    );
    let status = guest.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(5));
    let log = guest.log();
    assert!(
        log.contains("no_such_variable") && log.contains("service mariadb: ended unasked"),
        "{log}"
    );
}
