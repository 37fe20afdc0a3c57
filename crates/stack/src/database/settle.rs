//! The beginning and the end of a template: an empty database for the load, and a state that clones
//! best.

use super::{DATABASE, DatabaseError, Engine, Server, Software, USER, server::user_and_host};
use crate::lamp;

/// Make the empty database of the workload and its account, through the administrator's connection
/// to a new server. `collation` is how texts in it are kept, where the server is MariaDB.
///
/// # Errors
/// When the server refuses a step.
pub fn prepare(
    server: &mut Server,
    software: &Software,
    collation: &str,
) -> Result<(), DatabaseError> {
    let account = user_and_host(server.engine());
    match server.engine() {
        Engine::Mariadb => {
            server.execute(&format!("CREATE DATABASE {DATABASE} {collation}"))?;
            server.execute(&format!("CREATE USER {account}"))?;
            server.execute(&format!("GRANT ALL ON {DATABASE}.* TO {account}"))
        }
        Engine::Postgresql => {
            server.execute(&format!("CREATE ROLE {account} LOGIN"))?;
            server.execute(&format!("CREATE DATABASE {DATABASE} OWNER {USER}"))?;
            if !software.prewarm {
                return Ok(());
            }
            let mut owner =
                Server::connect(Engine::Postgresql, server.data(), super::Account::Owner)?;
            owner.execute("CREATE EXTENSION pg_prewarm")
        }
    }
}

/// Bring a loaded database into the state that clones best: on return, shut the server down
/// cleanly.
///
/// MariaDB's next shutdown then purges what is left of deleted rows and empties the log, so that a
/// clone starts without recovery. PostgreSQL writes everything out and lets go of the log.
///
/// # Errors
/// When the server refuses a step.
pub fn settle(server: &mut Server) -> Result<(), DatabaseError> {
    if let Some(database) = server.mariadb() {
        return Ok(lamp::settle(database)?);
    }
    // A log that is begun anew lets the checkpoint remove the files behind it.
    server.pairs("SELECT 'log', pg_switch_wal()::text")?;
    server.execute("CHECKPOINT")
}
