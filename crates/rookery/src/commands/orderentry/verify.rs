//! `rookery verify orderentry`: the consistency conditions on a database.

use clap::Args;
use rookery_workload::orderentry::Moment;
use serde::Serialize;

use super::{CheckJson, TargetArgs, inconsistent, table};
use crate::{
    exit::{Code, Failure},
    output,
};

/// What can be typed.
#[derive(Debug, Args)]
pub(crate) struct VerifyOrderentryArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The database was just loaded: no order may have been delivered since
    #[arg(long)]
    after_load: bool,
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
    new_orders: i64,
    payments: i64,
    delivered: i64,
}

pub(crate) fn run(args: &VerifyOrderentryArgs) -> Result<Code, Failure> {
    let target = args.target.target()?;
    let moment = if args.after_load { Moment::AfterLoad } else { Moment::AnyTime };
    let found = rookery_oltp::verify(&target, moment)?;
    let scale = found.population.scale;
    if args.json {
        output::json(&Report {
            server: &found.version,
            warehouses: scale.warehouses(),
            divisor: scale.divisor(),
            seed: found.population.seed,
            holds: found.holds(),
            conditions: found.checks.iter().map(CheckJson::of).collect(),
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
        output::result(format!(
            "{target}: {}, {} warehouses{mini}, seed {}\n{}since load: {} new orders, {} payments, {} orders delivered",
            found.version,
            scale.warehouses(),
            found.population.seed,
            table(&found.checks),
            found.ledger.new_orders,
            found.ledger.payments,
            found.ledger.delivered
        ));
    }
    match found.checks.iter().filter(|check| !check.offenders.is_empty()).count() {
        0 => Ok(Code::Done),
        broken => Err(inconsistent(&target, broken)),
    }
}
