//! A libvirtd of the lab's own: inside the lab's network namespace where there is one, with its
//! configuration, sockets and state in one directory of the run.
//!
//! libvirtd has its directories compiled in. So it gets a mount namespace in which the run's own
//! directories lie there instead; the host's libvirt, if there is one, is neither seen nor touched,
//! and everything goes away with the process.

use std::{
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rookery_host::{Host, RunId, detach, enter_netns, parse_mountinfo};
use rustix::{
    mount::{MountPropagationFlags, mount_bind, mount_change},
    process::{getpid, set_child_subreaper},
    thread::UnshareFlags,
};

use super::virsh::Virsh;
use crate::{
    label::Label,
    log::{indented, tail},
    processes::kill_labelled,
    storage::{View, mounted_by_runs},
};

/// Name of the directory, below the registry's, that holds the libvirt of each run.
pub(super) const STATE: &str = "vm";
/// How long it may take to answer. The first one on a host asks the emulator for its abilities,
/// which takes seconds.
const READY: Duration = Duration::from_secs(60);
/// How often it is asked.
const LOOK: Duration = Duration::from_millis(20);
/// Where libvirt looks for what; the names are those below the run's own directory.
const PLACES: [(&str, &str); 5] = [
    ("etc", "/etc/libvirt"),
    ("run", "/run/libvirt"),
    ("lib", "/var/lib/libvirt"),
    ("cache", "/var/cache/libvirt"),
    ("log", "/var/log/libvirt"),
];
/// Listed in [`MADE`]: mount points that were not on this host.
const MADE: &str = "made";
/// User of emulators that Debian's build insists on, although every guest names its own.
const EMULATOR_USER: &str = "libvirt-qemu";
/// A number for it that nobody has.
const EMULATOR_ID: u32 = 64_055;

/// Emulators detach themselves, and libvirt waits until they are gone without a trace: whoever
/// adopts them has to reap them, and this shell does nothing else.
const REAPER: &str = r#"libvirtd "$@" & wait $!"#;
/// The name by which its processes are labelled, in place of a guest's.
const OWN_LABEL: &str = "libvirt";

/// A running libvirtd.
#[derive(Debug)]
pub(super) struct Libvirtd {
    child: Child,
    run: RunId,
    home: PathBuf,
    pub(super) virsh: Virsh,
    /// What it sees mounted.
    pub(super) view: Arc<View>,
}

impl Libvirtd {
    /// Start one in the network namespace `network` (`None` = that of the caller), with its files
    /// in the directory `home`, and wait until it answers. What it learns of the emulator is kept
    /// in `cache`, for all runs.
    ///
    /// # Errors
    /// When it cannot be started or does not answer; it is gone then.
    pub(super) fn start(
        host: &dyn Host,
        label: &Label,
        network: Option<&Path>,
        home: &Path,
        cache: &Path,
    ) -> io::Result<Self> {
        host.step("libvirtd files")?;
        prepare(home, cache)?;
        host.step("libvirtd")?;
        let (child, view) = spawn(label, network, home, cache)?;
        let labels = label.environment(OWN_LABEL);
        let mut libvirtd = Self {
            child,
            run: label.run.clone(),
            virsh: Virsh::private(&home.join("sock"), labels),
            home: home.to_owned(),
            view: Arc::new(view),
        };
        let begin = Instant::now();
        loop {
            if home.join("sock/libvirt-sock").exists() {
                match libvirtd.virsh.run(host, &["uri"]) {
                    Ok(_) => return Ok(libvirtd),
                    Err(error) => {
                        return Err(io::Error::other(format!(
                            "libvirtd does not answer: {error}{}",
                            libvirtd.words()
                        )));
                    }
                }
            }
            let ended = libvirtd.child.try_wait()?;
            if ended.is_some() || begin.elapsed() > READY {
                let how = ended.map_or_else(
                    || format!("does not listen within {READY:?}"),
                    |status| format!("ended with {status}"),
                );
                return Err(io::Error::other(format!(
                    "libvirtd {how}{}",
                    libvirtd.words()
                )));
            }
            thread::sleep(LOOK);
        }
    }

    fn words(&self) -> String {
        let words = tail(&self.home.join("libvirtd.log"), 2048);
        if words.trim().is_empty() {
            return String::new();
        }
        format!("; its log ends with:\n{}", indented(&words))
    }

    /// End it. Guests live on; they are the caller's to end before.
    pub(super) fn stop(&mut self) {
        // The shell and the daemon, and whatever client still talks to it.
        let _ = kill_labelled(&self.run, Some(OWN_LABEL));
        let _ = self.child.wait();
    }
}

impl Drop for Libvirtd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Write its configuration, and make the mount points that this host has not.
fn prepare(home: &Path, cache: &Path) -> io::Result<()> {
    for directory in ["etc/qemu", "run", "lib", "log", "sock"] {
        fs::create_dir_all(home.join(directory))?;
    }
    fs::create_dir_all(cache)?;
    let daemon = format!(
        "unix_sock_dir = \"{}\"\nauth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nlog_level = \
         3\nlog_outputs = \"3:stderr\"\n",
        quoted(&home.join("sock"))?
    );
    fs::write(home.join("etc/libvirtd.conf"), daemon)?;
    // The guest's CPUs are held by the run's own control group, which is found by its label;
    // libvirt keeps its hands off.
    let emulator = "user = \"root\"\ngroup = \"root\"\ndynamic_ownership = 0\nremember_owner = \
                    0\nsecurity_driver = \"none\"\n\
                    namespaces = []\ncgroup_controllers = []\nstdio_handler = \"file\"\n";
    fs::write(home.join("etc/qemu.conf"), emulator)?;
    for (file, line) in [
        (
            "passwd",
            format!("{EMULATOR_USER}:x:{EMULATOR_ID}:{EMULATOR_ID}::/:/usr/sbin/nologin\n"),
        ),
        ("group", format!("{EMULATOR_USER}:x:{EMULATOR_ID}:\n")),
    ] {
        fs::write(
            home.join(file),
            with_account(&fs::read_to_string(Path::new("/etc").join(file))?, &line),
        )?;
    }
    let made = home.parent().unwrap_or(home).join(MADE);
    for (_, place) in PLACES {
        if !Path::new(place).is_dir() {
            // Noted before it is made.
            let noted = fs::read_to_string(&made).unwrap_or_default();
            fs::write(&made, format!("{noted}{place}\n"))?;
            fs::create_dir_all(place)?;
        }
    }
    Ok(())
}

/// The accounts with one more, unless it is among them.
fn with_account(accounts: &str, line: &str) -> String {
    let name = line.split_inclusive(':').next().unwrap_or_default();
    if accounts.lines().any(|account| account.starts_with(name)) {
        return accounts.to_owned();
    }
    format!("{}\n{line}", accounts.trim_end_matches('\n'))
}

/// A path as it may stand between double quotes.
fn quoted(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\\', '\n']) => Ok(text.to_owned()),
        _ => Err(io::Error::other(format!(
            "{} cannot stand in libvirt's configuration: choose a directory without quotes and \
             backslashes",
            path.display()
        ))),
    }
}

