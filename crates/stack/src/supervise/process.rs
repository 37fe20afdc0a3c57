//! Starting, reaping and killing processes.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fmt, fs,
    io::{self, PipeReader},
    os::unix::{ffi::OsStringExt, process::CommandExt},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait},
};

use super::{Service, group::keep_group};

/// Variables with this beginning label the processes of a run: by them a dead run's processes are
/// found.
const LABELS: &str = "ROOKERY_";
/// The supervisor's subcommand.
const SUPERVISE: &str = "supervise";
/// How long killed processes may take to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Code(i32),
    Signal(i32),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// Start a service, with these secrets; gives its process and its output.
///
/// As the first process of a container it gives the service a process group of its own: an ending
/// Apache sends SIGTERM to its whole group, and the services that are to end after it must not hear
/// that. Elsewhere all stay in the supervisor's group, by which they are found and killed.
pub(super) fn spawn(
    service: &Service,
    secrets: &[(String, String)],
) -> io::Result<(Pid, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let mut words = if service.own_program {
        own_program(&fs::read("/proc/self/cmdline")?)
    } else {
        Vec::new()
    };
    words.extend(service.command.iter().map(OsString::from));
    let (program, args) = words
        .split_first()
        .ok_or_else(|| io::Error::other("its command is empty"))?;
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(environment(env::vars()))
        .envs(&service.environment)
        .envs(secrets.iter().map(|(name, value)| (name, value)));
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    if service.keep_group {
        keep_group(&mut command);
    } else if getpid().is_init() {
        command.process_group(0);
    }
    let child = command
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.display())))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // The child is reaped by `reap`, with all others.
    Ok((
        pid.ok_or_else(|| io::Error::other("it has no process number"))?,
        reader,
    ))
}

/// The words of a supervisor's command line by which its program was started: in a foreign root its
/// loader stands before it. What follows is the supervisor's own.
fn own_program(command_line: &[u8]) -> Vec<OsString> {
    command_line
        .split(|byte| *byte == 0)
        .take_while(|word| *word != SUPERVISE.as_bytes())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

/// What services get of the supervisor's own environment: labels, and what every program expects.
/// Above all not the library path by which the supervisor itself was started in a foreign root.
fn environment(own: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let mut environment = BTreeMap::from(
        [("PATH", path), ("LANG", "C"), ("TZ", "UTC")]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    environment.extend(own.filter(|(key, _)| key.starts_with(LABELS) || key == "TZ"));
    environment
}

/// The processes that have ended since the last call: children, and orphans that came to us.
pub(super) fn reap() -> Vec<(Pid, End)> {
    let mut ended = Vec::new();
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        ended.extend(end_of(status).map(|end| (pid, end)));
    }
    ended
}

fn end_of(status: WaitStatus) -> Option<End> {
    let signal = status.terminating_signal().map(End::Signal);
    status.exit_status().map(End::Code).or(signal)
}

/// Kill and reap every process that is still ours, until there is none. Gives how many were alive.
///
/// # Errors
/// When a process outlives SIGKILL.
pub(super) fn kill_all() -> io::Result<usize> {
    let begin = Instant::now();
    let mut killed = 0;
    loop {
        match wait(WaitOptions::NOHANG) {
            // None left.
            Err(Errno::CHILD) => return Ok(killed),
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(None) => {}
        }
        // Killing parents brings their children to us: look again until there is nobody.
        let alive = children()?;
        killed = killed.max(alive.len());
        for pid in alive {
            let _ = kill_process(pid, Signal::KILL);
        }
        if begin.elapsed() > KILL_LIMIT {
            return Err(io::Error::other(format!(
                "processes outlive SIGKILL for {KILL_LIMIT:?}"
            )));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Living processes whose parent we are.
fn children() -> io::Result<Vec<Pid>> {
    let mut children = Vec::new();
    let own = getpid().as_raw_nonzero().get();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
        else {
            continue;
        };
        // A process may vanish while we look.
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        if parent_and_state(&stat).is_some_and(|(parent, state)| parent == own && state != 'Z') {
            children.push(pid);
        }
    }
    Ok(children)
}

/// Parent and state of a process from its `stat`: `pid (name) state parent ...`, where the name may
/// contain anything.
fn parent_and_state(stat: &str) -> Option<(i32, char)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_started_as_the_supervisor_was() {
        let words = |line: &[u8]| own_program(line);
        assert_eq!(
            words(b"/usr/bin/rookery\0supervise\0/conf/services.toml\0"),
            ["/usr/bin/rookery"]
        );
        assert_eq!(
            words(b"/program.d/loader\0--library-path\0/program.d\0/program\0supervise\0x\0"),
            [
                "/program.d/loader",
                "--library-path",
                "/program.d",
                "/program"
            ]
        );
    }

    #[test]
    fn services_get_labels_but_no_library_path() {
        let own = [
            ("LD_LIBRARY_PATH", "/program.d"),
            ("ROOKERY_RUN", "r1"),
            ("HOME", "/root"),
            ("PATH", "/odd"),
            ("TZ", "CET"),
        ];
        let environment = environment(
            own.into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        let keys: Vec<&str> = environment.keys().map(String::as_str).collect();
        assert_eq!(keys, ["LANG", "PATH", "ROOKERY_RUN", "TZ"]);
        assert_ne!(environment["PATH"], "/odd");
        assert_eq!(environment["TZ"], "CET");
    }

    #[test]
    fn the_parent_is_found_whatever_the_name() {
        assert_eq!(parent_and_state("12 (a) b (c)) S 7 1 1"), Some((7, 'S')));
        assert_eq!(parent_and_state("12 (x) Z 1 1"), Some((1, 'Z')));
        assert_eq!(parent_and_state(""), None);
        assert_eq!(parent_and_state("12 (x) S x"), None);
    }
}
