//! The OCI configuration of a guest (runtime specification 1.0.2), written by hand: it is short,
//! and every line of it is meant.

use rookery_host::format_cpu_list;
use serde_json::{Value, json};

use super::seccomp::seccomp;
use crate::{
    cpu_quota::{quota_of, shares_of},
    spec::{GuestSpec, GuestUser},
    storage::{Store, role_place},
};

/// What a bundle says of a guest besides its spec.
pub(super) struct BundleContext<'a> {
    /// Program and arguments.
    pub(super) args: Vec<String>,
    /// `KEY=value` lines.
    pub(super) environment: Vec<String>,
    /// Directory of its files on the host.
    pub(super) conf: &'a str,
    /// Path of its network namespace.
    pub(super) network: &'a str,
    /// Path of its control group.
    pub(super) group: &'a str,
    /// What the control groups of this host can be told.
    pub(super) groups: GroupFeatures,
    /// Its limits on I/O, its memory nodes, its raw device.
    pub(super) store: &'a Store,
    /// Limit on open files, as hard as ours.
    pub(super) open_files: u64,
}

/// What differs between control groups of one host and another.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupFeatures {
    /// Whether the kernel accounts for swap, so that it can be forbidden.
    pub(super) swap_limit: bool,
    /// Whether CPU time is given by version 1, which counts shares and no weights.
    pub(super) cpu_v1: bool,
}

/// The text of `config.json`.
pub(super) fn config(spec: &GuestSpec, context: &BundleContext<'_>) -> Value {
    json!({
        "ociVersion": "1.0.2",
        "hostname": spec.name,
        "root": { "path": "rootfs", "readonly": false },
        "process": first_process(spec, context),
        "mounts": mounts(context.conf, context.store),
        "linux": {
            "cgroupsPath": format!("/{}", context.group),
            "namespaces": [
                { "type": "pid" }, { "type": "ipc" }, { "type": "uts" }, { "type": "mount" }, { "type": "cgroup" },
                { "type": "network", "path": context.network },
            ],
            "sysctl": sysctls(spec),
            "devices": devices(context.store),
            "resources": resources(spec, context.store, context.groups),
            "seccomp": seccomp(),
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
        },
    })
}

/// The first process of a guest.
fn first_process(spec: &GuestSpec, context: &BundleContext<'_>) -> Value {
    let mut process = process(spec, &context.args, context.environment.clone());
    let limit =
        json!({ "type": "RLIMIT_NOFILE", "soft": context.open_files, "hard": context.open_files });
    process["rlimits"] = json!([limit]);
    process
}

/// A process of a guest: it has the guest's user and nothing that this user has not.
pub(super) fn process(spec: &GuestSpec, words: &[String], environment: Vec<String>) -> Value {
    let GuestUser { user, group } = spec.user.unwrap_or(GuestUser::same(0));
    json!({
        "terminal": false,
        "user": { "uid": user, "gid": group },
        "cwd": "/",
        "args": words,
        "env": environment,
        "noNewPrivileges": true,
        "capabilities": capabilities(user),
    })
}

/// The first port that needs no privilege.
const FIRST_FREE_PORT: u16 = 1024;

/// Settings of the guest's own network: a service that is not root may listen at a low port where
/// the guest's service has one.
fn sysctls(spec: &GuestSpec) -> Value {
    match spec.user.map(|user| user.user) {
        Some(1..) if spec.port < FIRST_FREE_PORT => {
            json!({ "net.ipv4.ip_unprivileged_port_start": spec.port.to_string() })
        }
        _ => json!({}),
    }
}

/// What a guest need not read of its host.
const MASKED: [&str; 11] = [
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];
/// What no guest may write to, whatever its user.
const READ_ONLY: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// Root's least set: a service may listen below port 1024, and root may write data that another
/// user's template holds. Others need none.
fn capabilities(user: u32) -> Value {
    let set = match user {
        0 => json!(["CAP_NET_BIND_SERVICE", "CAP_DAC_OVERRIDE"]),
        _ => json!([]),
    };
    json!({ "bounding": set, "effective": set, "permitted": set })
}

/// What a guest has mounted: what is its own, and the directories of roles on their volumes.
fn mounts(conf: &str, store: &Store) -> Value {
    let own = own_mounts(conf);
    let roles = store.roles.iter().map(|(role, of_role)| {
        json!({
            "destination": role_place(*role),
            "type": "bind",
            "source": of_role.home.to_string_lossy(),
            "options": ["bind", "rw", "nosuid", "nodev"],
        })
    });
    own.as_array()
        .cloned()
        .into_iter()
        .flatten()
        .chain(roles)
        .collect()
}

