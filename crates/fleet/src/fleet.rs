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
    bus::{Bus, NatsAddress, NatsError, NatsServer, check_nats},
    clock::ClockOffset,
    error::{FleetError, HostError, HostFault},
    hosts::{HostEntry, HostsFile, NatsEntry, OwnServer},
    message::{Build, Hello},
    own_server::{Step, UserKeys, listen, look},
    probe::{DirectoryState, Probe, check, probe},
    remote::RemoteAgent,
    roles::{Identified, SeenHosts, expect_different},
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
    /// The NATS server that was started there for this fleet, where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerStatus>,
}

/// A NATS server that was started for a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    /// Where it listens, as addresses of servers are written.
    pub url: String,
    /// The number of its process.
    pub process: u32,
}

/// What was logged on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLogs {
    /// Name of the host.
    pub host: String,
    /// The end of the agent's log.
    pub agent: Vec<u8>,
    /// The end of the log of the NATS server, where one is to be there.
    pub server: Option<Vec<u8>>,
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
    /// The program is there, but the NATS server that is to run has ended.
    NoServer,
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
    /// against any, copy this program where another or none is, start the NATS server that is to be
    /// started, and each agent once.
    ///
    /// # Errors
    /// What stands against the hosts, at least one error; nothing was changed on any host unless
    /// copying, or the begin of an agent or the server failed.
    pub fn up(&self) -> Result<Vec<HostStatus>, Vec<HostError>> {
        let Some(own) = self.hosts.own_server() else {
            let server = self.server()?;
            let probes = all_or_errors(self.probes())?;
            self.expect_different(&probes, None)?;
            return self.raise_all(&probes, server.as_ref());
        };
        let _lock = lock(own).map_err(|error| vec![error])?;
        let ssh = self.ssh();
        let found = probe_to_use(&ssh, &own.host).and_then(|probe| Ok((probe, look(&ssh, own)?)));
        let hosts = all_or_errors(self.probes());
        let (probes, (probe, step)) = both(hosts, found.map_err(|error| vec![error]))?;
        self.expect_different(&probes, Some((&own.host, probe.identity.as_ref())))?;
        let raised = self.raise_server(&ssh, own, &probe, step);
        let (status, server) = raised.map_err(|error| vec![error])?;
        let mut up = self.raise_all(&probes, Some(&server))?;
        up.push(status);
        Ok(up)
    }

    /// Look at every host; nothing is changed, and no agent begins. The host of an own NATS server
    /// is not looked at: it performs no trials and drives no users.
    ///
    /// # Errors
    /// What stands against the hosts, at least one error.
    pub fn look(&self) -> Result<SeenHosts<'a>, Vec<HostError>> {
        let probes = all_or_errors(self.probes())?;
        self.expect_different(&probes, None)?;
        Ok(SeenHosts(self.hosts.hosts.iter().zip(probes).collect()))
    }

    /// What the shells of all hosts say, as far as they can be used.
    fn probes(&self) -> Vec<Result<Probe, HostError>> {
        self.each(&all(&self.hosts.hosts), probe_to_use)
    }

    /// That all hosts, and another one, are different machines.
    fn expect_different(
        &self,
        probes: &[Probe],
        other: Option<Identified<'_>>,
    ) -> Result<(), Vec<HostError>> {
        let identities = probes.iter().map(|probe| probe.identity.as_ref());
        let hosts = self.hosts.hosts.iter().zip(identities);
        expect_different(&hosts.chain(other).collect::<Vec<_>>())
    }

    /// The NATS server of the file, which can be used; nothing where messages go over ssh.
    fn server(&self) -> Result<Option<NatsServer>, Vec<HostError>> {
        match &self.hosts.nats {
            None => Ok(None),
            Some(NatsEntry::Running(running)) => {
                let (credentials, ca) = (running.credentials.as_deref(), running.ca.as_deref());
                let server = NatsServer::read(&running.addresses, credentials, ca);
                let usable = server.and_then(|server| check_nats(&server).map(|()| server));
                let usable = usable.map_err(|error| {
                    let places = running.addresses.iter().map(NatsAddress::place);
                    let places = places.collect::<Vec<_>>().join(", ");
                    vec![HostError::of_server(format!("NATS server {places}"), error)]
                });
                usable.map(Some)
            }
            Some(NatsEntry::Own(own)) => usable_server(own).map(Some).map_err(|error| vec![error]),
        }
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
        let ssh = self.ssh();
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
        let own = self.hosts.own_server();
        self.each(&self.hosts.machines(), |ssh, host| {
            let found = probe_to_use(ssh, host)?;
            if found.digest.is_none() {
                return Ok(status(host, HostState::Absent, None));
            }
            let agent = RemoteAgent::connect(ssh, host, None)?;
            let own = own.filter(|own| own.host.name == host.name);
            let process = agent.hello().server;
            let state = match agent.hello() {
                hello if hello.build != self.build => HostState::OtherBuild,
                hello if hello.busy => HostState::Busy,
                _ if own.is_some() && process.is_none() => HostState::NoServer,
                _ => HostState::Ready,
            };
            Ok(HostStatus {
                server: own.zip(process).map(|(own, process)| server(own, process)),
                ..status(host, state, Some(&agent))
            })
        })
    }

    /// The end of each agent's log, at most so many bytes, in the order of the file, and that of
    /// the NATS server that is started for this fleet.
    pub fn logs(&self, most: u64) -> Vec<Result<HostLogs, HostError>> {
        let own = self.hosts.own_server();
        self.each(&self.hosts.machines(), |ssh, host| {
            expect_program(host, &probe(ssh, host)?)?;
            let agent = RemoteAgent::connect(ssh, host, None)?;
            let own = own.filter(|own| own.host.name == host.name);
            Ok(HostLogs {
                host: host.name.clone(),
                server: own.map(|_| agent.server_log(most)).transpose()?,
                agent: agent.log(most)?,
            })
        })
    }

    /// Remove from every host what runs left there, the NATS server that was started, the program,
    /// and its directory; and here the keys of that server.
    pub fn down(&self) -> Vec<Result<Removed, HostError>> {
        let own = self.hosts.own_server();
        let _lock = match own.map(lock).transpose() {
            Ok(lock) => lock,
            Err(error) => return vec![Err(error)],
        };
        self.each(&self.hosts.machines(), |ssh, host| {
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
            if let Some(own) = own.filter(|own| own.host.name == host.name) {
                let removed = UserKeys::remove(&own.keys());
                removed.map_err(|error| HostError::new(host, HostFault::OwnServer(error)))?;
            }
            let host = host.name.clone();
            Ok(Removed {
                host,
                was_up,
                things,
            })
        })
    }

    /// Bring up all hosts, which were looked at, with messages over `server` where there is one.
    fn raise_all(
        &self,
        probes: &[Probe],
        server: Option<&NatsServer>,
    ) -> Result<Vec<HostStatus>, Vec<HostError>> {
        let hosts: Vec<_> = self.hosts.hosts.iter().zip(probes).collect();
        all_or_errors(self.each_with(&hosts, |ssh, host, probe| {
            self.raise(ssh, host, probe, server)
        }))
    }

    fn raise(
        &self,
        ssh: &Ssh<'_>,
        host: &HostEntry,
        probe: &Probe,
        server: Option<&NatsServer>,
    ) -> Result<HostStatus, HostError> {
        let copied = self.bring(ssh, host, probe)?;
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

    /// Bring up the host of an own NATS server, and the server.
    fn raise_server(
        &self,
        ssh: &Ssh<'_>,
        own: &OwnServer,
        probe: &Probe,
        step: Step,
    ) -> Result<(HostStatus, NatsServer), HostError> {
        let fault = |error| HostError::new(&own.host, HostFault::OwnServer(error));
        let listen = listen(own)?;
        let copied = self.bring(ssh, &own.host, probe)?;
        let agent = RemoteAgent::connect(ssh, &own.host, None)?;
        agent.expect_build(&self.build)?;
        let (keys, files) = match step {
            Step::Leave(keys) | Step::StartAgain(keys) => (keys, None),
            Step::Begin => {
                let (keys, files) = UserKeys::make(listen).map_err(fault)?;
                // First: no server is to run whose keys no one has.
                keys.write(&own.keys()).map_err(fault)?;
                (keys, Some(files))
            }
        };
        let process = agent.serve(files)?;
        let nats = keys.server(listen);
        check_nats(&nats).map_err(fault)?;
        let status = HostStatus {
            copied,
            server: Some(server(own, process)),
            ..status(&own.host, HostState::Ready, Some(&agent))
        };
        Ok((status, nats))
    }

    /// Copy the program to a host, where another or none is; whether it was copied.
    fn bring(&self, ssh: &Ssh<'_>, host: &HostEntry, probe: &Probe) -> Result<bool, HostError> {
        let other = probe.digest.as_ref() != Some(&self.build.digest);
        if other {
            copy(ssh, host, &self.program, &self.build)?;
        }
        Ok(other)
    }

    fn ssh(&self) -> Ssh<'a> {
        Ssh {
            config: self.hosts.ssh_config.as_deref(),
        }
    }

    /// Do `work` for these hosts, each in a thread of its own.
    fn each<T: Send>(
        &self,
        hosts: &[&HostEntry],
        work: impl Fn(&Ssh<'_>, &HostEntry) -> Result<T, HostError> + Sync,
    ) -> Vec<Result<T, HostError>> {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host, &())).collect();
        self.each_with(&hosts, |ssh, host, ()| work(ssh, host))
    }

    /// Do `work` for these hosts with what is known of each.
    fn each_with<K: Sync, T: Send>(
        &self,
        hosts: &[(&HostEntry, &K)],
        work: impl Fn(&Ssh<'_>, &HostEntry, &K) -> Result<T, HostError> + Sync,
    ) -> Vec<Result<T, HostError>> {
        let (ssh, work) = (&self.ssh(), &work);
        thread::scope(|scope| {
            let threads = hosts.iter().map(|(host, known)| {
                let (host, known) = (*host, *known);
                scope.spawn(move || work(ssh, host, known))
            });
            let threads: Vec<_> = threads.collect();
            let results = threads.into_iter().zip(hosts);
            results
                .map(|(thread, (host, _))| thread.join().unwrap_or_else(|_| Err(panicked(host))))
                .collect()
        })
    }
}

