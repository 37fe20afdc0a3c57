//! What this host has of runs, before a test and after it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use super::{templates, text};

/// How long the kernel may take to remove what a run let go of, on a busy machine.
const REMOVAL_LIMIT: Duration = Duration::from_secs(5);
/// How deep below a place runs are: those of an agent lie in the directory of its host.
const DEPTH: u32 = 3;

/// The places of the tests that go on now, each with the thread of its test.
static PLACES: Mutex<Vec<(ThreadId, PathBuf)>> = Mutex::new(Vec::new());

/// A place of this thread's test, from now on.
pub(super) fn enter(directory: &Path) {
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    places.push((thread::current().id(), directory.to_owned()));
}

/// The end of a place.
pub(super) fn leave(directory: &Path) {
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    places.retain(|(_, place)| place != directory);
}

/// The host is as it was `before`; what differs is named.
pub(crate) fn assert_host_as(before: &BTreeSet<String>) {
    let began = Instant::now();
    loop {
        let now = host_state();
        if now == *before {
            return;
        }
        let added: Vec<&String> = now.difference(before).collect();
        let removed: Vec<&String> = before.difference(&now).collect();
        assert!(
            began.elapsed() < REMOVAL_LIMIT,
            "the host is not as before: added {added:#?}, removed {removed:#?}"
        );
        thread::sleep(Duration::from_millis(100));
    }
}

/// What must be the same on the host before and after: network namespaces, mounts, swap, cgroups,
/// links, labelled processes. What belongs to tests that go on beside this one is left out.
pub(crate) fn host_state() -> BTreeSet<String> {
    // A run that begins meanwhile is known afterwards, one that ends was known before.
    let mut others = marks_of_others();
    let state = whole_state();
    others.extend(marks_of_others());
    let own = |line: &String| !others.iter().any(|mark| line.contains(mark));
    state.into_iter().filter(own).collect()
}

/// What shows that something belongs to another test that goes on: the directory of its place, the
/// ids of its runs, and what is made in the directory of the templates that all share.
fn marks_of_others() -> BTreeSet<String> {
    let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let own = thread::current().id();
    let others: Vec<&PathBuf> = places
        .iter()
        .filter(|(thread, _)| *thread != own)
        .map(|(_, place)| place)
        .collect();
    let mut marks: BTreeSet<String> = others
        .iter()
        .map(|place| place.display().to_string())
        .collect();
    for place in &others {
        run_ids(place, DEPTH, &mut marks);
    }
    if !others.is_empty() {
        marks.insert(format!(" {}/", templates().display()));
    }
    marks
}

/// The ids of all runs below a directory.
fn run_ids(directory: &Path, depth: u32, ids: &mut BTreeSet<String>) {
    let is_runs = directory.file_name().is_some_and(|name| name == "runs");
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match (is_runs, name.rsplit_once('-')) {
            (true, Some((_, id))) => _ = ids.insert(id.to_owned()),
            _ if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) => {
                run_ids(&entry.path(), depth - 1, ids);
            }
            _ => {}
        }
    }
}

fn whole_state() -> BTreeSet<String> {
    let mut state = BTreeSet::new();
    let mut add = |kind: &str, lines: String| {
        state.extend(lines.lines().map(|line| format!("{kind} {line}")));
    };
    add("netns", names("/run/rookery/netns"));
    add(
        "mount",
        fs::read_to_string("/proc/self/mounts").expect("mounts"),
    );
    // What lies there may change; which areas there are may not.
    let areas = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let areas = areas
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    add("swap", areas.map(|name| format!("{name}\n")).collect());
    add("link", names("/sys/class/net"));
    add("cgroup", control_groups());
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environ.split(|byte| *byte == 0);
        if let Some(label) = variables.find(|variable| variable.starts_with(b"ROOKERY_RUN=")) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let number = entry.file_name().to_string_lossy().into_owned();
            let command = text(&command).replace('\0', " ");
            add("process", format!("{number} {} {command}", text(label)));
        }
    }
    state
}

/// The paths of all entries of a directory, a line each.
fn names(directory: &str) -> String {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let lines = entries.map(|entry| entry.path().display().to_string() + "\n");
    lines.collect()
}

/// The control groups of runs, a line each; those that runs share stay or go with any of them.
fn control_groups() -> String {
    let mut lines = String::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let parents = path.parent().into_iter().flat_map(Path::components);
            let mut parents = parents.map(|part| part.as_os_str());
            if !path.is_dir() || path.is_symlink() {
                continue;
            }
            if parents.any(|part| part == "rookery") {
                lines += &format!("{}\n", path.display());
            }
            if path.components().count() < 9 {
                open.push(path);
            }
        }
    }
    lines
}
