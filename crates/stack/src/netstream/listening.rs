//! Threads that accept connections and serve them, and how they are ended.
//!
//! A thread accepts a connection and serves it to its end; as long as one more may be served,
//! another waits in its place. So a connection needs no hop from one thread to another, and
//! clients that open one for each request find a thread that has served before.

use std::{
    collections::HashMap,
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::net::{Shutdown as ShutSocket, listen, shutdown};

/// Connections that may wait to be accepted; the kernel's own limit is usually the same.
const BACKLOG: i32 = 4_096;
/// Threads that may wait for a connection; another that is done ends.
const MOST_WAITING: usize = 8;
/// Stack of a thread: what it needs beside its buffers on the heap, several times.
const STACK_BYTES: usize = 128 * 1024;
/// Pause of accepting when the process or the machine has no file or memory left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long the last threads may take when their connections were cut.
const CUT_PATIENCE: Duration = Duration::from_secs(1);

/// An address that is listened on, and the connections that came to it.
pub(super) struct Listening {
    listener: TcpListener,
    /// Most threads, and so most connections; clients beyond them wait in the kernel's queue.
    most_threads: usize,
    /// No connection is accepted any more, and none answers another request.
    stopping: AtomicBool,
    threads: Mutex<Threads>,
    /// A connection ended.
    ended: Condvar,
}

#[derive(Default)]
struct Threads {
    /// All of them.
    running: usize,
    /// Those that accept.
    waiting: usize,
    /// Connections that are served, by a number of their own.
    open: HashMap<u64, Arc<TcpStream>>,
    /// Connections that were ever accepted.
    accepted: u64,
}

impl Listening {
    /// Listen; none is accepted yet.
    ///
    /// # Errors
    /// When the address is taken.
    pub(super) fn bind(address: SocketAddr, most_threads: usize) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        // Once more, for a longer queue.
        listen(&listener, BACKLOG)?;
        Ok(Self {
            listener,
            most_threads: most_threads.max(1),
            stopping: AtomicBool::new(false),
            threads: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// Where it listens, with the port that was taken.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Begin to accept; each connection is handed to `serve`, with a flag that says when to end.
    ///
    /// # Errors
    /// When not even one thread can be started.
    pub(super) fn begin<S>(self: &Arc<Self>, serve: S) -> io::Result<()>
    where
        S: Fn(&TcpStream, &AtomicBool) + Clone + Send + 'static,
    {
        self.lock().running += 1;
        self.spawn(serve)
    }

    /// Accept no more, let connections end that have an answer under way (for `patience`), and cut
    /// the others. All have ended with the return, but those whose threads wait for something else
    /// than their clients.
    pub(super) fn stop(&self, patience: Duration) {
        {
            let threads = self.lock();
            self.stopping.store(true, Relaxed);
            // Those that wait for a request receive nothing more; answers are sent to their end. A
            // connection that is gone already has ended as well.
            for stream in threads.open.values() {
                let _ = stream.shutdown(Shutdown::Read);
            }
        }
        // Wakes those that accept.
        let _ = shutdown(&self.listener, ShutSocket::Both);
        self.await_end(patience);
        for stream in self.lock().open.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.await_end(CUT_PATIENCE);
    }

    fn await_end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut threads = self.lock();
        while !threads.open.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.ended.wait_timeout(threads, left);
            threads = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Start a thread that is counted already; one that cannot be started is not counted any more.
    fn spawn<S>(self: &Arc<Self>, serve: S) -> io::Result<()>
    where
        S: Fn(&TcpStream, &AtomicBool) + Clone + Send + 'static,
    {
        let own = Arc::clone(self);
        let spawned = thread::Builder::new()
            .name("netstream".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || own.work(&serve));
        if spawned.is_err() {
            self.lock().running -= 1;
        }
        spawned.map(drop)
    }

    /// What a thread does: one connection after the other.
    fn work<S>(self: &Arc<Self>, serve: &S)
    where
        S: Fn(&TcpStream, &AtomicBool) + Clone + Send + 'static,
    {
        while self.may_wait() {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => Arc::new(stream),
                Err(_) => {
                    self.lock().waiting -= 1;
                    thread::sleep(ACCEPT_PAUSE);
                    continue;
                }
            };
            let Some((number, needs_another)) = self.open(&stream) else {
                break;
            };
            if needs_another {
                // Where that fails, the next client waits until a thread is done.
                let _ = self.spawn(serve.clone());
            }
            serve(&stream, &self.stopping);
            self.lock().open.remove(&number);
            self.ended.notify_all();
        }
        self.lock().running -= 1;
    }

    /// Whether a thread shall wait for a connection; it is counted among those that do.
    fn may_wait(&self) -> bool {
        let mut threads = self.lock();
        let may = !self.stopping.load(Relaxed) && threads.waiting < MOST_WAITING;
        threads.waiting += usize::from(may);
        may
    }

    /// A thread has a connection: its number, and whether another thread, which is counted then,
    /// must accept in its place. `None` when the server stops.
    fn open(&self, stream: &Arc<TcpStream>) -> Option<(u64, bool)> {
        let mut threads = self.lock();
        threads.waiting -= 1;
        if self.stopping.load(Relaxed) {
            return None;
        }
        threads.accepted += 1;
        let number = threads.accepted;
        threads.open.insert(number, Arc::clone(stream));
        let needs_another = threads.waiting == 0 && threads.running < self.most_threads;
        threads.running += usize::from(needs_another);
        Some((number, needs_another))
    }
}
