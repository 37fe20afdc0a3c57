//! A system that runs already, seen as a guest.

use std::{
    ffi::OsString, fs, io::Read as _, net::SocketAddr, os::unix::process::ExitStatusExt as _,
    path::Path, time::Duration,
};

use rookery_host::{Cgroups, HostError, Identity, Invocation, UsageProbe, run_told};
use rookery_study::UsageSource;

use crate::{
    error::{GuestError, StepError},
    external::RunningSystem,
    family::{family_probe, family_usage_probe},
    guest::{CommandEnd, Guest, GuestCommand, GuestState, ProcessProbe, RUN_STEP},
    health::Health,
    phase::end_reason,
};

/// Most bytes of a file that holds the number of a process.
const LONGEST_NUMBER: u64 = 64;

/// By what a system is seen.
enum Watched {
    /// By its answers alone.
    Nothing,
    /// By its first process.
    Process(Identity),
    /// By its control group, as the host's hierarchies name it.
    Group(String),
}

/// A system that runs already. It is neither started nor ended nor removed.
pub(super) struct ExternalGuest {
    name: String,
    system: RunningSystem,
    cgroups: Cgroups,
    /// From its start on.
    watched: Option<Watched>,
}

impl ExternalGuest {
    pub(super) fn new(name: &str, system: &RunningSystem, cgroups: Cgroups) -> Self {
        Self {
            name: name.to_owned(),
            system: system.clone(),
            cgroups,
            watched: None,
        }
    }

    fn find(&self) -> Result<Watched, HostError> {
        Ok(match &self.system.usage {
            UsageSource::Unknown => Watched::Nothing,
            UsageSource::Process(number) => Watched::Process(living(*number)?),
            UsageSource::PidFile(path) => Watched::Process(living(number_in(Path::new(path))?)?),
            UsageSource::Cgroup(path) => Watched::Group(self.group(Path::new(path))?),
        })
    }

    /// The group of a directory, as the hierarchies of the host name it.
    fn group(&self, path: &Path) -> Result<String, HostError> {
        let group = ["cpuacct", "cpu"].into_iter().find_map(|controller| {
            let root = self.cgroups.directory(controller, "")?;
            let group = path.strip_prefix(root).ok()?;
            Some(group.to_string_lossy().into_owned())
        });
        match group {
            Some(group) if !group.is_empty() && path.is_dir() => Ok(group),
            _ => Err(HostError::refused(
                format!(
                    "{} is no control group that counts CPU time",
                    path.display()
                ),
                "write the directory of the system's control group as `cgroup` in [stack]: of \
                 version 2, or of the hierarchy `cpuacct`",
            )),
        }
    }
}

/// The process that has this number.
fn living(number: u32) -> Result<Identity, HostError> {
    Identity::read(number)
        .filter(|identity| identity.is_alive())
        .ok_or_else(|| {
            HostError::refused(
                format!("there is no process {number} on this host"),
                "start the system, and correct `process` in [stack]",
            )
        })
}

/// The number that a file holds.
fn number_in(path: &Path) -> Result<u32, HostError> {
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(LONGEST_NUMBER).read_to_string(&mut text))
        .map_err(|error| HostError::at(path, error))?;
    text.trim().parse().map_err(|_| {
        HostError::refused(
            format!("{} does not hold the number of a process", path.display()),
            "correct `process` in [stack]",
        )
    })
}

impl Guest for ExternalGuest {
    fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> SocketAddr {
        self.system.address
    }

    fn health(&self) -> &Health {
        &self.system.health
    }

    /// Nothing is started: what it is seen by is looked for.
    fn start(&mut self) -> Result<(), GuestError> {
        let watched = self.find();
        self.watched =
            Some(watched.map_err(|error| GuestError::in_guest(&self.name, "finding it", error))?);
        Ok(())
    }

    fn state(&mut self) -> GuestState {
        match &self.watched {
            None => GuestState::Created,
            Some(Watched::Process(process)) if !process.is_alive() => {
                GuestState::Ended(format!("process {} is gone", process.pid))
            }
            Some(_) => GuestState::Running,
        }
    }

    fn usage_probe(&self) -> UsageProbe {
        match &self.watched {
            None | Some(Watched::Nothing) => Box::new(|| None),
            Some(Watched::Process(process)) => family_usage_probe(*process),
            Some(Watched::Group(group)) => self.cgroups.usage_probe(group),
        }
    }

