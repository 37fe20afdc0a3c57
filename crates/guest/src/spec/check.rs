//! What is wrong with a spec.

use std::path::{Component, Path};

use super::{CpuTime, GuestSpec};
use crate::error::{GuestError, StepError};

/// Most bytes of all files of a guest together: they are configuration, not data.
const MAX_BYTES: usize = 16 << 20;

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
        .cpu_time
        .cores()
        .filter(|limit| !(limit.is_finite() && *limit >= 0.01))
    {
        problems.push(format!("a limit of {limit} CPUs is below 0.01"));
    }
    if let CpuTime::Cap {
        period_us: Some(period),
        ..
    } = spec.cpu_time
        && !(1_000..=1_000_000).contains(&period)
    {
        problems.push(format!(
            "a period of {period} us is not between 1000 and 1000000"
        ));
    }
    if let Some(weight) = spec.cpu_weight
        && !(1..=10_000).contains(&weight)
    {
        problems.push(format!(
            "a CPU weight of {weight} is not between 1 and 10000"
        ));
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
    Err(GuestError::in_guest(
        &spec.name,
        "checking the guest's shape",
        StepError::Several(problems),
    ))
}

/// What is wrong with the files of a spec.
fn file_problems(spec: &GuestSpec) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for file in &spec.files {
        if !is_plain(&file.path) {
            problems.push(format!(
                "`{}` is no relative path of plain components",
                file.path
            ));
        } else if !seen.insert(&file.path) {
            problems.push(format!("the file `{}` is there twice", file.path));
        }
    }
    if spec.files.iter().map(|file| file.text.len()).sum::<usize>() > MAX_BYTES {
        problems.push(format!("the files are larger than {} MiB", MAX_BYTES >> 20));
    }
    problems
}

/// Longest path of a socket below the data directory, bytes: sockets have short paths on every
/// host.
const MAX_SOCKET: usize = 48;
/// Most sockets of a guest.
const MAX_SOCKETS: usize = 8;

/// What is wrong with the sockets of a spec.
fn socket_problems(spec: &GuestSpec) -> Vec<String> {
    let mut problems = Vec::new();
    for socket in &spec.sockets {
        if !is_plain(socket) || socket.contains(char::is_control) {
            problems.push(format!(
                "the socket {socket:?} is no relative path of plain components"
            ));
        } else if socket.len() > MAX_SOCKET {
            problems.push(format!(
                "the socket `{socket}` has a path of more than {MAX_SOCKET} bytes"
            ));
        }
    }
    if spec.sockets.len() > MAX_SOCKETS {
        problems.push(format!(
            "{} sockets are more than {MAX_SOCKETS}",
            spec.sockets.len()
        ));
    }
    problems
}

/// Whether it is a relative path of plain components, written plainly: `a/./b` and `a//b` are plain
/// to `components`.
fn is_plain(path: &str) -> bool {
    let parts = Path::new(path).components();
    let plain = parts
        .clone()
        .all(|part| matches!(part, Component::Normal(_)));
    let same = parts.collect::<std::path::PathBuf>().as_os_str() == path;
    plain && same && !path.is_empty() && !path.contains('\0')
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        Health,
        spec::{CalledBy, FileReaders, GuestFile},
    };

    pub(crate) fn spec(name: &str) -> GuestSpec {
        GuestSpec {
            number: 1,
            name: name.into(),
            cpus: vec![],
            cpu_time: CpuTime::Unlimited,
            cpu_weight: None,
            packet_cpus: Vec::new(),
            called_by: CalledBy::Users,
            memory_mib: None,
            swap: rookery_study::Swap::None,
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
                cpu_time: CpuTime::cap(f64::NAN),
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
    fn files_stay_below_their_directory() {
        let with = |paths: &[&str]| GuestSpec {
            files: paths
                .iter()
                .map(|path| GuestFile {
                    path: (*path).into(),
                    text: "{port}".into(),
                    readers: FileReaders::All,
                })
                .collect(),
            ..spec("a")
        };
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/"] {
            assert_eq!(file_problems(&with(&[bad])).len(), 1, "{bad}");
        }
        assert_eq!(file_problems(&with(&["a", "a"])).len(), 1);
        assert!(file_problems(&with(&["a", "b/c.php", "b/d"])).is_empty());

        let leads = |sockets: &[&str]| {
            socket_problems(&GuestSpec {
                sockets: sockets.iter().map(|socket| (*socket).to_owned()).collect(),
                ..spec("a")
            })
        };
        assert!(leads(&["mysql.sock", "run/a b.sock"]).is_empty());
        for bad in ["", "/mysql.sock", "../x", "a\nb", &"x".repeat(49)] {
            assert_eq!(leads(&[bad]).len(), 1, "{bad}");
        }
        assert_eq!(leads(&["x"; 9]).len(), 1);
    }
}
