//! The filter of system calls that every container runs behind.

use serde_json::{Value, json};

/// Names of what is allowed whatever its arguments are.
const ALLOWED: &str = include_str!("syscalls.txt");
/// `EPERM`: what a program gets that lacks a right.
const NOT_PERMITTED: u32 = 1;
/// `ENOSYS`: a C library then takes the older call.
const NOT_IMPLEMENTED: u32 = 38;
/// Flags of `clone` that make a namespace: `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`,
/// `NEWUSER`, `NEWPID`, `NEWNET`.
const NAMESPACE_FLAGS: u64 = 0x7e02_0000;
/// Where `clone` has its flags.
const CLONE_FLAGS: u32 = 0;
/// Families of sockets that lead beyond the guest's network: `AF_ALG` into the kernel's ciphers,
/// `AF_VSOCK` to the host of a machine.
const REFUSED_FAMILIES: [u64; 2] = [38, 40];
/// Personalities that change no more than what `uname` says.
const PERSONALITIES: [u64; 5] = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/// The filter as the runtime specification writes it. No other architecture is named, so that the
/// calls of 32 bit programs are refused as a whole.
pub(super) fn seccomp() -> Value {
    let allow = "SCMP_ACT_ALLOW";
    let condition =
        |index: u32, value: u64, op: &str| json!({ "index": index, "value": value, "op": op });
    let mut rules = vec![
        json!({ "names": allowed().collect::<Vec<_>>(), "action": allow }),
        json!({
            "names": ["clone"],
            "action": allow,
            "args": [{ "index": CLONE_FLAGS, "value": NAMESPACE_FLAGS, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ" }],
        }),
        // Its flags lie in memory, where a filter cannot look.
        json!({ "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_IMPLEMENTED }),
    ];
    for personality in PERSONALITIES {
        rules.push(json!({
            "names": ["personality"],
            "action": allow,
            "args": [condition(0, personality, "SCMP_CMP_EQ")],
        }));
    }
    let [first, last] = REFUSED_FAMILIES;
    for (op, family) in [
        ("SCMP_CMP_LT", first),
        ("SCMP_CMP_EQ", first + 1),
        ("SCMP_CMP_GT", last),
    ] {
        rules.push(json!({
            "names": ["socket"],
            "action": allow,
            "args": [condition(0, family, op)],
        }));
    }
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": NOT_PERMITTED,
        "syscalls": rules,
    })
}

fn allowed() -> impl Iterator<Item = &'static str> {
    ALLOWED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nothing_that_leads_beyond_a_container_is_allowed() {
        let names: BTreeSet<&str> = allowed().collect();
        assert_eq!(names.len(), allowed().count(), "each once");
        for refused in [
            "add_key",
            "bpf",
            "clone",
            "clone3",
            "delete_module",
            "finit_module",
            "init_module",
            "io_uring_enter",
            "io_uring_register",
            "io_uring_setup",
            "kexec_load",
            "keyctl",
            "mount",
            "move_mount",
            "open_by_handle_at",
            "open_tree",
            "perf_event_open",
            "pivot_root",
            "process_vm_readv",
            "process_vm_writev",
            "ptrace",
            "quotactl",
            "reboot",
            "request_key",
            "setns",
            "settimeofday",
            "swapon",
            "umount2",
            "unshare",
            "userfaultfd",
        ] {
            assert!(!names.contains(refused), "{refused}");
        }
        assert!(names.contains("execve") && names.contains("futex"));
    }

    #[test]
    fn a_socket_is_refused_by_its_family_and_a_clone_by_its_flags() {
        let filter = seccomp();
        let rules = filter["syscalls"].as_array().expect("rules");
        let of = |name: &str| -> Vec<&Value> {
            rules
                .iter()
                .filter(|rule| rule["names"] == json!([name]))
                .map(|rule| &rule["args"][0])
                .collect()
        };
        assert_eq!(
            of("socket"),
            [
                &json!({ "index": 0, "value": 38, "op": "SCMP_CMP_LT" }),
                &json!({ "index": 0, "value": 39, "op": "SCMP_CMP_EQ" }),
                &json!({ "index": 0, "value": 40, "op": "SCMP_CMP_GT" }),
            ]
        );
        assert_eq!(of("clone")[0]["value"], 0x7e02_0000_u64);
    }
}