    fn process_probe(&self) -> ProcessProbe {
        match &self.watched {
            None | Some(Watched::Nothing) => Box::new(Vec::new),
            Some(Watched::Process(process)) => family_probe(process.pid),
            Some(Watched::Group(group)) => {
                let (cgroups, group) = (self.cgroups.clone(), group.clone());
                Box::new(move || cgroups.processes(&group).into_iter().collect())
            }
        }
    }

    /// On this host, as the user who measures.
    fn run(&self, command: &GuestCommand) -> Result<CommandEnd, GuestError> {
        let fail = |error: StepError| GuestError::in_guest(&self.name, RUN_STEP, error);
        let (program, args) = command
            .words
            .split_first()
            .ok_or_else(|| fail(StepError::Refused("it has no words".to_owned())))?;
        let invocation = Invocation::new(program)
            .args(args.iter().map(OsString::from))
            .envs(command.variables.0.iter().cloned())
            .timeout(command.limit);
        let told = run_told(invocation).map_err(|error| fail(error.into()))?;
        Ok(CommandEnd {
            failure: (!told.status.success())
                .then(|| end_reason(told.status.code(), told.status.signal())),
            output: told.output,
        })
    }

    fn data_dir(&self) -> &Path {
        Path::new("")
    }

    fn log_tail(&self, _bytes: usize) -> String {
        "(its log is its own)".to_owned()
    }

    fn stop(&mut self, _grace: Duration) -> Result<(), GuestError> {
        Ok(())
    }

    fn kill(&mut self) -> Result<(), GuestError> {
        Ok(())
    }

    fn remove(&mut self) -> Result<(), GuestError> {
        self.watched = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::guest::CommandVariables;

    fn guest(usage: UsageSource) -> ExternalGuest {
        let system = RunningSystem {
            address: SocketAddr::from(([127, 0, 0, 1], 9)),
            health: Health::Http("/".to_owned()),
            usage,
        };
        ExternalGuest::new("g1", &system, Cgroups::detect().expect("mounts"))
    }

    fn cat() -> Child {
        let mut cat = Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::null());
        cat.spawn().expect("cat")
    }

    #[test]
    fn a_process_is_found_by_its_file_and_left_alive() {
        let mut child = cat();
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), format!("{}\n", child.id())).expect("written");
        let mut guest = guest(UsageSource::PidFile(file.path().display().to_string()));
        assert_eq!(guest.state(), GuestState::Created);
        guest.start().expect("found");
        assert_eq!(guest.state(), GuestState::Running);
        assert!(guest.usage_probe()().expect("seen").memory_bytes > 0);
        assert_eq!(guest.process_probe()(), [child.id()]);
        for end in [guest.stop(Duration::ZERO), guest.kill(), guest.remove()] {
            end.expect("nothing is done");
        }
        assert!(Identity::read(child.id()).expect("it lives").is_alive());
        guest.start().expect("found again");
        drop(child.stdin.take());
        child.wait().expect("reaped");
        assert!(matches!(guest.state(), GuestState::Ended(_)));
    }

    #[test]
    fn what_is_not_there_is_refused_with_help() {
        for usage in [
            UsageSource::Process(4_194_303),
            UsageSource::PidFile("/no/such/file".to_owned()),
            UsageSource::PidFile("/proc/self/stat".to_owned()),
            UsageSource::Cgroup("/tmp".to_owned()),
            UsageSource::Cgroup("/sys/fs/cgroup".to_owned()),
        ] {
            let error = guest(usage.clone()).start().expect_err("refused");
            assert!(
                error.to_string().contains("finding it"),
                "{usage:?}: {error}"
            );
        }
    }

    #[test]
    fn commands_run_on_this_host_and_tell_how_they_end() {
        let mut guest = guest(UsageSource::Unknown);
        guest.start().expect("nothing is looked for");
        assert_eq!(guest.usage_probe()(), None);
        let end = |script: &str| {
            guest.run(&GuestCommand {
                words: ["sh", "-c", script].map(str::to_owned).to_vec(),
                variables: CommandVariables(vec![("A".to_owned(), "b".to_owned())]),
                limit: Duration::from_secs(10),
            })
        };
        let well = end("echo orders = 3").expect("run");
        assert_eq!((well.failure, well.output.as_str()), (None, "orders = 3"));
        let told = end("echo $A").expect("run");
        assert_eq!(told.output, "b");
        let ill = end("echo no; exit 2").expect("run");
        assert_eq!(ill.failure.as_deref(), Some("exit code 2"));
    }
}
