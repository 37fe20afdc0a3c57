//! `rookery verify orderentry`: the consistency conditions on a database, and with `--acid` what
//! its isolation level keeps apart.

use clap::Args;
use rookery_oltp::Acid;
use rookery_workload::orderentry::{Isolation, Moment};
use serde::Serialize;

use super::{CheckJson, TargetArgs, inconsistent, table};
use crate::{
    exit::{Code, Failure},
    output, signals,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct VerifyOrderentryArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The database was just loaded: no order may have been delivered since
    #[arg(long)]
    after_load: bool,
    /// Try with two connections what the isolation level keeps apart, before the conditions. Leaves
    /// a few orders and payments behind
    #[arg(long, conflicts_with = "after_load")]
    acid: bool,
    /// Level of these tests: `default`, `read_committed`, `repeatable_read` or `serializable`
    #[arg(long, requires = "acid", default_value = "default")]
    isolation: Isolation,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    server: &'a str,
    warehouses: u32,
    divisor: u32,
    seed: u64,
    holds: bool,
    conditions: Vec<CheckJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acid: Option<AcidJson<'a>>,
    new_orders: i64,
    payments: i64,
    delivered: i64,
}

/// A test of the isolation level.
#[derive(Debug, Serialize)]
struct AcidRowJson {
    number: u8,
    test: &'static str,
    seen: &'static str,
    isolated: bool,
    as_expected: bool,
}

#[derive(Debug, Serialize)]
struct AcidJson<'a> {
    isolation: &'a str,
    as_expected: bool,
    tests: Vec<AcidRowJson>,
}

impl<'a> AcidJson<'a> {
    fn of(acid: &'a Acid) -> Self {
        let tests = acid.rows.iter().map(|row| AcidRowJson {
            number: row.number,
            test: row.test,
            seen: row.seen.words(),
            isolated: row.isolated,
            as_expected: row.as_expected(),
        });
        Self {
            isolation: &acid.isolation,
            as_expected: acid.as_expected(),
            tests: tests.collect(),
        }
    }
}

fn deviates(acid: &Acid) -> Result<(), Failure> {
    if acid.as_expected() {
        return Ok(());
    }
    Err(Failure::new(
        Code::Inconsistent,
        format!(
            "{} at {} does not keep transactions apart as it must",
            acid.version, acid.isolation
        ),
    )
    .help(
        "see that nobody else writes to it, and try again; then look for a server \
    setting that relaxes isolation",
    ))
}

pub(crate) fn run(args: &VerifyOrderentryArgs) -> Result<Code, Failure> {
    let target = args.target.target()?;
    let stop = signals::stop_flag()?;
    let moment = if args.after_load {
        Moment::AfterLoad
    } else {
        Moment::AnyTime
    };
    let acid = args
        .acid
        .then(|| rookery_oltp::acid(&target, args.isolation, &stop))
        .transpose()?;
    let found = rookery_oltp::verify(&target, moment, &stop)?;
    let scale = found.population.scale;
    if args.json {
        output::json(&Report {
            server: &found.version,
            warehouses: scale.warehouses(),
            divisor: scale.divisor(),
            seed: found.population.seed,
            holds: found.holds(),
            conditions: found.checks.iter().map(CheckJson::of).collect(),
            acid: acid.as_ref().map(AcidJson::of),
            new_orders: found.ledger.new_orders,
            payments: found.ledger.payments,
            delivered: found.ledger.delivered,
        })?;
    } else {
        let mini = if scale.is_mini() {
            format!(" (a test database, divisor {})", scale.divisor())
        } else {
            String::new()
        };
        output::text(format!(
            "{target}: {}, {} warehouses{mini}, seed {}\n{}{}since load: {} new orders, {} \
             payments, {} orders delivered",
            found.version,
            scale.warehouses(),
            found.population.seed,
            acid.as_ref().map(Acid::table).unwrap_or_default(),
            table(&found.checks),
            found.ledger.new_orders,
            found.ledger.payments,
            found.ledger.delivered
        ));
    }
    match found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty())
        .count()
    {
        0 => acid.as_ref().map_or(Ok(()), deviates).map(|()| Code::Done),
        broken => Err(inconsistent(&target, broken)),
    }
}
