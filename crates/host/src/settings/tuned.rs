//! The profile of `tuned`, where it is installed: two hands on the same knobs should know of each
//! other.

use serde::Serialize;

use super::files::Root;

/// What `tuned` has active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tuned {
    /// Its active profile, or several, as it writes them.
    pub profile: String,
    /// Whether its daemon runs, and may set its values again at any time.
    pub running: bool,
}

/// What `tuned` has active; `None` where it is not installed or has no profile.
#[must_use]
pub fn tuned(root: &Root) -> Option<Tuned> {
    let profile = root
        .read("etc/tuned/active_profile")
        .ok()?
        .trim()
        .to_owned();
    let pid: Option<u32> = root
        .read("run/tuned/tuned.pid")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let running = pid.is_some_and(|pid| root.path(&format!("proc/{pid}")).exists());
    (!profile.is_empty() && !profile.contains(char::is_control))
        .then_some(Tuned { profile, running })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_active_profile_and_whether_the_daemon_runs() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let root = Root::at(directory.path());
        assert_eq!(tuned(&root), None);
        fs::create_dir_all(directory.path().join("etc/tuned")).expect("made");
        fs::write(
            directory.path().join("etc/tuned/active_profile"),
            "virtual-guest\n",
        )
        .expect("written");
        let found = |running| Tuned {
            profile: "virtual-guest".to_owned(),
            running,
        };
        assert_eq!(tuned(&root), Some(found(false)));
        fs::create_dir_all(directory.path().join("run/tuned")).expect("made");
        fs::write(directory.path().join("run/tuned/tuned.pid"), "77\n").expect("written");
        assert_eq!(tuned(&root), Some(found(false)), "a dead daemon's number");
        fs::create_dir_all(directory.path().join("proc/77")).expect("made");
        assert_eq!(tuned(&root), Some(found(true)));
    }
}
