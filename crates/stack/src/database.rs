//! MariaDB and PostgreSQL as guests for order entry: the distribution's server alone, with a data
//! directory of its own.
//!
//! [`Software`] finds the programs, [`builder`] and [`guest`] say what a guest runs, [`Server`]
//! talks to a living one over its socket. The server listens on TCP at the guest's address for the
//! terminals, which come as [`USER`] into [`DATABASE`] without a password: in a lab nobody else is
//! within reach, and in bare guests only who is logged in on this host.

mod config;
mod counters;
mod effective;
mod error;
mod server;
mod settle;
mod software;
mod warm;

use std::{fmt, net::SocketAddr, path::Path};

use rookery_oltp::Target;

use crate::{
    root::RootKind,
    tuning::{Component, Family},
};

pub use config::{Service, builder, guest};
pub use counters::{BufferCounters, PoolChange, counters, pool_line, set_pool};
pub use effective::{Durability, Readings, compare, durability, read_back};
pub use error::DatabaseError;
pub use server::{Account, Server};
pub use settle::{prepare, settle};
pub use software::Software;
pub use warm::{cool, take, warm};

/// The account of terminals and of the load. It owns [`DATABASE`] and nothing else.
pub const USER: &str = "oe";
/// The database of the workload.
pub const DATABASE: &str = "orderentry";

/// PostgreSQL's administrator, over the socket alone.
const SUPERUSER: &str = "rookery";

/// A database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// MariaDB.
    Mariadb,
    /// PostgreSQL.
    Postgresql,
}

impl Engine {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mariadb, Self::Postgresql];

    /// As its makers write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "MariaDB",
            Self::Postgresql => "PostgreSQL",
        }
    }

    /// As studies, settings and versions write it.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.component().name()
    }

    /// TCP port of the server in a guest.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Mariadb => 3306,
            Self::Postgresql => 5432,
        }
    }

    /// The root of its containers.
    #[must_use]
    pub fn root(self) -> RootKind {
        match self {
            Self::Mariadb => RootKind::Mariadb,
            Self::Postgresql => RootKind::Postgresql,
        }
    }

    /// Its tunings.
    #[must_use]
    pub fn family(self) -> Family {
        match self {
            Self::Mariadb => Family::Mariadb,
            Self::Postgresql => Family::Postgresql,
        }
    }

    /// Its directory within a guest's data.
    #[must_use]
    pub fn directory(self) -> &'static str {
        match self {
            Self::Mariadb => "mysql",
            Self::Postgresql => "postgresql",
        }
    }

    /// The key by which a study sets the size of the buffer pool.
    #[must_use]
    pub fn pool_key(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb.innodb_buffer_pool_size",
            Self::Postgresql => "postgresql.shared_buffers",
        }
    }

    /// The way of the terminals: over TCP, to a guest whose server listens at `address`.
    ///
    #[must_use]
    pub fn clients(self, address: SocketAddr) -> Target {
        let scheme = match self {
            Self::Mariadb => "mysql",
            Self::Postgresql => "postgresql",
        };
        target(&format!("{scheme}://{USER}@{address}/{DATABASE}"))
    }

    /// The way from the host, over the socket in the data directory `data` of a guest, as the
    /// account of the terminals.
    ///
    #[must_use]
    pub fn inside(self, data: &Path) -> Target {
        self.socket_target(USER, DATABASE, data)
    }

    /// The socket of a server, below its data directory.
    #[must_use]
    pub fn socket(self) -> String {
        match self {
            Self::Mariadb => config::MARIADB_SOCKET.to_owned(),
            Self::Postgresql => format!(".s.PGSQL.{}", self.port()),
        }
    }

    fn socket_target(self, user: &str, database: &str, data: &Path) -> Target {
        let data = std::path::absolute(data).unwrap_or_else(|_| Path::new("/").join(data));
        let url = match self {
            Self::Mariadb => format!(
                "mysql://{user}@/{database}?socket={}",
                encoded(&data.join(config::MARIADB_SOCKET))
            ),
            Self::Postgresql => format!(
                "postgresql://{user}@/{database}?host={}&port={}",
                encoded(&data),
                self.port()
            ),
        };
        target(&url)
    }

    fn component(self) -> Component {
        match self {
            Self::Mariadb => Component::Mariadb,
            Self::Postgresql => Component::Postgresql,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn target(url: &str) -> Target {
    url.parse()
        .expect("a URL of our own making, with an absolute path in UTF-8")
}

/// A path as a part of a URL. What is no text in it becomes another path, at which nobody listens.
fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_to_the_guest() {
        let data = Path::new("/runs/a b/data");
        let inside = |engine: Engine| engine.inside(data).to_string();
        assert_eq!(
            inside(Engine::Mariadb),
            "mysql://oe@/orderentry?socket=/runs/a b/data/mysql.sock"
        );
        assert_eq!(
            inside(Engine::Postgresql),
            "postgresql://oe@/orderentry?host=/runs/a b/data&port=5432"
        );
        let clients = Engine::Postgresql.clients(([127, 77, 1, 1], 5432).into());
        assert_eq!(
            clients.to_string(),
            "postgresql://oe@127.77.1.1:5432/orderentry"
        );
    }
}
