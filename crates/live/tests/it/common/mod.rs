//! Runs that were never conducted, and a client that says exactly what a test wants said.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod browser;

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rookery_lab::RunDir;
use rookery_live::{Limits, LiveServer, Options};
use rookery_store::{Outcome, Reason, RunHeader, Store, TrialRecord, fixture};
use rookery_study::{HostFacts, Trial};
use serde_json::Value;
use tempfile::TempDir;

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const STUDY: &str = "title = \"a system\"\n[workload]\nkind = \"sample\"\n[load]\nusers = 1\n\
                     [stack]\nkind = \"external\"\ntarget = \"http://127.0.0.1:8080\"\n\
                     [[layout]]\nname = \"one\"\n";

/// A directory of runs.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A new run of this name, changed by `change` before it is stored.
    pub(crate) fn run(&self, name: &str, change: impl FnOnce(&mut RunHeader)) -> (PathBuf, Store) {
        let directory = self.path().join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut header = header();
        change(&mut header);
        let store = Store::create(directory.join("run.sqlite"), &header).expect("a store");
        (directory, store)
    }

    /// A new run of one trial that this process conducts while the directory is held.
    pub(crate) fn running(&self) -> (RunDir, Store) {
        let dir = RunDir::create(self.path(), "watched").expect("a run directory");
        let store = Store::create(dir.store(), &header()).expect("a store");
        (dir, store)
    }

    /// A copy of a stored run of an earlier version, with all that was measured.
    pub(crate) fn measured(&self, name: &str, of: &str) -> PathBuf {
        let directory = self.path().join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../store/tests/data/v5")
            .join(format!("{of}.sqlite"));
        std::fs::copy(source, directory.join("run.sqlite")).expect("copied");
        directory
    }

    pub(crate) fn serve(&self) -> (LiveServer, Client) {
        self.serve_with(|_| {})
    }

    pub(crate) fn serve_with(&self, change: impl FnOnce(&mut Options)) -> (LiveServer, Client) {
        let mut options = Options {
            listen: "127.0.0.1:0".parse().expect("an address"),
            plain_http_confirmed: false,
            tls: None,
            runs: vec![self.path().to_owned()],
            control: None,
            limits: Limits::default(),
        };
        change(&mut options);
        let server = LiveServer::start(options).expect("a server");
        let client = Client::admitted(&server);
        (server, client)
    }
}

/// The name of a run's directory.
pub(crate) fn name_of(directory: &Path) -> String {
    let name = directory.file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

/// The header of a run with one trial.
pub(crate) fn header() -> RunHeader {
    let facts = HostFacts {
        cpus: vec![0, 1],
        memory_mib: 4096,
        disk_free_mib: 4096,
        root: false,
        places: Vec::new(),
    };
    fixture::header("system.toml", STUDY, facts)
}

/// A plan of `count` trials of the first point.
pub(crate) fn with_trials(header: &mut RunHeader, count: u32) {
    let first = header.plan.trials[0].clone();
    let trial = |id| Trial {
        id,
        repeat: id,
        block: id,
        ..first.clone()
    };
    header.plan.trials = (1..=count).map(trial).collect();
}

/// What a trial yielded that measured nothing.
pub(crate) fn record(outcome: Outcome, reason: &str) -> TrialRecord {
    TrialRecord {
        outcome,
        reasons: vec![Reason::new("error", reason)],
        measurement: None,
        verdict: None,
        further: Vec::new(),
        resources: Vec::new(),
        machines: Vec::new(),
        other_programs: Vec::new(),
        kernel: Vec::new(),
        audits: Vec::new(),
        logs: Vec::new(),
        outputs: Vec::new(),
        tunings: Vec::new(),
        loads: Vec::new(),
        ready_s: 0.5,
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header; empty where it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        });
        line.unwrap_or("")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A client with a cookie.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) cookie: String,
}

impl Client {
    /// One that went the way of a browser: token, cookie.
    pub(crate) fn admitted(server: &LiveServer) -> Self {
        let mut client = Self {
            address: server.address(),
            cookie: String::new(),
        };
        let url = server.url();
        let path = url
            .strip_prefix(&format!("http://{}", server.address()))
            .expect("the address");
        let answer = client.get(path);
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie = answer.header("set-cookie").split(';').next();
        client.cookie = cookie.expect("a cookie").to_owned();
        client
    }

    pub(crate) fn stranger(&self) -> Self {
        Self {
            cookie: String::new(),
            ..self.clone()
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// With further header lines, each with its line end.
    pub(crate) fn get_with(&self, path: &str, lines: &str) -> Answer {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n{lines}\r\n",
            self.address, self.cookie
        ))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let origin = format!("Origin: http://{}\r\n", self.address);
        self.post_with(path, body, &origin)
    }

    pub(crate) fn post_with(&self, path: &str, body: &str, lines: &str) -> Answer {
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n{lines}Content-Length: \
             {}\r\n\r\n{body}",
            self.address,
            self.cookie,
            body.len()
        ))
    }

    /// Send exactly this, and read to the end.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = self.open(request);
        let mut text = Vec::new();
        // A server that will not read the rest of a request resets the connection after its answer.
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8(text).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// A connection on which this was sent.
    pub(crate) fn open(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    }

    /// The list once all runs were read.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let list = self.get("/api/runs").json();
            if list["looking"] == false && list["reading"] == 0 {
                return list["runs"].as_array().expect("a list").clone();
            }
            assert!(began.elapsed() < PATIENCE, "{list}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The key of the run in this directory.
    pub(crate) fn key(&self, name: &str) -> String {
        let runs = self.runs();
        let run = runs.iter().find(|run| run["name"] == name);
        run.expect("it is listed")["key"]
            .as_str()
            .expect("a key")
            .to_owned()
    }

    /// Follow a run after the event `last`, as a browser that connects again.
    pub(crate) fn follow(&self, key: &str, last: Option<u64>) -> Events {
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        self.stream(&format!("/api/runs/{key}/events"), &last)
    }

    /// A stream at this path, asked for with further header lines.
    pub(crate) fn stream(&self, path: &str, last: &str) -> Events {
        let stream = self.open(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n{last}\r\n",
            self.address, self.cookie
        ));
        Events {
            stream,
            text: String::new(),
        }
    }
}

/// A stream of events, read as it comes.
pub(crate) struct Events {
    stream: TcpStream,
    text: String,
}

impl Events {
    /// Read until `enough` of all that came; lines of lengths of chunks stand between.
    pub(crate) fn until(&mut self, enough: impl Fn(&str) -> bool) -> &str {
        let began = Instant::now();
        let mut buffer = [0; 64 << 10];
        while !enough(&self.text) {
            assert!(began.elapsed() < PATIENCE, "{}", self.text);
            let count = self.stream.read(&mut buffer).expect("events");
            assert!(count > 0, "the stream ended: {}", self.text);
            self.text += &String::from_utf8_lossy(&buffer[..count]);
        }
        &self.text
    }

    /// The numbers of the events that came.
    pub(crate) fn ids(&self) -> Vec<u64> {
        let ids = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("id: "));
        ids.filter_map(|id| id.trim().parse().ok()).collect()
    }
}
