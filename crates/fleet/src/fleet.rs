//! What is done on all hosts of a file, side by side.

use std::{
    fs::File,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rookery_host::find_program;
use serde::Serialize;

use crate::{
    agent::own_build,
    bus::{Bus, NatsServer, check_nats},
    clock::ClockOffset,
    error::{FleetError, HostError, HostFault},
    hosts::{HostEntry, HostsFile},
    message::{Build, Hello},
    probe::{DirectoryState, Probe, check, probe},
    remote::RemoteAgent,
    roles::{SeenHosts, expect_different},
    ssh::{Ssh, quoted},
};

/// How long the program may take to be copied.
const COPY: Duration = Duration::from_secs(600);
/// How long an agent of a dead controller is waited for: its lease, and the removal of its guests.
const PREDECESSOR: Duration = Duration::from_secs(30);
/// How long a directory may take to be removed.
const REMOVE: Duration = Duration::from_secs(30);

/// The hosts of a file, and this program.
pub struct Fleet<'a> {
    hosts: &'a HostsFile,
    program: PathBuf,
    build: Build,
}

/// A host and its agent.
#[derive(Clone, Debug, Serialize)]
pub struct HostStatus {
    /// Name of the host.
    pub host: String,
    /// Where ssh goes.
    pub address: String,
    /// Port of ssh.
    pub port: u16,
    /// How it stands.
    pub state: HostState,
    /// Whether the program was copied just now.
    pub copied: bool,
    /// What the agent says; nothing where there is none.
    pub agent: Option<Hello>,
    /// How far its clock is ahead of the one here.
    pub clock: Option<ClockOffset>,
}

/// How a host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostState {
    /// The program is there, and its agent begins.
    Ready,
    /// The agent is at work for another controller.
    Busy,
    /// The program there is another build than this one.
    OtherBuild,
    /// There is no program.
    Absent,
}

/// What was removed from a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Name of the host.
    pub host: String,
    /// Whether anything of ours was there.
    pub was_up: bool,
    /// What earlier runs had left there, in words.
    pub things: Vec<String>,
}

impl<'a> Fleet<'a> {
    /// The hosts of a file, for this program.
    ///
    /// # Errors
    /// When there is no ssh, or the program cannot be read.
    pub fn new(hosts: &'a HostsFile) -> Result<Self, FleetError> {
        if find_program("ssh").is_none() {
            return Err(FleetError::NoSsh);
        }
        // Of a program that was replaced since, the file that runs.
        let program = PathBuf::from("/proc/self/exe");
        let build = own_build().map_err(|source| FleetError::OwnProgram {
            path: program.clone(),
            source,
        })?;
        Ok(Self {
            hosts,
            program,
            build,
        })
    }

    /// Look at the NATS server, if the file names one, and at every host; then, if nothing stands
    /// against any, copy this program where another or none is, and start each agent once.
    ///
    /// # Errors
    /// What stands against the hosts, at least one error; nothing was changed on any host unless
    /// copying or the begin of an agent failed.
    pub fn up(&self) -> Result<Vec<HostStatus>, Vec<HostError>> {
        let server = self.server()?;
        let probes = self.probes()?;
        let server = server.as_ref();
        all_or_errors(self.each_with(&probes, |ssh, host, probe| {
            self.raise(ssh, host, probe, server)
        }))
    }

