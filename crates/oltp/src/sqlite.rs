//! SQLite as a server: Rookery's own small one, so that an embedded database is a guest like the
//! others.
//!
//! [`Server`] serves the database of one directory over TCP and over a socket in that directory,
//! with a thread and a connection of its own for each session. The protocol carries flights of
//! numbered statements, text for everything else, loads, and [`counters`] of the page caches.
//! Writers stand in line in the order in which they came instead of polling for the engine's lock.
//!
//! A target is `sqlite+oe://127.0.0.1:PORT/` or `sqlite+oe:///?socket=/DIRECTORY/orderentry.sock`.

mod client;
mod conversation;
mod counters;
mod engine;
mod fill;
pub(crate) mod frames;
mod gate;
mod line;
mod message;
mod server;
mod sessions;
mod turn;
mod wire;

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

pub use crate::{
    error::{ServerError, WireError},
    target::SQLITE_PORT as PORT,
};
pub(crate) use client::{Connection, SqliteSession, load};
pub(crate) use engine::LOCK_PATIENCE;
pub use {
    counters::CacheCounters,
    engine::{Durability, UnknownDurability},
    server::{ServeConfig, ServeError, Server},
};

use crate::{OltpError, Target};

/// A GET of it, or of any other path, is answered 200 while the server is there.
pub const HEALTH_PATH: &str = "/health";

/// Name of the database file in the data directory.
pub const DATABASE_FILE: &str = "orderentry.sqlite";

/// Name of the socket in the data directory.
pub const SOCKET_FILE: &str = "orderentry.sock";

/// Page cache of a session in KiB where nothing else is asked for.
pub const DEFAULT_CACHE_KIB: u32 = 8_192;

/// The target of a server with this data directory, over its socket.
///
/// ```
/// use rookery_oltp::sqlite::local_target;
/// assert_eq!(local_target("/srv/oe".as_ref()).to_string(), "sqlite+oe:///?socket=/srv/oe/orderentry.sock");
/// ```
#[must_use]
pub fn local_target(directory: &Path) -> Target {
    Target::at_socket(directory.join(SOCKET_FILE))
}

/// The target of a server at this address.
///
/// ```
/// use rookery_oltp::sqlite::target;
/// let address = "127.0.0.1:7".parse().expect("an address");
/// assert_eq!(target(address).to_string(), "sqlite+oe://127.0.0.1:7/");
/// ```
#[must_use]
pub fn target(address: SocketAddr) -> Target {
    Target::at_address(address)
}

/// The version of the database engine.
#[must_use]
pub fn version() -> &'static str {
    rusqlite::version()
}

/// The arguments with which a guest runs the server; `{data}` and `{listen}` are left for the guest
/// to replace.
///
/// ```
/// use rookery_oltp::sqlite::{Durability, guest_args};
/// assert_eq!(
///     guest_args(8192, Durability::Full).join(" "),
///     "app orderentry --data {data} --listen {listen} --cache 8192 --durability full"
/// );
/// ```
#[must_use]
pub fn guest_args(cache_kib: u32, durability: Durability) -> Vec<String> {
    let cache = cache_kib.to_string();
    let args = [
        "app",
        "orderentry",
        "--data",
        "{data}",
        "--listen",
        "{listen}",
        "--cache",
        &cache,
        "--durability",
        durability.name(),
    ];
    args.map(str::to_owned).to_vec()
}

/// What the page caches of a server have done since it started.
///
/// # Errors
/// When there is no way to the server.
pub fn counters(target: &Target) -> Result<CacheCounters, OltpError> {
    crate::runtime()?.block_on(async {
        let mut connection = Connection::open(target, None).await?;
        connection
            .counters()
            .await
            .map_err(|why| OltpError::Connect {
                target: target.to_string(),
                why,
            })
    })
}

/// Runs a server in this process as long as `work` needs it, which gets its target over the socket.
///
/// # Errors
/// When the server cannot be started or does not end well.
pub fn with_server<T>(
    config: &ServeConfig,
    work: impl FnOnce(&Target) -> T,
) -> Result<T, ServeError> {
    let server = Server::bind(config)?;
    let target = local_target(&config.directory);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(&stop));
        // Also when the work panics, the server ends, and with it the scope.
        let ending = Ending(&stop);
        let done = work(&target);
        drop(ending);
        match serving.join() {
            Ok(served) => served.map(|()| done),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Stops a server when it is dropped.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