/// The files of the guest are bound read-only from outside its root: nothing that the guest does
/// can make us write elsewhere.
fn own_mounts(conf: &str) -> Value {
    json!([
        { "destination": "/conf", "type": "bind", "source": conf, "options": ["bind", "ro", "nosuid", "nodev"] },
        { "destination": "/proc", "type": "proc", "source": "proc" },
        { "destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"] },
        { "destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"] },
        { "destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"] },
        { "destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777", "size=65536k"] },
    ])
}

/// Where a guest finds its raw device.
const RAW_DEVICE: &str = "/dev/rookery-data";

/// The raw device, open to the guest's user.
fn devices(store: &Store) -> Value {
    let device = store
        .raw()
        .map(|(major, minor)| json!({ "path": RAW_DEVICE, "type": "b", "major": major, "minor": minor, "fileMode": 0o666 }));
    device.into_iter().collect()
}

fn resources(spec: &GuestSpec, store: &Store, groups: GroupFeatures) -> Value {
    let mut allowed = vec![json!({ "allow": false, "access": "rwm" })];
    if let Some((major, minor)) = store.raw() {
        allowed.push(
            json!({ "allow": true, "type": "b", "major": major, "minor": minor, "access": "rw" }),
        );
    }
    let mut resources = json!({ "devices": allowed });
    let mut cpu = serde_json::Map::new();
    if !spec.cpus.is_empty() {
        cpu.insert(
            "cpus".to_owned(),
            json!(format_cpu_list(spec.cpus.iter().copied())),
        );
    }
    if !store.nodes.is_empty() {
        cpu.insert(
            "mems".to_owned(),
            json!(format_cpu_list(store.nodes.iter().copied())),
        );
    }
    if let Some((quota, period)) = quota_of(spec.cpu_time) {
        cpu.insert("quota".to_owned(), json!(quota));
        cpu.insert("period".to_owned(), json!(period));
    }
    match spec.cpu_weight {
        // runc would make another weight of shares than the one that is asked for.
        Some(weight) if !groups.cpu_v1 => {
            resources["unified"] = json!({ "cpu.weight": weight.to_string() });
        }
        _ => {
            if let Some(shares) = shares_of(spec) {
                cpu.insert("shares".to_owned(), json!(shares));
            }
        }
    }
    if !cpu.is_empty() {
        resources["cpu"] = Value::Object(cpu);
    }
    if let Some(bytes) = spec.memory_mib.map(|mib| mib.saturating_mul(1 << 20)) {
        // What is called swap there is both together.
        let swap_mib = spec.swap.of_guest(bytes >> 20).map_or(0, |(_, mib)| mib);
        let both = bytes.saturating_add(swap_mib.saturating_mul(1 << 20));
        resources["memory"] = if groups.swap_limit {
            json!({ "limit": bytes, "swap": both })
        } else {
            json!({ "limit": bytes })
        };
    }
    if let Some(pids) = spec.pids {
        resources["pids"] = json!({ "limit": pids });
    }
    if let Some(limits) = io_limits(store) {
        resources["blockIO"] = limits;
    }
    resources
}

