//! Commands on other machines, by the system's ssh.
//!
//! Host keys must be known, nothing is asked for (no password, no confirmation), and every command
//! has a limit of time.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rookery_diagnosis::outside_text;
use rookery_host::bound_command;

use crate::{
    bus::StreamBus,
    error::{HostError, HostFault},
    hosts::HostEntry,
};

/// Seconds that a connection may take to be made.
const CONNECT_S: u32 = 10;
/// ssh looks every second whether the other end lives, and gives up after so many silent ones.
const MOST_SILENT_S: u32 = 3;
/// Most bytes that are kept of what a command says.
const MOST_WORDS: u64 = 64 * 1024;
/// How long the end of an ssh whose streams are closed is waited for, and then its last words.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often an ending is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// How hosts are reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ssh<'a> {
    /// What ssh reads instead of the user's own configuration.
    pub(crate) config: Option<&'a Path>,
}

/// A connection to a program on another machine; the program loses its input when this is dropped.
pub(crate) struct Connection {
    child: Child,
    words: Kept,
}

impl Ssh<'_> {
    /// Run a command of the remote user's shell, with a file as its input, to its end; what it
    /// printed.
    ///
    /// # Errors
    /// When the host cannot be reached, the command fails, or is late.
    pub(crate) fn run(
        &self,
        host: &HostEntry,
        what: &'static str,
        command: &str,
        input: Option<File>,
        limit: Duration,
    ) -> Result<String, HostError> {
        let fault = |fault| HostError::new(host, fault);
        let failed = |error: io::Error| {
            let words = error.to_string();
            fault(HostFault::Command { what, words })
        };
        let mut ssh = self.command(host, command);
        ssh.stdin(input.map_or_else(Stdio::null, Stdio::from));
        let mut child = ssh
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let printed = child
            .stdout
            .take()
            .map(keep_words)
            .transpose()
            .map_err(failed)?;
        let words = child
            .stderr
            .take()
            .map(keep_words)
            .transpose()
            .map_err(failed)?;
        let status = match await_child(&mut child, limit).map_err(failed)? {
            Some(status) => status,
            None => return Err(fault(HostFault::Late { what, limit })),
        };
        let text = |kept: Option<Kept>| kept.map(Kept::text).unwrap_or_default();
        if status.success() {
            return Ok(text(printed));
        }
        Err(fault(classified(what, &text(words), status.code())))
    }

    /// Start a program there whose input and output are the bus.
    ///
    /// # Errors
    /// When ssh cannot be started.
    pub(crate) fn connect(
        &self,
        host: &HostEntry,
        command: &str,
    ) -> Result<(Connection, StreamBus), HostError> {
        let failed = |error: io::Error| {
            let (what, words) = ("starting ssh", error.to_string());
            HostError::new(host, HostFault::Command { what, words })
        };
        let mut ssh = self.command(host, command);
        ssh.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = ssh.spawn().map_err(failed)?;
        let missing = || failed(io::Error::other("ssh has no streams"));
        let reader = child.stdout.take().ok_or_else(missing)?;
        let writer = child.stdin.take().ok_or_else(missing)?;
        let words = keep_words(child.stderr.take().ok_or_else(missing)?).map_err(failed)?;
        let bus = StreamBus::new(reader, writer).map_err(failed)?;
        Ok((Connection { child, words }, bus))
    }

    fn command(&self, host: &HostEntry, command: &str) -> Command {
        let mut ssh = bound_command("ssh");
        if let Some(config) = self.config {
            ssh.arg("-F").arg(config);
        }
        ssh.args(["-T", "-x", "-a"]);
        let options = [
            "BatchMode=yes".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            "ControlPath=none".to_owned(),
            "EscapeChar=none".to_owned(),
            "LogLevel=ERROR".to_owned(),
            "PermitLocalCommand=no".to_owned(),
            format!("ConnectTimeout={CONNECT_S}"),
            "ServerAliveInterval=1".to_owned(),
            format!("ServerAliveCountMax={MOST_SILENT_S}"),
        ];
        for option in options {
            ssh.arg("-o").arg(option);
        }
        ssh.arg("-p").arg(host.port.to_string());
        if let Some(jump) = &host.jump {
            ssh.arg("-J").arg(jump);
        }
        ssh.arg("--").arg(host.destination()).arg(command);
        ssh
    }
}

