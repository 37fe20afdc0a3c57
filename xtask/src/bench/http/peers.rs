//! Other clients: `wrk`, `h2load`, `locust`.

use std::{
    fs,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::load::{FIVE, Site, TOKEN};
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
    /// The five operations, on its faster client.
    Locust,
}

impl Peer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wrk(..) => "wrk",
            Self::H2load(_) => "h2load",
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
            Self::Locust => {
                let folder = script("0")?;
                let mut command = pinned("locust");
                let weighed = weigh(locust(&mut command, &folder, nginx, connections, seconds))?;
                let requests = locust_requests(&weighed.output)?;
                Ok(per_request(weighed.cpu, requests))
            }
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

/// The five operations for locust, with a pause of so many seconds.
fn script(pause: &str) -> Result<TempDir, String> {
    let steps = FIVE.map(|name| format!("\"{name}\"")).join(", ");
    let text = format!(
        "import re
from locust import FastHttpUser, constant, task

TOKEN = re.compile(r'{TOKEN}')


class Visitor(FastHttpUser):
    wait_time = constant({pause})
    token = ''
    step = 0

    @task
    def operation(self):
        steps = [{steps}]
        name = steps[self.step]
        self.step = (self.step + 1) % len(steps)
        path = '/1k?step=' + name + ('' if name == steps[0] else '&t=' + self.token)
        with self.client.get(path, name=name, catch_response=True) as answer:
            found = TOKEN.search(answer.text or '')
            if answer.status_code == 200 and 'Welcome' in answer.text and found:
                self.token = found.group(1)
            else:
                answer.failure('another page')
"
    );
    let io = |error: std::io::Error| format!("cannot write the script of locust: {error}");
    let folder = TempDir::with_prefix("rk-locust-").map_err(io)?;
    fs::write(folder.path().join("locustfile.py"), text).map_err(io)?;
    Ok(folder)
}

fn locust<'c>(
    command: &'c mut Command,
    folder: &TempDir,
    nginx: &Nginx,
    users: u32,
    seconds: u32,
) -> &'c mut Command {
    command
        .args(["--headless", "--json", "--only-summary", "-f"])
        .arg(folder.path().join("locustfile.py"))
        .args([
            "-u".to_owned(),
            users.to_string(),
            "-r".to_owned(),
            users.to_string(),
            "-t".to_owned(),
            format!("{seconds}s"),
            "-H".to_owned(),
            format!("http://{}", nginx.address),
        ])
        .current_dir(folder.path())
}

/// The requests that locust tells of; a failed one is an error.
fn locust_requests(output: &str) -> Result<u64, String> {
    let begin = output.find('[').unwrap_or(output.len());
    let rows: Vec<Value> = serde_json::from_str(output[begin..].trim())
        .map_err(|error| format!("locust told nothing: {error}\n{output}"))?;
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    match (sum("num_requests"), sum("num_failures")) {
        (0, _) => Err(format!("locust made no request:\n{output}")),
        (requests, 0) => Ok(requests),
        (_, failed) => Err(format!("{failed} requests of locust failed:\n{output}")),
    }
}

/// Peak resident memory of locust with so many users and a second of pause, KiB.
pub(super) fn locust_kib(nginx: &Nginx, users: u32, time: Duration) -> Result<f64, String> {
    let folder = script("1")?;
    let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    let mut command = Command::new("locust");
    let started = locust(&mut command, &folder, nginx, users, seconds)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.map_err(|error| format!("cannot start locust: {error}"))?;
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
        Err("locust ended before its memory was seen".to_owned())
    }
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
        let rows = "[{\"num_requests\": 3, \"num_failures\": 0}, {\"num_requests\": 4}]";
        assert_eq!(locust_requests(rows), Ok(7));
        assert!(locust_requests("[{\"num_requests\": 3, \"num_failures\": 1}]").is_err());
    }
}
