//! Other closed-loop clients, where they are installed.

use std::{net::SocketAddr, process::Command, time::Duration};

/// Their programs: the packages apache2-utils and wrk.
pub(super) const ALL: [&str; 2] = ["ab", "wrk"];

/// The p99 that a client tells, ms; `None` where it is not installed.
pub(super) fn p99_ms(
    program: &str,
    target: SocketAddr,
    connections: u32,
    time: Duration,
) -> Result<Option<f64>, String> {
    let url = format!("http://{target}/");
    let (connections, seconds) = (connections.to_string(), time.as_secs().to_string());
    let words = match program {
        "ab" => vec![
            "-q",
            "-k",
            "-c",
            &connections,
            "-t",
            &seconds,
            "-n",
            "100000000",
            &url,
        ],
        _ => vec!["-t1", "-c", &connections, "-d", &seconds, "--latency", &url],
    };
    let output = Command::new("taskset")
        .args(["-c", &super::CLIENT_CPU.to_string(), program])
        .args(&words)
        .output()
        .map_err(|error| {
            format!("cannot start taskset ({error}); install the package util-linux")
        })?;
    // That a program is not there is told by taskset with 127.
    if output.status.code() == Some(127) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("99%"));
    let value = found.and_then(|value| milliseconds(value.trim()));
    value
        .map(Some)
        .ok_or_else(|| format!("{program} told no p99: {text}"))
}

/// `15` (ab, in ms), `913.00ms`, `1.01s` or `850.00us` (wrk).
fn milliseconds(text: &str) -> Option<f64> {
    let units = [("ms", 1.0), ("us", 1e-3), ("s", 1e3), ("", 1.0)];
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_telling_milliseconds_are_read() {
        let read = ["15", "913.00ms", "1.01s", "850.00us", "soon"].map(milliseconds);
        assert_eq!(
            read,
            [Some(15.0), Some(913.0), Some(1_010.0), Some(0.85), None]
        );
    }
}
