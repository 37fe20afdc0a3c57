//! A database, a server and a client for the tests that use the network.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    thread::JoinHandle,
    time::Duration,
};

use rookery_stack::embedded::{
    DATABASE_FILE, EmbeddedError, Pages, ServeConfig, Server, StopSignal, load,
};
use rookery_workload::dvdstore::{LineItem, PageSite, Size, WordLists};
use tempfile::TempDir;

/// Longest wait for one answer; far beyond any that passes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A database of 1 MB: 2 000 customers, 1 200 orders, 1 000 products.
pub(crate) fn database() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join(DATABASE_FILE);
    load(&path, Size::Mb(1), WordLists::own(), &|_| {
        std::ops::ControlFlow::Continue(())
    })
    .expect("a loaded database");
    (dir, path)
}

pub(crate) fn config(database: PathBuf, behaviour: Pages) -> ServeConfig {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    ServeConfig {
        database,
        listen,
        workers: 2,
        behaviour,
        extra_cpu: Duration::ZERO,
        directory: "ds2".to_owned(),
    }
}

/// A server in a thread of this process.
#[allow(
    dead_code,
    reason = "every test file compiles this module, and not every one starts a server in a thread"
)]
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: StopSignal,
    thread: JoinHandle<Result<(), EmbeddedError>>,
}

#[allow(dead_code, reason = "as above")]
impl Running {
    pub(crate) fn start(database: PathBuf, behaviour: Pages) -> Self {
        let server = Server::bind(&config(database, behaviour)).expect("a listening server");
        let (address, stop) = (server.local_addr(), StopSignal::new());
        let raised = stop.clone();
        Self {
            address,
            stop,
            thread: std::thread::spawn(move || server.run(&raised)),
        }
    }

    pub(crate) fn stop(self) {
        self.stop.raise();
        self.thread
            .join()
            .expect("no panic")
            .expect("an orderly end");
    }
}

/// A keep-alive connection.
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// GET `target`; returns status and body.
    pub(crate) fn get(&mut self, target: &str) -> std::io::Result<(u16, String)> {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: shop\r\n\r\n").as_bytes())?;
        self.read().map(|(status, _, body)| (status, body))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// Read one answer: status, head in lower case, body.
    pub(crate) fn read(&mut self) -> std::io::Result<(u16, String, String)> {
        let broken = |what: &str| std::io::Error::other(what.to_owned());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(broken("closed"));
            }
        }
        let head = head.to_ascii_lowercase();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .ok_or_else(|| broken("no status"))?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .and_then(|length| length.parse().ok());
        let mut body = vec![0; length.ok_or_else(|| broken("no length"))?];
        self.0.read_exact(&mut body)?;
        Ok((
            status,
            head,
            String::from_utf8(body).map_err(std::io::Error::other)?,
        ))
    }

    /// Whether the server has closed the connection.
    #[allow(dead_code, reason = "as above")]
    pub(crate) fn is_closed(&mut self) -> bool {
        self.0.fill_buf().map_or(true, <[u8]>::is_empty)
    }
}

/// Target of a purchase of `quantity` units of each product.
#[allow(dead_code, reason = "as above")]
pub(crate) fn purchase(customer: u64, products: &[u64], quantity: u32) -> String {
    let items: Vec<LineItem> = products
        .iter()
        .map(|&product| LineItem { product, quantity })
        .collect();
    let mut out = Vec::new();
    PageSite {
        directory: "ds2",
        page_type: "php",
    }
    .purchase(&mut out, customer, &items);
    String::from_utf8(out).expect("targets are ASCII")
}
