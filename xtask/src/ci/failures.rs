//! Why tests failed, read from what `cargo test` prints, so that it can be told last: a log of
//! thousands of lines is often kept by its end alone.

use std::fmt;

/// How many lines are kept of one failed test: its message, not all that its programs said.
const OF_ONE: usize = 40;
/// How many are kept of all.
const OF_ALL: usize = 400;
/// The longest line, characters.
const WIDTH: usize = 1000;

/// What failed tests said so far.
#[derive(Debug, Default)]
pub(super) struct Failures {
    lines: Vec<String>,
    /// How many lines the test under way may still add; none outside of what a test said.
    room: Option<usize>,
    /// Whether the lines are those of a backtrace.
    backtrace: bool,
}

impl Failures {
    /// The next line that was printed.
    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.room = Some(OF_ONE);
            self.backtrace = false;
        } else if line == "failures:" {
            // Their names, which follow what they said.
            self.room = None;
        } else if line == "stack backtrace:" {
            self.backtrace = true;
        } else if line.starts_with("note: ") {
            self.backtrace = false;
            return;
        }
        let Some(room) = self.room.as_mut().filter(|room| **room > 0) else {
            return;
        };
        if self.backtrace || line.is_empty() || self.lines.len() >= OF_ALL {
            return;
        }
        *room -= 1;
        self.lines.push(line.chars().take(WIDTH).collect());
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return Ok(());
        }
        writeln!(f, "== what failed tests said")?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(output: &str) -> String {
        let mut failures = Failures::default();
        output.lines().for_each(|line| failures.line(line));
        failures.to_string()
    }

    #[test]
    fn messages_are_kept_without_their_backtraces() {
        let told = told(
            "test a ... ok\n\
             test b ... FAILED\n\
             \nfailures:\n\n\
             ---- b stdout ----\n\
             \n\
             thread 'b' panicked at src/lib.rs:1:1:\n\
             assertion failed\n\
             stack backtrace:\n\
             \x20  0: core::panicking::panic\n\
             note: Some details are omitted\n\
             said afterwards\n\
             \n\nfailures:\n    b\n\n\
             test result: FAILED. 1 passed; 1 failed",
        );
        assert_eq!(
            told,
            "== what failed tests said\n---- b stdout ----\n\
             thread 'b' panicked at src/lib.rs:1:1:\nassertion failed\nsaid afterwards\n"
        );
    }

    #[test]
    fn nothing_is_told_where_nothing_failed() {
        assert_eq!(told("test a ... ok\ntest result: ok. 1 passed"), "");
    }

    #[test]
    fn one_test_leaves_room_for_others() {
        let long = "x\n".repeat(1000);
        let told = told(&format!(
            "---- a stdout ----\n{long}---- b stdout ----\nwhy\n"
        ));
        assert!(told.ends_with("---- b stdout ----\nwhy\n"), "{told}");
        assert_eq!(told.lines().count(), 1 + OF_ONE + 2);
    }
}
