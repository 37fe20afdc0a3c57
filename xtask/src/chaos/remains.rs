//! What of the runs of a series is on the host, seen without the code that is under test.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long the kernel may take to remove what a run let go of.
const PATIENCE: Duration = Duration::from_secs(10);

/// Wait until nothing is left of the runs in `place`.
///
/// # Errors
/// What is left.
pub(super) fn nothing_left(place: &Path) -> Result<(), String> {
    nothing_left_of(place, &[])
}

/// The same, also of runs whose directories are not there any more.
///
/// # Errors
/// What is left.
pub(super) fn nothing_left_of(place: &Path, more: &[String]) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let left = remains(place, more);
        if left.is_empty() {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("left on the host:\n    {}", left.join("\n    ")));
        }
        sleep(Duration::from_millis(50));
    }
}

/// Ids of the runs that have a directory among `runs`, and of the labs in which they build.
pub(super) fn ids_of_runs(runs: &Path) -> Vec<String> {
    entries(runs)
        .iter()
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            Some(name.rsplit('-').next()?.to_owned())
        })
        .flat_map(|id| [format!("{id}b"), id])
        .collect()
}

fn remains(place: &Path, more: &[String]) -> Vec<String> {
    let mut runs = ids_of_runs(&place.join("runs"));
    runs.extend_from_slice(more);
    let here = place.display().to_string();
    let ours = |text: &str| {
        text.contains(&here)
            || runs
                .iter()
                .any(|run| text.contains(&format!("rookery-{run}")))
    };
    let mut found = Vec::new();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    found.extend(
        mounts
            .lines()
            .filter(|line| ours(line))
            .map(|line| format!("mount {line}")),
    );
    for path in entries(Path::new("/run/rookery/netns")) {
        if ours(&path.display().to_string()) {
            found.push(format!("network namespace {}", path.display()));
        }
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swaps = swaps.lines().filter(|line| ours(line));
    found.extend(swaps.map(|line| format!("swap area {line}")));
    for block in entries(Path::new("/sys/block")) {
        let name = block.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("zram") && runs.iter().any(|run| is_swap_of(&name, run)) {
            found.push(format!("swap device {name}"));
        }
        let file = fs::read_to_string(block.join("loop/backing_file")).unwrap_or_default();
        if ours(&file) {
            found.push(format!(
                "loop device {} on {}",
                block.display(),
                file.trim_end()
            ));
        }
    }
    for run in &runs {
        found.extend(
            paths_of_run(run)
                .into_iter()
                .filter(|path| path.exists())
                .map(|path| format!("{}", path.display())),
        );
    }
    for run in entries(&place.join("runs")) {
        for part in ["guests/clones", "guests/volumes", "guests/swap"] {
            found.extend(
                entries(&run.join(part))
                    .into_iter()
                    .map(|path| format!("{}", path.display())),
            );
        }
    }
    found.extend(processes(&runs));
    found
}

/// Whether the device of this name is a swap area with the label of a run.
fn is_swap_of(name: &str, run: &str) -> bool {
    let mut head = vec![0; 4096];
    let read = fs::File::open(Path::new("/dev").join(name))
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
    let label = format!("rk-{run}\0");
    read.is_ok()
        && head
            .windows(label.len())
            .any(|part| part == label.as_bytes())
}

/// State, registration and control groups of a run.
fn paths_of_run(run: &str) -> Vec<PathBuf> {
    let mut paths = vec![
        PathBuf::from(format!("/run/rookery/runc/{run}")),
        PathBuf::from(format!("/run/rookery/runs/{run}.json")),
        PathBuf::from(format!("/run/rookery/swap/{run}")),
        PathBuf::from(format!("/sys/fs/cgroup/rookery/{run}")),
    ];
    for hierarchy in entries(Path::new("/sys/fs/cgroup")) {
        paths.push(hierarchy.join("rookery").join(run));
    }
    paths
}

/// Processes that carry the label of one of the runs; a zombie has no environment.
fn processes(runs: &[String]) -> Vec<String> {
    let labels: Vec<Vec<u8>> = runs
        .iter()
        .map(|run| format!("ROOKERY_RUN={run}").into_bytes())
        .collect();
    entries(Path::new("/proc"))
        .into_iter()
        .filter(|process| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| labels.iter().any(|label| label == variable))
        })
        .map(|process| {
            let words = fs::read(process.join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            format!("{}: {}", process.display(), words.trim_end())
        })
        .collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_run_is_named() {
        let place = tempfile::tempdir().expect("temporary directory");
        fs::create_dir_all(place.path().join("runs/tiny-ab12/guests/clones/g1")).expect("made");
        let left = remains(place.path(), &[]);
        assert!(
            left.len() == 1 && left[0].ends_with("runs/tiny-ab12/guests/clones/g1"),
            "{left:?}"
        );
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .env("ROOKERY_RUN", "ab12")
            .spawn()
            .expect("sleep");
        // The parent goes on before the kernel has the words of the child's new program.
        let began = Instant::now();
        let left = loop {
            let left = remains(place.path(), &[]);
            if left.len() > 1 || began.elapsed() > PATIENCE {
                break left;
            }
        };
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert!(
            left.iter().any(|line| line.contains("sleep 600")),
            "{left:?}"
        );
    }
}
