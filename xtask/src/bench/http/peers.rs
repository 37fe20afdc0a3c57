//! Other clients: `wrk`, `h2load`, `k6`, `locust`.

use std::{
    fs,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use super::{
    load::Site,
    scripts::{self, Script},
};
use crate::bench::driver::{
    CLIENT_CPU,
    client::{per_request, weigh},
    nginx::Nginx,
};

/// Another client and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// One page again and again.
    Wrk(&'static str, Site),
    /// The same over TLS, as HTTP/1.1.
    H2load(&'static str),
    /// The five operations.
    K6,
    /// The five operations, on its faster client.
    Locust,
}

impl Peer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wrk(..) => "wrk",
            Self::H2load(_) => "h2load",
            Self::K6 => "k6",
            Self::Locust => "locust",
        }
    }

    pub(super) fn is_installed(self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(self.name()).is_file())
    }

    /// What is said where it is not installed.
    pub(super) fn missing(self) -> String {
        let from = match self {
            Self::Wrk(..) => "apt install wrk",
            Self::H2load(_) => "apt install nghttp2-client",
            Self::K6 => "go install go.k6.io/k6@latest",
            Self::Locust => "pip install locust",
        };
        format!("{} is not installed ({from}); it is left out", self.name())
    }

    /// CPU per request, us.
    pub(super) fn cost(self, nginx: &Nginx, connections: u32, seconds: u32) -> Result<f64, String> {
        let pinned = |program: &str| {
            let mut command = Command::new("taskset");
            command.args(["-c", &CLIENT_CPU.to_string(), program]);
            command
        };
        match self {
            Self::Wrk(page, site) => {
                let weighed = weigh(pinned("wrk").args([
                    "-t1".to_owned(),
                    format!("-c{connections}"),
                    format!("-d{seconds}"),
                    url(nginx, page, site)?,
                ]))?;
                let requests = number_before(&weighed.output, " requests in ");
                requests.map(|requests| per_request(weighed.cpu, requests))
            }
            Self::H2load(page) => {
                let weighed = weigh(pinned("h2load").args([
                    "--h1".to_owned(),
                    "-t1".to_owned(),
                    format!("-c{connections}"),
                    format!("-D{seconds}"),
                    url(nginx, page, Site::Tls)?,
                ]))?;
                let requests = number_before(&weighed.output, " succeeded");
                requests.map(|requests| per_request(weighed.cpu, requests))
            }
            Self::K6 | Self::Locust => {
                let script = self.script(nginx, connections, seconds, 0)?;
                let output = weigh(script.arguments(&mut pinned(self.name())))?;
                Ok(per_request(output.cpu, script.requests(&output.output)?))
            }
        }
    }

    /// The five operations as a script of this client.
    fn script(
        self,
        nginx: &Nginx,
        users: u32,
        seconds: u32,
        pause_s: u32,
    ) -> Result<Script, String> {
        let load = scripts::Load {
            target: nginx.address,
            users,
            seconds,
            pause_s,
        };
        match self {
            Self::K6 => Script::k6(&load),
            Self::Locust => Script::locust(&load),
            Self::Wrk(..) | Self::H2load(_) => Err(format!("{} has no scripts", self.name())),
        }
    }

    /// Peak resident memory with so many users in the five operations and a second of pause, KiB.
    pub(super) fn peak_kib(self, nginx: &Nginx, users: u32, time: Duration) -> Result<f64, String> {
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let script = self.script(nginx, users, seconds, 1)?;
        let started = script
            .arguments(&mut Command::new(self.name()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child =
            started.map_err(|error| format!("cannot start {}: {error}", self.name()))?;
        let file = format!("/proc/{}/status", child.id());
        let mut peak = 0.0_f64;
        while matches!(child.try_wait(), Ok(None)) {
            let status = fs::read_to_string(&file).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            peak = peak.max(kib.unwrap_or_default());
            sleep(Duration::from_millis(50));
        }
        if peak > 0.0 {
            Ok(peak)
        } else {
            Err(format!("{} ended before its memory was seen", self.name()))
        }
    }
}

fn url(nginx: &Nginx, page: &str, site: Site) -> Result<String, String> {
    Ok(match site {
        Site::Plain => format!("http://{}{page}", nginx.address),
        Site::Tls => format!("https://{}{page}", nginx.tls_address()?),
    })
}

/// The number that stands before a mark.
fn number_before(output: &str, mark: &str) -> Result<u64, String> {
    let found = output.lines().find_map(|line| {
        let front = line.split_once(mark)?.0;
        front.rsplit([' ', ',']).next()?.trim().parse::<u64>().ok()
    });
    found
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("no number of requests was told:\n{output}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_requests_are_read() {
        let wrk = "  2 threads\n  123456 requests in 3.00s, 12MB read\n";
        assert_eq!(number_before(wrk, " requests in "), Ok(123_456));
        let h2load = "requests: 10 total, 10 started, 10 done, 9 succeeded, 1 failed, 0 errored\n";
        assert_eq!(number_before(h2load, " succeeded"), Ok(9));
        assert!(number_before("nothing", " succeeded").is_err());
    }
}
