//! The thread of one end: it carries what [`super::exchange`] makes, connects anew when the
//! connection to the server ends, and sends again what may have been lost.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel},
    },
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    super::{BusError, Frame, MOST_WAITING},
    access::Session,
    connection::Connection,
    exchange::{End, Exchange, Taken},
    line::Said,
};

/// How often it is looked whether something is late.
const LOOK: Duration = Duration::from_millis(100);
/// What is not acknowledged for so long is sent again.
const AGAIN: Duration = Duration::from_millis(600);
/// A server that says nothing for so long is asked for a sign of life, and given up after twice
/// that.
const SILENT: Duration = Duration::from_secs(2);
/// Time between two attempts to connect anew.
const RECONNECT: Duration = Duration::from_millis(200);
/// An end that has closed gives up where nothing is acknowledged for so long.
const LINGER: Duration = Duration::from_secs(1);

/// What both the thread and the end itself see.
pub(super) struct Shared {
    inbox: Mutex<Inbox>,
    /// Something is in the inbox.
    came: Condvar,
    /// Something was taken out of it.
    taken: Notify,
}

struct Inbox {
    frames: VecDeque<Frame>,
    /// Why nothing follows.
    end: Option<BusError>,
    /// Since when there is a connection to the server.
    connected: Option<Instant>,
}

