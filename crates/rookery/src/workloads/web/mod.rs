//! What `drive` takes and does for every web workload: targets, their certificates, and the driver.

pub(super) mod target;

use std::{net::IpAddr, time::Duration};

use clap::Args;
use rookery_driver::{Load, Phases};
use rookery_stats::{GuestMeasurement, Measurement, Pacing};
use rookery_web::{Assignment, Config, Limits, Script};
use rookery_workload::{DelayDistribution, http::Tls};

use self::target::{Target, TrustArgs};
use super::measured::{self, WebReport};
use crate::{
    exit::{Code, Failure},
    output, signals,
};

#[derive(Debug, Args)]
pub(super) struct SiteArgs {
    #[arg(
        long,
        required = true,
        value_name = "URL",
        // No comment of documentation: brackets would be links there.
        help = "Site to drive, http[s]://HOST[:PORT][/BASE]; several are driven alike"
    )]
    target: Vec<String>,
    /// Confirm that you may load this address, which is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    confirm_target: Vec<IpAddr>,
    #[command(flatten)]
    trust: TrustArgs,
    /// CPUs of the driver, such as 1 or 2-3 [default: the last CPU]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// No progress
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// The load of each target.
pub(super) struct WebLoad {
    pub(super) users: u32,
    pub(super) load: Load,
    pub(super) phases: Phases,
    pub(super) pacing: Pacing,
    /// Mean pause of a user; each operation has one of its own.
    pub(super) think_time: Duration,
    /// Limit on one operation.
    pub(super) timeout: Duration,
}

impl SiteArgs {
    /// What was typed of certificates, over what the workload says.
    pub(super) fn trusted(&self, mut tls: Tls) -> Result<Tls, Failure> {
        self.trust.put_into(&mut tls)?;
        Ok(tls)
    }

    /// The load on all targets, each with the script that is made for it.
    pub(super) fn config(
        &self,
        web: WebLoad,
        script: impl Fn(&Target) -> Script,
    ) -> Result<Config, Failure> {
        let mut assignments = Vec::with_capacity(self.target.len());
        for url in &self.target {
            let target = Target::parse("--target", url)?;
            assignments.push(Assignment {
                guest: url.clone(),
                target: target.address,
                users: web.users,
                script: script(&target),
            });
        }
        let confirmed = assignments.iter().map(|assignment| assignment.target);
        let confirmed = confirmed.filter(|target| self.confirm_target.contains(&target.ip()));
        Ok(Config {
            confirmed_targets: confirmed.collect(),
            assignments,
            network: None,
            cpus: measured::driver_cpus(self.cpus.as_deref())?,
            phases: web.phases,
            load: web.load,
            pacing: web.pacing,
            think_time: web.think_time,
            think_distribution: DelayDistribution::Constant,
            timeout: web.timeout,
            limits: Limits::default(),
            seed: self.seed,
        })
    }

    /// Put the load on and print what it measured; the exit code of the command.
    pub(super) fn drive(
        &self,
        config: &Config,
        print: &dyn Fn(&Measurement, &[String]),
        nothing_answered: &dyn Fn(&GuestMeasurement) -> Failure,
    ) -> Result<Code, Failure> {
        let stop = signals::stop_flag()?;
        let report = WebReport {
            json: self.json,
            quiet: self.quiet,
            print,
            nothing_answered,
        };
        measured::drive(config, &stop, &report)
    }
}

/// What users of a target were told of what they stored.
pub(super) fn print_proof(guest: &GuestMeasurement) {
    for row in guest.counters.proof().rows {
        output::text(format!(
            "{}: {} acknowledged, {} without an answer",
            row.what, row.acknowledged, row.unanswered
        ));
    }
}

/// No `unit` was completed at a target.
pub(super) fn nothing_completed(target: &GuestMeasurement, unit: &str, help: &str) -> Failure {
    Failure::new(
        Code::Guest,
        format!(
            "{} completed no {unit} in the measured window: {}",
            target.guest,
            measured::first_failure(target)
        ),
    )
    .help(help)
}
