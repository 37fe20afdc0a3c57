//! The service inside a guest: it makes the guest what the seed says, runs the guest's program in
//! its own root, and tells the host.
//!
//! It talks over four ports: the program's output goes to the log's port as it is, events go out
//! as lines of JSON, requests come in as lines of one word, and commands of the user as lines of
//! JSON. The words are `counters`, `interfaces`, `mounts`, `fault` and `link PATH` (answered by a
//! line of JSON), `swap` (answered by a number) and `stop`.

use std::{
    ffi::CString,
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    net::IpAddr,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rookery_cast::truncate_u64;
use rookery_diagnosis::Diagnosis;
use rustix::{
    fs::{Gid, Uid},
    mount::{MountFlags, mount, mount_bind_recursive, mount_remount},
    process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit},
    thread::{set_thread_gid, set_thread_groups, set_thread_uid},
};
use serde::Serialize;

use super::{
    commands::{self, Request},
    counters,
    domain::{COMMAND_PORT, CONTROL_PORT, EVENT_PORT, LOG_PORT},
    events::Event,
    looks::{self, LINK},
    relay, role_disks, role_mounts,
    seed::Seed,
    swap,
};
use crate::{
    link::{BACK_END_DEVICE, GUEST_DEVICE},
    spec::{FileReaders, GuestUser},
    storage::VolumeLook,
};

/// Root of the guest's program.
const ROOT: &str = "/guest";
/// The disk of the seed.
const SEED: &str = "/dev/vdc";
/// The first port that no privilege is needed for, unless the kernel is told otherwise.
const FIRST_FREE_PORT: u16 = 1024;
/// Where the kernel is told.
const FREE_PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
/// How long the ports may take to be there.
const PORTS: Duration = Duration::from_secs(30);

/// Why a guest could not be made what its seed says.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The system refused a step.
    #[error("{step}: {source}")]
    Step {
        /// What was attempted.
        step: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// `ip` or `tc` refused the network.
    #[error("`{program}` says: {words}")]
    Network {
        /// Which of them.
        program: &'static str,
        /// What it says.
        words: String,
    },
    /// The seed's address is none.
    #[error("`{address}` is no address")]
    Address {
        /// The address.
        address: String,
    },
    /// There is nothing to run.
    #[error("no program is named")]
    NoProgram,
    /// The seed's user is none.
    #[error("{number} is no number of a user")]
    User {
        /// The number.
        number: u32,
    },
}

impl AgentError {
    fn at(step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Step { step, source }
    }
}

impl Diagnosis for AgentError {
    fn code(&self) -> &'static str {
        "guest::vm-agent"
    }

    fn help(&self) -> Option<String> {
        Some("only the system of a virtual machine starts this".to_owned())
    }
}

/// Be the service of a virtual machine until its program has ended: `rookery vm-agent`, started by
/// the system of the guest alone.
///
/// # Errors
/// When the guest cannot be made what its seed says; the reason is told to the host as well.
pub fn vm_agent() -> Result<(), AgentError> {
    let events = port(EVENT_PORT).map_err(AgentError::at("opening the port of events"))?;
    let events = Arc::new(Mutex::new(events));
    let done = serve(&events);
    if let Err(error) = &done {
        let what = error.to_string();
        // A disk without room may be why.
        let roles = Seed::read(Path::new(SEED)).map(|seed| seed.roles);
        let roles = roles.unwrap_or_default();
        let fault = role_mounts::fault(Path::new(ROOT), &roles, VolumeLook::Passing);
        tell(&events, &Event::Failed { what, fault });
    }
    done
}

fn serve(events: &Arc<Mutex<File>>) -> Result<(), AgentError> {
    let at = AgentError::at;
    let seed = Seed::read(Path::new(SEED)).map_err(at("reading the seed"))?;
    if !seed.has_network {
        network(&seed)?;
    }
    if !seed.disciplines.is_empty() {
        run_batch("tc", &seed.disciplines)?;
    }
    if seed.port < FIRST_FREE_PORT {
        // As in a container: nothing that listens there is root.
        fs::write(FREE_PORTS, seed.port.to_string()).map_err(at("opening its port to its user"))?;
    }
    if seed.swaps {
        swap::swap_on().map_err(at("swapping to its disk"))?;
    }
    mounts().map_err(at("mounting"))?;
    role_mounts::mount_roles(Path::new(ROOT), &seed.roles)
        .map_err(at("mounting the disks of its roles"))?;
    configuration(&seed).map_err(at("writing its files"))?;
    let log = port(LOG_PORT).map_err(at("opening the log"))?;
    let control = port(CONTROL_PORT).map_err(at("opening the port of requests"))?;
    let asked = port(COMMAND_PORT).map_err(at("opening the port of commands"))?;
    sockets(&seed)?;
    let copy = || log.try_clone().map_err(at("opening the log"));
    let mut child = program(&seed, &seed.command)?
        .stdout(copy()?)
        .stderr(copy()?)
        .spawn()
        .map_err(at("starting the program"))?;
    tell(
        events,
        &Event::Started {
            uptime_ms: uptime_ms(),
        },
    );
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let told = seed.clone();
    thread::spawn(move || listen(&control, pid, &told));
    thread::spawn(move || commands::answer(&asked, |request| command(&seed, request)));
    let status = child.wait().map_err(at("waiting for the program"))?;
    // Whoever hears of the end may look at the disk.
    rustix::fs::sync();
    tell(events, &Event::of_end(status));
    Ok(())
}

