//! A server of plain threads.

use std::{
    io::{self, Read},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::Behaviour;

/// Largest request that is read.
const REQUEST_BYTES: usize = 16 * 1024;
/// Most requests that the log keeps.
const LOG: usize = 100_000;

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number, from 0.
    pub number: u64,
    /// The target of the request line.
    pub target: String,
    /// The method of the request line.
    pub method: String,
    /// All of the head: request line and header lines.
    pub head: String,
    /// What was sent behind the head.
    pub body: Vec<u8>,
    /// The value of its `Cookie` header, empty without one.
    pub cookie: String,
    /// When it had come.
    pub at: Instant,
}

struct Shared {
    answer: Box<dyn Fn(&Request) -> Behaviour + Send + Sync>,
    log: Mutex<Vec<Request>>,
    requests: AtomicU64,
    connections: AtomicU64,
    stop: AtomicBool,
}

/// A server on a port of its own of 127.0.0.1.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Start a server that answers every request alike.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start(behaviour: Behaviour) -> io::Result<Self> {
        Self::with(move |_| behaviour.clone())
    }

    /// Start a server that decides for each request.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn with(
        answer: impl Fn(&Request) -> Behaviour + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            log: Mutex::default(),
            requests: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &shared))
        };
        Ok(Self {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Complete requests that it has read.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(SeqCst)
    }

    /// Connections that it has accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(SeqCst)
    }

    /// The first requests, in the order in which they came.
    #[must_use]
    pub fn log(&self) -> Vec<Request> {
        self.shared
            .log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        // A last connection wakes the accepting thread, which then sees the flag.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stop.load(SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        shared.connections.fetch_add(1, SeqCst);
        let shared = Arc::clone(shared);
        // The thread ends with its connection, or soon after the server stops.
        thread::spawn(move || {
            let _ = serve(stream, &shared);
        });
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    let stopped = || shared.stop.load(SeqCst);
    let mut buffer = Vec::new();
    while let Some((head, body)) = read_request(&mut stream, &mut buffer, &stopped)? {
        let request = request(head, body, shared);
        if !(shared.answer)(&request).answer(&mut stream, &stopped)? {
            return Ok(());
        }
    }
    Ok(())
}

/// The next head and body, or `None` when the client closed or the server stops.
fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    stopped: &dyn Fn() -> bool,
) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let whole = end + 4 + body_length(&head);
            if buffer.len() >= whole {
                let body = buffer[end + 4..whole].to_vec();
                buffer.drain(..whole);
                return Ok(Some((head, body)));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(read) => buffer.extend_from_slice(&piece[..read]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) => {}
            Err(error) => return Err(error),
        }
        if stopped() || buffer.len() > REQUEST_BYTES {
            return Ok(None);
        }
    }
}

/// What `Content-Length` says, 0 without it.
fn body_length(head: &str) -> usize {
    head.lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or(0)
}

fn request(head: String, body: Vec<u8>, shared: &Shared) -> Request {
    let cookie = head
        .lines()
        .find_map(|line| line.strip_prefix("Cookie: "))
        .unwrap_or_default();
    let request = Request {
        number: shared.requests.fetch_add(1, SeqCst),
        target: head.split(' ').nth(1).unwrap_or_default().to_owned(),
        method: head.split(' ').next().unwrap_or_default().to_owned(),
        cookie: cookie.to_owned(),
        body,
        head,
        at: Instant::now(),
    };
    let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() < LOG {
        log.push(request.clone());
    }
    request
}

/// An address of 127.0.0.1 where nobody listens.
///
/// # Errors
/// When no port can be had.
pub fn refusing_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// A listener that accepts nobody and whose queue is full: connecting to it takes for ever. The
/// connections that fill it come along.
///
/// # Errors
/// When no port can be had.
pub fn full_backlog() -> io::Result<(TcpListener, Vec<TcpStream>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    rustix::net::listen(&listener, 0)?;
    let address = listener.local_addr()?;
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
        waiting.push(stream);
    }
    Ok((listener, waiting))
}
