//! Commands of the user: what they say and how they end is told, whatever it is.

use std::{
    io::{self, PipeReader, Read},
    os::unix::process::CommandExt,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};

use super::{CommandError, Invocation, MAX_CAPTURE, memory_file};
use crate::bound_command::bound_command;

/// How a command ended, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// How it ended.
    pub status: ExitStatus,
    /// The beginning of its output and error text, in the order in which they came.
    pub output: String,
}

/// Run a command to its end or to its limit, in a process group of its own. What it leaves running
/// is left alone, but has no output any more.
///
/// # Errors
/// When it cannot be run, or is late: then its whole group is killed.
pub fn run_told(invocation: Invocation) -> Result<Told, CommandError> {
    let line = invocation.line();
    let Invocation {
        program,
        args,
        env,
        timeout,
        ..
    } = invocation;
    let own = |source: io::Error| CommandError::Run {
        command: line.clone(),
        source,
    };
    let (mut output, input) = io::pipe().map_err(own)?;
    fcntl_getfl(&output)
        .and_then(|flags| fcntl_setfl(&output, flags | OFlags::NONBLOCK))
        .map_err(|error| own(error.into()))?;
    let mut command = bound_command(&program);
    command.args(args).envs(env).process_group(0);
    command
        .stdin(memory_file().map_err(own)?)
        .stdout(input.try_clone().map_err(own)?)
        .stderr(input);
    let mut child = command.spawn().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => CommandError::Missing {
            program: program.to_string_lossy().into_owned(),
            command: line.clone(),
        },
        _ => own(source),
    })?;
    // The Command keeps our ends of the pipe open otherwise.
    drop(command);
    let mut kept = Vec::new();
    let ended = listen(&child, &mut output, &mut kept, timeout);
    if !matches!(ended, Ok(true)) {
        kill(&mut child);
    }
    let status = child.wait().map_err(own)?;
    let said = String::from_utf8_lossy(&kept).trim_end().to_owned();
    match ended.map_err(own)? {
        true => Ok(Told {
            status,
            output: said,
        }),
        false => Err(CommandError::Late {
            command: line,
            limit: timeout,
            words: said,
        }),
    }
}

/// Hear a command until it ends; whether it did so in time.
fn listen(
    child: &Child,
    output: &mut PipeReader,
    kept: &mut Vec<u8>,
    timeout: Duration,
) -> io::Result<bool> {
    let deadline = Instant::now() + timeout;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let mut speaks = true;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let time = rustix::event::Timespec::try_from(left).map_err(io::Error::other)?;
        let mut watched = vec![PollFd::new(&handle, PollFlags::IN)];
        if speaks {
            watched.push(PollFd::new(output, PollFlags::IN));
        }
        let found = match poll(&mut watched, Some(&time)) {
            Err(rustix::io::Errno::INTR) => continue,
            found => found?,
        };
        let over = !watched[0].revents().is_empty();
        drop(watched);
        if speaks {
            speaks = hear(output, kept, deadline)?;
        }
        if over {
            return Ok(true);
        }
        if found == 0 || left.is_zero() {
            return Ok(false);
        }
    }
}

/// Take what there is to read, of which the beginning is kept; whether more may come.
fn hear(output: &mut PipeReader, kept: &mut Vec<u8>, deadline: Instant) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    // What speaks faster than it is heard ends at the deadline all the same.
    while Instant::now() < deadline {
        match output.read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(length) => {
                let room = usize::try_from(MAX_CAPTURE).unwrap_or(usize::MAX) - kept.len();
                kept.extend_from_slice(&bytes[..length.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The whole group: the child is not yet reaped, so that the number is still its own.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Invocation {
        Invocation::new("sh").args(["-c", script])
    }

    #[test]
    fn words_and_exit_codes_are_told() {
        let told = run_told(shell("echo one; echo two >&2; exit 3")).expect("it ran");
        assert_eq!(told.status.code(), Some(3));
        assert_eq!(told.output, "one\ntwo");
        let missing = run_told(Invocation::new("/no/such/program")).expect_err("missing");
        assert!(matches!(missing, CommandError::Missing { .. }), "{missing}");
    }

    #[test]
    fn endless_words_are_cut_and_do_not_hold_the_command_up() {
        let told = run_told(shell("head -c 300000 /dev/zero; echo end >&2")).expect("it ran");
        assert_eq!(told.output.len() as u64, MAX_CAPTURE);
        assert!(told.status.success());
    }

    #[test]
    fn a_late_command_is_killed_with_its_children() {
        let late = shell("sleep 600 & echo $!; wait").timeout(Duration::from_millis(300));
        let error = run_told(late).expect_err("late");
        let CommandError::Late { words, .. } = error else {
            panic!("{error}");
        };
        let child: u32 = words.parse().expect("a number");
        let _ = crate::await_end(child, Duration::from_secs(10));
        let lives = crate::process_stat(child).is_some_and(|stat| !"ZX".contains(stat.state));
        assert!(!lives, "{child} lives");
    }

    #[test]
    fn what_a_command_leaves_running_is_not_waited_for() {
        let told = run_told(shell("sleep 5 & echo $!")).expect("it ran");
        assert!(told.status.success());
        let left: u32 = told.output.parse().expect("a number");
        let left = crate::Identity::read(left).expect("it lives");
        left.signal(Signal::KILL).expect("killed");
    }
}