/// A child that begins inside the namespaces, and what it sees mounted: a thread of its own enters
/// them and makes it.
fn spawn(
    label: &Label,
    network: Option<&Path>,
    home: &Path,
    cache: &Path,
) -> io::Result<(Child, View)> {
    let log = fs::File::create(home.join("libvirtd.log"))?;
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            REAPER,
            "sh",
            "--config",
            "/etc/libvirt/libvirtd.conf",
            "--pid-file",
        ])
        .arg(home.join("libvirtd.pid"));
    command
        .env_clear()
        .envs(label.environment(OWN_LABEL))
        .env("LC_ALL", "C")
        .process_group(0);
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    let adopt = || Ok(set_child_subreaper(Some(getpid()))?);
    // SAFETY: between fork and exec this makes two system calls and touches no memory of ours.
    unsafe { command.pre_exec(adopt) };
    let enter = || -> io::Result<(Child, View)> {
        network.map_or(Ok(()), enter_netns)?;
        // SAFETY: only the mount namespace of this short-lived thread is unshared; no file
        // descriptor table or memory changes.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )?;
        detach_mounts_of_others(&label.run)?;
        for (name, place) in PLACES {
            let own = if name == "cache" {
                cache.to_owned()
            } else {
                home.join(name)
            };
            mount_bind(&own, place).map_err(|error| {
                io::Error::other(format!("mounting {} on {place}: {error}", own.display()))
            })?;
        }
        for file in ["passwd", "group"] {
            mount_bind(home.join(file), Path::new("/etc").join(file))?;
        }
        let view = View::here()?;
        Ok((command.spawn()?, view))
    };
    thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(io::Error::other("the starting thread panicked")))
}

/// Take what other labels have mounted out of the mount namespace of this thread, which has a copy
/// of each mount: their volumes would be in use, and could not be removed, for as long as it lives.
/// The clone of a container is one of them: it keeps the volume that its upper layer lies on.
fn detach_mounts_of_others(own: &RunId) -> io::Result<()> {
    let text = fs::read("/proc/thread-self/mountinfo")?;
    let mounts = parse_mountinfo(&String::from_utf8_lossy(&text));
    let points = mounted_by_runs(&mounts).into_iter().rev();
    for (run, point) in points {
        if run != *own {
            detach(&point)?;
        }
    }
    Ok(())
}

/// Remove the mount points that were made for any run and are empty, once no run is left.
pub(super) fn tidy(states: &Path) {
    let made = states.join(MADE);
    let noted = fs::read_to_string(&made).unwrap_or_default();
    for place in noted.lines().rev() {
        if PLACES.iter().any(|(_, known)| *known == place) {
            // Fails, as it should, where somebody has put something.
            let _ = fs::remove_dir(place);
        }
    }
    let _ = fs::remove_file(made);
    let _ = fs::remove_dir(states);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_there_once() {
        let line = "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n";
        let with = with_account("root:x:0:0::/root:/bin/sh", line);
        assert_eq!(with, format!("root:x:0:0::/root:/bin/sh\n{line}"));
        assert_eq!(with_account(&with, line), with);
    }

    #[test]
    fn a_path_cannot_end_its_quotes() {
        assert!(quoted(Path::new("/a b/c")).is_ok());
        assert!(quoted(Path::new("/a\"\nuser = \"x")).is_err());
    }
}
