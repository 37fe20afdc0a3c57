//! Running commands of the host, and the seam for fault injection.

mod told;

use std::{
    borrow::Cow,
    ffi::OsString,
    fs::File,
    io::{self, Read, Seek, Write},
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rookery_diagnosis::Diagnosis;
use rustix::fs::{MemfdFlags, memfd_create};
use tracing::{debug, debug_span};

use crate::{bound_command::bound_command, process::await_end};

pub use told::{Told, run_told};

/// Most bytes that are kept of a command's output and error text.
const MAX_CAPTURE: u64 = 64 * 1024;

/// A command to be run.
#[derive(Debug)]
pub struct Invocation {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    output: Option<File>,
    timeout: Duration,
}

impl Invocation {
    /// A command with 10 s to run, nothing on its standard input, and its output captured.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: Vec::new(),
            output: None,
            timeout: Duration::from_secs(10),
        }
    }

    /// Add an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Add arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Set an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// Set environment variables.
    #[must_use]
    pub fn envs<K: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.env.extend(
            variables
                .into_iter()
                .map(|(key, value)| (key.into(), value.into())),
        );
        self
    }

    /// Give it this text on standard input.
    #[must_use]
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Let output and error text go to this file instead of being captured.
    #[must_use]
    pub fn output_to(mut self, file: File) -> Self {
        self.output = Some(file);
        self
    }

    /// Limit its time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The command as one would type it, but for the passwords in addresses.
    #[must_use]
    pub fn line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        words
            .map(|word| without_password(&word.to_string_lossy()).into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A word of a command as it may be shown and logged: an address such as
/// `qemu+ssh://me:secret@host/system` loses its password.
fn without_password(word: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = word.split_once("://") else {
        return Cow::Borrowed(word);
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority
        .rsplit_once('@')
        .and_then(|(login, _)| login.split_once(':'));
    match user {
        Some((user, password)) => {
            let after = &rest[user.len() + 1 + password.len()..];
            Cow::Owned(format!("{scheme}://{user}:***{after}"))
        }
        None => Cow::Borrowed(word),
    }
}

/// A command that did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed.
    #[error("`{command}` cannot be run: there is no `{program}` on this host")]
    Missing {
        /// Program.
        program: String,
        /// Whole command.
        command: String,
    },
    /// It could not be run or watched.
    #[error("`{command}` cannot be run: {source}")]
    Run {
        /// Whole command.
        command: String,
        /// Reason.
        source: io::Error,
    },
    /// It said no.
    #[error("`{command}` ended with {status}: {words}")]
    Failed {
        /// Whole command.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Its own words.
        words: String,
    },
    /// It took too long and was killed.
    #[error("`{command}` did not end within {limit:?} and was killed: {words}")]
    Late {
        /// Whole command.
        command: String,
        /// Its time limit.
        limit: Duration,
        /// Its own words.
        words: String,
    },
}

impl Diagnosis for CommandError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "host::command-missing",
            Self::Run { .. } => "host::command-not-run",
            Self::Failed { .. } => "host::command-failed",
            Self::Late { .. } => "host::command-late",
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Missing { program, .. } => {
                Some(format!("install {program}, or put it on the PATH"))
            }
            Self::Run { .. } | Self::Failed { .. } | Self::Late { .. } => None,
        }
    }
}

/// The means by which this machine is changed. Every change goes through here, so that a test can
/// make any one of them fail.
pub trait Host: Send + Sync {
    /// Called before each change that is not a command (a mount, a directory, a namespace).
    ///
    /// # Errors
    /// When a test wants this step to fail.
    fn step(&self, name: &'static str) -> io::Result<()>;

    /// Run a command to its end; gives its standard output.
    ///
    /// # Errors
    /// When it is missing, fails or is late.
    fn run(&self, invocation: Invocation) -> Result<String, CommandError>;
}

/// The machine itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealHost;

impl Host for RealHost {
    fn step(&self, _name: &'static str) -> io::Result<()> {
        Ok(())
    }

    fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
        run(invocation)
    }
}

/// The machine itself, but its n-th change fails; all others are done.
#[derive(Debug)]
pub struct FaultyHost {
    fails_at: u64,
    after_the_deed: bool,
    done: AtomicU64,
}

impl FaultyHost {
    /// Change number `n` (1 = first) fails, undone.
    #[must_use]
    pub fn failing_at(n: u64) -> Self {
        Self {
            fails_at: n,
            after_the_deed: false,
            done: AtomicU64::new(0),
        }
    }

    /// Change number `n` fails; when it is a command, it is done and then reported as failed.
    #[must_use]
    pub fn failing_after(n: u64) -> Self {
        Self {
            fails_at: n,
            after_the_deed: true,
            done: AtomicU64::new(0),
        }
    }

    /// Whether the fault has happened.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.fails_at
    }

    fn next_fails(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.fails_at
    }
}

impl Host for FaultyHost {
    fn step(&self, name: &'static str) -> io::Result<()> {
        if self.next_fails() {
            Err(io::Error::other(format!("injected fault at: {name}")))
        } else {
            Ok(())
        }
    }

    fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
        if !self.next_fails() {
            return run(invocation);
        }
        let command = invocation.line();
        if self.after_the_deed {
            run(invocation)?;
        }
        Err(CommandError::Run {
            command,
            source: io::Error::other("injected fault"),
        })
    }
}