/// Limits on I/O; runc writes them to whichever version the host has.
fn io_limits(store: &Store) -> Option<Value> {
    let data = store.device.map(|device| (device, store.limits));
    let roles = store.roles.values();
    let limited = roles
        .filter(|role| !role.limits.is_none())
        .map(|role| (role.device(), role.limits));
    let limited: Vec<_> = data.into_iter().chain(limited).collect();
    if limited.is_empty() {
        return None;
    }
    let keys = [
        "throttleReadIOPSDevice",
        "throttleWriteIOPSDevice",
        "throttleReadBpsDevice",
        "throttleWriteBpsDevice",
    ];
    let limits_of = |(index, key): (usize, &str)| {
        let devices = limited.iter().filter_map(|((major, minor), limits)| {
            let (_, rate) = limits.named()[index];
            Some(json!({ "major": major, "minor": minor, "rate": rate? }))
        });
        let devices: Vec<Value> = devices.collect();
        (!devices.is_empty()).then(|| (key.to_owned(), Value::Array(devices)))
    };
    Some(Value::Object(
        keys.into_iter().enumerate().filter_map(limits_of).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CalledBy, CpuTime};

    const V1: GroupFeatures = GroupFeatures {
        swap_limit: true,
        cpu_v1: true,
    };

    fn spec() -> GuestSpec {
        GuestSpec {
            number: 1,
            name: "g1".into(),
            cpus: vec![0, 1],
            cpu_time: CpuTime::cap(0.25),
            cpu_weight: None,
            packet_cpus: Vec::new(),
            called_by: CalledBy::Users,
            memory_mib: Some(160),
            swap: rookery_study::Swap::None,
            pids: Some(64),
            args: vec![],
            port: 80,
            health: crate::Health::Http("/".into()),
            files: vec![],
            user: None,
            sockets: Vec::new(),
        }
    }

    #[test]
    fn limits_are_written_in_the_kernels_units() {
        insta::assert_snapshot!(resources(&spec(), &Store::default(), V1), @r#"{"cpu":{"cpus":"0-1","period":20000,"quota":5000},"devices":[{"access":"rwm","allow":false}],"memory":{"limit":167772160,"swap":167772160},"pids":{"limit":64}}"#);
        let share = GuestSpec {
            cpu_time: CpuTime::Share { cores: 0.25 },
            ..spec()
        };
        insta::assert_snapshot!(resources(&share, &Store::default(), V1)["cpu"], @r#"{"cpus":"0-1","shares":256}"#);
        let coarse = GuestSpec {
            cpu_time: CpuTime::Cap {
                cores: 0.25,
                period_us: Some(100_000),
            },
            ..spec()
        };
        insta::assert_snapshot!(resources(&coarse, &Store::default(), V1)["cpu"], @r#"{"cpus":"0-1","period":100000,"quota":25000}"#);
        let swapping = GuestSpec {
            swap: rookery_study::Swap::Device {
                kind: rookery_study::SwapKind::Zram,
                size_mib: Some(64),
            },
            ..spec()
        };
        insta::assert_snapshot!(resources(&swapping, &Store::default(), V1)["memory"], @r#"{"limit":167772160,"swap":234881024}"#);
        let free = GuestSpec {
            cpus: vec![],
            cpu_time: CpuTime::Unlimited,
            memory_mib: None,
            pids: None,
            ..spec()
        };
        insta::assert_snapshot!(resources(&free, &Store::default(), V1), @r#"{"devices":[{"access":"rwm","allow":false}]}"#);
    }

    #[test]
    fn weights_are_shares_in_version_1() {
        let heavy = GuestSpec {
            cpu_weight: Some(300),
            ..spec()
        };
        let first = resources(&heavy, &Store::default(), V1);
        assert_eq!(first["cpu"]["shares"], 3072);
        assert_eq!(first["unified"], Value::Null);
        let v2 = GroupFeatures {
            cpu_v1: false,
            ..V1
        };
        let second = resources(&heavy, &Store::default(), v2);
        assert_eq!(second["cpu"]["shares"], Value::Null);
        assert_eq!(second["cpu"]["quota"], 5000);
        assert_eq!(second["unified"], json!({ "cpu.weight": "300" }));
    }

    #[test]
    fn storage_is_limited_and_memory_bound() {
        let store = Store {
            limits: rookery_host::io::IoLimits {
                read_iops: Some(200),
                write_bps: Some(1 << 20),
                ..Default::default()
            },
            device: Some((7, 3)),
            nodes: vec![0, 1],
            ..Store::default()
        };
        let resources = resources(
            &GuestSpec {
                cpus: vec![],
                cpu_time: CpuTime::Unlimited,
                ..spec()
            },
            &store,
            V1,
        );
        assert_eq!(resources["cpu"], json!({ "mems": "0-1" }));
        insta::assert_snapshot!(resources["blockIO"], @r#"{"throttleReadIOPSDevice":[{"major":7,"minor":3,"rate":200}],"throttleWriteBpsDevice":[{"major":7,"minor":3,"rate":1048576}]}"#);
        assert_eq!(devices(&store), json!([]), "no raw device");
        let own = own_mounts("/conf");
        assert_eq!(mounts("/conf", &store), own, "no roles");
    }

    #[test]
    fn a_guest_gains_no_privileges() {
        let context = BundleContext {
            args: vec!["/program".into()],
            environment: vec![],
            conf: "/clones/g1/conf",
            network: "/run/rookery/netns/x",
            group: "rookery/r/g1",
            groups: V1,
            store: &Store::default(),
            open_files: 1024,
        };
        let config = config(&spec(), &context);
        assert_eq!(config["process"]["noNewPrivileges"], true);
        assert_eq!(
            config["process"]["capabilities"]["effective"]
                .as_array()
                .map(Vec::len),
            Some(2)
        );
        assert_eq!(config["linux"]["cgroupsPath"], "/rookery/r/g1");
        let plain = super::config(
            &GuestSpec {
                user: Some(GuestUser {
                    user: 33,
                    group: 44,
                }),
                ..spec()
            },
            &context,
        );
        assert_eq!(plain["process"]["user"], json!({ "uid": 33, "gid": 44 }));
        assert_eq!(plain["process"]["capabilities"]["bounding"], json!([]));
        let low = json!({ "net.ipv4.ip_unprivileged_port_start": "80" });
        assert_eq!(plain["linux"]["sysctl"], low);
        assert_eq!(config["linux"]["sysctl"], json!({}), "root has the right");
    }
}
