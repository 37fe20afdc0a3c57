//! Loop devices: which files they make devices of, attaching and detaching.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::{
    command::{CommandError, Host, Invocation, RealHost},
    error::HostError,
    io::{Device, parse_device},
};

/// How long a detached device may take to be free: its last user may be a process that is just
/// ending, udev that looks at what has changed, or a mount namespace that was copied from ours
/// while the volume was mounted.
const FREE_LIMIT: Duration = Duration::from_secs(30);

/// Pauses between two looks at it, from the first to the longest; each is twice as long as the one
/// before.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];

/// Most users of a device that are named.
const MOST_NAMED: usize = 3;

/// A loop device and the file behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopDevice {
    /// `/dev/loop3`
    pub path: PathBuf,
    /// Its number.
    pub device: Device,
    /// The file, as the kernel names it.
    pub file: PathBuf,
    /// Whether the file is read and written without the host's page cache.
    pub direct: bool,
    /// Its size, bytes.
    pub bytes: u64,
}

/// All loop devices that have a file, in the order of their names.
#[must_use]
pub fn loops() -> Vec<LoopDevice> {
    loops_in(Path::new("/sys/block"))
}

fn loops_in(block: &Path) -> Vec<LoopDevice> {
    let entries = fs::read_dir(block).into_iter().flatten().flatten();
    let mut found: Vec<LoopDevice> = entries.filter_map(|entry| loop_in(&entry.path())).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn loop_in(directory: &Path) -> Option<LoopDevice> {
    let name = directory
        .file_name()?
        .to_str()?
        .strip_prefix("loop")
        .map(|number| format!("/dev/loop{number}"))?;
    let read = |file: &str| fs::read_to_string(directory.join(file)).ok();
    let file = read("loop/backing_file")?;
    // So the kernel names a file that was deleted while it was attached.
    let file = file.trim_end_matches('\n').trim_end_matches(" (deleted)");
    Some(LoopDevice {
        path: PathBuf::from(name),
        device: parse_device(&read("dev")?)?,
        file: PathBuf::from(file),
        direct: read("loop/dio")?.trim() == "1",
        bytes: read("size")?
            .trim()
            .parse::<u64>()
            .ok()?
            .saturating_mul(512),
    })
}

/// The device of a file, if it has one.
#[must_use]
pub fn loop_of(file: &Path) -> Option<LoopDevice> {
    loops().into_iter().find(|device| device.file == file)
}

/// Make a device of a file; `direct` = without the host's page cache. `environment` labels the
/// command.
///
/// # Errors
/// When the command fails, or the device cannot be seen afterwards.
pub fn attach(
    host: &dyn Host,
    file: &Path,
    direct: bool,
    environment: Vec<(String, String)>,
) -> Result<LoopDevice, CommandError> {
    let switch = if direct { "on" } else { "off" };
    let invocation = Invocation::new("losetup")
        .args(["--find", "--show", &format!("--direct-io={switch}")])
        .arg(file)
        .envs(environment);
    let command = invocation.line();
    host.run(invocation)?;
    loop_of(file).ok_or_else(|| CommandError::Run {
        command,
        source: io::Error::other("the device it made cannot be found below /sys/block"),
    })
}

/// Free every device of a file and wait until they are free. None is fine.
///
/// # Errors
/// When one stays in use.
pub fn detach(file: &Path) -> io::Result<()> {
    let deadline = Instant::now() + FREE_LIMIT;
    let [mut pause, longest] = PAUSES;
    while let Some(device) = loop_of(file) {
        // In use, it is freed by the kernel with its last user; asked again it does no harm.
        let asked = RealHost.run(Invocation::new("losetup").arg("--detach").arg(&device.path));
        if loop_of(file).is_none() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let why = asked.err().map_or_else(
                || in_use(&mounted_by(Path::new("/proc"), device.device)),
                |error| error.to_string(),
            );
            let what = format!("{} of {}: {why}", device.path.display(), file.display());
            return Err(HostError::refused(what, "end what uses it, then `rookery clean`").into());
        }
        thread::sleep(pause);
        pause = (2 * pause).min(longest);
    }
    Ok(())
}

/// Why a device is not free, in words.
fn in_use(mounted_by: &[String]) -> String {
    match mounted_by {
        [] => "it is still in use".to_owned(),
        users => format!(
            "it is still in use: mounted in the namespaces of process {}",
            users.join(", ")
        ),
    }
}

/// Processes in whose mount namespaces a device is mounted: `1234 (mariadbd)`, some of them where
/// there are many.
fn mounted_by(proc: &Path, (major, minor): Device) -> Vec<String> {
    let number = format!("{major}:{minor}");
    let mounted = |process: &Path| {
        let mounts = fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
        // The number of the device is the third field.
        mounts
            .lines()
            .any(|line| line.split(' ').nth(2) == Some(number.as_str()))
    };
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse::<u32>().ok()?;
        let name = mounted(&entry.path())
            .then(|| fs::read_to_string(entry.path().join("comm")).unwrap_or_default())?;
        Some(format!("{pid} ({})", name.trim()))
    });
    named.take(MOST_NAMED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_files_are_found_deleted_ones_too() {
        let root = tempfile::tempdir().expect("temporary directory");
        let put = |name: &str, file: Option<&str>| {
            let directory = root.path().join(name);
            fs::create_dir_all(directory.join("loop")).expect("directory");
            fs::write(directory.join("dev"), "7:4\n").expect("file");
            fs::write(directory.join("size"), "2048\n").expect("file");
            if let Some(file) = file {
                fs::write(directory.join("loop/backing_file"), format!("{file}\n")).expect("file");
                fs::write(directory.join("loop/dio"), "1\n").expect("file");
            }
        };
        put("loop0", None);
        put("loop4", Some("/runs/a b/v.img (deleted)"));
        put("vda", Some("/no"));
        let expected = LoopDevice {
            path: "/dev/loop4".into(),
            device: (7, 4),
            file: "/runs/a b/v.img".into(),
            direct: true,
            bytes: 1 << 20,
        };
        assert_eq!(loops_in(root.path()), [expected]);
    }

    #[test]
    fn who_has_a_device_mounted_is_named() {
        let proc = tempfile::tempdir().expect("temporary directory");
        for (pid, name, mounts) in [
            (
                "12",
                "mariadbd",
                "25 1 7:4 / /data rw - ext4 /dev/loop4 rw\n",
            ),
            (
                "13",
                "other",
                "25 1 7:44 / /data rw - ext4 /dev/loop44 rw\n26 1 0:7 /7:4 /x rw - tmpfs 7:4 rw\n",
            ),
            (
                "self",
                "mariadbd",
                "25 1 7:4 / /data rw - ext4 /dev/loop4 rw\n",
            ),
        ] {
            fs::create_dir(proc.path().join(pid)).expect("directory");
            fs::write(proc.path().join(pid).join("comm"), format!("{name}\n")).expect("file");
            fs::write(proc.path().join(pid).join("mountinfo"), mounts).expect("file");
        }
        assert_eq!(mounted_by(proc.path(), (7, 4)), ["12 (mariadbd)"]);
        assert_eq!(
            in_use(&mounted_by(proc.path(), (7, 5))),
            "it is still in use"
        );
        assert!(in_use(&["12 (mariadbd)".to_owned()]).ends_with("process 12 (mariadbd)"));
    }

    #[test]
    fn a_file_without_a_device_is_detached_already() {
        detach(Path::new("/no/such/file")).expect("nothing to do");
    }
}
