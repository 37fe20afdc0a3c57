//! Ways by which a program might reach beyond its container, tried from inside.

use std::{fs, io};

/// What a guest answers when a way is barred: the words of the kernel's refusal.
const REFUSALS: [i32; 4] = [libc::EPERM, libc::EACCES, libc::EROFS, libc::ENOENT];

/// A way, by its name (which a test has), and the attempt.
type Way = (&'static str, fn() -> io::Result<i64>);

/// All of them. Whatever succeeds here would change nothing of a host by itself.
pub(crate) const WAYS: &[Way] = &[
    ("a_key_of_the_host_is_searched", || {
        // KEYCTL_SEARCH below the keyring of the user.
        call(
            libc::SYS_keyctl,
            [
                10,
                -4,
                c"user".as_ptr() as i64,
                c"rookery".as_ptr() as i64,
                0,
            ],
        )
    }),
    ("a_key_is_added", || {
        let (kind, name) = (c"user".as_ptr() as i64, c"rookery".as_ptr() as i64);
        call(libc::SYS_add_key, [kind, name, name, 1, -2])
    }),
    ("a_key_is_requested", || {
        let (kind, name) = (c"user".as_ptr() as i64, c"rookery".as_ptr() as i64);
        call(libc::SYS_request_key, [kind, name, 0, -2, 0])
    }),
    ("a_user_namespace_is_entered", || {
        call(
            libc::SYS_unshare,
            [i64::from(libc::CLONE_NEWUSER), 0, 0, 0, 0],
        )
    }),
    ("a_process_is_made_in_a_user_namespace", || {
        let flags = i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
        let made = call(libc::SYS_clone, [flags, 0, 0, 0, 0])?;
        if made == 0 {
            std::process::exit(0);
        }
        Ok(made)
    }),
    ("bpf", || call(libc::SYS_bpf, [0, 0, 0, 0, 0])),
    ("perf", || {
        let attributes = [0_u8; 128];
        call(
            libc::SYS_perf_event_open,
            [attributes.as_ptr() as i64, 0, -1, -1, 0],
        )
    }),
    ("io_uring", || {
        let parameters = [0_u8; 120];
        call(
            libc::SYS_io_uring_setup,
            [1, parameters.as_ptr() as i64, 0, 0, 0],
        )
    }),
    ("userfaultfd", || {
        call(libc::SYS_userfaultfd, [0, 0, 0, 0, 0])
    }),
    ("a_process_is_traced", || {
        call(libc::SYS_ptrace, [0, 0, 0, 0, 0])
    }),
    ("a_mount_is_made", || {
        let (source, target) = (c"none".as_ptr() as i64, c"/run".as_ptr() as i64);
        call(
            libc::SYS_mount,
            [source, target, c"tmpfs".as_ptr() as i64, 0, 0],
        )
    }),
    ("the_clock_is_set", || {
        call(
            libc::SYS_clock_settime,
            [0, [0_i64; 2].as_ptr() as i64, 0, 0, 0],
        )
    }),
    ("a_module_is_removed", || {
        call(
            libc::SYS_delete_module,
            [c"none".as_ptr() as i64, 0, 0, 0, 0],
        )
    }),
    ("a_socket_into_the_kernels_ciphers", || {
        socket(libc::AF_ALG, libc::SOCK_SEQPACKET)
    }),
    ("a_socket_to_the_host_of_a_machine", || {
        socket(libc::AF_VSOCK, libc::SOCK_STREAM)
    }),
    ("a_raw_socket", || {
        call(
            libc::SYS_socket,
            [libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP, 0, 0].map(i64::from),
        )
    }),
    ("a_device_is_made_and_opened", || {
        let path = c"/run/disk";
        let device = libc::makedev(7, 0).cast_signed();
        let mode = i64::from(libc::S_IFBLK | 0o600);
        call(libc::SYS_mknod, [path.as_ptr() as i64, mode, device, 0, 0])?;
        fs::File::open("/run/disk").map(|_| 0)
    }),
    ("a_sysctl_is_written", || write("/proc/sys/kernel/hostname")),
    ("sysrq_is_written", || write("/proc/sysrq-trigger")),
    ("a_cgroup_is_written", || {
        write("/sys/fs/cgroup/cgroup.procs")
    }),
    ("a_file_of_sysfs_is_written", || {
        write("/sys/kernel/mm/transparent_hugepage/enabled")
    }),
    ("its_own_files_are_written", || write("/conf/a")),
    ("its_program_is_written", || write("/program")),
];

/// What came of a way: the kernel's refusal, or the words `NOT refused`.
pub(crate) fn attempt(name: &str) -> String {
    let Some((_, way)) = WAYS.iter().find(|(known, _)| *known == name) else {
        return format!("there is no way `{name}`");
    };
    match way() {
        Ok(value) => format!("NOT refused: {value}"),
        Err(error)
            if error
                .raw_os_error()
                .is_some_and(|code| REFUSALS.contains(&code)) =>
        {
            "refused".to_owned()
        }
        Err(error) => format!("NOT refused: {error}"),
    }
}

fn call(number: libc::c_long, [a, b, c, d, e]: [i64; 5]) -> io::Result<i64> {
    // SAFETY: every call here gets numbers, or addresses of buffers that live as long as the call
    // and are as large as the kernel may write.
    match unsafe { libc::syscall(number, a, b, c, d, e) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

fn socket(family: i32, kind: i32) -> io::Result<i64> {
    call(
        libc::SYS_socket,
        [i64::from(family), i64::from(kind), 0, 0, 0],
    )
}

/// Open for writing; nothing is written.
fn write(path: &str) -> io::Result<i64> {
    fs::OpenOptions::new().write(true).open(path).map(|_| 0)
}
