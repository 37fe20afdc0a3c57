//! A bus over a NATS server, to which both ends connect.
//!
//! The server only passes messages on (no JetStream): that each arrives once and in order, also
//! where the server is restarted meanwhile, is the work of the ends (`exchange`), and so nothing
//! stays on the server. Each end has a thread of its own with one connection.

mod access;
mod connection;
mod error;
mod exchange;
mod identity;
mod line;
#[cfg(test)]
pub(super) mod tests;
mod worker;

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::Sender,
};

pub use self::{access::NatsAddress, error::NatsError};
pub(crate) use self::{
    access::{NATS_PORT, NatsServer, Session},
    connection::is_recent,
    exchange::End,
};
use self::{
    connection::Connection,
    identity::{Identity, seed_text},
    worker::{Shared, Worker, subject},
};
use super::{Bus, BusError, Frame};

/// How long the end of a session is waited for, whatever the server does.
const MOST_LINGER: Duration = Duration::from_secs(10);
/// An end that acknowledges nothing for so long is lost. Longer than a lease: where the other end
/// is spoken to, the end of its lease says more.
const PATIENCE: Duration = Duration::from_secs(12);

/// One end of a session over a NATS server. When it is dropped the other end is told so.
pub struct NatsBus {
    frames: Option<Sender<Frame>>,
    shared: Arc<Shared>,
    /// Closed when the thread ends.
    through: Mutex<Receiver<()>>,
}

impl NatsBus {
    /// Connect an end of a session.
    ///
    /// # Errors
    /// Why the server cannot be used.
    pub(crate) fn open(session: Session, end: End) -> Result<Self, NatsError> {
        Self::open_for(session, end, PATIENCE)
    }

    /// The same, for an end that waits so long for the other.
    fn open_for(session: Session, end: End, patience: Duration) -> Result<Self, NatsError> {
        let runtime = runtime()?;
        let own = subject(&session, end);
        let connection = runtime.block_on(Connection::open(&session.server, &own))?;
        let (worker, frames, shared) = Worker::new(session, end, connection.most_message, patience);
        let (ending, through) = sync_channel(0);
        thread::Builder::new()
            .name("nats".to_owned())
            .spawn(move || {
                runtime.block_on(worker.run(connection));
                drop(ending);
            })
            .map_err(NatsError::System)?;
        Ok(Self {
            frames: Some(frames),
            shared,
            through: Mutex::new(through),
        })
    }
}

/// Connect to a server, and see that messages come back from it.
///
/// # Errors
/// Why the server cannot be used.
pub(crate) fn check(server: &NatsServer) -> Result<(), NatsError> {
    let own = subject(&Session::new(server)?, End::Controller);
    runtime()?.block_on(async {
        let connection = Connection::open(server, &own).await?;
        connection.check(&own).await
    })
}

/// Make a key of a user: its seed is written to a new file that only its owner may read. Its public
/// key, as the configuration of a server has it.
///
/// # Errors
/// When the file is there already or cannot be written.
pub fn make_key(path: &Path) -> Result<String, NatsError> {
    let seed = new_seed()?;
    let public = public_key(&seed)?;
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| {
        file.write_all(format!("{seed}\n").as_bytes())?;
        file.sync_all()
    });
    written.map_err(|source| NatsError::File {
        path: path.display().to_string(),
        source,
    })?;
    Ok(public)
}

/// The seed of a new user.
///
/// # Errors
/// When the system gives no random numbers.
pub(crate) fn new_seed() -> Result<String, NatsError> {
    let mut seed = [0; 32];
    SystemRandom::new()
        .fill(&mut seed)
        .map_err(|_| NatsError::System(io::Error::other("no random numbers")))?;
    Ok(seed_text(seed))
}

/// The public key of a user, from its seed.
///
/// # Errors
/// When it is no seed.
pub(crate) fn public_key(seed: &str) -> Result<String, NatsError> {
    Ok(Identity::parse(seed)?.public_key())
}

fn runtime() -> Result<Runtime, NatsError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(NatsError::System)
}

impl Bus for NatsBus {
    fn send(&self, frame: Frame) -> Result<(), BusError> {
        if !frame.fits() {
            return Err(BusError::too_long(&frame));
        }
        let frames = self.frames.as_ref().ok_or(BusError::Closed)?;
        frames.blocking_send(frame).map_err(|_| BusError::Closed)
    }

    fn receive(&self, within: Duration) -> Result<Option<Frame>, BusError> {
        self.shared.receive(within)
    }

    /// While there is no connection to the server, no end can hear the other.
    fn silence(&self, heard: Instant) -> Duration {
        let connected = self.shared.connected();
        connected.map_or(Duration::ZERO, |since| since.max(heard).elapsed())
    }
}

impl Drop for NatsBus {
    /// What was sent arrives before the end, as far as it can.
    fn drop(&mut self) {
        drop(self.frames.take());
        let through = self.through.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = through.recv_timeout(MOST_LINGER);
    }
}
