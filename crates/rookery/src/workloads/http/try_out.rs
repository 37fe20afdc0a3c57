//! `--try URL`: each operation once, as one user, and what comes back.

use std::{net::IpAddr, time::Duration};

use clap::Args;
use rookery_web::workloads::http::{
    HttpScript,
    dry_run::{DryRun, DryRunReport, dry_run},
};
use rookery_workload::http::HttpWorkload;
use serde::Serialize;

use super::try_text;
use crate::{
    exit::{Code, Failure, driver_code},
    output, signals,
    workloads::web::target::{Target, TrustArgs},
};

/// Limit on an operation that has none of its own.
const TIMEOUT: Duration = Duration::from_secs(10);
/// What the user draws is the same every time.
const SEED: u64 = 1;

/// Where a workload is tried.
#[derive(Clone, Debug, Args)]
pub(crate) struct TryArgs {
    /// Do each operation of a web workload once at this site, as one user, and show what comes
    /// back; exit code 5 where something does not go as it should
    #[arg(long = "try", value_name = "http[s]://HOST[:PORT][/BASE]")]
    site: Option<String>,
    /// With --try: confirm that you may load this address, which is not on this machine
    #[arg(long, value_name = "ADDRESS", requires = "site")]
    confirm_target: Vec<IpAddr>,
    #[command(flatten)]
    trust: TrustArgs,
}

/// A workload that was tried.
#[derive(Debug, Serialize)]
pub(crate) struct Tried {
    /// Where.
    site: String,
    #[serde(flatten)]
    report: DryRunReport,
}

impl TryArgs {
    /// Whether something is to be tried.
    pub(crate) fn is_asked(&self) -> bool {
        self.site.is_some()
    }

    /// Tries a workload, if that was asked for.
    pub(crate) fn run(&self, workload: &HttpWorkload) -> Result<Option<Tried>, Failure> {
        let Some(url) = &self.site else {
            return Ok(None);
        };
        let target = Target::parse("--try", url)?;
        let mut workload = workload.clone();
        self.trust.put_into(&mut workload.tls)?;
        let config = DryRun {
            confirmed: self.confirm_target.contains(&target.address.ip()),
            script: HttpScript {
                workload,
                site: target.site,
            },
            name: url.clone(),
            target: target.address,
            timeout: TIMEOUT,
            seed: SEED,
        };
        let stop = signals::stop_flag()?;
        let report = dry_run(&config, &stop)
            .map_err(|error| Failure::from_error(driver_code(&error), &error))?;
        Ok(Some(Tried {
            site: url.clone(),
            report,
        }))
    }
}

impl Tried {
    /// Prints it for people; `name` is the file or the study.
    pub(crate) fn print(&self, name: &str) {
        output::result(try_text::text(
            &self.report,
            name,
            &self.site,
            output::width(),
        ));
    }

    /// How the command ends: well only where everything went as it should.
    pub(crate) fn code(&self) -> Code {
        if self.report.is_good() {
            Code::Done
        } else {
            Code::Guest
        }
    }
}