/// Answer requests for ever. The port says "no more" while nobody is connected on the host's side.
fn listen(control: &File, pid: Option<Pid>, seed: &Seed) {
    let roles = seed.roles.as_slice();
    let mut reader = BufReader::new(control);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
        }
        match (line.trim(), pid) {
            ("stop", Some(pid)) => {
                let _ = kill_process(pid, Signal::TERM);
            }
            ("counters", _) => {
                answer(control, &counters::inside(Path::new("/proc")));
            }
            (swap::REQUEST, _) => {
                let _ = writeln!(&*control, "{}", swap::swap_bytes(Path::new("/proc")));
            }
            (looks::INTERFACES, _) => {
                let end = looks::own_end(Path::new("/sys"), disciplines(seed));
                answer(control, &end);
            }
            (role_disks::MOUNTS, _) => {
                answer(control, &role_mounts::mounted(Path::new(ROOT), roles));
            }
            (role_disks::FAULT, _) => {
                let look = VolumeLook::Thorough;
                answer(control, &role_mounts::fault(Path::new(ROOT), roles, look));
            }
            (line, _) => {
                if let Some(path) = line.strip_prefix(LINK) {
                    let link = fs::read_link(Path::new(ROOT).join("data").join(path.trim()));
                    answer(control, &link.ok());
                }
            }
        }
    }
}

/// Answer a request by a line of JSON.
fn answer(mut control: &File, value: &impl Serialize) {
    if let Ok(text) = serde_json::to_string(value) {
        let _ = writeln!(control, "{text}");
    }
}

fn tell(events: &Mutex<File>, event: &Event) {
    let mut port = events.lock().unwrap_or_else(PoisonError::into_inner);
    if let Ok(text) = serde_json::to_string(event) {
        let _ = port.write_all(format!("{text}\n").as_bytes());
    }
}

