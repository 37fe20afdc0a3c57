//! Listening: the lock on the data directory, the sockets, a thread for each session, the orderly
//! end.

use std::{
    fs::{self, File, TryLockError},
    io,
    net::{SocketAddr, TcpListener},
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Scope},
    time::Duration,
};

use rookery_diagnosis::Diagnosis;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;

use super::{
    DATABASE_FILE, SOCKET_FILE,
    conversation::{Shared, converse, turn_away},
    counters::SharedCounters,
    engine::{Durability, EngineSettings, open},
    gate::Gate,
    line::Line,
    sessions::Sessions,
    turn::Turns,
};
use crate::short_path::ShortPath;

/// Name of the file whose lock says that a server is at work.
const LOCK_FILE: &str = "orderentry.lock";

/// Longest time between two looks at whether to stop.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// How long statements may go on after the server was told to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Stack of a session's thread; the engine's deepest query needs a small part of it.
const STACK: usize = 1 << 20;

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The directory that holds the database, or will hold it.
    pub directory: PathBuf,
    /// Address and port; port 0 takes a free one. Without it the server is reached over the socket
    /// in the directory alone.
    pub listen: Option<SocketAddr>,
    /// Page cache of each session in KiB, at least 64.
    pub cache_kib: u32,
    /// How soon a commit is on the disk.
    pub durability: Durability,
    /// Sessions at most.
    pub max_sessions: usize,
}

impl ServeConfig {
    /// The server of `directory` as it is usually run, without TCP.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            listen: None,
            cache_kib: super::DEFAULT_CACHE_KIB,
            durability: Durability::Full,
            max_sessions: 1024,
        }
    }
}

/// Why the server does not serve.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The directory cannot be used.
    #[error("cannot use {path}: {source}")]
    Directory {
        /// The directory, or a file in it.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Another server is at work there.
    #[error("another server serves {0}")]
    Taken(PathBuf),
    /// The database is not one.
    #[error("cannot open {path}: {why}")]
    Database {
        /// The file.
        path: PathBuf,
        /// The engine's words.
        why: String,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The system's words.
        source: io::Error,
    },
    /// The system gives no more threads, or waiting failed.
    #[error("cannot serve: {0}")]
    System(io::Error),
}

impl Diagnosis for ServeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Directory { .. } => "sqlite::directory",
            Self::Taken(_) => "sqlite::taken",
            Self::Database { .. } => "sqlite::database",
            Self::Listen { .. } => "sqlite::listen",
            Self::System(_) => "sqlite::system",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Directory { .. } => "name a directory that exists and may be written to",
            Self::Taken(_) => "end it, or name another directory",
            Self::Database { .. } => "remove the file and load the database again",
            Self::Listen { .. } => "name another address or port with --listen",
            Self::System(_) => return None,
        };
        Some(help.to_owned())
    }
}

/// A server that listens already; clients are answered once it runs.
#[derive(Debug)]
pub struct Server {
    file: PathBuf,
    settings: EngineSettings,
    max_sessions: usize,
    tcp: Option<TcpListener>,
    unix: UnixListener,
    socket: PathBuf,
    _lock: File,
}

impl Server {
    /// Takes the directory, opens the database if there is one, and listens.
    ///
    /// # Errors
    /// When the directory cannot be used or is taken, the database is damaged, or the address is
    /// taken.
    pub fn bind(config: &ServeConfig) -> Result<Self, ServeError> {
        let directory = &config.directory;
        let lock = lock(directory)?;
        let file = directory.join(DATABASE_FILE);
        let settings = EngineSettings {
            cache_kib: config.cache_kib.max(64),
            durability: config.durability,
        };
        if file.exists() {
            // What a killed server left in the log is put right here, before anybody waits for it.
            let read = open(&file, settings).and_then(|connection| {
                connection.execute_batch("SELECT COUNT(*) FROM sqlite_master")
            });
            read.map_err(|error| ServeError::Database {
                path: file.clone(),
                why: error.to_string(),
            })?;
        }
        let tcp = config.listen.map(listen).transpose()?;
        let socket = directory.join(SOCKET_FILE);
        let unix = listen_locally(directory, &socket)?;
        Ok(Self {
            file,
            settings,
            max_sessions: config.max_sessions,
            tcp,
            unix,
            socket,
            _lock: lock,
        })
    }

