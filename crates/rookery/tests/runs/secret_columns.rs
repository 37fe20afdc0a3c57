//! Secret columns of feeders: their values reach the server, and nothing else.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Output,
    sync::{Arc, Mutex},
    thread,
};

use crate::common::{Place, code, text};

/// A password, the same in a form, and what both must be found by where they are not hidden.
const PASSWORD: &str = "geheim-4711/&<w\u{f6}rt'";
const PART: &str = "geheim-4711";

/// A site that repeats what it is sent, and keeps it.
struct Echo {
    port: u16,
    heard: Arc<Mutex<String>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let hears = Arc::clone(&hears);
                thread::spawn(move || answer(&stream, &hears));
            }
        });
        Self { port, heard }
    }
}

/// Answers requests until there are no more.
fn answer(stream: &TcpStream, heard: &Mutex<String>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let target = line.split(' ').nth(1)?.to_owned();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let sent = format!("{target} {}", String::from_utf8_lossy(&body));
        heard.lock().expect("unpoisoned").push_str(&sent);
        let page = format!("nobody: {sent}, but {PASSWORD}");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length:";
        write!(&mut &*stream, "{head} {}\r\n\r\n{page}", page.len()).ok()?;
    }
}

/// Users that log in, in vain.
fn workload(secret: &str) -> String {
    format!(
        r#"think_time = "20ms"
on_failure = "continue"

[[feeder]]
name = "users"
csv = "users.csv"
{secret}

[[operation]]
name = "home"
path = "/"

[[operation]]
name = "login"
method = "POST"
path = "/login?token=${{users.password}}&q=${{users.password}}"
form = {{ user = "${{users.name}}", password = "${{users.password}}" }}
contains = "welcome"
"#
    )
}

fn study(port: u16) -> String {
    format!(
        r#"
title = "secret columns"

[workload]
kind = "http"
file = "site.toml"

[load]
users = 2
ramp_up = "100ms"
settle = "200ms"
steady = "1s"
ramp_down = "100ms"
drain = "1s"
repeats = 1

[stack]
kind = "external"
target = "http://127.0.0.1:{port}"
health = "/health"

[host]
other_work = 1

[[layout]]
name = "as it is"
"#
    )
}

/// Whether a text stands in a file below a directory.
fn stands_below(directory: &Path, wanted: &str) -> bool {
    fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .any(|path| {
            if path.is_dir() {
                return stands_below(&path, wanted);
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let mut windows = bytes.windows(wanted.len());
            windows.any(|window| window == wanted.as_bytes())
        })
}

/// All that a user may come to see of the study and its workload, beside the files of its runs.
fn said(place: &Place, port: u16) -> String {
    let study = place.study("secret.toml", &study(port));
    let file = |name: &str| place.dir.path().join(name).display().to_string();
    let (site, page, out) = (file("site.toml"), file("page.html"), file("out"));
    let target = format!("http://127.0.0.1:{port}");
    let drive = ["drive", "http", "--workload", &site, "--target", &target];
    let short = ["--users", "2", "--ramp-up", "100ms", "--settle", "200ms"];
    let mut all = String::new();
    let commands: [&[&str]; 8] = [
        &["plan", &study],
        &["check", &study, "--try", &target],
        &["check", &study, "--try", &target, "--json"],
        &["run", &study, "-v"],
        &["report", "latest", "--html", &page],
        &["report", "latest", "--json"],
        &["export", "latest", "--format", "csv", "--out", &out],
        &[&drive[..], &short[..], &["--seconds", "1", "--json"]].concat(),
    ];
    for command in commands {
        let output: Output = place.rookery(command).output().expect("rookery starts");
        assert_ne!(code(&output), 2, "{command:?}: {}", text(&output.stderr));
        all.push_str(&text(&output.stdout));
        all.push_str(&text(&output.stderr));
    }
    all.push_str(&fs::read_to_string(page).expect("the page"));
    all
}

/// Where the part of a secret is found: in what is said, and in the files of the run.
fn found(secret: &str) -> (Place, Echo, [bool; 2]) {
    let place = Place::new();
    let directory = place.dir.path();
    let table = format!("name,password\nann-of-the-table,\"{PASSWORD}\"\n");
    fs::write(directory.join("users.csv"), table).expect("written");
    fs::write(directory.join("site.toml"), workload(secret)).expect("written");
    let echo = Echo::start();
    let said = said(&place, echo.port);
    let heard = echo.heard.lock().expect("unpoisoned").clone();
    assert!(heard.contains(PART), "the site is told it: {heard}");
    assert!(said.contains("ann-of-the-table") && said.contains("nobody: "));
    let found = [
        said.contains(PART),
        stands_below(&place.runs(), PART) || stands_below(&place.dir.path().join("out"), PART),
    ];
    (place, echo, found)
}

#[test]
fn what_is_not_secret_is_found() {
    let (_place, _echo, found) = found("");
    assert_eq!(found, [true, true]);
}

#[test]
fn what_is_secret_is_found_nowhere_and_may_change() {
    let (place, echo, found) = found("secret = [\"password\"]");
    assert_eq!(found, [false, false]);
    assert!(stands_below(&place.runs(), "ann-of-the-table"));
    // Another password is taken, also by a run that goes on; another table is refused.
    let users = place.dir.path().join("users.csv");
    echo.heard.lock().expect("unpoisoned").clear();
    fs::write(&users, "name,password\nann-of-the-table,new-one\n").expect("written");
    let resumed = place.rookery(&["run", "--resume", "-q"]).output();
    let resumed = resumed.expect("rookery starts");
    // Every login fails, so that the limit of failures may be judged as missed.
    assert!(matches!(code(&resumed), 0 | 7), "{}", text(&resumed.stderr));
    fs::remove_file(&users).expect("there");
    let study = place.study("secret.toml", &study(echo.port));
    let refused = place.rookery(&["check", &study]).output();
    let refused = refused.expect("rookery starts");
    assert_eq!(code(&refused), 3);
    assert!(text(&refused.stderr).contains("users.csv"));
}
