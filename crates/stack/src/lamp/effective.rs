//! What is really in force in a running LAMP guest, beside what was asked.
//!
//! The lab asks MariaDB for its variables and fetches the [`PATHS`]; [`ReadBack::of`] understands
//! the answers and [`ReadBack::compare`] puts them beside a tuning. Answers come from a server:
//! they are bounded and may be anything.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Component, Setting, Tuned, WebServer};
use crate::tuning::{Effective, row};

/// Apache's directives as it read them.
const CONFIG: &str = "/server-info?config";
/// What Apache's process model made of them.
const LIMITS: &str = "/server-info?server";
/// Apache's slots for workers.
const STATUS: &str = "/server-status?auto";
/// PHP's settings.
const SETTINGS: &str = "/rookery-settings.php";

/// Paths that tell the settings in force, to be fetched from inside the lab's network. Longest
/// answer worth reading: 1 MiB.
pub const PATHS: [&str; 4] = [CONFIG, LIMITS, STATUS, SETTINGS];

/// Variables of MariaDB that a reader of a result wants to know even where nobody asked for a
/// value.
const ALWAYS: [&str; 12] = [
    "version",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_flush_method",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "max_connections",
    "table_open_cache",
    "thread_handling",
    "query_cache_type",
    "query_cache_size",
    "performance_schema",
];

/// The settings in force in one guest, by component and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBack {
    mariadb: Option<BTreeMap<String, String>>,
    apache: Option<BTreeMap<String, String>>,
    php: Option<BTreeMap<String, String>>,
}

impl ReadBack {
    /// Understand what a guest says: MariaDB's variables (`None` for a guest without), and the body
    /// of each of the [`PATHS`] that answered 200.
    #[must_use]
    pub fn parse(
        mariadb: Option<BTreeMap<String, String>>,
        bodies: &BTreeMap<String, String>,
    ) -> Self {
        let body = |path: &str| bodies.get(path).map_or("", String::as_str);
        let apache = apache(body(CONFIG), body(LIMITS), body(STATUS));
        Self {
            mariadb,
            apache: Some(apache).filter(|found| !found.is_empty()),
            php: php(body(SETTINGS)),
        }
    }

    /// Every setting of the tuning as asked and as in force, then what is always worth knowing.
    #[must_use]
    pub fn compare(&self, tuned: &Tuned, server: WebServer) -> Vec<Effective> {
        let components = [
            Component::Mariadb,
            Component::Apache,
            Component::Php,
            Component::Pages,
        ];
        let asked = components
            .iter()
            .flat_map(|component| tuned.of_component(*component, server));
        let mut rows: Vec<Effective> = asked.map(|setting| self.row(setting)).collect();
        let mut add = |name: String, effective: Option<&String>| {
            if let Some(effective) = effective.filter(|_| rows.iter().all(|row| row.name != name)) {
                rows.push(Effective {
                    name,
                    asked: None,
                    effective: Some(effective.clone()),
                    differs: false,
                });
            }
        };
        for name in ALWAYS {
            add(
                format!("mariadb.{name}"),
                self.mariadb.as_ref().and_then(|known| known.get(name)),
            );
        }
        for name in ["MPM", "ServerVersion"] {
            add(
                format!("apache.{name}"),
                self.apache
                    .as_ref()
                    .and_then(|known| known.get(&name.to_lowercase())),
            );
        }
        for name in ["version", "sapi", "opcache"] {
            add(
                format!("php.{name}"),
                self.php.as_ref().and_then(|known| known.get(name)),
            );
        }
        rows
    }

