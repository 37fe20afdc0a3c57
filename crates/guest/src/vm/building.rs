//! Commands that take minutes: how far they are is told, and they end when nobody wants them any more.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rookery_host::{Host, await_end};

use crate::{Patience, Progress, log::tail};

/// How often is told how far a command is, and asked whether to go on.
const TELL: Duration = Duration::from_millis(500);
/// Most bytes of a command's words that go into an error.
const WORDS: usize = 4096;

/// Whoever waits for something that is built.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    /// Hears what is built, and how far it is.
    pub(super) told: Progress<'a>,
    pub(super) patience: Patience<'a>,
}

/// One long command.
pub(super) struct Long<'a> {
    /// What is built, in words.
    pub(super) what: &'a str,
    pub(super) command: Command,
    /// File for its output; the file is gone when it has ended.
    pub(super) words: &'a Path,
    /// What a line of its output says of its step; the last that says something holds.
    pub(super) step: fn(&str) -> Option<&'static str>,
    pub(super) limit: Duration,
}

impl Long<'_> {
    /// Run it to its end, as a change named `name`.
    ///
    /// # Errors
    /// When it cannot be started, fails (with its last words), is late, or is not wanted any more; it is gone then.
    pub(super) fn run(
        mut self,
        host: &dyn Host,
        name: &'static str,
        watch: Watch<'_>,
    ) -> Result<(), String> {
        let program = self.command.get_program().to_string_lossy().into_owned();
        host.step(name).map_err(|error| error.to_string())?;
        let ended = self
            .spawn(&program)
            .and_then(|child| self.wait(Running(child), &program, watch));
        let _ = std::fs::remove_file(self.words);
        ended
    }

    fn spawn(&mut self, program: &str) -> Result<Child, String> {
        let output = || File::options().create(true).append(true).open(self.words);
        let (out, err) = output()
            .and_then(|out| Ok((out, output()?)))
            .map_err(|error| format!("{}: {error}", self.words.display()))?;
        self.command.stdin(Stdio::null()).stdout(out).stderr(err);
        self.command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "there is no `{program}` on this host\n  mend: install it, or put it on the PATH"
            ),
            _ => format!("`{program}` cannot be run: {error}"),
        })
    }

    fn wait(&self, mut running: Running, program: &str, watch: Watch<'_>) -> Result<(), String> {
        let begin = Instant::now();
        let failed = |error: io::Error| format!("waiting for `{program}`: {error}");
        loop {
            if await_end(running.0.id(), TELL).map_err(failed)? {
                let status = running.0.wait().map_err(failed)?;
                return match status.success() {
                    true => Ok(()),
                    false => Err(format!(
                        "`{program}` ended with {status}: {}",
                        tail(self.words, WORDS).trim_end()
                    )),
                };
            }
            if (watch.patience)().is_break() {
                return Err("stopped, as asked".to_owned());
            }
            let elapsed = begin.elapsed();
            if elapsed > self.limit {
                let words = tail(self.words, WORDS);
                return Err(format!(
                    "`{program}` did not end within {} s and was killed: {}",
                    self.limit.as_secs(),
                    words.trim_end()
                ));
            }
            let said = tail(self.words, WORDS);
            let step = said.lines().rev().find_map(self.step).unwrap_or("working");
            (watch.told)(self.what, &format!("{step}, {} s", elapsed.as_secs()));
        }
    }
}

/// A command that is killed when nobody waits for it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::{ops::ControlFlow, sync::Mutex};

    use rookery_host::RealHost;

    use super::*;
    use crate::patient;

    /// What comes of a script of the shell, and what was told of it.
    fn run(
        script: &str,
        limit: Duration,
        patience: Patience<'_>,
    ) -> (Result<(), String>, Vec<String>) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let words = dir.path().join("words");
        let told = Mutex::new(Vec::new());
        let tell = |what: &str, detail: &str| {
            told.lock()
                .expect("no panic")
                .push(format!("{what}: {detail}"))
        };
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let long = Long {
            what: "toy",
            command,
            words: &words,
            step: |line| line.contains("two").then_some("the second step"),
            limit,
        };
        let ended = long.run(
            &RealHost,
            "toy",
            Watch {
                told: &tell,
                patience,
            },
        );
        assert!(!words.exists(), "its words are gone");
        (ended, told.into_inner().expect("no panic"))
    }

    #[test]
    fn its_steps_are_told_and_its_words_are_in_the_error() {
        let (ended, told) = run(
            "echo two; echo noise; sleep 0.7; echo no luck >&2; exit 3",
            Duration::from_secs(60),
            &patient,
        );
        let error = ended.expect_err("it fails");
        assert!(
            error.contains("exit status: 3") && error.contains("no luck"),
            "{error}"
        );
        assert_eq!(
            told.first().map(String::as_str),
            Some("toy: the second step, 0 s")
        );
        assert_eq!(run("true", Duration::from_secs(60), &patient).0, Ok(()));
    }

    #[test]
    fn it_ends_when_it_is_late_or_not_wanted() {
        let late = run("echo slowly; exec sleep 600", Duration::ZERO, &patient)
            .0
            .expect_err("late");
        assert!(
            late.contains("did not end within 0 s") && late.contains("slowly"),
            "{late}"
        );
        let stopped = run("exec sleep 600", Duration::from_secs(60), &|| {
            ControlFlow::Break(())
        })
        .0;
        assert_eq!(stopped, Err("stopped, as asked".to_owned()));
    }
}