    /// Address and port, where it listens on any.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.tcp
            .as_ref()
            .and_then(|listener| listener.local_addr().ok())
    }

    /// The socket in the data directory.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Serves until `stop` is set; it looks ten times a second. Then no more clients are let in,
    /// sessions are ended, their open transactions rolled back, and the log is folded into the
    /// database.
    ///
    /// # Errors
    /// When the system cannot wait for clients.
    pub fn run(self, stop: &AtomicBool) -> Result<(), ServeError> {
        let shared = Shared {
            file: &self.file,
            settings: self.settings,
            gate: Gate::default(),
            turns: Turns::default(),
            counters: SharedCounters::default(),
        };
        let sessions = Sessions::default();
        let served = thread::scope(|scope| {
            let served = self.accept_all(scope, &shared, &sessions, stop);
            sessions.end(STOP_PATIENCE);
            served
        });
        // The socket's name would else stay behind; a new server replaces it all the same.
        let _ = fs::remove_file(&self.socket);
        served
    }

    fn accept_all<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        shared: &'s Shared<'s>,
        sessions: &'s Sessions,
        stop: &AtomicBool,
    ) -> Result<(), ServeError> {
        while !stop.load(Ordering::Relaxed) {
            let mut fds = vec![PollFd::new(&self.unix, PollFlags::IN)];
            fds.extend(
                self.tcp
                    .as_ref()
                    .map(|listener| PollFd::new(listener, PollFlags::IN)),
            );
            match poll(&mut fds, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(ServeError::System(error.into())),
            }
            let tcp = self
                .tcp
                .as_ref()
                .and_then(|listener| listener.accept().ok())
                .map(|(stream, _)| Line::Tcp(stream));
            let unix = self
                .unix
                .accept()
                .ok()
                .map(|(stream, _)| Line::Unix(stream));
            if tcp.is_none() && unix.is_none() {
                // Neither has a client that can be had: no file is left for it, or it has gone
                // again.
                thread::sleep(Duration::from_millis(10));
            }
            for line in [tcp, unix].into_iter().flatten() {
                self.admit(line, scope, shared, sessions);
            }
        }
        Ok(())
    }

    fn admit<'s>(
        &self,
        line: Line,
        scope: &'s Scope<'s, '_>,
        shared: &'s Shared<'s>,
        sessions: &'s Sessions,
    ) {
        if line.prepare().is_err() {
            return;
        }
        if sessions.count() >= self.max_sessions {
            turn_away(line, self.max_sessions);
            return;
        }
        let Some(registered) = line
            .try_clone()
            .ok()
            .and_then(|line| sessions.register(line))
        else {
            return;
        };
        // Without a thread for it the line closes, which is all that can be said.
        let _ = thread::Builder::new()
            .name("oe-session".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, move || converse(line, shared, &registered));
    }
}

fn lock(directory: &Path) -> Result<File, ServeError> {
    let path = directory.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.map_err(|source| ServeError::Directory {
        path: path.clone(),
        source,
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServeError::Taken(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(ServeError::Directory { path, source }),
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    // The standard library lets a server that starts again have its former address at once.
    let listener = TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|source| ServeError::Listen {
        address: address.to_string(),
        source,
    })
}

fn listen_locally(directory: &Path, socket: &Path) -> Result<UnixListener, ServeError> {
    let failed = |source| ServeError::Listen {
        address: socket.display().to_string(),
        source,
    };
    // The lock is ours: a socket that is there belongs to a server that was killed.
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let short = ShortPath::open(directory).map_err(failed)?;
    let listener = UnixListener::bind(short.join(SOCKET_FILE)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}
