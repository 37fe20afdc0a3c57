//! What the database servers are in a guest.

use std::{net::SocketAddr, path::Path};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rookery_oltp::Target;
use rookery_study::Engine;

use super::{DATABASE, USER, config};
use crate::{
    root::RootKind,
    tuning::{Component, Family},
};

/// What holds of an [`Engine`] in guests: its place, its port, its names of settings, and the ways
/// to it.
pub trait EngineFacts {
    /// As studies, settings and versions write it.
    #[must_use]
    fn key(self) -> &'static str;

    /// TCP port of the server in a guest.
    #[must_use]
    fn port(self) -> u16;

    /// The root of its containers.
    #[must_use]
    fn root(self) -> RootKind;

    /// Its tunings.
    #[must_use]
    fn family(self) -> Family;

    /// Its directory within a guest's data.
    #[must_use]
    fn directory(self) -> &'static str;

    /// The key by which a study sets the size of the buffer pool.
    #[must_use]
    fn pool_key(self) -> &'static str;

    /// The way of the terminals: over TCP, to a guest whose server listens at `address`.
    #[must_use]
    fn clients(self, address: SocketAddr) -> Target;

    /// The way from the host, over the socket in the data directory `data` of a guest, as the
    /// account of the terminals.
    #[must_use]
    fn inside(self, data: &Path) -> Target;

    /// The socket of a server, below its data directory.
    #[must_use]
    fn socket(self) -> String;

    /// The way from the host as `user` into `database`, over the socket in the data directory
    /// `data`.
    #[must_use]
    fn socket_target(self, user: &str, database: &str, data: &Path) -> Target;

    /// Its settings among those of a tuning.
    #[must_use]
    fn component(self) -> Component;
}

impl EngineFacts for Engine {
    fn key(self) -> &'static str {
        self.component().name()
    }

    fn port(self) -> u16 {
        match self {
            Self::Mariadb => 3306,
            Self::Postgresql => 5432,
        }
    }

    fn root(self) -> RootKind {
        match self {
            Self::Mariadb => RootKind::Mariadb,
            Self::Postgresql => RootKind::Postgresql,
        }
    }

    fn family(self) -> Family {
        match self {
            Self::Mariadb => Family::Mariadb,
            Self::Postgresql => Family::Postgresql,
        }
    }

    fn directory(self) -> &'static str {
        match self {
            Self::Mariadb => "mysql",
            Self::Postgresql => "postgresql",
        }
    }

    fn pool_key(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb.innodb_buffer_pool_size",
            Self::Postgresql => "postgresql.shared_buffers",
        }
    }

    fn clients(self, address: SocketAddr) -> Target {
        let scheme = match self {
            Self::Mariadb => "mysql",
            Self::Postgresql => "postgresql",
        };
        target(&format!("{scheme}://{USER}@{address}/{DATABASE}"))
    }

    fn inside(self, data: &Path) -> Target {
        self.socket_target(USER, DATABASE, data)
    }

    fn socket(self) -> String {
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

fn target(url: &str) -> Target {
    url.parse()
        .expect("a URL of our own making, with an absolute path in UTF-8")
}

/// A path as a part of a URL. What is no text in it becomes another path, at which no one listens.
fn encoded(path: &Path) -> String {
    percent_encode(path.to_string_lossy().as_bytes(), NON_ALPHANUMERIC).to_string()
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
