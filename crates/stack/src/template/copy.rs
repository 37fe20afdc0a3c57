//! The copy of a database's files: made by `cp`, which ends with the builder, and when the user
//! wants no more.

use std::{
    io::{self, Read},
    ops::ControlFlow,
    path::Path,
    process::{Child, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rookery_host::bound_command;

use crate::StackError;

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(3600);
/// How often the user is asked.
const LOOK: Duration = Duration::from_millis(10);
/// Most bytes of the words of `cp` that go into an error.
const MOST_WORDS: u64 = 2048;
/// Copy the tree `from` into the directory `to` with its owners, sharing blocks or leaving holes
/// where the file system can.
///
/// # Errors
/// When it fails, in its own words; when `go_on` says so.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    go_on: &dyn Fn() -> ControlFlow<()>,
) -> Result<(), StackError> {
    let failed = |what: String| StackError::Copy {
        from: from.to_owned(),
        to: to.to_owned(),
        what,
    };
    let mut command = bound_command("cp");
    command.args(["--archive", "--reflink=auto", "--sparse=always", "--"]);
    command
        .arg(from)
        .arg(to)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("`cp` cannot be started: {error}")))?;
    let ended = wait(&mut child, go_on);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = match ended {
        Ok(status) => status,
        Err(Interruption::Stopped) => return Err(StackError::Stopped),
        Err(Interruption::Late) => {
            return Err(failed(format!("it took more than {} s", LIMIT.as_secs())));
        }
        Err(Interruption::Wait(error)) => return Err(failed(format!("waiting for cp: {error}"))),
    };
    if status.success() {
        return Ok(());
    }
    let mut words = String::new();
    if let Some(output) = child.stderr.take() {
        // What is no text is no help either.
        let _ = output.take(MOST_WORDS).read_to_string(&mut words);
    }
    Err(failed(format!(
        "cp ended with {status}: {}",
        words.trim_end()
    )))
}

/// Why the end of `cp` was not awaited.
enum Interruption {
    Stopped,
    Late,
    Wait(io::Error),
}

fn wait(
    child: &mut Child,
    go_on: &dyn Fn() -> ControlFlow<()>,
) -> Result<ExitStatus, Interruption> {
    let deadline = Instant::now() + LIMIT;
    loop {
        if go_on().is_break() {
            return Err(Interruption::Stopped);
        }
        if let Some(status) = child.try_wait().map_err(Interruption::Wait)? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            return Err(Interruption::Late);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_tree_is_copied_with_what_it_holds() {
        let base = tempfile::tempdir().expect("temporary directory");
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir_all(from.join("deep")).expect("made");
        fs::write(from.join("deep/file"), "x").expect("written");
        fs::create_dir(&to).expect("made");
        copy(&from, &to, &|| ControlFlow::Continue(())).expect("copied");
        assert_eq!(
            fs::read_to_string(to.join("from/deep/file")).expect("there"),
            "x"
        );
        let error = copy(
            &base.path().join("none"),
            &to,
            &|| ControlFlow::Continue(()),
        )
        .expect_err("there is none");
        assert!(error.to_string().contains("No such file"), "{error}");
    }

    #[test]
    fn a_stopped_copy_is_none() {
        let base = tempfile::tempdir().expect("temporary directory");
        let error = copy(base.path(), &base.path().join("to"), &|| {
            ControlFlow::Break(())
        })
        .expect_err("stopped");
        assert!(matches!(error, StackError::Stopped), "{error}");
    }
}
