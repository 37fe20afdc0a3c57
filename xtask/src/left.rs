//! What a run of the checks leaves on the host: nothing, or it is told.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

/// Variable by which a process is known to come from a run of the checks, whoever its parent is by
/// now.
const MARK: &str = "ROOKERY_CI";
/// How long what is about to go may take: a kernel takes mounts and control groups away behind a
/// process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variable that every check is started with.
pub(crate) fn mark() -> (&'static str, String) {
    (MARK, process::id().to_string())
}

/// What there was before the checks.
pub(crate) struct Before(BTreeSet<String>);

impl Before {
    pub(crate) fn look() -> Self {
        Self(things())
    }

    /// # Errors
    /// What is there now, and was not: processes, mounts, network namespaces, loop devices, what is
    /// swapped to, control groups, temporary directories.
    pub(crate) fn compare(&self) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let left: Vec<String> = things()
                .difference(&self.0)
                .cloned()
                .chain(processes())
                .collect();
            if left.is_empty() {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("the checks left behind:\n  {}", left.join("\n  ")));
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Processes that carry this run's mark, but for this one.
fn processes() -> Vec<String> {
    let (name, value) = mark();
    let marked = format!("{name}={value}");
    let of = |entry: fs::DirEntry| {
        let directory = entry.path();
        let environment = fs::read(directory.join("environ")).ok()?;
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == marked.as_bytes())
            .then(|| {
                let words = fs::read(directory.join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                format!(
                    "process {}: {}",
                    entry.file_name().to_string_lossy(),
                    words.trim_end()
                )
            })
    };
    entries(Path::new("/proc")).filter_map(of).collect()
}

fn things() -> BTreeSet<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let mut things: BTreeSet<String> = mounts.map(|point| format!("mount {point}")).collect();
    let named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    for names in ["/run/rookery/netns", "/run/netns"] {
        things.extend(
            entries(Path::new(names)).map(|entry| format!("network namespace {}", named(&entry))),
        );
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swaps = swaps
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    things.extend(swaps.map(|area| format!("swap area {area}")));
    for block in entries(Path::new("/sys/block")) {
        if named(&block).starts_with("zram") {
            things.insert(format!("device {}", named(&block)));
        }
        if let Ok(file) = fs::read_to_string(block.path().join("loop/backing_file")) {
            things.insert(format!(
                "loop device {} on {}",
                named(&block),
                file.trim_end()
            ));
        }
    }
    // Version 2 of control groups is one tree, version 1 one for each controller.
    let trees = entries(Path::new("/sys/fs/cgroup")).filter(|entry| entry.path().is_dir());
    let roots = trees
        .map(|entry| entry.path())
        .chain(["/sys/fs/cgroup".into()]);
    for group in roots.flat_map(|root| entries(&root).collect::<Vec<_>>()) {
        if named(&group).starts_with("rookery") {
            things.insert(format!("control group {}", group.path().display()));
        }
    }
    for entry in entries(&std::env::temp_dir()) {
        let name = named(&entry);
        if [".tmp", "rk-", "rookery"]
            .iter()
            .any(|ours| name.starts_with(ours))
        {
            things.insert(format!("temporary {}", entry.path().display()));
        }
    }
    things
}

/// What is in a directory; nothing where there is none.
fn entries(directory: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_seen_and_what_was_there_is_not() {
        let before = Before::look();
        assert!(before.0.contains("mount /proc"), "{:?}", before.0);
        let made = tempfile::Builder::new()
            .prefix("rookery-left-")
            .tempdir()
            .expect("made");
        let now = things();
        assert!(
            now.contains(&format!("temporary {}", made.path().display())),
            "{now:?}"
        );
        assert!(
            !before
                .0
                .contains(&format!("temporary {}", made.path().display()))
        );
    }

    #[test]
    fn a_process_is_known_by_its_mark() {
        let (name, value) = mark();
        let mut child = process::Command::new("sleep")
            .arg("60")
            .env(name, value)
            .spawn()
            .expect("started");
        let started = Instant::now();
        let mut seen = processes();
        // In the midst of its exec it has no environment yet.
        while seen.is_empty() && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
            seen = processes();
        }
        child.kill().expect("ended");
        child.wait().expect("gone");
        assert_eq!(seen, [format!("process {}: sleep 60", child.id())]);
    }
}
