//! mmdebstrap as a child: its command line, its words, its end.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{self, BufRead, BufReader, PipeReader, Read},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_host::{ENCLOSED, bound_command};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{RootError, RootProgress, RootRecipe, RootStep, error::quoted, finish::ARCHIVES};

/// A mirror that is slower than this is none.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// How often the flag is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How often progress is told although nothing has changed.
const TELL: Duration = Duration::from_millis(500);
/// How long it may take to clean up after itself.
const GRACE: Duration = Duration::from_secs(5);
/// Lines that are kept for an error.
const KEPT: usize = 12;
/// Longest line that is kept, bytes.
const MAX_LINE: u64 = 4096;
/// What no guest reads.
const EXCLUDED: [&str; 5] = [
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/info/*",
    "/usr/share/lintian/*",
];

/// Where mmdebstrap is.
pub(super) enum Finder {
    /// On the PATH.
    Path,
    /// Here; for tests.
    #[cfg(test)]
    At(PathBuf),
}

impl Finder {
    /// What comes before mmdebstrap in the command: what it is enclosed by.
    pub(super) fn enclosure(&self) -> &'static [&'static str] {
        match self {
            Self::Path => &ENCLOSED,
            // A namespace needs root.
            #[cfg(test)]
            Self::At(_) => &[],
        }
    }

    /// # Errors
    /// When it is missing.
    pub(super) fn find(&self) -> Result<PathBuf, RootError> {
        match self {
            Self::Path => std::env::var_os("PATH")
                .and_then(|path| {
                    std::env::split_paths(&path)
                        .map(|directory| directory.join("mmdebstrap"))
                        .find(|file| file.is_file())
                })
                .ok_or(RootError::Missing),
            #[cfg(test)]
            Self::At(path) => Ok(path.clone()),
        }
    }
}

/// Arguments for a recipe. `/bin` and its like are links into `/usr` as in an installed system:
/// some releases count on them.
fn arguments(root: &Path, recipe: &RootRecipe) -> Vec<OsString> {
    let links = r#"for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name" && ln -s "usr/$name" "$1/$name" || exit 1; done"#;
    let variant = match recipe.kind.installs() {
        // What every package's script counts on, and no more.
        true => "essential",
        false => "extract",
    };
    let mut arguments: Vec<OsString> = vec![
        "--verbose".into(),
        format!("--variant={variant}").into(),
        "--mode=root".into(),
        "--format=directory".into(),
        format!("--setup-hook={links}").into(),
        format!("--extract-hook=ls -1 \"$1/var/cache/apt/archives\" > \"$1/{ARCHIVES}\"").into(),
        format!("--include={}", recipe.packages.join(",")).into(),
    ];
    if recipe.kind.installs() {
        // A root that is not whole is thrown away: nothing is gained by syncing each file.
        arguments.push("--dpkgopt=force-unsafe-io".into());
    }
    arguments.extend(EXCLUDED.map(|pattern| format!("--dpkgopt=path-exclude={pattern}").into()));
    arguments.extend([recipe.suite.clone().into(), root.into()]);
    arguments.extend(recipe.mirror.clone().map(OsString::from));
    arguments
}

/// Run it to its end.
///
/// # Errors
/// See [`RootError`].
pub(super) fn invoke(
    finder: &Finder,
    root: &Path,
    recipe: &RootRecipe,
    progress: &dyn Fn(&RootProgress),
    stop: &AtomicBool,
) -> Result<(), RootError> {
    let program = finder.find()?;
    let arguments = arguments(root, recipe);
    let line = line(&program, &arguments);
    let failed = |status: String, words: &[String]| {
        RootError::of_words(
            root,
            &recipe.suite,
            recipe.mirror.as_deref(),
            status,
            words,
            line.clone(),
        )
    };
    let mut words: Vec<OsString> = finder.enclosure().iter().map(OsString::from).collect();
    words.push(program.into());
    words.extend(arguments);
    // What it leaves for a moment goes with the root if it is killed.
    let scratch = root.parent().unwrap_or(root);
    let (child, output) = spawn(&words, scratch)
        .map_err(|error| failed(format!("`{error}`, before it began"), &[]))?;
    let mut build = Build {
        child,
        begin: Instant::now(),
        step: RootStep::Lists,
        words: VecDeque::new(),
    };
    let (sender, lines) = channel();
    thread::spawn(move || send_lines(output, &sender));
    let ended = build
        .listen(&lines, progress, stop)
        .and_then(|()| build.wait(stop));
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string(), build.words.make_contiguous())),
        Err(error) => {
            build.end();
            Err(error)
        }
    }
}

/// The command as one would type it.
fn line(program: &Path, arguments: &[OsString]) -> String {
    let quote = |word: &str| {
        let plain = word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-=_./:,+".contains(c));
        if plain {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words =
        std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str));
    words
        .map(|word| quote(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// In a process group of its own: Ctrl-C reaches us alone, and we end all of it. Output and error
/// text share a pipe and keep their order.
fn spawn(words: &[OsString], scratch: &Path) -> io::Result<(Child, PipeReader)> {
    let (output, input) = io::pipe()?;
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::other("the command is empty"))?;
    let mut command = bound_command(program);
    command
        .args(arguments)
        .process_group(0)
        .env("LC_ALL", "C.UTF-8")
        .env("TMPDIR", scratch);
    command
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input);
    // The command, which holds our ends of the pipe, goes with this function.
    Ok((command.spawn()?, output))
}

struct Build {
    child: Child,
    begin: Instant,
    step: RootStep,
    words: VecDeque<String>,
}

impl Build {
    /// Follow its words until it has closed its output.
    fn listen(
        &mut self,
        lines: &Receiver<String>,
        progress: &dyn Fn(&RootProgress),
        stop: &AtomicBool,
    ) -> Result<(), RootError> {
        let mut told = Instant::now();
        self.tell(progress);
        loop {
            self.go_on(stop)?;
            let changed = match lines.recv_timeout(LOOK) {
                Ok(line) => self.hear(line),
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if changed || told.elapsed() > TELL {
                self.tell(progress);
                told = Instant::now();
            }
        }
    }

    fn go_on(&mut self, stop: &AtomicBool) -> Result<(), RootError> {
        if stop.load(Ordering::Relaxed) {
            return Err(RootError::Stopped);
        }
        if self.begin.elapsed() > LIMIT {
            return Err(RootError::Late {
                minutes: LIMIT.as_secs() / 60,
                words: quoted(self.words.make_contiguous()),
            });
        }
        Ok(())
    }

    fn tell(&self, progress: &dyn Fn(&RootProgress)) {
        progress(&RootProgress {
            step: self.step,
            elapsed: self.begin.elapsed(),
        });
    }

    /// Take in a line; whether the step has changed.
    fn hear(&mut self, line: String) -> bool {
        let before = self.step;
        self.step = step_after(before, &line);
        if said_to_people(&line) {
            self.words.push_back(line);
            if self.words.len() > KEPT {
                self.words.pop_front();
            }
        }
        self.step != before
    }

    /// Its end, once its output is closed.
    fn wait(&mut self, stop: &AtomicBool) -> Result<ExitStatus, RootError> {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                _ => self.go_on(stop)?,
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// End all of it: asked first, so that it unmounts what it mounted.
    fn end(&mut self) {
        let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        let _ = kill_process_group(group, Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

fn send_lines(output: PipeReader, sender: &Sender<String>) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let text = String::from_utf8_lossy(&line)
            .trim_end()
            .replace(char::is_control, " ");
        if sender.send(text).is_err() {
            return;
        }
    }
}

/// Whether a line is worth an error's space: apt's and mmdebstrap's own remarks, or anything that
/// no program prefixes.
fn said_to_people(line: &str) -> bool {
    let chatter = [
        "I: ",
        "Get:",
        "Hit:",
        "Fetched ",
        "Reading ",
        "Building ",
        "  ",
        "/usr/bin/dpkg ",
        "The following ",
        "Suggested ",
        "Recommended ",
    ];
    !line.is_empty() && !chatter.iter().any(|start| line.starts_with(start))
}

/// The step after a line of mmdebstrap and apt.
fn step_after(step: RootStep, line: &str) -> RootStep {
    match step {
        RootStep::Lists | RootStep::Packages { .. }
            if line.starts_with("I: extracting archives") =>
        {
            RootStep::Unpacking {
                total: match step {
                    RootStep::Packages { total, .. } => total,
                    _ => 0,
                },
            }
        }
        // "0 upgraded, 132 newly installed, 0 to remove and 0 not upgraded."
        RootStep::Lists => match line
            .split_once(" newly installed")
            .and_then(|(before, _)| before.rsplit(' ').next())
        {
            Some(total) => RootStep::Packages {
                done: 0,
                total: total.parse().unwrap_or(0),
            },
            None => step,
        },
        RootStep::Packages { done, total } if line.starts_with("Get:") => RootStep::Packages {
            done: (done + 1).min(total),
            total,
        },
        RootStep::Unpacking { .. } if line.starts_with("I: installing ") => RootStep::Installing,
        RootStep::Unpacking { .. } | RootStep::Installing if line.starts_with("I: cleaning ") => {
            RootStep::Completion
        }
        _ => step,
    }
}