impl Connection {
    /// Why the connection ended, by the words of ssh or of the program there.
    pub(crate) fn fault(&mut self) -> HostFault {
        let status = await_child(&mut self.child, LAST_WORDS).ok().flatten();
        let words = outside_text(&self.words.text_within(LAST_WORDS));
        match classified("the agent", &words, status.and_then(|status| status.code())) {
            HostFault::Command { words, .. } => HostFault::Agent { words },
            fault => fault,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a stream says, as far as it is kept, read by a thread of its own.
struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Kept {
    /// All of it, once the stream has ended.
    fn text(self) -> String {
        let _ = self.reader.join();
        text_of(&self.bytes)
    }

    /// All of it, or what came within this time.
    fn text_within(&self, limit: Duration) -> String {
        let end = Instant::now() + limit;
        while !self.reader.is_finished() && Instant::now() < end {
            thread::sleep(LOOK);
        }
        text_of(&self.bytes)
    }
}

fn text_of(bytes: &Mutex<Vec<u8>>) -> String {
    let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn keep_words(mut stream: impl Read + Send + 'static) -> io::Result<Kept> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bytes);
    let reader = thread::Builder::new()
        .name("ssh words".to_owned())
        .spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if (kept.len() as u64) < MOST_WORDS {
                    kept.extend_from_slice(&piece[..length]);
                }
            }
        })?;
    Ok(Kept { bytes, reader })
}

/// Wait for a child; one that is late is killed, and gives nothing.
fn await_child(child: &mut Child, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// What the words of ssh mean: it ends with 255 where it is its own fault.
fn classified(what: &'static str, words: &str, code: Option<i32>) -> HostFault {
    let words = outside_text(words);
    let says = |texts: &[&str]| texts.iter().any(|text| words.contains(text));
    if code != Some(255) {
        return HostFault::Command { what, words };
    }
    if says(&[
        "Host key verification failed",
        "host key is known",
        "HOST IDENTIFICATION HAS",
    ]) {
        HostFault::HostKey { words }
    } else if says(&["Permission denied", "Too many authentication failures"]) {
        HostFault::Login { words }
    } else if says(&[
        "Connection refused",
        "timed out",
        "No route to host",
        "Could not resolve hostname",
        "Network is unreachable",
        "kex_exchange_identification",
        "banner exchange",
    ]) {
        HostFault::Unreachable { words }
    } else {
        HostFault::Command { what, words }
    }
}

/// A command as the agent of a host runs it: by root where the host says so. Tools of
/// administrators are looked for as well, which a shell without a terminal leaves out.
pub(crate) fn as_agent(host: &HostEntry, command: &str) -> String {
    // Root needs no sudo, and may not have it.
    let sudo = match host.sudo {
        true => "s=; [ \"$(id -u)\" = 0 ] || s=\"sudo -n\"; exec $s",
        false => "exec",
    };
    let script =
        format!("PATH=\"$PATH:/usr/local/sbin:/usr/sbin:/sbin\"; export PATH; {sudo} {command}");
    format!("exec sh -c {}", quoted(&script))
}

/// A text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_ssh_are_understood() {
        let fault = |words| classified("x", words, Some(255));
        let key = "No ED25519 host key is known for [a]:2201 and you have requested strict \
                   checking.\r\nHost key verification failed.";
        assert!(matches!(fault(key), HostFault::HostKey { .. }));
        let login = "root@a: Permission denied (publickey).";
        assert!(matches!(fault(login), HostFault::Login { .. }));
        let port = "ssh: connect to host a port 2201: Connection refused";
        assert!(matches!(fault(port), HostFault::Unreachable { .. }));
        let own = classified("x", "Permission denied", Some(1));
        assert!(
            matches!(own, HostFault::Command { .. }),
            "the command's own words"
        );
    }

    #[test]
    fn a_quoted_text_is_one_word() {
        assert_eq!(quoted("a b'c"), r"'a b'\''c'");
    }
}
