//! What of a run can be seen on the host from outside, without the code that is under test.

use std::{fs, path::Path, process::Command};

/// Every trace of the run on this host: processes, namespaces, mounts, control groups, loop
/// devices, runc state, registration, volumes, clones.
pub(crate) fn of_run(run: &str, dir: &Path) -> Vec<String> {
    let mut traces = processes(run);
    let named = |name: &str| {
        name == format!("rookery-{run}") || name.starts_with(&format!("rookery-{run}-"))
    };
    traces.extend(
        names("/run/rookery/netns")
            .into_iter()
            .filter(|name| named(name))
            .map(|name| format!("network namespace {name}")),
    );
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let dir = dir.to_str().expect("utf-8");
    traces.extend(
        mounts
            .lines()
            .filter(|line| line.contains(&format!("rookery-{run}")) || line.contains(dir))
            .map(|line| format!("mount {line}")),
    );
    for hierarchy in names("/sys/fs/cgroup").into_iter().chain([".".to_owned()]) {
        let group = format!("/sys/fs/cgroup/{hierarchy}/rookery/{run}");
        traces.extend(
            Path::new(&group)
                .exists()
                .then(|| format!("cgroup {group}")),
        );
    }
    for file in [
        format!("/run/rookery/runc/{run}"),
        format!("/run/rookery/runs/{run}.json"),
        format!("/run/rookery/swap/{run}"),
    ] {
        traces.extend(Path::new(&file).exists().then_some(file));
    }
    let behind = |name: &String| {
        fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default()
    };
    traces.extend(
        names("/sys/block")
            .iter()
            .map(behind)
            .filter(|file| file.starts_with(dir))
            .map(|file| format!("loop device on {}", file.trim_end())),
    );
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    traces.extend(
        swaps
            .lines()
            .filter(|line| line.contains(dir))
            .map(|line| format!("swap file in use: {line}")),
    );
    let labelled = |name: &String| {
        let head = fs::File::open(format!("/dev/{name}")).and_then(|mut file| {
            let mut head = vec![0; 4096];
            std::io::Read::read_exact(&mut file, &mut head).map(|()| head)
        });
        let label = format!("rk-{run}\0");
        name.starts_with("zram")
            && head.is_ok_and(|head| {
                head.windows(label.len())
                    .any(|part| part == label.as_bytes())
            })
    };
    let devices = names("/sys/block").into_iter().filter(labelled);
    traces.extend(devices.map(|name| format!("swap device {name}")));
    traces.extend(
        names(&format!("{dir}/swap"))
            .into_iter()
            .map(|name| format!("swap file {name}")),
    );
    traces.extend(
        names(&format!("{dir}/volumes"))
            .into_iter()
            .map(|name| format!("volume {name}")),
    );
    traces.extend(
        names(&format!("{dir}/clones"))
            .into_iter()
            .map(|name| format!("clone {name}")),
    );
    traces
}

/// Processes with the run's label, zombies excepted (they have no environment).
pub(crate) fn processes(run: &str) -> Vec<String> {
    let label = format!("ROOKERY_RUN={run}\0");
    let labelled = |pid: &String| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        pid.bytes().all(|byte| byte.is_ascii_digit())
            && String::from_utf8_lossy(&environment).contains(&label)
    };
    names("/proc")
        .into_iter()
        .filter(labelled)
        .map(|pid| format!("process {pid}"))
        .collect()
}

/// Names of the links of the host's own network.
pub(crate) fn links() -> Vec<String> {
    let said = Command::new("ip")
        .args(["-brief", "link"])
        .output()
        .expect("ip")
        .stdout;
    String::from_utf8_lossy(&said)
        .lines()
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

fn names(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}
