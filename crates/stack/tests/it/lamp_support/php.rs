//! PHP's own web server: the logic of pages alone, without Apache.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicU8, Ordering::Relaxed},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{PATIENCE, Process};

/// A server of the documents below `htdocs` of a directory, where its logs are, too.
pub(crate) struct Php {
    _process: Process,
    pub(crate) address: SocketAddr,
}

/// What a page answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Php {
    /// Serve with `workers` processes.
    pub(crate) fn start(dir: &Path, workers: u32) -> Self {
        let address = free_address();
        let log = fs::File::create(dir.join("access.log")).expect("a log");
        let setting = |name: &str, path: &str| {
            let value = format!("{name}={}", dir.join(path).display());
            ["-d".to_owned(), value]
        };
        let process = Command::new("php")
            .args(["-d", "display_errors=0", "-d", "log_errors=1"])
            .args(["-d", "error_reporting=-1"])
            .args(setting("error_log", "php.log"))
            .args(setting("session.save_path", ""))
            .arg("-S")
            .arg(address.to_string())
            .arg("-t")
            .arg(dir.join("htdocs"))
            .env("PHP_CLI_SERVER_WORKERS", workers.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("php; install php-cli and php-mysql, or set ROOKERY_SKIP_LAMP_TESTS=1");
        let server = Self {
            _process: Process(process),
            address,
        };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < PATIENCE, "PHP does not listen");
            sleep(Duration::from_millis(20));
        }
        server
    }

    /// GET `target`, such as `/ds2/index.html`.
    pub(crate) fn get(&self, target: &str) -> Answer {
        exchange(
            self.address,
            format!("GET {target} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n").as_bytes(),
        )
    }

    /// POST a form to `target`.
    pub(crate) fn post(&self, target: &str, form: &str) -> Answer {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            form.len()
        );
        exchange(
            self.address,
            [head.as_bytes(), form.as_bytes()].concat().as_slice(),
        )
    }
}

/// Ports are of the whole machine; addresses of the loopback network are many.
fn free_address() -> SocketAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let ip = [
        127,
        77,
        (std::process::id() % 250) as u8,
        NEXT.fetch_add(1, Relaxed),
    ];
    TcpListener::bind(SocketAddr::from((ip, 0)))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
}

fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    // A server that refuses a long request may close before it has read all of it.
    let _ = stream.write_all(request);
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(
            reader.read_line(&mut head).expect("a head") > 0,
            "the connection was closed: {head}"
        );
    }
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status");
    let mut body = Vec::new();
    reader.read_to_end(&mut body).expect("a body");
    Answer {
        status,
        body: String::from_utf8(body).expect("pages are UTF-8"),
    }
}

/// Fail when PHP has complained of anything.
pub(crate) fn expect_no_complaint(dir: &Path) {
    let log = fs::read_to_string(dir.join("php.log")).unwrap_or_default();
    assert!(log.is_empty(), "PHP complained:\n{log}");
}
