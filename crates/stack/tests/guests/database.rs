//! Database guests, proven by really starting them: this host's packages in a temporary directory,
//! on loopback addresses.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    net::{IpAddr, SocketAddr},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::AtomicBool,
    thread::sleep,
    time::{Duration, Instant},
};

use libtest_mimic::{Failed, Trial};
use rookery_oltp::{LoadOptions, load, verify};
use rookery_stack::{
    SupervisedService,
    database::{
        self, Account, Engine, EngineFacts as _, PoolChange, Server, Software, builder, compare,
        cool, counters, guest, prepare, read_back, relaxed_settings, set_pool, settle, warm,
    },
    tuning::Tuned,
};
use rookery_study::Variables;
use rookery_workload::orderentry::{Moment, Population, Scale};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tempfile::TempDir;

/// Servers may be slow to start on a busy machine; a test that waits longer has failed.
const LIMIT: Duration = Duration::from_secs(90);
/// Bytes that PostgreSQL's log may take in a template.
const MOST_LOG: u64 = 200 << 20;

pub(crate) fn trials() -> Vec<Trial> {
    let trials = Engine::ALL.map(|engine| {
        let name = format!(
            "database::{}_is_loaded_cloned_tuned_and_killed",
            engine.key()
        );
        Trial::test(name, move || run_case(engine))
    });
    trials.into()
}

/// A host without the packages fails the cases, unless the caller says that it knows.
fn run_case(engine: Engine) -> Result<(), Failed> {
    if std::env::var_os("ROOKERY_SKIP_DATABASE_TESTS").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED on request: ROOKERY_SKIP_DATABASE_TESTS=1");
        return Ok(());
    }
    let software = Software::find(engine, Path::new("/"));
    let software = software.map_err(|error| {
        format!("{error}\n  or set ROOKERY_SKIP_DATABASE_TESTS=1 to leave these cases out")
    })?;
    let template = template(&software);
    let last_octet = match engine {
        Engine::Mariadb => 1,
        Engine::Postgresql => 2,
    };
    let mut clone = Running::start(
        engine,
        &guest(&software, &tuned(engine), true, &BTreeSet::new()),
        last_octet,
        Some(&template),
    );
    serves(&mut clone);
    let mut clone = pool_changes(clone, &software);
    survives_a_kill(&mut clone);
    assert_eq!(clone.stop(), Some(0), "{}", clone.log());
    Ok(())
}

/// The tuning of old, with a small pool.
fn tuned(engine: Engine) -> Tuned {
    let guest = Variables {
        vcpus: 1.0,
        memory_bytes: 256.0 * 1_048_576.0,
        users: 4.0,
        guests: 1.0,
        callers: 1.0,
    };
    let overrides = [(engine.pool_key().to_owned(), "24MiB".to_owned())];
    Tuned::evaluate(engine.family(), "rhev", &overrides, &guest).expect("a tuning")
}

/// A loaded database, settled and stopped; the server's directory within the one that is given.
fn template(software: &Software) -> TempDir {
    let engine = software.engine;
    let mut building = Running::start(engine, &builder(software), 9, None);
    let mut server = building.server(Account::Administrator);
    prepare(
        &mut server,
        software,
        "CHARACTER SET latin1 COLLATE latin1_bin",
    )
    .expect("prepared");
    drop(server);
    let population = Population::new(Scale::new(2, 100).expect("a scale"), 11);
    let target = engine.inside(&building.data());
    let loaded = load(
        &target,
        &LoadOptions::new(population, 2),
        &AtomicBool::new(false),
        &|_| (),
    )
    .expect("loaded");
    assert!(loaded.broken.is_empty(), "{:?}", loaded.broken);
    settle(&mut building.server(Account::Owner)).expect("settled");
    assert_eq!(building.stop(), Some(0), "{}", building.log());
    if engine == Engine::Postgresql {
        let log = bytes_below(&building.data().join("postgresql/pg_wal"));
        assert!(log < MOST_LOG, "the log of a template has {log} bytes");
    }
    let keep = TempDir::with_prefix("rk-").expect("a temporary directory");
    let moved = fs::rename(
        building.data().join(engine.directory()),
        keep.path().join(engine.directory()),
    );
    moved.expect("moved");
    keep
}

