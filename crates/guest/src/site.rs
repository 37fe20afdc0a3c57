//! Where the parts of a guest lie below a run's directory of guests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    GuestError, GuestSpec,
    files::{file_problems, socket_problems},
};

/// Name of the directory of clones; the only thing below a run's directory that is ever deleted.
const CLONES: &str = "clones";

/// Directory of all clones of a run.
pub(crate) fn clones(site: &Path) -> PathBuf {
    site.join(CLONES)
}

/// Directory of one guest's clone.
pub(crate) fn clone_dir(site: &Path, guest: &str) -> PathBuf {
    clones(site).join(guest)
}

/// The clone that a mount point `<site>/clones/<guest>/rootfs` belongs to.
pub(crate) fn clone_of_mount(point: &Path) -> Option<&Path> {
    let clone = point.parent().filter(|_| point.ends_with("rootfs"))?;
    clone
        .parent()
        .filter(|parent| parent.ends_with(CLONES))
        .map(|_| clone)
}

/// File of one guest's log.
pub(crate) fn log_file(site: &Path, guest: &str) -> PathBuf {
    site.join("logs").join(format!("{guest}.log"))
}

/// Make the directories of a guest and an empty log.
///
/// # Errors
/// When the clone is already there, or the disk fails.
pub(crate) fn prepare(site: &Path, guest: &str) -> io::Result<()> {
    let (clone, log) = (clone_dir(site, guest), log_file(site, guest));
    let named = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    for directory in [clones(site), site.join("logs")] {
        fs::create_dir_all(&directory).map_err(named(&directory))?;
    }
    fs::create_dir(&clone).map_err(named(&clone))?;
    fs::write(&log, "").map_err(named(&log))
}

/// Delete a directory with all it holds. Absent is fine.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", path.display()),
        )),
        _ => Ok(()),
    }
}

/// Refuse names that would leave the run's directory or not fit into names of the host.
///
/// # Errors
/// When the name is not 1 to 40 characters of `a-z0-9-`.
pub(crate) fn check_spec(spec: &GuestSpec) -> Result<(), GuestError> {
    let name_is_safe = spec
        .name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let mut problems = Vec::new();
    if !name_is_safe || !(1..=40).contains(&spec.name.len()) {
        problems.push("a name takes 1 to 40 characters of a-z, 0-9 and -".to_owned());
    }
    if spec.number == 0 {
        problems.push("numbers begin with 1".to_owned());
    }
    if let Some(limit) = spec
        .cpu_limit
        .filter(|limit| !(limit.is_finite() && *limit >= 0.01))
    {
        problems.push(format!("a limit of {limit} CPUs is below 0.01"));
    }
    if spec.port == 0 {
        problems.push("a service has a port above 0".to_owned());
    }
    problems.extend(spec.health.problem());
    problems.extend(file_problems(spec));
    problems.extend(socket_problems(spec));
    if problems.is_empty() {
        return Ok(());
    }
    Err(GuestError::Step {
        guest: spec.name.clone(),
        step: "checking the guest's shape",
        what: problems.join("; "),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Health;

    pub(crate) fn spec(name: &str) -> GuestSpec {
        GuestSpec {
            number: 1,
            name: name.into(),
            cpus: vec![],
            cpu_limit: None,
            memory_mib: None,
            pids: None,
            args: vec![],
            port: 80,
            health: Health::Http("/health".into()),
            files: vec![],
            user: None,
            sockets: Vec::new(),
        }
    }

    #[test]
    fn names_stay_inside() {
        assert!(check_spec(&spec("t3-g1")).is_ok());
        for bad in ["", "..", "a/b", "A", "a b", &"x".repeat(41)] {
            assert!(check_spec(&spec(bad)).is_err(), "{bad}");
        }
        assert!(
            check_spec(&GuestSpec {
                cpu_limit: Some(f64::NAN),
                ..spec("a")
            })
            .is_err()
        );
        assert!(
            check_spec(&GuestSpec {
                number: 0,
                ..spec("a")
            })
            .is_err()
        );
    }

    #[test]
    fn only_root_file_systems_of_clones_are_clones() {
        assert_eq!(
            clone_of_mount(Path::new("/runs/a/clones/g1/rootfs")),
            Some(Path::new("/runs/a/clones/g1"))
        );
        assert_eq!(clone_of_mount(Path::new("/home/rootfs")), None);
        assert_eq!(clone_of_mount(Path::new("/runs/a/clones/g1")), None);
    }
}
