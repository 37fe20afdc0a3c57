//! Commands of the user in a machine: a line of JSON asks its service for one, a line of JSON tells
//! how it ended. What a command is told (secrets, perhaps) goes this way and lies on no disk.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, PipeReader, Read, Write},
    os::unix::{
        net::UnixStream,
        process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use rookery_cast::truncate_u64;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::guest::GuestCommand;

/// Most bytes that are kept of what a command says.
const MOST_OUTPUT: u64 = 64 << 10;
/// Most bytes of a line: each byte of a command's output may take six in JSON.
const MOST_LINE: u64 = 1 << 20;
/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long what a command said may still be on its way when it has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long an answer may take beside the command itself: a machine that is translated is slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause where nobody is connected on the host's side.
const NOBODY: Duration = Duration::from_millis(100);

/// What the host asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) words: Vec<String>,
    /// Beside those of the guest.
    pub(super) variables: Vec<(String, String)>,
    limit_ms: u64,
}

/// What the service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub(super) enum Reply {
    /// It ended, with the beginning of what it said.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        output: String,
    },
    /// It did not end in time, and is no more.
    Late { output: String },
    /// It could not be run.
    Failed { why: String },
}

impl Request {
    pub(super) fn new(command: &GuestCommand) -> Self {
        Self {
            words: command.words.clone(),
            variables: command.variables.0.clone(),
            limit_ms: truncate_u64(command.limit.as_secs_f64() * 1000.0),
        }
    }
}

/// Asks the service that listens at `socket`, and waits for its answer.
///
/// # Errors
/// When it does not answer, or with something else.
pub(super) fn ask(socket: &Path, request: &Request) -> io::Result<Reply> {
    let stream = UnixStream::connect(socket)?;
    let patience = Duration::from_millis(request.limit_ms) + PATIENCE;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let line = serde_json::to_string(request)?;
    (&stream).write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new((&stream).take(MOST_LINE)).read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        return Err(io::Error::other(
            "the service of the machine did not answer",
        ));
    }
    serde_json::from_str(answer.trim()).map_err(io::Error::other)
}

/// Answers requests for ever, in the machine: `make` makes the command of a request ready.
pub(super) fn answer(port: &File, make: impl Fn(&Request) -> io::Result<Command>) {
    let mut reader = BufReader::new(port);
    loop {
        let mut line = String::new();
        match reader.by_ref().take(MOST_LINE).read_line(&mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => {
                thread::sleep(NOBODY);
                continue;
            }
        }
        let reply = match serde_json::from_str(line.trim()) {
            Ok(request) => run(&request, &make).unwrap_or_else(|error| Reply::Failed {
                why: error.to_string(),
            }),
            Err(error) => Reply::Failed {
                why: format!("the request is none: {error}"),
            },
        };
        if let Ok(text) = serde_json::to_string(&reply) {
            // Without anybody who listens there is nobody to tell.
            let _ = (&*port).write_all(format!("{text}\n").as_bytes());
        }
    }
}

/// Runs a command to its end, or to the end of its time: then its whole group is killed.
fn run(request: &Request, make: &impl Fn(&Request) -> io::Result<Command>) -> io::Result<Reply> {
    let (output, input) = io::pipe()?;
    let mut command = make(request)?;
    command
        .process_group(0)
        .stdout(input.try_clone()?)
        .stderr(input);
    let mut child = command.spawn()?;
    // The command keeps our ends of the pipe open otherwise.
    drop(command);
    let said = listen(output);
    let limit = Duration::from_millis(request.limit_ms);
    let Some(status) = await_end(&mut child, limit)? else {
        kill(&mut child);
        let output = last_words(&said);
        return Ok(Reply::Late { output });
    };
    Ok(Reply::Ended {
        code: status.code(),
        signal: status.signal(),
        output: last_words(&said),
    })
}

fn await_end(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// Hears what a command says, piece by piece; what is too much is heard and forgotten.
fn listen(mut output: PipeReader) -> Receiver<Vec<u8>> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut left = MOST_OUTPUT;
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = output.read(&mut piece) {
            let kept = length.min(rookery_cast::index(left));
            left -= kept as u64;
            if kept > 0 && tell.send(piece[..kept].to_vec()).is_err() {
                return;
            }
        }
    });
    told
}

/// What was heard. A process that the command left behind may keep the pipe open: it is not waited
/// for.
fn last_words(said: &Receiver<Vec<u8>>) -> String {
    let mut all = Vec::new();
    while let Ok(piece) = said.recv_timeout(LAST_WORDS) {
        all.extend(piece);
    }
    String::from_utf8_lossy(&all).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::{
        os::{fd::OwnedFd, unix::net::UnixListener},
        process::Stdio,
    };

    use super::*;
    use crate::guest::CommandVariables;

    /// What a service says of these words, over a socket as the emulator would make it.
    fn replied(words: &[&str], limit: Duration) -> Reply {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("commands");
        let listener = UnixListener::bind(&path).expect("bound");
        thread::spawn(move || {
            let (stream, _) = listener.accept().expect("somebody comes");
            answer(&File::from(OwnedFd::from(stream)), |request| {
                let (program, words) = request.words.split_first().expect("words");
                let mut command = Command::new(program);
                command
                    .args(words)
                    .envs(request.variables.iter().cloned())
                    .stdin(Stdio::null());
                Ok(command)
            });
        });
        let request = Request::new(&GuestCommand {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            variables: CommandVariables(vec![("A".to_owned(), "b\n\"c".to_owned())]),
            limit,
        });
        ask(&path, &request).expect("answered")
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_command_says_and_how_it_ends_is_told() {
        let reply = replied(&["sh", "-c", "echo \"$A\"; echo two >&2; exit 3"], LONG);
        let output = "b\n\"c\ntwo".to_owned();
        let (code, signal) = (Some(3), None);
        assert_eq!(
            reply,
            Reply::Ended {
                code,
                signal,
                output
            }
        );
        let Reply::Failed { why } = replied(&["/nonexistent"], LONG) else {
            panic!("there is no such program");
        };
        assert!(why.contains("No such file"), "{why}");
    }

    #[test]
    fn a_late_command_ends_with_its_children_and_a_loud_one_is_cut() {
        let words = ["sh", "-c", "echo early; sleep 600 & sleep 600"];
        let reply = replied(&words, Duration::from_millis(200));
        let output = "early".to_owned();
        assert_eq!(reply, Reply::Late { output });
        let Reply::Ended { output, .. } = replied(&["head", "-c", "1000000", "/dev/zero"], LONG)
        else {
            panic!("it ends");
        };
        assert_eq!(output.len() as u64, MOST_OUTPUT);
    }
}
