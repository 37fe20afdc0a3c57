//! Which tests take the time, read from what `cargo test` prints.

use std::{fmt, time::Duration};

/// How many are told.
const TOLD: usize = 20;

/// What was printed so far.
#[derive(Debug, Default)]
pub(super) struct Slowest {
    /// The binary whose tests are under way.
    binary: String,
    /// When the line before was printed.
    last: Duration,
    binaries: Vec<(f64, String)>,
    tests: Vec<(f64, String)>,
}

impl Slowest {
    /// A line that was printed at `at`.
    ///
    /// From one result to the next is the time of a test only where tests run one at a time, as
    /// those do that measure; elsewhere it is less.
    pub(super) fn line(&mut self, line: &str, at: Duration) {
        let since = at.saturating_sub(self.last).as_secs_f64();
        let line = line.trim();
        if let Some(path) = line.strip_prefix("Running ") {
            path.clone_into(&mut self.binary);
        } else if let Some(name) = line.strip_prefix("Doc-tests ") {
            self.binary = format!("doc tests of {name}");
        } else if let Some((_, time)) = line.split_once("; finished in ") {
            let seconds = time.trim_end_matches('s').parse().unwrap_or(0.0);
            self.binaries.push((seconds, self.binary.clone()));
        } else if let Some((name, _)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... "))
        {
            self.tests.push((since, name.to_owned()));
        } else {
            // What a test says of itself, or that it takes long, ends nothing.
            return;
        }
        self.last = at;
    }
}

impl fmt::Display for Slowest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, times) in [
            ("binaries of tests that take longest", &self.binaries),
            (
                "longest times from one result of a test to the next",
                &self.tests,
            ),
        ] {
            writeln!(f, "== {title}")?;
            let mut times: Vec<&(f64, String)> = times.iter().collect();
            times.sort_by(|one, other| other.0.total_cmp(&one.0));
            for (seconds, name) in times.into_iter().take(TOLD) {
                writeln!(f, "{seconds:>6.1} s  {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_between_results() {
        let mut slowest = Slowest::default();
        for (line, at) in [
            (
                "     Running tests/runs/main.rs (target/debug/deps/runs-1)",
                10.0,
            ),
            ("test a::quick ... ok", 11.0),
            ("test b::slow has been running for over 60 seconds", 70.0),
            ("test b::slow ... ok", 81.0),
            (
                "test result: ok. 2 passed; 0 failed; finished in 71.00s",
                81.5,
            ),
        ] {
            slowest.line(line, Duration::from_secs_f64(at));
        }
        let told = slowest.to_string();
        let (binaries, tests) = told.split_once("== longest").expect("two tables");
        assert!(
            binaries.contains("  71.0 s  tests/runs/main.rs (target/debug/deps/runs-1)"),
            "{told}"
        );
        let (slow, quick) = (tests.find("70.0 s  b::slow"), tests.find("1.0 s  a::quick"));
        assert!(slow.is_some() && slow < quick, "{told}");
    }
}
