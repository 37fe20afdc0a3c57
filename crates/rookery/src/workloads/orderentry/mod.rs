//! Order entry: its files, its embedded server, and a database that already runs.

pub(crate) mod app;
pub(crate) mod data;
pub(crate) mod drive;
mod files;
pub(crate) mod load;
pub(crate) mod verify;

use std::{net::IpAddr, time::Duration};

use clap::Args;
use rookery_oltp::{Check, OltpError, Patience, Target};
use serde::Serialize;

use super::{Starter, Unit};
use crate::exit::{Code, Failure, driver_code};

/// What `rookery new` may begin with.
pub(super) const STARTERS: [Starter; 2] = [
    Starter {
        name: "mariadb",
        what: "order entry on MariaDB in containers (root, runc, mmdebstrap)",
        workload: WORKLOAD,
        stack: "kind = \"mariadb\"\n",
        guest: GUEST,
        settle: SETTLE,
        unit: TERMINALS,
        limit: LIMIT,
        tunings: Some(["stock", "rhev"]),
    },
    Starter {
        name: "postgresql",
        what: "order entry on PostgreSQL in containers (root, runc, mmdebstrap)",
        workload: WORKLOAD,
        stack: "kind = \"postgresql\"\n",
        guest: GUEST,
        settle: SETTLE,
        unit: TERMINALS,
        limit: LIMIT,
        tunings: Some(["stock", "rhev"]),
    },
];

const WORKLOAD: &str = "kind = \"orderentry\"\n\
                        profile = \"nothink\"             # no pauses between transactions\n\
                        warehouses = 1                  # about 90 MiB\n";
const GUEST: &str = "kind = \"container\"\nmemory = \"512MiB per vcpu\"\nready_within = \"2min\"\n";
const SETTLE: &str = "10s";
const LIMIT: &str = "p95 = \"100ms\"                  # of every transaction\nerrors = 0.001\n";
const TERMINALS: Unit = Unit {
    plural: "terminals",
    low: 2,
    high: 8,
    most: 64,
};

/// The database, as typed.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Database: `mysql://USER:PASSWORD@127.0.0.1:3306/DATABASE` or `postgresql://...`; over a
    /// socket `mysql://USER@/DATABASE?socket=/PATH` or
    /// `postgresql://USER@/DATABASE?host=/DIRECTORY`; SQLite behind `rookery app orderentry`:
    /// `sqlite+oe://127.0.0.1:5655/`. In the environment a password stays out of process lists
    #[arg(
        long = "target",
        value_name = "URL",
        env = "ROOKERY_TARGET",
        hide_env_values = true
    )]
    url: String,
    /// Confirm that you may load this address, which is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    confirm_target: Vec<IpAddr>,
    /// Longest wait for a connection, a short answer, and transactions behind the end of a load
    /// [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = rookery_study::parse_duration)]
    timeout: Option<Duration>,
    /// Longest time of one statement that works through the data: keys, indexes, conditions
    /// [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = rookery_study::parse_duration)]
    statement_timeout: Option<Duration>,
}

impl TargetArgs {
    fn target(&self) -> Result<Target, Failure> {
        let target: Target = self.url.parse()?;
        target.refuse_foreign(&self.confirm_target)?;
        let of_target = target.patience();
        let patience = Patience {
            answer: self.timeout.unwrap_or(of_target.answer),
            statement: self.statement_timeout.unwrap_or(of_target.statement),
        };
        if patience.answer.is_zero() || patience.statement.is_zero() {
            return Err(
                Failure::new(Code::Usage, "a timeout must be longer than 0 s")
                    .help("say how long the database is waited for, such as 20s"),
            );
        }
        Ok(target.with_patience(patience))
    }
}

impl From<OltpError> for Failure {
    fn from(error: OltpError) -> Self {
        let code = match &error {
            OltpError::BadTarget { .. }
            | OltpError::Foreign { .. }
            | OltpError::Setting { .. }
            | OltpError::Pacing(_)
            | OltpError::Style(_)
            | OltpError::Exists { .. } => Code::Usage,
            OltpError::Driver(error) => driver_code(error),
            OltpError::Stopped => Code::Interrupted,
            OltpError::Runtime(_) => Code::Host,
            OltpError::Bug { .. } | OltpError::Incomplete { .. } => Code::Inconsistent,
            _ => Code::Guest,
        };
        Self::from_error(code, &error)
    }
}

/// A condition, for `--json`.
#[derive(Debug, Serialize)]
struct CheckJson<'a> {
    condition: u8,
    text: &'static str,
    holds: bool,
    /// The columns that name an offender; what disagrees follows them in each offender.
    key: &'static [&'static str],
    offenders: &'a [String],
    seconds: f64,
}

impl<'a> CheckJson<'a> {
    fn of(check: &'a Check) -> Self {
        Self {
            condition: check.condition.number(),
            text: check.condition.text(),
            holds: check.offenders.is_empty(),
            key: check.condition.key(),
            offenders: &check.offenders,
            seconds: check.elapsed.as_secs_f64(),
        }
    }
}

/// The table of conditions, with the offenders of those that are broken.
fn table(checks: &[Check]) -> String {
    let mut text = String::from("   #  holds  seconds  condition\n");
    for check in checks {
        let holds = if check.offenders.is_empty() {
            "yes"
        } else {
            "NO"
        };
        text += &format!(
            "  {:>2}  {holds:<5}  {:>7.3}  {}\n",
            check.condition.number(),
            check.elapsed.as_secs_f64(),
            check.condition.text()
        );
        for offender in &check.offenders {
            text += &format!("      {}: {offender}\n", check.condition.key().join(", "));
        }
    }
    text
}

fn inconsistent(target: &Target, broken: usize) -> Failure {
    Failure::new(
        Code::Inconsistent,
        format!("{target} is not consistent, broken conditions: {broken}"),
    )
    .help("do not trust figures from it; load it again with --overwrite")
}
