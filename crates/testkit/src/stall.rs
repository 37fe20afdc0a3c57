//! A server that freezes now and then, and the truth about what its clients see.
//!
//! One thread answers every request a fixed time after it has come, in order. While it is frozen it
//! neither accepts, reads nor answers; the kernel goes on queueing. A driver that leaves out the
//! requests that it should have sent meanwhile tells response times that are too good.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    num::NonZeroU64,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rookery_cast::index;
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    net::{SocketFlags, accept_with},
    thread::{CpuSet, sched_setaffinity, set_current_timer_slack},
};

/// The token of the listener; connections are counted from 0.
const LISTENER: u64 = u64::MAX;
/// Connections that may wait while the server is frozen.
const BACKLOG: i32 = 4096;
/// Connections accepted in one turn.
const ACCEPTS: usize = 16;
/// How often an idle server looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of a page.
const PAGE_BYTES: usize = 1024;

/// When a server freezes.
#[derive(Clone, Copy, Debug)]
pub struct Freezes {
    /// Where time is counted from.
    pub epoch: Instant,
    /// From the epoch to the first freeze.
    pub first: Duration,
    /// How long each freeze lasts, less than `every`.
    pub last: Duration,
    /// From the begin of one to the begin of the next.
    pub every: Duration,
}

impl Freezes {
    /// At `now`: whether the server is frozen, and until when that stays so.
    fn state(&self, now: Instant) -> (bool, Instant) {
        let begin = self.epoch + self.first;
        let Some(passed) = now.checked_duration_since(begin) else {
            return (false, begin);
        };
        let cycle = passed.as_nanos() / self.every.as_nanos().max(1);
        let began = begin
            + Duration::from_nanos(
                u64::try_from(cycle * self.every.as_nanos()).unwrap_or(u64::MAX),
            );
        if now < began + self.last {
            (true, began + self.last)
        } else {
            (false, began + self.every)
        }
    }
}

/// The percentile `p` (0 to 100) of response time that arrivals at an even rate see in a window
/// that holds `freezes` whole freezes of a server with a constant service time and no other delay.
///
/// An arrival at the offset u of a freeze waits `last - u + service`: the slowest share q of a
/// window of length W began within the first q W / freezes of a freeze. Worked example: 10 ms, one
/// freeze of 1 s in 9 s: p90 = 110 ms, p99 = 920 ms.
#[must_use]
pub fn truth(
    service: Duration,
    freezes: u32,
    last: Duration,
    window: Duration,
    p: f64,
) -> Duration {
    let slower_s = window.as_secs_f64() * (1.0 - p / 100.0) / f64::from(freezes.max(1));
    service + Duration::from_secs_f64((last.as_secs_f64() - slower_s).max(0.0))
}

/// A running server on a port of its own of 127.0.0.1; it ends when it is dropped.
pub struct StallingServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Instant>>>,
}