/// Run a command, and log how it ended. Neither its environment nor its standard input is logged:
/// they may hold secrets.
fn run(invocation: Invocation) -> Result<String, CommandError> {
    let span = debug_span!("command", line = %invocation.line());
    let _entered = span.enter();
    let begin = Instant::now();
    let result = run_to_end(invocation);
    let ms = begin.elapsed().as_secs_f64() * 1e3;
    match &result {
        Ok(_) => debug!(ms, exit = 0, "command ended"),
        Err(CommandError::Failed { status, words, .. }) => {
            debug!(ms, exit = status.code(), %status, words, "command failed");
        }
        Err(error) => debug!(ms, %error, "command did not end by itself"),
    }
    result
}

/// Output goes to memory files: no pipe can fill up, and a grandchild that keeps one open does not
/// delay us.
fn run_to_end(invocation: Invocation) -> Result<String, CommandError> {
    let line = invocation.line();
    let Invocation {
        program,
        args,
        env,
        stdin,
        output,
        timeout,
    } = invocation;
    let failed = |source: io::Error| {
        if source.kind() == io::ErrorKind::NotFound {
            CommandError::Missing {
                program: program.to_string_lossy().into_owned(),
                command: line.clone(),
            }
        } else {
            CommandError::Run {
                command: line.clone(),
                source,
            }
        }
    };
    let own = |source: io::Error| CommandError::Run {
        command: line.clone(),
        source,
    };
    let mut input = memory_file().map_err(own)?;
    input
        .write_all(&stdin)
        .and_then(|()| input.rewind())
        .map_err(own)?;
    let (out, words) = match output {
        Some(file) => (file.try_clone().map_err(own)?, file),
        None => (memory_file().map_err(own)?, memory_file().map_err(own)?),
    };
    let mut command = bound_command(&program);
    command.args(args).envs(env).stdin(input);
    command
        .stdout(Stdio::from(out.try_clone().map_err(own)?))
        .stderr(Stdio::from(words.try_clone().map_err(own)?));
    let mut child = command.spawn().map_err(failed)?;
    // The Command keeps our ends of the files open otherwise.
    drop(command);
    let in_time = await_end(child.id(), timeout).unwrap_or(false);
    if !in_time {
        let _ = child.kill();
    }
    let status = child.wait().map_err(own)?;
    if !in_time {
        return Err(CommandError::Late {
            command: line,
            limit: timeout,
            words: tail(&words),
        });
    }
    if !status.success() {
        return Err(CommandError::Failed {
            command: line,
            status,
            words: tail(&words),
        });
    }
    Ok(tail(&out))
}

fn memory_file() -> io::Result<File> {
    Ok(File::from(memfd_create(
        "rookery-command",
        MemfdFlags::CLOEXEC,
    )?))
}

/// The last [`MAX_CAPTURE`] bytes as text; empty for a file that is only open for writing.
fn tail(file: &File) -> String {
    let mut file = file;
    let length = file.metadata().map_or(0, |data| data.len());
    let mut bytes = Vec::new();
    let _ = file.seek(io::SeekFrom::Start(length.saturating_sub(MAX_CAPTURE)));
    let _ = file.take(MAX_CAPTURE).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_and_output_pass_through() {
        let said = RealHost
            .run(Invocation::new("cat").stdin("hello\n"))
            .expect("cat");
        assert_eq!(said, "hello");
        let said = RealHost
            .run(Invocation::new("sh").args(["-c", "echo $X"]).env("X", "y"))
            .expect("sh");
        assert_eq!(said, "y");
    }

    #[test]
    fn failures_carry_the_commands_own_words() {
        let error = RealHost
            .run(Invocation::new("sh").args(["-c", "echo no luck >&2; exit 3"]))
            .expect_err("fails");
        assert_eq!(
            error.to_string(),
            "`sh -c echo no luck >&2; exit 3` ended with exit status: 3: no luck"
        );
        let error = RealHost
            .run(Invocation::new("no-such-program-here"))
            .expect_err("fails");
        assert!(matches!(error, CommandError::Missing { .. }), "{error}");
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let line = |word: &str| Invocation::new("virsh").arg(word).line();
        assert_eq!(
            line("qemu+ssh://me:se:cret@host/system?x=1@2"),
            "virsh qemu+ssh://me:***@host/system?x=1@2"
        );
        for plain in ["qemu:///system", "qemu+ssh://me@host/system", "a:b@c"] {
            assert_eq!(line(plain), format!("virsh {plain}"));
        }
    }

    #[test]
    fn a_late_command_is_killed() {
        let error = RealHost
            .run(
                Invocation::new("sleep")
                    .arg("60")
                    .timeout(Duration::from_millis(5)),
            )
            .expect_err("late");
        assert!(matches!(error, CommandError::Late { .. }), "{error}");
    }

    #[test]
    fn endless_words_are_cut() {
        let said = RealHost
            .run(Invocation::new("sh").args(["-c", "head -c 200000 /dev/zero | tr '\\0' x"]))
            .expect("sh");
        assert_eq!(said.len() as u64, MAX_CAPTURE);
    }

    #[test]
    fn only_the_nth_change_fails() {
        let host = FaultyHost::failing_at(2);
        assert!(host.step("one").is_ok() && !host.has_failed());
        assert!(host.run(Invocation::new("true")).is_err() && host.has_failed());
        assert!(host.step("three").is_ok());
    }
}
