//! What our users do in the benchmarks of workload files.

use std::{net::SocketAddr, time::Duration};

use rookery_driver::{Load, Phases};
use rookery_stats::Pacing;
use rookery_web::{
    Assignment, Config, Limits, Script,
    workloads::http::{HttpScript, SiteName},
};
use rookery_workload::{DelayDistribution, http::HttpWorkload};
use serde_json::{Value, json};

use crate::bench::driver::{CLIENT_CPU, nginx::Nginx};

/// The pages and their sizes.
pub(super) const PAGES: [(&str, usize); 3] = [("1k", 1_000), ("30k", 30_000), ("object", 300)];
/// Objects of the page of [`What::Cached`].
const CACHED_OBJECTS: usize = 50;
/// The operations of the script that the peers do, too.
pub(super) const FIVE: [&str; 5] = ["one", "two", "three", "four", "five"];
/// Where the token of a page stands.
pub(super) const TOKEN: &str = "name=\"token\" value=\"([0-9a-f]+)\"";

/// Which of the two ways to the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    Plain,
    Tls,
}

/// What users do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Three operations by a matrix on one page, each with a check and a capture.
    Matrix(&'static str, Site),
    /// Five operations one after the other, each with a check and a capture.
    Five,
    /// A page with objects that stay in the cache of each user, and a cookie.
    Cached,
}

/// A page of so many bytes with a token in it.
pub(super) fn page(bytes: usize) -> Vec<u8> {
    let mut page =
        b"<h1>Welcome</h1><input type=\"hidden\" name=\"token\" value=\"5f3a9c01\">\n".to_vec();
    let filler = b"All work and no play makes a dull page. ";
    page.extend(filler.iter().cycle().take(bytes - page.len()));
    page
}

fn operation(name: &str, path: &str) -> Value {
    json!({
        "name": name, "method": "GET", "path": path, "follow": true, "body_limit": 1_000_000,
        "delay": {"mean": {"secs": 0, "nanos": 0}, "distribution": "constant"},
        "checks": [{"contains": "Welcome"}],
        "captures": [{"name": "token", "source": {"regex": TOKEN}}],
    })
}

fn workload(what: What, think: Duration) -> Result<HttpWorkload, String> {
    let (operations, walk) = match what {
        What::Matrix(page, _) => {
            let path = |name: &str| format!("{page}?step={name}&t=${{token}}");
            let operations = vec![
                operation("home", page),
                operation("list", &path("list")),
                operation("item", &path("item")),
            ];
            // Sessions have no end: connections stay open, as those of the peers.
            let rows = json!({"start": [1.0, 0.0, 0.0], "next": [
                [0.0, 0.7, 0.3, 0.0], [0.2, 0.3, 0.5, 0.0], [0.1, 0.6, 0.3, 0.0],
            ]});
            (operations, json!({"matrix": rows}))
        }
        What::Five => {
            let path = |name: &str| match name {
                "one" => "/1k?step=one".to_owned(),
                name => format!("/1k?step={name}&t=${{token}}"),
            };
            let operations = FIVE.map(|name| operation(name, &path(name))).to_vec();
            // The sixth is the second again: this session has no end either.
            let row = |next: usize| {
                let mut row = vec![0.0; 6];
                row[next] = 1.0;
                row
            };
            let next: Vec<Vec<f64>> = [1, 2, 3, 4, 0].map(row).to_vec();
            let rows = json!({"start": [1.0, 0.0, 0.0, 0.0, 0.0], "next": next});
            (operations, json!({"matrix": rows}))
        }
        What::Cached => {
            let mut page = operation("page", "/1k");
            let object = |number: usize| json!({"path": format!("/object?number={number}")});
            page["objects"] = (0..CACHED_OBJECTS).map(object).collect();
            let rows = json!({"start": [1.0], "next": [[1.0, 0.0]]});
            (vec![page], json!({"matrix": rows}))
        }
    };
    let mut value = json!({
        "operations": operations,
        "walk": walk,
        "browser": {"connections": 1, "cache": false, "gzip": false, "receive_rate": null},
        "tls": {"ca": null, "insecure": true, "version": null},
    });
    value["browser"]["cache"] = json!(what == What::Cached);
    for operation in value["operations"].as_array_mut().into_iter().flatten() {
        operation["delay"]["mean"] = json!(think);
    }
    serde_json::from_value(value).map_err(|error| format!("our own workload: {error}"))
}

/// The trial.
pub(super) fn config(
    nginx: &Nginx,
    what: What,
    users: u32,
    think: Duration,
    steady: Duration,
) -> Result<Config, String> {
    let https = matches!(what, What::Matrix(_, Site::Tls));
    let target: SocketAddr = if https {
        nginx.tls_address()?
    } else {
        nginx.address
    };
    Ok(Config {
        assignments: vec![Assignment {
            guest: "nginx".to_owned(),
            target,
            users,
            script: Script::Http(Box::new(HttpScript {
                workload: workload(what, think)?,
                site: SiteName {
                    https,
                    ..SiteName::at(target)
                },
            })),
        }],
        network: None,
        cpus: vec![CLIENT_CPU],
        load: Load::Closed,
        phases: Phases {
            ramp_up: Duration::ZERO,
            settle: Duration::ZERO,
            steady,
            ramp_down: Duration::ZERO,
            drain: Duration::from_secs(1),
        },
        pacing: Pacing::Think,
        think_time: think,
        think_distribution: DelayDistribution::Constant,
        timeout: Duration::from_secs(10),
        limits: Limits::default(),
        seed: 1,
        confirmed_targets: Vec::new(),
    })
}