impl Shared {
    fn new() -> Self {
        let inbox = Inbox {
            frames: VecDeque::new(),
            end: None,
            connected: Some(Instant::now()),
        };
        Self {
            inbox: Mutex::new(inbox),
            came: Condvar::new(),
            taken: Notify::new(),
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next frame.
    pub(super) fn receive(&self, within: Duration) -> Result<Option<Frame>, BusError> {
        let empty = |inbox: &mut Inbox| inbox.frames.is_empty() && inbox.end.is_none();
        let waited = self.came.wait_timeout_while(self.inbox(), within, empty);
        let (mut inbox, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(frame) = inbox.frames.pop_front() {
            self.taken.notify_one();
            return Ok(Some(frame));
        }
        match inbox.end.take() {
            None => Ok(None),
            Some(end) => {
                // Whatever ended it is told once; after that it is closed.
                inbox.end = Some(BusError::Closed);
                Err(end)
            }
        }
    }

    /// Since when there is a connection to the server.
    pub(super) fn connected(&self) -> Option<Instant> {
        self.inbox().connected
    }

    fn set_connected(&self, since: Option<Instant>) {
        self.inbox().connected = since;
    }

    fn put(&self, frame: Frame) {
        self.inbox().frames.push_back(frame);
        self.came.notify_all();
    }

    fn end(&self, why: BusError) {
        self.inbox().end.get_or_insert(why);
        self.came.notify_all();
    }

    fn has_ended(&self) -> bool {
        self.inbox().end.is_some()
    }

    /// Whether the frames that wait are few: then what came is acknowledged, and more comes.
    fn has_room(&self) -> bool {
        self.inbox().frames.len() < MOST_WAITING
    }
}

/// The thread's part of an end.
pub(super) struct Worker {
    session: Session,
    /// Where the other end listens.
    to: String,
    own: String,
    exchange: Exchange,
    frames: Receiver<Frame>,
    shared: Arc<Shared>,
    /// When pieces under way were sent again last.
    sent_again: Instant,
    /// The oldest piece under way, and since when it is.
    oldest: (Option<u64>, Instant),
    /// Since when there is no connection to the server.
    apart: Option<Instant>,
    /// The other end is lost where it acknowledges nothing for so long.
    patience: Duration,
    /// Whether the end was dropped.
    left: bool,
}

/// How a conversation over one connection ended.
enum Ended {
    /// Both ends are done, or one is at fault.
    Done,
    /// The connection failed.
    Lost(io::Error),
}

impl Worker {
    /// An end of a session over a server that takes messages of so many bytes, where its frames are
    /// to be put, and what it shows. It ends where nothing is acknowledged for as long as
    /// `patience`:
    /// who sends must not wait for an end that is gone.
    pub(super) fn new(
        session: Session,
        end: End,
        most_message: usize,
        patience: Duration,
    ) -> (Self, Sender<Frame>, Arc<Shared>) {
        let (sender, frames) = channel(MOST_WAITING);
        let shared = Arc::new(Shared::new());
        let worker = Self {
            to: subject(&session, end.other()),
            own: subject(&session, end),
            exchange: Exchange::new(&session.key, end, most_message),
            session,
            frames,
            shared: Arc::clone(&shared),
            sent_again: Instant::now(),
            oldest: (None, Instant::now()),
            apart: None,
            patience,
            left: false,
        };
        (worker, sender, shared)
    }

    /// Carry frames until both ends are done.
    pub(super) async fn run(mut self, connection: Connection) {
        let mut connection = Some(connection);
        loop {
            match connection.take() {
                Some(open) => match self.converse(open).await {
                    Ended::Done => break,
                    Ended::Lost(error) => {
                        tracing::warn!("the connection to the NATS server is lost: {error}");
                        self.shared.set_connected(None);
                        self.apart = Some(Instant::now());
                    }
                },
                None => sleep(RECONNECT).await,
            }
            if self.is_over() || self.gives_up() {
                break;
            }
            match Connection::open(&self.session.server, &self.own).await {
                Ok(open) => {
                    tracing::info!("connected to the NATS server again");
                    self.shared.set_connected(Some(Instant::now()));
                    self.apart = None;
                    connection = Some(open);
                }
                Err(error) => tracing::debug!("not connected: {error}"),
            }
        }
        self.shared.end(BusError::Closed);
    }

    /// Whether the end was dropped, and nothing of what is under way arrives any more.
    fn is_over(&mut self) -> bool {
        if self.frames.is_closed() && !self.left {
            self.left = true;
            self.oldest.1 = Instant::now();
        }
        if self.left && self.frames.is_empty() {
            self.exchange.close();
        }
        self.left && self.oldest.1.elapsed() >= LINGER
    }

    /// Whether the other end is lost; whoever receives is told so then, and no one can send any
    /// more.
    fn gives_up(&self) -> bool {
        let waits = self.oldest.0.map(|_| self.oldest.1);
        let mut since = [waits, self.apart].into_iter().flatten();
        let lost = since.any(|since| since.elapsed() >= self.patience);
        if lost {
            let words = format!("nothing was acknowledged for {:?}", self.patience);
            let error = io::Error::new(io::ErrorKind::TimedOut, words);
            self.shared.end(BusError::Failed(error));
        }
        lost
    }

    async fn converse(&mut self, mut connection: Connection) -> Ended {
        let mut tick = interval(LOOK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        let shared = Arc::clone(&self.shared);
        // What was under way when the last connection ended may be lost.
        if let Err(error) = self.send_again(&mut connection).await {
            return Ended::Lost(error);
        }
        loop {
            let wants = self.exchange.wants_frame();
            let stepped = tokio::select! {
                said = connection.next() => {
                    heard = Instant::now();
                    match said {
                        Ok(said) => self.hear(said, &mut connection).await,
                        Err(error) => Err(error),
                    }
                }
                frame = self.frames.recv(), if wants => {
                    // Without one the end was dropped: `is_over` sees to it.
                    frame.map_or(Ok(()), |frame| self.exchange.offer(&frame))
                }
                () = shared.taken.notified() => Ok(()),
                _ = tick.tick() => self.look(heard, &mut connection).await,
            };
            let over = self.is_over() || self.gives_up();
            let sent = match stepped {
                Ok(()) => self.send(&mut connection).await,
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                return Ended::Lost(error);
            }
            if over || self.exchange.is_through() || self.shared.has_ended() {
                return Ended::Done;
            }
        }
    }

    /// Take in what the server says.
    async fn hear(&mut self, said: Said, connection: &mut Connection) -> io::Result<()> {
        match said {
            Said::Message(message) => match self.exchange.take(&message) {
                Ok(Taken::Frame(frame)) => self.shared.put(frame),
                Ok(Taken::Nothing) => {}
                Ok(Taken::Foreign) => tracing::warn!("a message of another key was dropped"),
                Ok(Taken::End) => {
                    self.acknowledge(connection).await?;
                    self.shared.end(BusError::Closed);
                }
                Err(error) => self.shared.end(BusError::Failed(error)),
            },
            Said::Error(words) => return Err(io::Error::other(words)),
            Said::Ping => connection.pong().await?,
            Said::Info(_) | Said::Pong | Said::Ok => {}
        }
        Ok(())
    }

    /// Acknowledge what came, and send what may be sent.
    async fn send(&mut self, connection: &mut Connection) -> io::Result<()> {
        if self.shared.has_room() {
            self.acknowledge(connection).await?;
        }
        while let Some(piece) = self.exchange.next_piece() {
            connection.publish(&self.to, &piece).await?;
        }
        Ok(())
    }

    async fn acknowledge(&mut self, connection: &mut Connection) -> io::Result<()> {
        match self.exchange.acknowledgement() {
            Some(message) => connection.publish(&self.to, &message).await,
            None => Ok(()),
        }
    }

    /// See whether something is late.
    async fn look(&mut self, heard: Instant, connection: &mut Connection) -> io::Result<()> {
        let oldest = self.exchange.oldest();
        if oldest != self.oldest.0 {
            self.oldest = (oldest, Instant::now());
        }
        // Not by what was sent last: while more is sent, what was lost would stay so.
        let waits = self.oldest.1.elapsed().min(self.sent_again.elapsed());
        if oldest.is_some() && waits >= AGAIN {
            self.send_again(connection).await?;
        }
        if heard.elapsed() >= 2 * SILENT {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the server is silent",
            ));
        }
        if heard.elapsed() >= SILENT {
            connection.ping().await?;
        }
        Ok(())
    }

    async fn send_again(&mut self, connection: &mut Connection) -> io::Result<()> {
        let pieces: Vec<Arc<[u8]>> = self.exchange.under_way().cloned().collect();
        for piece in pieces {
            connection.publish(&self.to, &piece).await?;
        }
        self.sent_again = Instant::now();
        Ok(())
    }
}

/// Where an end of a session listens.
pub(super) fn subject(session: &Session, end: End) -> String {
    format!("rookery.{}.{}", session.name, end.letter())
}
