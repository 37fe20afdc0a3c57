//! Under what figures of order entry were measured: statement mode, isolation level, durability.
//! They stand beside the figures.

use rookery_analysis::Run;
use rookery_store::Tuning;
use rookery_study::{Point, Study};

use super::Trial;
use crate::prose::words::word;

/// Settings that say what the server calls its isolation level.
const ISOLATION: [&str; 3] = [
    "transaction_isolation",
    "tx_isolation",
    "default_transaction_isolation",
];

/// Settings that say which server it was.
const VERSION: [&str; 2] = ["version", "server_version"];

/// Settings of durability, and the values with which a commit survives the loss of power.
const DURABILITY: [(&str, &[&str]); 6] = [
    ("innodb_flush_log_at_trx_commit", &["1", "3"]),
    ("innodb_doublewrite", &["on", "1", "detect_and_recover"]),
    (
        "synchronous_commit",
        &["on", "local", "remote_write", "remote_apply"],
    ),
    ("fsync", &["on"]),
    ("full_page_writes", &["on"]),
    ("synchronous", &["full", "extra", "2", "3"]),
];

/// `mariadb 10.11.14, plain statements, isolation read committed,
/// innodb_flush_log_at_trx_commit=1`.
pub(super) fn words(run: &Run, point: &Point, trials: &[Trial<'_>]) -> String {
    let study = run.header.plan.study_of(point);
    let tunings: Vec<&Tuning> = trials
        .iter()
        .flat_map(|trial| &trial.record.tunings)
        .collect();
    let mut parts = of_study(study, &tunings);
    let mut relaxed = no_barriers(study);
    if relaxed {
        parts.push("no write barriers".to_owned());
    }
    for (name, durable) in DURABILITY {
        for value in values(&tunings, name) {
            relaxed |= !durable.contains(&value.to_ascii_lowercase().as_str());
            parts.push(format!("{name}={value}"));
        }
    }
    if relaxed {
        parts.push("relaxed durability".to_owned());
    }
    parts.join(", ")
}

fn of_study(study: &Study, tunings: &[&Tuning]) -> Vec<String> {
    let Some(wanted) = study.workload.orderentry() else {
        return Vec::new();
    };
    let asked = word(wanted.isolation).replace('_', " ");
    let found: Vec<&str> = ISOLATION
        .iter()
        .flat_map(|name| values(tunings, name))
        .collect();
    let isolation = match (found.first(), asked.as_str()) {
        // A level that is asked for is set in each session, whatever the server gives others.
        (Some(level), "default") => format!(
            "isolation {} (the server's default)",
            level.to_ascii_lowercase()
        ),
        (None, "default") => "the server's default isolation".to_owned(),
        (_, asked) => format!("isolation {asked}"),
    };
    let versions: Vec<&str> = VERSION
        .iter()
        .flat_map(|name| values(tunings, name))
        .collect();
    let server = format!("{} {}", word(study.stack.kind()), versions.join(" and "));
    vec![
        server.trim_end().to_owned(),
        format!("{} statements", wanted.statements.name()),
        isolation,
    ]
}

/// Whether volumes are mounted so that the device may reorder what was committed.
fn no_barriers(study: &Study) -> bool {
    study
        .storage
        .volume
        .as_ref()
        .is_some_and(|volume| volume.barriers == Some(false))
}

/// Different values of a setting, by the end of its name.
fn values<'a>(tunings: &[&'a Tuning], name: &str) -> Vec<&'a str> {
    let of_name = |tuning: &&&Tuning| {
        tuning.name.rsplit('.').next() == Some(name) && !tuning.effective.is_empty()
    };
    let mut values: Vec<&str> = tunings
        .iter()
        .filter(of_name)
        .map(|tuning| tuning.effective.as_str())
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}