/// Terminals come in over TCP, the settings are in force, the counters count, and reading
/// everything fills the pool.
fn serves(clone: &mut Running) {
    let engine = clone.engine;
    let mut server = clone.server(Account::Owner);
    let target = engine.clients(clone.address);
    let begin = Instant::now();
    let found = loop {
        match verify(
            &target,
            Moment::AfterLoad,
            &std::sync::atomic::AtomicBool::new(false),
        ) {
            Ok(found) => break found,
            Err(error) => assert!(begin.elapsed() < LIMIT, "{error}\n{}", clone.log()),
        }
        sleep(Duration::from_millis(50));
    };
    assert!(found.holds(), "conditions hold in a clone");

    let readings = read_back(&mut server).expect("read back");
    for row in compare(engine, &readings, &tuned(engine)) {
        // A pool that may grow is not in huge pages.
        assert!(!row.differs || row.name.ends_with("large_pages"), "{row:?}");
    }
    assert_eq!(relaxed_settings(engine, &readings), Vec::<String>::new());

    cool(&clone.data()).expect("forgotten");
    warm(&mut server).expect("warmed");
    // Sessions of PostgreSQL tell what they did when they end, at the latest.
    drop(server);
    let mut server = clone.server(Account::Owner);
    let begin = Instant::now();
    loop {
        let now = counters(&mut server).expect("counted");
        assert_eq!(now.pool_bytes, Some(24 << 20));
        assert!(
            now.database_bytes.is_some_and(|bytes| bytes > 1 << 20),
            "{now:?}"
        );
        if now.misses > 50 && now.logical > now.misses {
            break;
        }
        assert!(begin.elapsed() < LIMIT, "{now:?}");
        sleep(Duration::from_millis(100));
    }
}

/// A pool of another size is in force, at once or after a restart.
fn pool_changes(mut clone: Running, software: &Software) -> Running {
    let engine = clone.engine;
    let changed = set_pool(&mut clone.server(Account::Owner), 32 << 20).expect("changed");
    let mut clone = match changed {
        PoolChange::InForce(bytes) => {
            assert_eq!((engine, bytes), (Engine::Mariadb, 32 << 20));
            clone
        }
        PoolChange::AfterRestart(bytes) => {
            assert_eq!((engine, bytes), (Engine::Postgresql, 32 << 20));
            assert_eq!(clone.stop(), Some(0), "{}", clone.log());
            clone.again(&guest(software, &tuned(engine), true, &BTreeSet::new()))
        }
    };
    let now = counters(&mut clone.server(Account::Owner)).expect("counted");
    assert_eq!(now.pool_bytes, Some(32 << 20));
    clone
}

/// The whole group dies at one blow; what was committed is there after the recovery.
fn survives_a_kill(clone: &mut Running) {
    let engine = clone.engine;
    let mut server = clone.server(Account::Owner);
    server
        .execute(&format!("CREATE TABLE {}kept (a INT)", schema(engine)))
        .expect("made");
    server
        .execute(&format!("INSERT INTO {}kept VALUES (7)", schema(engine)))
        .expect("kept");
    let group = clone.group();
    kill_process_group(group, Signal::KILL).expect("it lives");
    let _ = clone.child.wait();
    let begin = Instant::now();
    while test_kill_process_group(group).is_ok() {
        assert!(begin.elapsed() < LIMIT, "somebody outlives the group");
        sleep(Duration::from_millis(5));
    }
    clone.child = clone.spawn();
    let mut server = clone.server(Account::Owner);
    let query = match engine {
        Engine::Mariadb => format!("SELECT 'a', CAST(a AS CHAR) FROM {}kept", schema(engine)),
        Engine::Postgresql => "SELECT 'a', a::text FROM kept".to_owned(),
    };
    assert_eq!(
        server.pairs(&query).expect("read"),
        [("a".to_owned(), "7".to_owned())]
    );
}

