//! The five operations as scripts of `k6` and `locust`, and what these tell of their requests.

use std::{fs, net::SocketAddr, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use super::load::{FIVE, TOKEN};

/// What users of a script do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub target: SocketAddr,
    pub users: u32,
    pub seconds: u32,
    /// Between two operations.
    pub pause_s: u32,
}

/// A script in a folder of its own, with the arguments that run it.
pub(super) struct Script {
    folder: TempDir,
    arguments: Vec<String>,
    requests: fn(&str) -> Result<u64, String>,
}

impl Script {
    pub(super) fn k6(load: &Load) -> Result<Self, String> {
        let text = k6_text(load);
        let folder = folder("script.js", &text)?;
        let arguments = [
            "run",
            "--quiet",
            "--no-usage-report",
            "--address",
            "",
            "--log-output",
            "none",
            "script.js",
        ];
        Ok(Self {
            folder,
            arguments: arguments.map(str::to_owned).to_vec(),
            requests: k6_requests,
        })
    }

    pub(super) fn locust(load: &Load) -> Result<Self, String> {
        let folder = folder("locustfile.py", &locust_text(load))?;
        let arguments = [
            "--headless".to_owned(),
            "--json".to_owned(),
            "--only-summary".to_owned(),
            "-f".to_owned(),
            "locustfile.py".to_owned(),
            "-u".to_owned(),
            load.users.to_string(),
            "-r".to_owned(),
            load.users.to_string(),
            "-t".to_owned(),
            format!("{}s", load.seconds),
            "-H".to_owned(),
            format!("http://{}", load.target),
        ];
        Ok(Self {
            folder,
            arguments: arguments.to_vec(),
            requests: locust_requests,
        })
    }

    /// A command of the client becomes one that runs this script.
    pub(super) fn arguments<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .args(&self.arguments)
            .current_dir(self.folder.path())
    }

    /// The requests that the client tells of; a failed one is an error.
    pub(super) fn requests(&self, output: &str) -> Result<u64, String> {
        (self.requests)(output)
    }
}

fn folder(name: &str, text: &str) -> Result<TempDir, String> {
    let io = |error: std::io::Error| format!("cannot write {name}: {error}");
    let folder = TempDir::with_prefix("rk-bench-").map_err(io)?;
    fs::write(folder.path().join(name), text).map_err(io)?;
    Ok(folder)
}

fn steps() -> String {
    FIVE.map(|name| format!("'{name}'")).join(", ")
}

fn k6_text(load: &Load) -> String {
    let Load {
        target,
        users,
        seconds,
        pause_s,
    } = load;
    let steps = steps();
    format!(
        "import http from 'k6/http';
import {{ check, sleep }} from 'k6';

export const options = {{ vus: {users}, duration: '{seconds}s' }};
const TOKEN = /{TOKEN}/;
const STEPS = [{steps}];
let token = '';
let step = 0;

export default function () {{
    const name = STEPS[step];
    step = (step + 1) % STEPS.length;
    const path = name === STEPS[0] ? '' : '&t=' + token;
    const answer = http.get('http://{target}/1k?step=' + name + path, {{ tags: {{ name }} }});
    const found = TOKEN.exec(answer.body);
    check(answer, {{
        page: (answer) => answer.status === 200 && answer.body.includes('Welcome') && found,
    }});
    token = found ? found[1] : '';
    if ({pause_s} > 0) {{
        sleep({pause_s});
    }}
}}

export function handleSummary(data) {{
    return {{ stdout: JSON.stringify({{
        requests: data.metrics.http_reqs.values.count,
        failed: data.metrics.checks.values.fails,
    }}) }};
}}
"
    )
}

fn k6_requests(output: &str) -> Result<u64, String> {
    let begin = output.find('{').unwrap_or(output.len());
    let told: Value = serde_json::from_str(output[begin..].trim())
        .map_err(|error| format!("k6 told nothing: {error}\n{output}"))?;
    counted("k6", told["requests"].as_u64(), told["failed"].as_u64())
}

fn locust_text(load: &Load) -> String {
    let steps = steps();
    let pause_s = load.pause_s;
    format!(
        "import re
from locust import FastHttpUser, constant, task

TOKEN = re.compile(r'{TOKEN}')


class Visitor(FastHttpUser):
    wait_time = constant({pause_s})
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
    )
}

fn locust_requests(output: &str) -> Result<u64, String> {
    let begin = output.find('[').unwrap_or(output.len());
    let rows: Vec<Value> = serde_json::from_str(output[begin..].trim())
        .map_err(|error| format!("locust told nothing: {error}\n{output}"))?;
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    counted(
        "locust",
        Some(sum("num_requests")),
        Some(sum("num_failures")),
    )
}

fn counted(client: &str, requests: Option<u64>, failed: Option<u64>) -> Result<u64, String> {
    match (requests, failed) {
        (None | Some(0), _) => Err(format!("{client} made no request")),
        (Some(requests), Some(0)) => Ok(requests),
        (Some(_), None) => Err(format!("{client} did not tell of failed requests")),
        (Some(_), Some(failed)) => Err(format!("{failed} requests of {client} failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_failed_ones_are_an_error() {
        let rows = "[{\"num_requests\": 3, \"num_failures\": 0}, {\"num_requests\": 4}]";
        assert_eq!(locust_requests(rows), Ok(7));
        assert!(locust_requests("[{\"num_requests\": 3, \"num_failures\": 1}]").is_err());
        assert_eq!(k6_requests("\n{\"requests\": 12, \"failed\": 0}"), Ok(12));
        assert!(k6_requests("{\"requests\": 12, \"failed\": 1}").is_err());
        assert!(k6_requests("{\"requests\": 12}").is_err());
        assert!(k6_requests("").is_err());
    }
}
