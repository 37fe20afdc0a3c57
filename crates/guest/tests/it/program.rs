//! What runs in the guests of the suite: a tiny HTTP server.
#![expect(
    clippy::print_stdout,
    reason = "its standard output is the guest's log"
)]

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixListener,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::beyond;

/// Words: data directory, address, then modes (`silent`, `dies`, `graceful`, `stubborn`, `child`,
/// `socket`).
pub(crate) fn run(words: &[String]) {
    let (data, listen) = (Path::new(&words[0]), &words[1]);
    let has = |mode: &str| words[2..].iter().any(|word| word == mode);
    println!("guest program starts with data={}", words.join(" "));
    if has("dies") {
        eprintln!("I give up");
        std::process::exit(7);
    }
    if has("graceful") {
        on_term(|| std::process::exit(0));
    }
    if has("stubborn") {
        on_term(|| println!("no"));
    }
    if has("child") {
        let mut child = own_program()
            .args(["guest-program", &words[0], listen, "silent"])
            .spawn()
            .expect("child");
        thread::spawn(move || child.wait());
    }
    if has("socket") {
        echo_at(&data.join("echo.sock"));
    }
    if has("silent") {
        loop {
            thread::sleep(Duration::from_secs(3600));
        }
    }
    let listener = TcpListener::bind(listen.as_str()).expect("bind");
    for stream in listener.incoming() {
        answer(stream.expect("connection"), data);
    }
}

/// This program once more. In a container its loader was started by name, and is what
/// `/proc/self/exe` leads to.
fn own_program() -> Command {
    let own = fs::read_link("/proc/self/exe").expect("own program");
    let mut command = Command::new(&own);
    if own.ends_with("program.d/loader") {
        command.args(["--library-path", "/program.d", "/program"]);
    }
    command
}

/// A Unix socket that says who calls, and then all that it was told.
fn echo_at(path: &Path) {
    // Of a start before that was cut short.
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path).expect("bind");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("connection");
            let caller = rustix::net::sockopt::socket_peercred(&stream).expect("credentials");
            let mut text = Vec::new();
            let _ = stream.read_to_end(&mut text);
            let _ =
                write!(stream, "{} ", caller.uid.as_raw()).and_then(|()| stream.write_all(&text));
        }
    });
}

/// Do this at SIGTERM instead of ending.
fn on_term(action: fn()) {
    let mut signals =
        signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]).expect("handler");
    thread::spawn(move || signals.forever().for_each(|_| action()));
}

/// Pages: `/health`, `/row` (content of the data file), `/write?x` (replaces it), `/sync` (puts it
/// on the disk), `/file?path` (content of any), `/fetch?address` (what another of its kind says),
/// `/append?path` (a `+`), `/keep` (one more byte of a file, on the disk before it is
/// acknowledged), `/fill` (the disk, and ends), `/user`, `/beyond?way` (what comes of a way out),
/// `/burn` (50 ms of CPU), `/memory` (touches 64 MiB), `/threads` (how many of 200 threads can be
/// made), `/cpus` (affinity), `/exit`, `/crash` (of the kernel).
fn answer(mut stream: TcpStream, data: &Path) {
    let mut request = [0; 2048];
    let length = stream.read(&mut request).unwrap_or(0);
    let text = String::from_utf8_lossy(&request[..length]).into_owned();
    let target = text.split(' ').nth(1).unwrap_or("/").to_owned();
    let body = match target.split_once('?').unwrap_or((&target, "")) {
        ("/row", _) => fs::read_to_string(data.join("row")).expect("data"),
        ("/write", value) => fs::write(data.join("row"), value)
            .map(|()| "written".to_owned())
            .expect("data"),
        ("/sync", _) => fs::File::open(data.join("row"))
            .and_then(|file| file.sync_all())
            .map(|()| "synced".to_owned())
            .expect("data"),
        ("/file", path) => fs::read_to_string(path).unwrap_or_else(|error| error.to_string()),
        ("/fetch", address) => fetch(address).unwrap_or_else(|error| error.to_string()),
        ("/append", path) => append(Path::new(path)),
        ("/keep", _) => keep(&data.join("kept")),
        ("/fill", _) => fill(&data.join("filler")),
        ("/user", _) => user(),
        ("/beyond", way) => beyond::attempt(way),
        ("/burn", _) => burn(),
        ("/memory", _) => vec![1_u8; 64 << 20]
            .iter()
            .map(|byte| u64::from(*byte))
            .sum::<u64>()
            .to_string(),
        ("/threads", _) => threads(),
        ("/cpus", _) => cpus(),
        ("/exit", _) => std::process::exit(3),
        ("/crash", _) => crash(),
        _ => "ok".to_owned(),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// What a guest program at another address says.
fn fetch(address: &str) -> std::io::Result<String> {
    let address = address.parse().map_err(std::io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(30))?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    body.ok_or_else(|| std::io::Error::other("no answer"))
}

/// Nowhere but in a machine of a lab.
fn crash() -> String {
    let command_line = fs::read_to_string("/proc/cmdline").expect("command line");
    assert!(
        command_line.contains("systemd.unit=rookery-guest.target"),
        "this is no guest's kernel"
    );
    fs::write("/proc/sysrq-trigger", "c")
        .map_or_else(|error| error.to_string(), |()| "alive".to_owned())
}

fn keep(path: &Path) -> String {
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(b"+").and_then(|()| file.sync_all()))
        .map(|()| "kept".to_owned())
        .expect("data")
}

/// Write until nothing more can be written, and give up as a database would.
fn fill(path: &Path) -> String {
    let mut file = fs::File::create(path).expect("data");
    let block = vec![7; 1 << 20];
    loop {
        if let Err(error) = file.write_all(&block).and_then(|()| file.sync_data()) {
            eprintln!("writing {}: {error}", path.display());
            std::process::exit(4);
        }
    }
}

fn burn() -> String {
    let begin = Instant::now();
    let mut sum = 0_u64;
    while begin.elapsed() < Duration::from_millis(50) {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
    }
    sum.to_string()
}

fn threads() -> String {
    let nap = || thread::sleep(Duration::from_millis(300));
    (0..200)
        .map_while(|_| thread::Builder::new().stack_size(64 * 1024).spawn(nap).ok())
        .count()
        .to_string()
}

fn cpus() -> String {
    status("Cpus_allowed_list:")
}

/// Its users and groups, and the capabilities that it may ever have.
fn user() -> String {
    ["Uid:", "Gid:", "CapEff:", "CapBnd:"].map(status).join(" ")
}

fn append(path: &Path) -> String {
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    match opened.and_then(|mut file| file.write_all(b"+")) {
        Ok(()) => "appended".to_owned(),
        Err(error) => error.kind().to_string(),
    }
}

/// A line of this process's status, with its columns one space apart.
fn status(key: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .expect("known key");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
