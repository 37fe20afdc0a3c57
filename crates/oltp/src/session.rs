//! A terminal's connection to any of the databases.

use rookery_workload::orderentry::{
    Dialect,
    transaction::{Answers, ErrorClass, Flight, Session},
};

use crate::{
    ClientError, OltpError, SessionOptions, Target, mysql::MysqlSession, postgres::PostgresSession,
    sqlite::SqliteSession, target::Protocol,
};

/// A connection with the prepared statements of one style.
#[derive(Debug)]
pub struct DbSession(Inner);

#[derive(Debug)]
enum Inner {
    Mysql(MysqlSession),
    Postgres(PostgresSession),
    Sqlite(SqliteSession),
    #[cfg(feature = "odbc")]
    Odbc(crate::odbc::OdbcSession),
}

impl DbSession {
    /// Connects and prepares. Within a tokio runtime, in which the session stays.
    ///
    /// # Errors
    /// When there is no way to the database, it refuses a statement, or the style is not possible
    /// there.
    pub async fn open(target: &Target, options: SessionOptions) -> Result<Self, OltpError> {
        match target.protocol {
            Protocol::Mysql => Ok(Self(Inner::Mysql(
                MysqlSession::open(target, options).await?,
            ))),
            Protocol::Postgresql => Ok(Self(Inner::Postgres(
                PostgresSession::open(target, options).await?,
            ))),
            Protocol::Sqlite => Ok(Self(Inner::Sqlite(
                SqliteSession::open(target, options).await?,
            ))),
            #[cfg(feature = "odbc")]
            Protocol::Odbc(dialect) => Ok(Self(Inner::Odbc(
                crate::odbc::OdbcSession::open(target, dialect, options).await?,
            ))),
        }
    }
}

impl Session for DbSession {
    type Error = ClientError;

    fn dialect(&self) -> Dialect {
        match &self.0 {
            Inner::Mysql(session) => session.dialect(),
            Inner::Postgres(_) => Dialect::Postgresql,
            Inner::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "odbc")]
            Inner::Odbc(session) => session.dialect(),
        }
    }

    async fn fly(&mut self, flight: &Flight, answers: &mut Answers) -> Result<(), ClientError> {
        match &mut self.0 {
            Inner::Mysql(session) => session.fly(flight, answers).await,
            Inner::Postgres(session) => session.fly(flight, answers).await,
            Inner::Sqlite(session) => session.fly(flight, answers).await,
            #[cfg(feature = "odbc")]
            Inner::Odbc(session) => session.fly(flight, answers).await,
        }
    }

    fn classify(&self, error: &ClientError) -> ErrorClass {
        error.class(self.dialect())
    }
}
