//! The process of an own server, as the agent of its host sees it.
//!
//! It is found by its command line, which names a file in the agent's own directory: so it is found
//! whatever was interrupted, and no file has to say which process it is.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::{
        fs::{DirBuilderExt as _, OpenOptionsExt as _},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rookery_diagnosis::{Diagnosis, outside_text};
use rookery_host::{Identity, await_end, process_numbers};
use rustix::process::Signal;

use super::{CERTIFICATE, CONFIG, DIRECTORY, KEY, LOG, PROGRAM, ServerFiles, absent_or};

/// How long a server may take until it listens.
const BEGIN: Duration = Duration::from_secs(10);
/// How long it may take to end when it is asked to, and when it is killed.
const END: Duration = Duration::from_secs(5);
/// How often it is looked whether it listens.
const LOOK: Duration = Duration::from_millis(50);
/// Most bytes of its log that are told.
const MOST_WORDS: usize = 2 << 10;

/// The server of an agent's directory.
pub(crate) struct ServerProcess {
    directory: PathBuf,
}

/// Why a server was not started or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another one runs in this directory.
    #[error("a NATS server with other keys runs on this host already")]
    Runs,
    /// It ended at once, or does not listen.
    #[error("the NATS server does not begin: {words}")]
    Begin {
        /// The end of its log.
        words: String,
    },
    /// It does not end.
    #[error("the NATS server, process {process}, does not end")]
    End {
        /// Its number.
        process: u32,
    },
    /// Its files cannot be used, or its process not be looked at.
    #[error("the NATS server cannot be handled: {0}")]
    System(#[from] io::Error),
}

impl Diagnosis for ServeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Runs => "fleet::nats-keys",
            Self::Begin { .. } | Self::End { .. } | Self::System(_) => "fleet::nats-process",
        }
    }

    fn place(&self) -> Option<String> {
        None
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Runs => "another `fleet up` has just started it: `rookery fleet down HOSTS.toml`",
            Self::Begin { .. } => {
                "`address` of the host of `[nats.host]` must be one of its own network interfaces, and \
                 its `port` free"
            }
            Self::End { .. } => "end it on that host, then repeat this",
            Self::System(_) => return None,
        };
        Some(help.to_owned())
    }
}