impl StallingServer {
    /// Start one that answers after `service` and freezes as told; on one CPU if told.
    ///
    /// # Errors
    /// When no port, event queue or CPU can be had.
    pub fn start(
        service: Duration,
        freezes: Option<Freezes>,
        cpu: Option<u32>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(
            &queue,
            &listener,
            epoll::EventData::new_u64(LISTENER),
            epoll::EventFlags::IN,
        )?;
        let stop = Arc::new(AtomicBool::new(false));
        let floor = Floor {
            listener,
            queue,
            service,
            freezes,
            connections: Vec::new(),
            waiting: VecDeque::new(),
            came: Vec::new(),
            page: page(),
        };
        let (told, ready) = std::sync::mpsc::channel();
        let thread = {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let _ = told.send(settle(cpu));
                floor.run(&stop)
            })
        };
        let server = Self {
            address,
            stop,
            thread: Some(thread),
        };
        ready.recv().map_err(io::Error::other)??;
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// End it, and tell when each request was read, in order.
    #[must_use]
    pub fn finish(mut self) -> Vec<Instant> {
        self.end()
    }

    fn end(&mut self) -> Vec<Instant> {
        self.stop.store(true, Relaxed);
        self.thread
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for StallingServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Timers to the nanosecond, and the CPU.
fn settle(cpu: Option<u32>) -> io::Result<()> {
    set_current_timer_slack(NonZeroU64::new(1))?;
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

fn page() -> Vec<u8> {
    // Clients of version 1.0 want to be told that the connection stays.
    let mut page = format!(
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: {PAGE_BYTES}\r\n\r\n"
    )
    .into_bytes();
    page.resize(page.len() + PAGE_BYTES, b'x');
    page
}

struct Connection {
    stream: TcpStream,
    /// The last bytes of what was read: an end of a head may come in pieces.
    tail: Vec<u8>,
}

struct Floor {
    listener: TcpListener,
    queue: OwnedFd,
    service: Duration,
    freezes: Option<Freezes>,
    /// By token; `None` = closed.
    connections: Vec<Option<Connection>>,
    /// Answers that are due, and to whom.
    waiting: VecDeque<(Instant, usize)>,
    came: Vec<Instant>,
    page: Vec<u8>,
}

impl Floor {
    fn run(mut self, stop: &AtomicBool) -> Vec<Instant> {
        let mut events = Vec::with_capacity(1024);
        while !stop.load(Relaxed) {
            let now = Instant::now();
            let mut wake = now + LOOK;
            if let Some((frozen, until)) = self.freezes.map(|freezes| freezes.state(now)) {
                if frozen {
                    thread::sleep(until.saturating_duration_since(now).min(LOOK));
                    continue;
                }
                wake = wake.min(until);
            }
            self.answer(now);
            if let Some((due, _)) = self.waiting.front() {
                wake = wake.min(*due);
            }
            let left = wake.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            };
            events.clear();
            if epoll::wait(&self.queue, spare_capacity(&mut events), Some(&timeout)).is_err() {
                continue;
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    token => self.read(index(token)),
                }
            }
        }
        self.came
    }

    fn answer(&mut self, now: Instant) {
        while let Some(&(due, token)) = self.waiting.front() {
            if due > now {
                return;
            }
            self.waiting.pop_front();
            self.send(token);
        }
    }

    fn send(&mut self, token: usize) {
        let sent = self.connections[token]
            .as_mut()
            .is_none_or(|connection| connection.stream.write_all(&self.page).is_ok());
        if !sent {
            self.connections[token] = None;
        }
    }

    fn accept(&mut self) {
        // Few at a time, so that answers do not wait for a crowd to be let in.
        for _ in 0..ACCEPTS {
            let Ok(stream) =
                accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
                    .map(TcpStream::from)
            else {
                return;
            };
            let token = self.connections.len();
            let data = epoll::EventData::new_u64(token as u64);
            let good = epoll::add(&self.queue, &stream, data, epoll::EventFlags::IN).is_ok();
            self.connections.push(good.then(|| Connection {
                stream,
                tail: Vec::new(),
            }));
            // After a freeze the request is already there: whoever came first is served first.
            self.read(token);
        }
    }

    fn read(&mut self, token: usize) {
        let mut bytes = [0; 4096];
        let Some(connection) = &mut self.connections[token] else {
            return;
        };
        let read = match connection.stream.read(&mut bytes) {
            Ok(read @ 1..) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            _ => {
                self.connections[token] = None;
                return;
            }
        };
        connection.tail.extend_from_slice(&bytes[..read]);
        while let Some(end) = connection
            .tail
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
        {
            connection.tail.drain(..end + 4);
            let now = Instant::now();
            self.came.push(now);
            self.waiting.push_back((now + self.service, token));
        }
        if self.service.is_zero() {
            self.answer(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_truth_is_that_of_the_literature_of_stalls() {
        let percentile = |p| truth(ms(10), 1, ms(1_000), ms(9_000), p).as_secs_f64();
        for (p, expected) in [(50.0, 0.01), (90.0, 0.11), (99.0, 0.92)] {
            assert!(
                (percentile(p) - expected).abs() < 1e-9,
                "p{p}: {}",
                percentile(p)
            );
        }
        let two = truth(ms(10), 2, ms(1_000), ms(18_000), 99.0).as_secs_f64();
        assert!((two - 0.92).abs() < 1e-9, "{two}");
    }

    #[test]
    fn a_server_is_frozen_again_and_again() {
        let freezes = Freezes {
            epoch: Instant::now(),
            first: ms(400),
            last: ms(100),
            every: ms(1_000),
        };
        let at = |milliseconds| {
            let (frozen, until) = freezes.state(freezes.epoch + ms(milliseconds));
            (frozen, (until - freezes.epoch).as_millis())
        };
        assert_eq!(
            [at(0), at(400), at(499)],
            [(false, 400), (true, 500), (true, 500)]
        );
        assert_eq!(
            [at(500), at(1_400), at(1_500)],
            [(false, 1_400), (true, 1_500), (false, 2_400)]
        );
    }

    #[test]
    fn it_answers_after_its_time_and_not_while_it_is_frozen() {
        let epoch = Instant::now();
        let freezes = Freezes {
            epoch,
            first: Duration::ZERO,
            last: ms(150),
            every: ms(100_000),
        };
        let server = StallingServer::start(ms(20), Some(freezes), None).expect("a server");
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        let mut answer = vec![0; page().len()];
        for (number, not_before) in [ms(170), ms(190)].into_iter().enumerate() {
            // In pieces, as a network may deliver it.
            stream
                .write_all(b"GET / HTTP/1.1\r\n")
                .expect("a server that reads");
            stream.write_all(b"\r\n").expect("a server that reads");
            stream.read_exact(&mut answer).expect("an answer");
            assert!(
                epoch.elapsed() >= not_before,
                "answer {number} after {:?}",
                epoch.elapsed()
            );
            assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
        }
        let came = server.finish();
        assert!(
            came.len() == 2 && came[0] >= epoch + ms(150) && came[1] >= epoch + ms(170),
            "{came:?}"
        );
    }
}
