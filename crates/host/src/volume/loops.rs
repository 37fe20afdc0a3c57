//! Loop devices: which files they make devices of, attaching and detaching.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::{
    command::{CommandError, Host, Invocation, RealHost},
    io::{Device, parse_device},
};

/// How long a detached device may take to be free: its last user may be a process that is just ending.
const FREE_LIMIT: Duration = Duration::from_secs(10);

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
        bytes: read("size")?.trim().parse::<u64>().ok()?.saturating_mul(512),
    })
}

/// The device of a file, if it has one.
#[must_use]
pub fn loop_of(file: &Path) -> Option<LoopDevice> {
    loops().into_iter().find(|device| device.file == file)
}

/// Make a device of a file; `direct` = without the host's page cache. `environment` labels the command.
///
/// # Errors
/// When the command fails, or the device cannot be seen afterwards.
pub fn attach(host: &dyn Host, file: &Path, direct: bool, environment: Vec<(String, String)>) -> Result<LoopDevice, CommandError> {
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
    while let Some(device) = loop_of(file) {
        // In use, it is freed by the kernel with its last user; asked again it does no harm.
        let asked = RealHost.run(Invocation::new("losetup").arg("--detach").arg(&device.path));
        if loop_of(file).is_none() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let why = asked
                .err()
                .map_or_else(|| "it is still in use".to_owned(), |error| error.to_string());
            return Err(io::Error::other(format!("{} of {}: {why}", device.path.display(), file.display())));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
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
    fn a_file_without_a_device_is_detached_already() {
        detach(Path::new("/no/such/file")).expect("nothing to do");
    }
}