impl ServerProcess {
    /// That of an agent with this directory.
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.join(DIRECTORY),
        }
    }

    /// Its process, where it runs.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub(crate) fn find(&self) -> io::Result<Option<Identity>> {
        let config = self.directory.join(CONFIG);
        let words = format!("{PROGRAM}\0-c\0{}\0", config.display());
        // A process whose words cannot be read has ended meanwhile, or is another user's.
        let own = |process: &u32| {
            let found = fs::read(format!("/proc/{process}/cmdline"));
            found.is_ok_and(|found| found == words.as_bytes())
        };
        let found = process_numbers()?.into_iter().find(own);
        Ok(found.and_then(Identity::read))
    }

    /// Start it with these files, or those that are there, unless it runs; the number of its
    /// process. It outlives us.
    ///
    /// # Errors
    /// Why it does not run.
    pub(crate) fn start(&self, files: Option<&ServerFiles>) -> Result<u32, ServeError> {
        match (self.find()?, files) {
            (Some(process), None) => return Ok(process.pid),
            (Some(_), Some(_)) => return Err(ServeError::Runs),
            (None, None) => {}
            (None, Some(files)) => self.write(files)?,
        }
        let mut child = self.spawn()?;
        let begun = Instant::now();
        while begun.elapsed() < BEGIN {
            if child.try_wait()?.is_some() {
                return Err(self.did_not_begin());
            }
            // That something answers there does not say that it is this one.
            let ports = format!("{PROGRAM}_{}.ports", child.id());
            if self.directory.join(ports).exists() {
                return Ok(child.id());
            }
            thread::sleep(LOOK);
        }
        child.kill()?;
        child.wait()?;
        Err(self.did_not_begin())
    }

    /// In a group of its own, and with nothing of ours open: neither a signal to us nor the end of
    /// our connection ends it.
    fn spawn(&self) -> io::Result<Child> {
        let mut options = OpenOptions::new();
        let log = options
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.log())?;
        Command::new(PROGRAM)
            .arg("-c")
            .arg(self.directory.join(CONFIG))
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
    }

    fn write(&self, files: &ServerFiles) -> io::Result<()> {
        absent_or(fs::remove_dir_all(&self.directory))?;
        DirBuilder::new().mode(0o700).create(&self.directory)?;
        let write = |name: &str, text: &str| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let mut file: File = options.open(self.directory.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write(KEY, &files.key)?;
        write(CERTIFICATE, &files.certificate)?;
        // Last: where it is there, all are.
        write(CONFIG, &files.config)
    }

    /// End it, and remove its files; the number of its process, where it ran.
    ///
    /// # Errors
    /// When it does not end, or its files cannot be removed.
    pub(crate) fn remove(&self) -> Result<Option<u32>, ServeError> {
        let ended = self.find()?;
        if let Some(process) = ended {
            let signalled = process.signal(Signal::TERM)?;
            if signalled && !await_end(process.pid, END)? {
                process.signal(Signal::KILL)?;
                await_end(process.pid, END)?;
            }
            if process.is_alive() {
                let process = process.pid;
                return Err(ServeError::End { process });
            }
        }
        absent_or(fs::remove_dir_all(&self.directory))?;
        Ok(ended.map(|process| process.pid))
    }

    /// Its log.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join(LOG)
    }

    fn did_not_begin(&self) -> ServeError {
        let log = fs::read(self.log()).unwrap_or_default();
        let end = &log[log.len().saturating_sub(MOST_WORDS)..];
        let text = String::from_utf8_lossy(end);
        let words = text.lines().rev().find(|line| !line.trim().is_empty());
        let words = outside_text(words.unwrap_or("it says nothing"));
        ServeError::Begin { words }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, TcpListener},
        os::unix::fs::PermissionsExt as _,
    };

    use super::*;
    use crate::{bus::check_nats, own_server::UserKeys};

    /// A server that is ended with its test, whatever happens.
    struct Ended(ServerProcess);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.remove();
        }
    }

    #[test]
    fn a_server_is_started_used_killed_started_again_and_removed() {
        let place = tempfile::tempdir().expect("a directory");
        let server = Ended(ServerProcess::new(place.path()));
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let listen = free.local_addr().expect("an address");
        let (keys, files) = UserKeys::make(listen).expect("made");
        let taken = server.0.start(Some(&files)).expect_err("the port is taken");
        assert!(
            taken.to_string().contains("address already in use"),
            "{taken}"
        );
        assert!(server.0.find().expect("readable").is_none());
        drop(free);

        let process = server.0.start(Some(&files)).expect("started");
        check_nats(&keys.server(listen)).expect("it knows its user");
        let (strange, _) = UserKeys::make(listen).expect("made");
        check_nats(&strange.server(listen)).expect_err("another authority");
        let key = fs::metadata(place.path().join("nats/server.key")).expect("there");
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
        let other = server.0.start(Some(&files));
        assert!(matches!(other, Err(ServeError::Runs)));
        assert_eq!(server.0.start(None).expect("it runs"), process);

        let found = server.0.find().expect("readable").expect("it runs");
        assert_eq!(found.pid, process);
        found.signal(Signal::KILL).expect("killed");
        assert!(await_end(process, END).expect("watched"));
        let again = server.0.start(None).expect("started");
        assert_ne!(again, process);
        check_nats(&keys.server(listen)).expect("with the same keys");

        assert_eq!(server.0.remove().expect("removed"), Some(again));
        assert_eq!(fs::read_dir(place.path()).expect("there").count(), 0);
        assert_eq!(server.0.remove().expect("nothing there"), None);
    }
}