fn schema(engine: Engine) -> String {
    match engine {
        Engine::Mariadb => format!("{}.", database::DATABASE),
        Engine::Postgresql => String::new(),
    }
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// A guest in a directory of its own, as the bare kind makes it. Dropping it kills its whole group.
struct Running {
    engine: Engine,
    dir: TempDir,
    address: SocketAddr,
    args: Vec<String>,
    child: Child,
}

impl Running {
    fn start(
        engine: Engine,
        service: &SupervisedService,
        last_octet: u8,
        template: Option<&TempDir>,
    ) -> Self {
        let dir = TempDir::with_prefix("rk-").expect("a temporary directory");
        for name in ["data", "conf", "run"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        if let Some(template) = template {
            let from = template.path().join(engine.directory());
            let copied = Command::new("cp")
                .arg("-a")
                .arg(from)
                .arg(dir.path().join("data"))
                .status();
            assert!(
                copied.is_ok_and(|status| status.success()),
                "the data are copied"
            );
        }
        let address = SocketAddr::new(IpAddr::from([127, 77, 204, last_octet]), engine.port());
        Self::launch(engine, service, address, dir)
    }

    fn launch(
        engine: Engine,
        service: &SupervisedService,
        address: SocketAddr,
        dir: TempDir,
    ) -> Self {
        let fill = |text: &str| {
            let text = text
                .replace("{address}", &address.ip().to_string())
                .replace("{port}", &address.port().to_string());
            ["data", "conf", "run"].iter().fold(text, |text, name| {
                text.replace(
                    &format!("{{{name}}}"),
                    &dir.path().join(name).display().to_string(),
                )
            })
        };
        for (path, text) in &service.files {
            fs::write(dir.path().join("conf").join(path), fill(text)).expect("written");
        }
        let args: Vec<String> = service.args.iter().map(|arg| fill(arg)).collect();
        let child = spawn(dir.path(), &args);
        Self {
            engine,
            dir,
            address,
            args,
            child,
        }
    }

    fn spawn(&self) -> Child {
        spawn(self.dir.path(), &self.args)
    }

    /// The same guest, started again with its files rendered anew.
    fn again(mut self, service: &SupervisedService) -> Self {
        let dir = std::mem::replace(
            &mut self.dir,
            TempDir::with_prefix("rk-").expect("a temporary directory"),
        );
        Self::launch(self.engine, service, self.address, dir)
    }

    fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    fn group(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("small")).expect("a process")
    }

    /// A connection, as soon as the server gives one.
    fn server(&mut self, account: Account) -> Server {
        let begin = Instant::now();
        loop {
            let refused = match Server::connect(self.engine, &self.data(), account) {
                Ok(server) => return server,
                Err(refused) => refused,
            };
            let ended = self.child.try_wait().expect("a child");
            assert!(
                ended.is_none() && begin.elapsed() < LIMIT,
                "{refused}: {ended:?}\n{}",
                self.log()
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Ask it to stop; gives the exit code.
    fn stop(&mut self) -> Option<i32> {
        kill_process(self.group(), Signal::TERM).expect("it lives");
        let status = self.child.wait().expect("it ends");
        let rest = test_kill_process_group(self.group());
        assert!(rest.is_err(), "nobody is left in its group\n{}", self.log());
        status.code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of a group that has ended nothing is left to kill.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(self.group(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn spawn(dir: &Path, args: &[String]) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(dir.join("log"))
        .expect("a log");
    let mut command = Command::new(std::env::current_exe().expect("the own executable"));
    command.args(args).env_clear().current_dir(dir);
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("cloned"))
        .stderr(log);
    command.process_group(0).spawn().expect("the guest starts")
}
