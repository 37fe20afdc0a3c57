//! Any bytes as what a database server says, whatever it is asked: the real clients talk to it over
//! a socket. Every conversation ends, and nothing of it commands a terminal.

use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    thread,
    time::Duration,
};

use rookery_oltp::{DbSession, OltpError, SessionOptions, Target, verify};
use rookery_workload::orderentry::Moment;
use tempfile::TempDir;

/// A server that says the same to everybody.
struct Server {
    /// Where its socket is; it goes with the thread that asks.
    directory: TempDir,
    words: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    fn start(socket: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("fuzz-")
            .tempdir()
            .expect("a temporary directory");
        let listener = UnixListener::bind(directory.path().join(socket)).expect("a socket");
        let words = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&words);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                say(stream, &said.lock().unwrap_or_else(PoisonError::into_inner));
            }
        });
        Self { directory, words }
    }
}

/// Says it all at once, and hears whatever comes until the client goes.
fn say(mut stream: UnixStream, words: &[u8]) {
    let patience = Some(Duration::from_secs(1));
    let ready =
        stream.set_read_timeout(patience).is_ok() && stream.set_write_timeout(patience).is_ok();
    if !ready || stream.write_all(words).is_err() || stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut heard = [0; 4_096];
    while matches!(stream.read(&mut heard), Ok(1..)) {}
}

pub(crate) fn mysql(bytes: &[u8]) {
    thread_local!(static SERVER: Server = Server::start("my.sock"));
    SERVER.with(|server| {
        let socket = server.directory.path().join("my.sock");
        let url = format!("mysql://oe:secret@/shop?socket={}", socket.display());
        talk(server, &url, bytes);
    });
}

pub(crate) fn postgresql(bytes: &[u8]) {
    thread_local!(static SERVER: Server = Server::start(".s.PGSQL.5432"));
    SERVER.with(|server| {
        let directory = server.directory.path().display();
        let url = format!("postgresql://oe:secret@/shop?host={directory}");
        talk(server, &url, bytes);
    });
}

pub(crate) fn sqlite(bytes: &[u8]) {
    thread_local!(static SERVER: Server = Server::start("oe.sock"));
    SERVER.with(|server| {
        let socket = server.directory.path().join("oe.sock");
        let url = format!("sqlite+oe:///?socket={}", socket.display());
        talk(server, &url, bytes);
    });
}

/// The first byte says who asks: whoever verifies a database, or a terminal.
fn talk(server: &Server, url: &str, bytes: &[u8]) {
    let Some((&who, words)) = bytes.split_first() else {
        return;
    };
    words.clone_into(&mut server.words.lock().unwrap_or_else(PoisonError::into_inner));
    let target: Target = format!("{url}&timeout=1&statement-timeout=1")
        .parse()
        .expect("a target");
    let ended = if who % 2 == 0 {
        verify(&target, Moment::AnyTime, &AtomicBool::new(false)).map(drop)
    } else {
        open(&target)
    };
    if let Err(error) = ended {
        let text = error.to_string();
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(text.len() < 20_000, "{} bytes", text.len());
    }
}

fn open(target: &Target) -> Result<(), OltpError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(OltpError::Runtime)?;
    runtime
        .block_on(DbSession::open(target, SessionOptions::default()))
        .map(drop)
}
