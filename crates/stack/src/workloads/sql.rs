//! Stacks that serve the database of a workload whose statements are data.

use std::{
    net::SocketAddr,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_guest::Guest;
use rookery_oltp::{Progress, Target, count_records, set_up};
use rookery_stats::DatabaseLoad;
use rookery_study::SqlUse;
use rookery_workload::orderentry::Isolation;

use super::DatabaseContent;
use crate::{EffectiveSetting, Found, GuestStack, StackError, api::STOP_GRACE};

/// How long everything may take that makes and fills the tables.
const SETUP_LIMIT: Duration = Duration::from_secs(1800);

/// How long the audits of a guest may take.
const AUDIT_LIMIT: Duration = Duration::from_secs(300);

/// A stack that serves the database of a workload whose statements are data.
pub trait SqlStack: GuestStack {
    /// What the study asks of the workload.
    fn wanted(&self) -> &SqlUse;

    /// The way of the users, over TCP from inside the lab's network.
    fn clients(&self, address: SocketAddr) -> Target;
}

/// The tables that the statements of a workload make.
#[derive(Clone)]
pub(crate) struct SqlContent {
    pub(crate) wanted: SqlUse,
}

impl DatabaseContent for SqlContent {
    fn description(&self) -> String {
        format!(
            "sql {}, statements {:?}",
            env!("CARGO_PKG_VERSION"),
            self.wanted.workload.setup
        )
    }

    fn what(&self) -> String {
        "database of the statements in `setup`".to_owned()
    }

    fn collation(&self) -> &'static str {
        "CHARACTER SET utf8mb4"
    }

    fn steps(&self) -> (u64, &'static str) {
        (self.wanted.workload.setup.len() as u64, "statements")
    }

    fn still_limit(&self) -> Duration {
        SETUP_LIMIT
    }

    fn load(
        &self,
        target: &Target,
        _connections: usize,
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<DatabaseLoad, StackError> {
        let began = Instant::now();
        let setup = &self.wanted.workload.setup;
        let done = |_| progress(Progress { rows: 1, bytes: 0 });
        set_up(target, setup, SETUP_LIMIT, stop, &done)?;
        Ok(DatabaseLoad {
            create_s: 0.0,
            rows_s: began.elapsed().as_secs_f64(),
            index_s: 0.0,
            check_s: 0.0,
            close_s: 0.0,
            rows: 0,
            bytes: 0,
        })
    }

    fn settings(&self, target: &Target) -> Result<Vec<EffectiveSetting>, StackError> {
        let server = rookery_oltp::server(target, Isolation::Default)?;
        let setting = |name: &str, in_force| EffectiveSetting {
            name: format!("sql.{name}"),
            asked: String::new(),
            in_force,
        };
        Ok(vec![
            setting("server", server.version),
            setting("isolation", server.isolation.unwrap_or_default()),
        ])
    }

    fn answer(&self, target: &Target) -> Result<(), StackError> {
        Ok(rookery_oltp::server(target, Isolation::Default).map(drop)?)
    }

    fn audit(&self, target: &Target, guest: &mut dyn Guest) -> Result<Found, StackError> {
        let found = count_records(target, &self.wanted.workload.audits, AUDIT_LIMIT);
        // A guest that does not end is killed with its removal.
        let _ = guest.stop(STOP_GRACE);
        Ok(Found {
            rows: found?,
            ..Found::default()
        })
    }
}