    /// Look at every host; nothing is changed, and no agent begins.
    ///
    /// # Errors
    /// What stands against the hosts, at least one error.
    pub fn look(&self) -> Result<SeenHosts<'a>, Vec<HostError>> {
        let probes = self.probes()?;
        Ok(SeenHosts(self.hosts.hosts.iter().zip(probes).collect()))
    }

    /// What the shells of all hosts say, each of which can be used.
    fn probes(&self) -> Result<Vec<Probe>, Vec<HostError>> {
        let probes = all_or_errors(self.each(|ssh, host| {
            let found = probe(ssh, host)?;
            check(host, &found)?;
            Ok(found)
        }))?;
        let hosts = self.hosts.hosts.iter();
        let identities = probes.iter().map(|probe| probe.identity.as_ref());
        expect_different(&hosts.zip(identities).collect::<Vec<_>>())?;
        Ok(probes)
    }

    /// The NATS server of the file, which can be used; nothing where messages go over ssh.
    fn server(&self) -> Result<Option<NatsServer>, Vec<HostError>> {
        let Some(nats) = &self.hosts.nats else {
            return Ok(None);
        };
        let (credentials, ca) = (nats.credentials.as_deref(), nats.ca.as_deref());
        let server = NatsServer::read(&nats.address, credentials, ca);
        let usable = server.and_then(|server| check_nats(&server).map(|()| server));
        let place = format!("NATS server {}", nats.address.place());
        let usable = usable.map_err(|error| vec![HostError::of_server(place, error)]);
        usable.map(Some)
    }

    /// The agents of these hosts of the file, to perform trials; each must be this very build. An
    /// agent that is still at work for a controller that is gone is waited for until its lease has
    /// ended.
    ///
    /// The thread that calls this has to live as long as the agents: their ssh ends with it.
    ///
    /// # Errors
    /// What stands against the hosts or their NATS server, at least one error.
    pub fn agents(&self, seen: SeenHosts<'a>) -> Result<Vec<RemoteAgent<'a>>, Vec<HostError>> {
        let server = self.server()?;
        let ssh = Ssh {
            config: self.hosts.ssh_config.as_deref(),
        };
        let hosts = seen.0.into_iter();
        let agents = hosts.map(|(host, probe)| self.agent(&ssh, host, &probe, server.as_ref()));
        all_or_errors(agents.collect())
    }

    /// The agents of all hosts, which someone else has started: each at the other end of one of
    /// these connections, over which no more than their begin is said where the file names a NATS
    /// server.
    ///
    /// # Errors
    /// What stands against the hosts or their NATS server, at least one error.
    pub fn adopt(&self, buses: Vec<Box<dyn Bus>>) -> Result<Vec<RemoteAgent<'a>>, Vec<HostError>> {
        let server = self.server()?;
        let hosts = self.hosts.hosts.iter().zip(buses);
        let agents = hosts.map(|(host, bus)| {
            let agent = RemoteAgent::begin(host, bus, None, server.as_ref())?;
            agent.expect_build(&self.build)?;
            Ok(agent)
        });
        all_or_errors(agents.collect())
    }

    fn agent(
        &self,
        ssh: &Ssh<'_>,
        host: &'a HostEntry,
        found: &Probe,
        server: Option<&NatsServer>,
    ) -> Result<RemoteAgent<'a>, HostError> {
        expect_program(host, found)?;
        let begun = Instant::now();
        loop {
            let agent = RemoteAgent::connect(ssh, host, server)?;
            agent.expect_build(&self.build)?;
            if !agent.hello().busy {
                return Ok(agent);
            }
            if begun.elapsed() > PREDECESSOR {
                return Err(HostError::new(host, HostFault::Busy));
            }
            drop(agent);
            thread::sleep(Duration::from_secs(1));
        }
    }

    /// How every host stands; nothing is changed.
    pub fn status(&self) -> Vec<Result<HostStatus, HostError>> {
        self.each(|ssh, host| {
            let found = probe(ssh, host)?;
            check(host, &found)?;
            if found.digest.is_none() {
                return Ok(status(host, HostState::Absent, None));
            }
            let agent = RemoteAgent::connect(ssh, host, None)?;
            let state = match agent.hello() {
                hello if hello.build != self.build => HostState::OtherBuild,
                hello if hello.busy => HostState::Busy,
                _ => HostState::Ready,
            };
            Ok(status(host, state, Some(&agent)))
        })
    }

    /// The end of each agent's log, at most so many bytes, in the order of the file.
    pub fn logs(&self, most: u64) -> Vec<Result<(String, Vec<u8>), HostError>> {
        self.each(|ssh, host| {
            expect_program(host, &probe(ssh, host)?)?;
            let log = RemoteAgent::connect(ssh, host, None)?.log(most)?;
            Ok((host.name.clone(), log))
        })
    }

    /// Remove from every host what runs left there, the program, and its directory.
    pub fn down(&self) -> Vec<Result<Removed, HostError>> {
        self.each(|ssh, host| {
            let found = probe(ssh, host)?;
            let was_up = found.digest.is_some();
            let things = if was_up {
                RemoteAgent::connect(ssh, host, None)?.remove()?
            } else {
                if found.directory == DirectoryState::Own {
                    remove_directory(ssh, host)?;
                }
                Vec::new()
            };
            let host = host.name.clone();
            Ok(Removed {
                host,
                was_up,
                things,
            })
        })
    }

    fn raise(
        &self,
        ssh: &Ssh<'_>,
        host: &HostEntry,
        probe: &Probe,
        server: Option<&NatsServer>,
    ) -> Result<HostStatus, HostError> {
        let copied = probe.digest.as_ref() != Some(&self.build.digest);
        if copied {
            copy(ssh, host, &self.program, &self.build)?;
        }
        let agent = RemoteAgent::connect(ssh, host, server)?;
        agent.expect_build(&self.build)?;
        let state = if agent.hello().busy {
            HostState::Busy
        } else {
            HostState::Ready
        };
        Ok(HostStatus {
            copied,
            ..status(host, state, Some(&agent))
        })
    }

    /// Do `work` for every host, each in a thread of its own.
    fn each<T: Send>(
        &self,
        work: impl Fn(&Ssh<'_>, &HostEntry) -> Result<T, HostError> + Sync,
    ) -> Vec<Result<T, HostError>> {
        let nothing = vec![(); self.hosts.hosts.len()];
        self.each_with(&nothing, |ssh, host, ()| work(ssh, host))
    }

    /// Do `work` for every host with what is known of it.
    fn each_with<K: Sync, T: Send>(
        &self,
        known: &[K],
        work: impl Fn(&Ssh<'_>, &HostEntry, &K) -> Result<T, HostError> + Sync,
    ) -> Vec<Result<T, HostError>> {
        let ssh = Ssh {
            config: self.hosts.ssh_config.as_deref(),
        };
        let (ssh, work) = (&ssh, &work);
        thread::scope(|scope| {
            let hosts = self.hosts.hosts.iter().zip(known);
            let threads: Vec<_> = hosts
                .map(|(host, known)| scope.spawn(move || work(ssh, host, known)))
                .collect();
            let results = threads.into_iter().zip(&self.hosts.hosts);
            results
                .map(|(thread, host)| thread.join().unwrap_or_else(|_| Err(panicked(host))))
                .collect()
        })
    }
}

fn panicked(host: &HostEntry) -> HostError {
    let words = "the thread that worked on it panicked".to_owned();
    let what = "work on the host";
    HostError::new(host, HostFault::Command { what, words })
}

/// All results, or all errors.
fn all_or_errors<T>(results: Vec<Result<T, HostError>>) -> Result<Vec<T>, Vec<HostError>> {
    let (mut done, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => done.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(done)
    } else {
        Err(errors)
    }
}

fn status(host: &HostEntry, state: HostState, agent: Option<&RemoteAgent<'_>>) -> HostStatus {
    HostStatus {
        host: host.name.clone(),
        address: host.destination(),
        port: host.port,
        state,
        copied: false,
        agent: agent.map(|agent| agent.hello().clone()),
        clock: agent.and_then(RemoteAgent::clock),
    }
}

fn expect_program(host: &HostEntry, probe: &Probe) -> Result<(), HostError> {
    if probe.digest.is_some() {
        return Ok(());
    }
    let directory = host.directory.clone();
    Err(HostError::new(host, HostFault::NotUp { directory }))
}

/// Copy this program; it has its name only when it is whole.
fn copy(ssh: &Ssh<'_>, host: &HostEntry, program: &Path, build: &Build) -> Result<(), HostError> {
    let what = "copying the program";
    let file = File::open(program).map_err(|error| {
        let words = error.to_string();
        HostError::new(host, HostFault::Command { what, words })
    })?;
    let script = format!(
        "d={}; umask 022; mkdir -p \"$d\" && [ -O \"$d\" ] && cat > \"$d/rookery.part\" && \
         s=$(sha256sum < \"$d/rookery.part\") && [ \"${{s%% *}}\" = {} ] && \
         chmod 755 \"$d/rookery.part\" && mv -f \"$d/rookery.part\" \"$d/rookery\"",
        quoted(&host.directory),
        build.digest
    );
    let command = format!("exec sh -c {}", quoted(&script));
    ssh.run(host, what, &command, Some(file), COPY)?;
    Ok(())
}

/// Remove the directory of a host where copying the program never ended.
fn remove_directory(ssh: &Ssh<'_>, host: &HostEntry) -> Result<(), HostError> {
    let script = format!(
        "d={}; rm -f \"$d/rookery.part\"; rmdir \"$d\" 2>/dev/null || :",
        quoted(&host.directory)
    );
    let command = format!("exec sh -c {}", quoted(&script));
    ssh.run(host, "removing the directory", &command, None, REMOVE)?;
    Ok(())
}