/// A port of the host, by its name; the driver names them in `/sys`.
fn port(name: &str) -> io::Result<File> {
    let deadline = std::time::Instant::now() + PORTS;
    loop {
        for entry in fs::read_dir("/sys/class/virtio-ports")
            .into_iter()
            .flatten()
            .flatten()
        {
            let named = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            if named.trim() == name {
                let device = PathBuf::from("/dev").join(entry.file_name());
                return File::options().read(true).write(true).open(device);
            }
        }
        if std::time::Instant::now() > deadline {
            return Err(io::Error::other(format!("the host gave no port {name}")));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The network, by the system's own `ip`.
fn network(seed: &Seed) -> Result<(), AgentError> {
    let interface = |name: &str, address: &str| {
        let mtu = seed.mtu;
        format!("address add {address} dev {name}\nlink set {name} mtu {mtu} up\n")
    };
    let to_users = interface(GUEST_DEVICE, &seed.address);
    let back_end = seed.back_end.as_deref();
    let to_tiers = back_end.map(|address| interface(BACK_END_DEVICE, address));
    let batch = format!("link set lo up\n{to_users}{}", to_tiers.unwrap_or_default());
    run_batch("ip", &batch)
}

/// A program of the system's own `iproute2` with these lines.
fn run_batch(program: &'static str, batch: &str) -> Result<(), AgentError> {
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(AgentError::at("starting a program of iproute2"))?;
    if let Some(mut input) = child.stdin.take() {
        input
            .write_all(batch.as_bytes())
            .map_err(AgentError::at("telling a program of iproute2"))?;
    }
    let output = child
        .wait_with_output()
        .map_err(AgentError::at("waiting for a program of iproute2"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(AgentError::Network {
        program,
        words: words.trim_end().to_owned(),
    })
}

/// The queueing disciplines of the interface to users, where some were asked for.
fn disciplines(seed: &Seed) -> String {
    if seed.disciplines.is_empty() {
        return String::new();
    }
    let mut tc = Command::new("tc");
    let output = tc
        .args(["-json", "qdisc", "show", "dev", GUEST_DEVICE])
        .output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    said.unwrap_or_default()
}

/// Lead the service's sockets to the host.
fn sockets(seed: &Seed) -> Result<(), AgentError> {
    let Some(relay) = &seed.relay else {
        return Ok(());
    };
    let address = seed
        .address
        .split('/')
        .next()
        .and_then(|address| address.parse::<IpAddr>().ok());
    let address = address.ok_or_else(|| AgentError::Address {
        address: seed.address.clone(),
    })?;
    relay::inside::listen(address, relay.clone(), &Path::new(ROOT).join("data")).map_err(
        AgentError::at("listening for the host's connections to sockets"),
    )
}

/// What a container would find mounted.
fn mounts() -> io::Result<()> {
    let inside = |name: &str| Path::new(ROOT).join(name);
    mount(
        "proc",
        inside("proc"),
        "proc",
        MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC,
        None,
    )?;
    for name in ["sys", "dev"] {
        mount_bind_recursive(Path::new("/").join(name), inside(name))?;
    }
    let open = CString::new("mode=1777,size=64m").map_err(io::Error::other)?;
    mount(
        "tmpfs",
        inside("run"),
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        Some(open.as_c_str()),
    )?;
    let closed = CString::new("mode=0755,size=64m").map_err(io::Error::other)?;
    mount(
        "tmpfs",
        inside("conf"),
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        Some(closed.as_c_str()),
    )?;
    fs::set_permissions(inside("tmp"), fs::Permissions::from_mode(0o1777))
}

/// The guest's files; nobody inside may change them.
fn configuration(seed: &Seed) -> io::Result<()> {
    let conf = Path::new(ROOT).join("conf");
    for file in &seed.files {
        let path = conf.join(&file.path);
        for directory in path
            .ancestors()
            .skip(1)
            .take_while(|path| path.starts_with(&conf))
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            if !directory.is_dir() {
                fs::create_dir(directory)?;
                fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
            }
        }
        fs::write(&path, &file.text)?;
        let mode = match file.readers {
            FileReaders::All => 0o644,
            FileReaders::GuestUser => 0o400,
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        if let (FileReaders::GuestUser, Some(owner)) = (file.readers, seed.user) {
            chown(&path, Some(owner.user), Some(owner.group))?;
        }
    }
    mount_remount(
        &conf,
        MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV,
        c"",
    )?;
    Ok(())
}

/// A command of the user, in the root of the guest's program and with its rights.
fn command(seed: &Seed, request: &Request) -> io::Result<Command> {
    let mut command = program(seed, &request.words).map_err(io::Error::other)?;
    command.env("LANG", "C").envs(request.variables.clone());
    Ok(command)
}

/// A program in the guest's root.
fn program(seed: &Seed, words: &[String]) -> Result<Command, AgentError> {
    let (program, words) = words.split_first().ok_or(AgentError::NoProgram)?;
    let mut command = Command::new(program);
    command
        .args(words)
        .env_clear()
        .envs(seed.environment.iter().cloned())
        .stdin(Stdio::null());
    let pids = seed.pids;
    let user = match seed.user {
        Some(GuestUser { user, group }) if user.max(group) < u32::MAX => {
            Some((Uid::from_raw(user), Gid::from_raw(group)))
        }
        Some(GuestUser { user, group }) => {
            let number = user.max(group);
            return Err(AgentError::User { number });
        }
        None => None,
    };
    let enter = move || {
        rustix::process::chroot(ROOT)?;
        rustix::process::chdir("/")?;
        let files = getrlimit(Resource::Nofile).maximum;
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: files,
                maximum: files,
            },
        )?;
        if let Some(pids) = pids {
            let limit = Some(u64::from(pids));
            setrlimit(
                Resource::Nproc,
                Rlimit {
                    current: limit,
                    maximum: limit,
                },
            )?;
        }
        // Only now: whoever is not root can neither enter another root nor become another user.
        if let Some((user, group)) = user {
            set_thread_groups(&[group])?;
            set_thread_gid(group)?;
            set_thread_uid(user)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec these are system calls alone, on constants and copies; no
    // memory is allocated.
    unsafe { command.pre_exec(enter) };
    Ok(command)
}

fn uptime_ms() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok())
        .unwrap_or(0.0);
    truncate_u64(seconds * 1000.0)
}
