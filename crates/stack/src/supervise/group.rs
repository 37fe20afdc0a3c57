//! Keeping a service in the process group of its guest.
//!
//! php-fpm begins a session of its own even in the foreground, and overwrites its environment,
//! where the labels of the run are; so does every process of PostgreSQL. They would then neither be
//! counted with their guest nor be killed with it. A seccomp filter answers as if they had got what
//! they asked for: php-fpm would not mind a refusal, PostgreSQL would end.

use std::{io, os::unix::process::CommandExt, process::Command};

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP,
    SECCOMP_MODE_FILTER, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SYS_setpgid, SYS_setsid,
    sock_filter, sock_fprog,
};

/// Let the program of `command` stay where it is started: `setsid` and `setpgid` do nothing, in it
/// and in its children.
pub(super) fn keep_group(command: &mut Command) {
    // SAFETY: between fork and exec only two system calls are made, on values that live on the
    // stack.
    unsafe { command.pre_exec(ignore_new_groups) };
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers of system calls and of a filter's steps are small; libc types them widely"
)]
fn ignore_new_groups() -> io::Result<()> {
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    // The number of the system call is the first field of `seccomp_data`. Services are programs of
    // our own architecture.
    let mut filter = [
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_setsid as u32),
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_setpgid as u32),
        step(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO),
        step(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the call takes plain numbers.
    if unsafe { libc::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `program` and the filter that it points to live until the call returns; the kernel
    // copies both.
    if unsafe { libc::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