/// Look at a host that is to be used.
fn probe_to_use(ssh: &Ssh<'_>, host: &HostEntry) -> Result<Probe, HostError> {
    let found = probe(ssh, host)?;
    check(host, &found)?;
    Ok(found)
}

/// An own NATS server that runs, with the keys that are here.
fn usable_server(own: &OwnServer) -> Result<NatsServer, HostError> {
    let fault = |error| HostError::new(&own.host, HostFault::OwnServer(error));
    let keys = own.keys();
    let Some(found) = UserKeys::read(&keys).map_err(fault)? else {
        return Err(HostError::new(&own.host, HostFault::NoKeys { keys }));
    };
    let server = found.server(listen(own)?);
    check_nats(&server).map_err(fault)?;
    Ok(server)
}

/// Lock the hosts file while its NATS server is started or removed: two who do so at the same
/// moment would make different keys.
fn lock(own: &OwnServer) -> Result<File, HostError> {
    let file = File::open(&own.hosts_file).and_then(|file| file.lock().map(|()| file));
    file.map_err(|source| {
        let path = own.hosts_file.display().to_string();
        let error = NatsError::File { path, source };
        HostError::new(&own.host, HostFault::OwnServer(error))
    })
}

fn server(own: &OwnServer, process: u32) -> ServerStatus {
    let address = NatsAddress {
        tls: true,
        host: own.host.address.clone(),
        port: own.port,
    };
    ServerStatus {
        url: format!("tls://{}", address.place()),
        process,
    }
}

fn all(hosts: &[HostEntry]) -> Vec<&HostEntry> {
    hosts.iter().collect()
}

/// Both results, or the errors of both.
fn both<A, B>(
    first: Result<A, Vec<HostError>>,
    second: Result<B, Vec<HostError>>,
) -> Result<(A, B), Vec<HostError>> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
        (Err(mut errors), Err(more)) => {
            errors.extend(more);
            Err(errors)
        }
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
        server: None,
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
