//! iperf3 beside the server of a guest, for streams that it measures itself.

use std::{
    fs::File,
    io::{self, Read as _},
    net::IpAddr,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::installed_command;
use rookery_host::{
    bound_command,
    iperf::{is_listened_on, read_sent},
};
use rookery_workload::netstream::StreamProgram;

use crate::http_server::StopSignal;

/// Name of what it says, in its directory.
const LOG: &str = "server.json";
/// More of that is not read; it has some 400 bytes for each second of a stream.
const MOST_LOG: u64 = 256 << 20;
/// How long it may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks whether it does, and whether it still runs.
const LOOK: Duration = Duration::from_millis(100);

/// The server of iperf3. It is killed with this value, and with the thread that made it.
pub(super) struct Iperf3Server {
    process: Child,
    /// What it says of its clients.
    log: PathBuf,
}

impl Iperf3Server {
    /// Start what was [installed](rookery_guest::install_with_libraries) in `directory`, and wait
    /// until it listens.
    ///
    /// # Errors
    /// When it cannot be started, or ends, or does not listen.
    pub(super) fn start(directory: &Path, address: IpAddr) -> io::Result<Self> {
        let words = installed_command(directory);
        let (program, before) = words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let log = directory.join(LOG);
        let process = bound_command(program)
            .args(before)
            .args(["--server", "--bind", &address.to_string()])
            .args(["--json", "--logfile"])
            .arg(&log)
            .args(["--port", &StreamProgram::IPERF3_PORT.to_string()])
            // What it keeps in a file it has where the guest may write.
            .env("TMPDIR", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let mut server = Self { process, log };
        server.await_listener(address)?;
        Ok(server)
    }

    fn await_listener(&mut self, address: IpAddr) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        while !is_listened_on((address, StreamProgram::IPERF3_PORT).into()) {
            if let Some(status) = self.process.try_wait()? {
                return Err(io::Error::other(format!("it ended with {status}")));
            }
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Wait until `stop` is raised, and end it: how much it sent, bytes.
    ///
    /// # Errors
    /// When it ended before that, or does not say what it sent.
    pub(super) fn run(mut self, stop: &StopSignal) -> io::Result<u64> {
        while !stop.is_raised() {
            if let Some(status) = self.process.try_wait()? {
                return Err(io::Error::other(format!("it ended with {status}")));
            }
            thread::sleep(LOOK);
        }
        let mut said = String::new();
        File::open(&self.log)?
            .take(MOST_LOG)
            .read_to_string(&mut said)?;
        read_sent(&said).ok_or_else(|| io::Error::other("its log is no JSON"))
    }
}

impl Drop for Iperf3Server {
    fn drop(&mut self) {
        // One that has ended is reaped all the same.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