    fn row(&self, setting: &Setting) -> Effective {
        let known = match setting.component {
            Component::Mariadb => self.mariadb.as_ref(),
            Component::Apache => self.apache.as_ref(),
            Component::Php | Component::Pages => self.php.as_ref(),
            Component::Postgresql => None,
        };
        let key = match setting.component {
            Component::Apache => setting.name.to_lowercase(),
            Component::Pages => setting.key(),
            Component::Mariadb | Component::Postgresql | Component::Php => setting.name.clone(),
        };
        let effective = known.and_then(|known| known.get(&key)).cloned();
        // PHP's pool does not tell its limits; every other component tells all that it knows.
        let silent = known.is_none() || setting.name.starts_with("pm");
        row(setting, effective, silent)
    }
}

/// Apache's directives in small letters, those that it corrects itself as corrected.
fn apache(config: &str, limits: &str, status: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = config.lines().filter_map(directive).collect();
    let limits = without_tags(limits);
    let number_after = |label: &str| -> Option<u64> {
        let rest = limits.split_once(label)?.1.trim_start();
        rest.split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let number = |found: &BTreeMap<String, String>, name: &str| {
        found.get(name).and_then(|value| value.parse::<u64>().ok())
    };
    let threaded = limits.contains("Threaded: yes");
    let workers = if threaded {
        most_workers_of_threads(|name| number(&found, name))
    } else {
        number_after("Max Daemons:")
    };
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    let mut correct = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            found.insert(name.to_owned(), value.to_string());
        }
    };
    correct("maxrequestworkers", workers);
    correct("timeout", number_after("Timeouts: connection:"));
    correct("keepalivetimeout", number_after("keep-alive:"));
    for (name, label) in [("mpm", "ServerMPM"), ("serverversion", "ServerVersion")] {
        if let Some(value) = field(label) {
            found.insert(name.to_owned(), value.trim().to_owned());
        }
    }
    found
}

/// What Apache's threaded model makes of `MaxRequestWorkers`, by its documentation: it does not
/// tell, but whole processes only, and no more than `ServerLimit` of them, work.
fn most_workers_of_threads(directive: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let asked = directive("maxrequestworkers")?;
    let threads = directive("threadsperchild").unwrap_or(25).max(1);
    let servers = directive("serverlimit").unwrap_or(16);
    Some(
        (asked / threads)
            .clamp(1, servers.max(1))
            .saturating_mul(threads),
    )
}

/// Name and value of a line such as `<dd><tt>&nbsp;&nbsp;18:&nbsp;StartServers <i>3</i></tt></dd>`.
fn directive(line: &str) -> Option<(String, String)> {
    let (before, after) = line.split_once(" <i>")?;
    let name = before.rsplit([';', '>']).next()?;
    let (value, _) = after.split_once("</i>")?;
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| (name.to_lowercase(), unescaped(value)))
}

fn unescaped(text: &str) -> String {
    let text = text
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", " ");
    text.replace("&amp;", "&")
}

/// The text of a page, with single spaces.
fn without_tags(page: &str) -> String {
    let mut text = String::new();
    for part in page.split('<') {
        text += part.split_once('>').map_or(part, |(_, rest)| rest);
        text.push(' ');
    }
    unescaped(&text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// PHP's settings, what it says of itself, and the switches of the pages.
fn php(body: &str) -> Option<BTreeMap<String, String>> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let mut found = BTreeMap::new();
    for (name, value) in answer.get("settings")?.as_object()? {
        found.insert(name.clone(), text(value));
    }
    for name in ["version", "sapi", "opcache"] {
        found.insert(name.to_owned(), text(answer.get(name)?));
    }
    if let Some(pool) = answer.get("pool").and_then(Value::as_object) {
        let manager = pool.get("process-manager").map(text).unwrap_or_default();
        // Of a static pool all processes are there from the start.
        if let Some(processes) = pool.get("total-processes").filter(|_| manager == "static") {
            found.insert("pm.max_children".to_owned(), text(processes));
        }
        found.insert("pm".to_owned(), manager);
    }
    for (name, value) in answer
        .get("pages")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        found.insert(format!("pages.{name}"), text(value));
    }
    Some(found)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(on) => if *on { "ON" } else { "OFF" }.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
