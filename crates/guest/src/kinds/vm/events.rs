//! What a guest's service tells the host, as lines of JSON.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use serde::{Deserialize, Serialize};

use crate::storage::VolumeFault;

/// Most lines that are looked at: a guest tells a few in its life.
const MAX_LINES: usize = 1000;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The program runs.
    Started {
        /// Since the kernel began, ms.
        uptime_ms: u64,
    },
    /// The guest could not be made what it should be.
    Failed {
        /// Why.
        what: String,
        /// What was wrong with a volume of it.
        #[serde(default)]
        fault: Option<VolumeFault>,
    },
    /// The program has ended.
    Ended {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

impl Event {
    /// The event of a program that ended so.
    pub(crate) fn of_end(status: ExitStatus) -> Self {
        Self::Ended {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

/// The events in a text; half a line, or what is none, is left out: a guest may write what it
/// likes.
pub(crate) fn parse(text: &str) -> Vec<Event> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .take(MAX_LINES)
        .filter_map(|line| serde_json::from_str(line.trim()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_alone_are_events() {
        let ended = serde_json::to_string(&Event::Ended {
            code: Some(3),
            signal: None,
        })
        .expect("json");
        assert_eq!(ended, r#"{"event":"ended","code":3,"signal":null}"#);
        let text = format!("noise\n{{\"event\":\"started\",\"uptime_ms\":7000}}\r\n{ended}");
        assert_eq!(parse(&text), [Event::Started { uptime_ms: 7000 }]);
        assert_eq!(parse(&format!("{text}\n")).len(), 2);
        assert_eq!(parse(""), []);
    }
}
