//! Commands that take minutes: how far they are is told, and they end when nobody wants them any
//! more.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rookery_host::{CommandError, Host, HostError, await_end};

use crate::{lab::Progress, label::Label, log::tail, template::Patience};

/// How often is told how far a command is, and asked whether to go on.
const TELL: Duration = Duration::from_millis(500);
/// What a builder is labelled as, instead of a guest.
const BUILDER: &str = "builder";
/// Most bytes of a command's words that go into an error.
const WORDS: usize = 4096;

/// Whoever waits for something that is built.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    /// Hears what is built, and how far it is.
    pub(super) told: Progress<'a>,
    pub(super) patience: Patience<'a>,
    /// Whose work it is.
    pub(super) label: &'a Label,
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
    /// When it cannot be started, fails (with its last words), is late, or is not wanted any more;
    /// it is gone then.
    pub(super) fn run(
        mut self,
        host: &dyn Host,
        name: &'static str,
        watch: Watch<'_>,
    ) -> Result<(), BuildError> {
        let program = self.command.get_program().to_string_lossy().into_owned();
        host.step(name)?;
        let ended = self
            .spawn(&program, watch)
            .and_then(|child| self.wait(Running(child), &program, watch));
        let _ = std::fs::remove_file(self.words);
        ended
    }

    fn spawn(&mut self, program: &str, watch: Watch<'_>) -> Result<Child, BuildError> {
        let output = || {
            let opened = File::options().create(true).append(true).open(self.words);
            opened.map_err(|error| HostError::at(self.words, error))
        };
        let (out, err) = (output()?, output()?);
        self.command
            .envs(watch.label.variables(BUILDER))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        self.command.spawn().map_err(|source| {
            let command = program.to_owned();
            BuildError::Command(match source.kind() {
                io::ErrorKind::NotFound => CommandError::Missing {
                    program: program.to_owned(),
                    command,
                },
                _ => CommandError::Run { command, source },
            })
        })
    }

    fn wait(
        &self,
        mut running: Running,
        program: &str,
        watch: Watch<'_>,
    ) -> Result<(), BuildError> {
        let begin = Instant::now();
        let last_words = || tail(self.words, WORDS).trim_end().to_owned();
        loop {
            if await_end(running.0.id(), TELL)? {
                let status = running.0.wait()?;
                if status.success() {
                    return Ok(());
                }
                return Err(BuildError::Command(CommandError::Failed {
                    command: program.to_owned(),
                    status,
                    words: last_words(),
                }));
            }
            if (watch.patience)().is_break() {
                return Err(BuildError::Stopped);
            }
            let elapsed = begin.elapsed();
            if elapsed > self.limit {
                return Err(BuildError::Command(CommandError::Late {
                    command: program.to_owned(),
                    limit: self.limit,
                    words: last_words(),
                }));
            }
            let said = tail(self.words, WORDS);
            let step = said.lines().rev().find_map(self.step).unwrap_or("working");
            (watch.told)(self.what, &format!("{step}, {} s", elapsed.as_secs()));
        }
    }
}

/// Why something could not be built.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    /// The command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It could not be prepared or watched.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its files could not be written.
    #[error(transparent)]
    Host(#[from] HostError),
    /// It is not wanted any more.
    #[error("stopped, as asked")]
    Stopped,
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

    use rookery_host::{RealHost, bound_command};

    use super::*;
    use crate::patient;

    /// What comes of a script of the shell, and what was told of it.
    fn run(
        script: &str,
        limit: Duration,
        patience: Patience<'_>,
    ) -> (Result<(), BuildError>, Vec<String>) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let words = dir.path().join("words");
        let told = Mutex::new(Vec::new());
        let tell = |what: &str, detail: &str| {
            told.lock()
                .expect("no panic")
                .push(format!("{what}: {detail}"))
        };
        let mut command = bound_command("sh");
        command.args(["-c", script]);
        let label = Label::for_test("toy");
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
                label: &label,
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
        let error = ended.expect_err("it fails").to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("no luck"),
            "{error}"
        );
        assert_eq!(
            told.first().map(String::as_str),
            Some("toy: the second step, 0 s")
        );
        assert!(run("true", Duration::from_secs(60), &patient).0.is_ok());
    }

    #[test]
    fn it_ends_when_it_is_late_or_not_wanted() {
        let late = run("echo slowly; exec sleep 600", Duration::ZERO, &patient)
            .0
            .expect_err("late")
            .to_string();
        assert!(
            late.contains("did not end within 0ns") && late.contains("slowly"),
            "{late}"
        );
        let stopped = run("exec sleep 600", Duration::from_secs(60), &|| {
            ControlFlow::Break(())
        })
        .0;
        assert!(matches!(stopped, Err(BuildError::Stopped)));
    }
}
