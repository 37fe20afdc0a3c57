//! Children that do not outlive us.
//!
//! What a killed controller left running would go on writing where the next one writes, as root,
//! and `clean` would have to find it first. So the kernel ends it with us: a command of ours is
//! killed when the thread that started it is gone, and what it started in turn is enclosed in a
//! process namespace that ends with it.

use std::{ffi::OsStr, os::unix::process::CommandExt, process::Command};

use rustix::{
    io::Errno,
    process::{Signal, getpid, getppid, set_parent_process_death_signal},
};

/// Runs a program in a process namespace of its own: when the first process in it is killed, the
/// kernel kills all others. Needs root.
pub const ENCLOSED: [&str; 6] = [
    "unshare",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child=SIGKILL",
    "--",
];

/// A command whose process the kernel kills when the *thread* that spawns it ends: that thread
/// waits for its end. What has to outlive a thread (a guest, a daemon of a guest) is found by its
/// label instead.
///
/// Its own children are not killed with it; where it has any, start it by [`ENCLOSED`].
pub fn bound_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let parent = getpid();
    let die_with_us = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have been killed before the kernel knew of it.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(Errno::SRCH.into())
        }
    };
    // SAFETY: between fork and exec this makes two system calls and touches no memory of ours.
    unsafe { command.pre_exec(die_with_us) };
    command
}

#[cfg(test)]
mod tests {
    use std::{process::Stdio, sync::mpsc::channel, thread};

    use super::*;

    #[test]
    fn a_child_is_killed_with_the_thread_that_started_it() {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let child = bound_command("sleep").arg("600").spawn().expect("sleep");
            sender.send(child).expect("awaited");
        })
        .join()
        .expect("no panic");
        let mut child = receiver.recv().expect("a child");
        let status = child.wait().expect("reaped");
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(Signal::KILL.as_raw())
        );
    }

    #[test]
    fn a_child_that_is_awaited_does_its_work() {
        let output = bound_command("echo")
            .arg("done")
            .stdin(Stdio::null())
            .output()
            .expect("echo");
        assert_eq!(output.stdout, b"done\n");
    }
}
