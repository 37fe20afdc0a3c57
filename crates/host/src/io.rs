//! Limits on I/O of a control group: version 1 (`blkio.throttle.*`) and version 2 (`io.max`).
//!
//! Both hold back what a group's processes submit to one device. Version 1 does not see writes that
//! the kernel puts off (buffered writes without `fsync`), and neither version sees the journal of a
//! file system, which the kernel writes itself.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

pub use rookery_study::IoLimits;

use crate::{cgroup::Cgroups, error::HostError};

/// Number of a block device: major and minor.
pub type Device = (u32, u32);

/// Names of the limits, in the order of [`IoLimits::named`]: ours, the file of version 1, the key
/// of version 2.
const NAMES: [(&str, &str, &str); 4] = [
    ("read_iops", "blkio.throttle.read_iops_device", "riops"),
    ("write_iops", "blkio.throttle.write_iops_device", "wiops"),
    ("read_bps", "blkio.throttle.read_bps_device", "rbps"),
    ("write_bps", "blkio.throttle.write_bps_device", "wbps"),
];

/// Whether this host can limit I/O of groups.
///
/// # Errors
/// Why it cannot.
pub fn check_throttle(cgroups: &Cgroups) -> Result<(), HostError> {
    let help = "mount the blkio controller (version 1) or enable the io controller (version 2), on \
                a kernel with CONFIG_BLK_DEV_THROTTLING";
    let Some(root) = cgroups.directory("blkio", "") else {
        return Err(HostError::refused(
            "no control groups are mounted, so I/O cannot be limited",
            help,
        ));
    };
    let able = if cgroups.is_v1("blkio") {
        root.join(NAMES[0].1).exists()
    } else {
        // A host with both versions gives guests the limits of version 1 alone.
        cgroups.layout() == crate::Layout::V2
            && fs::read_to_string(root.join("cgroup.controllers"))
                .unwrap_or_default()
                .split_whitespace()
                .any(|name| name == "io")
    };
    if able {
        return Ok(());
    }
    let which = if cgroups.is_v1("blkio") {
        "the blkio controller of this kernel cannot throttle"
    } else {
        "no control-group hierarchy has the blkio or io controller"
    };
    Err(HostError::refused(
        format!("{which}, so I/O cannot be limited ({})", cgroups.layout()),
        help,
    ))
}

/// Make a group whose I/O can be limited. Version 2 wants the controller enabled in every group
/// above.
///
/// # Errors
/// When it cannot be made.
pub fn make_group(cgroups: &Cgroups, group: &str) -> io::Result<PathBuf> {
    let named = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    let root = cgroups
        .directory("blkio", "")
        .ok_or_else(|| io::Error::other("no control groups are mounted"))?;
    let mut directory = root;
    for part in Path::new(group).components() {
        if !cgroups.is_v1("blkio") {
            // Enabled already, or not to be had: the limit then says so.
            let _ = fs::write(directory.join("cgroup.subtree_control"), "+io");
        }
        directory.push(part);
        fs::create_dir_all(&directory).map_err(|error| named(&directory, error))?;
    }
    Ok(directory)
}

/// Put a group under limits on one device.
///
/// # Errors
/// When the group is not there or the kernel refuses.
pub fn limit(cgroups: &Cgroups, group: &str, device: Device, limits: &IoLimits) -> io::Result<()> {
    let directory = cgroups
        .directory("blkio", group)
        .ok_or_else(|| io::Error::other("no control groups are mounted"))?;
    let (major, minor) = device;
    for ((_, file, key), value) in NAMES.iter().zip(limits.named().map(|(_, value)| value)) {
        let Some(value) = value else { continue };
        let (path, text) = if cgroups.is_v1("blkio") {
            (directory.join(file), format!("{major}:{minor} {value}"))
        } else {
            (
                directory.join("io.max"),
                format!("{major}:{minor} {key}={value}"),
            )
        };
        fs::write(&path, text).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
    }
    Ok(())
}

/// The limits in force on one device; `None` when the group is gone.
#[must_use]
pub fn limits_in_force(cgroups: &Cgroups, group: &str, device: Device) -> Option<IoLimits> {
    let directory = cgroups.directory("blkio", group)?;
    if cgroups.is_v1("blkio") {
        let mut values = [None; 4];
        for ((_, file, _), value) in NAMES.iter().zip(&mut values) {
            *value = parse_v1(&fs::read_to_string(directory.join(file)).ok()?, device);
        }
        return Some(IoLimits::from_values(values));
    }
    Some(parse_v2(
        &fs::read_to_string(directory.join("io.max")).ok()?,
        device,
    ))
}

/// The line of a device: `7:0 200`.
fn line_of(text: &str, (major, minor): Device) -> Option<&str> {
    text.lines()
        .find_map(|line| line.strip_prefix(&format!("{major}:{minor} ")))
}

fn parse_v1(text: &str, device: Device) -> Option<u64> {
    // Zero stands for no limit.
    line_of(text, device)?
        .trim()
        .parse()
        .ok()
        .filter(|value| *value > 0)
}

/// `7:0 rbps=max wbps=1048576 riops=200 wiops=max`
fn parse_v2(text: &str, device: Device) -> IoLimits {
    let line = line_of(text, device).unwrap_or_default();
    let value = |key: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
            .and_then(|value| value.parse().ok())
    };
    IoLimits::from_values(std::array::from_fn(|index| value(NAMES[index].2)))
}

/// The disk on which a directory lies, of which its control group can be limited.
///
/// # Errors
/// When the directory lies on no disk (tmpfs, overlay) or on one that its file system hides
/// (btrfs).
pub fn disk_of(path: &Path) -> Result<Device, HostError> {
    let data = fs::metadata(path).map_err(|error| HostError::at(path, error))?;
    let (major, minor) = (rustix::fs::major(data.dev()), rustix::fs::minor(data.dev()));
    whole_disk(Path::new("/sys"), (major, minor)).ok_or_else(|| {
        HostError::refused(
            format!(
                "{} lies on a file system without a device of its own (tmpfs, overlay, btrfs), so \
                 its I/O cannot be limited",
                path.display()
            ),
            "write `pool = \"volume\"` in [storage], or keep the run on ext4 or xfs",
        )
    })
}

/// The disk of a partition, or the disk itself; limits hold for whole disks.
fn whole_disk(sys: &Path, (major, minor): Device) -> Option<Device> {
    let link: PathBuf = sys
        .join(format!("dev/block/{major}:{minor}"))
        .canonicalize()
        .ok()?;
    let disk = if link.join("partition").exists() {
        link.parent()?
    } else {
        &link
    };
    let text = fs::read_to_string(disk.join("dev")).ok()?;
    parse_device(&text)
}

/// `7:0`
pub(crate) fn parse_device(text: &str) -> Option<Device> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_diagnosis::Diagnosis;

    use crate::mounts::parse_mountinfo;

    const LIMITS: IoLimits = IoLimits {
        read_iops: Some(200),
        write_iops: None,
        read_bps: None,
        write_bps: Some(1_048_576),
    };

    fn tree(mountinfo: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Cgroups) {
        let root = tempfile::tempdir().expect("temporary directory");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            fs::write(path, text).expect("file");
        }
        let text = mountinfo.replace("ROOT", root.path().to_str().expect("utf-8"));
        let cgroups = Cgroups::from_mounts(&parse_mountinfo(&text));
        (root, cgroups)
    }

    const V1: &str = "1 0 0:1 / ROOT/blkio rw - cgroup cgroup rw,blkio\n2 0 0:2 / ROOT/unified rw \
                      - cgroup2 cgroup2 rw\n";
    const V2: &str = "1 0 0:1 / ROOT rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_1_has_a_file_for_each_limit() {
        let files: Vec<(String, &str)> = NAMES
            .iter()
            .map(|(_, file, _)| (format!("blkio/g/{file}"), ""))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let (root, cgroups) = tree(V1, &files);
        assert!(
            check_throttle(&cgroups).is_err(),
            "the root has no such file here"
        );
        fs::write(root.path().join("blkio").join(NAMES[0].1), "").expect("file");
        check_throttle(&cgroups).expect("able");
        limit(&cgroups, "g", (7, 3), &LIMITS).expect("limited");
        assert_eq!(limits_in_force(&cgroups, "g", (7, 3)), Some(LIMITS));
        assert_eq!(
            limits_in_force(&cgroups, "g", (7, 30)),
            Some(IoLimits::default())
        );
        assert_eq!(limits_in_force(&cgroups, "absent", (7, 3)), None);
    }

    #[test]
    fn version_2_has_one_line_for_each_device() {
        let (_root, cgroups) = tree(
            V2,
            &[("cgroup.controllers", "cpu io memory\n"), ("g/io.max", "")],
        );
        check_throttle(&cgroups).expect("able");
        let text = "254:0 rbps=max wbps=max riops=5 wiops=max\n7:3 rbps=max wbps=1048576 riops=200 \
                    wiops=max\n";
        assert_eq!(parse_v2(text, (7, 3)), LIMITS);
        assert_eq!(parse_v2("", (7, 3)), IoLimits::default());
    }

    #[test]
    fn what_cannot_throttle_is_said_with_help() {
        let (_root, cgroups) = tree(V2, &[("cgroup.controllers", "cpu memory\n")]);
        let error = check_throttle(&cgroups).expect_err("no io controller");
        let text = error.to_string();
        assert!(
            text.starts_with("no control-group hierarchy has the blkio or io controller")
                && error
                    .help()
                    .is_some_and(|help| help.starts_with("mount the blkio")),
            "{text}"
        );
        let hybrid = "1 0 0:1 / ROOT/cpu rw - cgroup cgroup rw,cpu\n2 0 0:2 / ROOT/unified rw - \
                      cgroup2 cgroup2 rw\n";
        let (_root, cgroups) = tree(hybrid, &[("unified/cgroup.controllers", "io\n")]);
        assert!(
            check_throttle(&cgroups).is_err(),
            "guests would not be limited there"
        );
        assert!(check_throttle(&Cgroups::default()).is_err());
    }

    #[test]
    fn a_partition_is_limited_through_its_disk() {
        let root = tempfile::tempdir().expect("temporary directory");
        let disk = root.path().join("devices/vda");
        fs::create_dir_all(disk.join("vda1")).expect("directory");
        fs::write(disk.join("dev"), "254:0\n").expect("file");
        fs::write(disk.join("vda1/dev"), "254:1\n").expect("file");
        fs::write(disk.join("vda1/partition"), "1\n").expect("file");
        fs::create_dir_all(root.path().join("dev/block")).expect("directory");
        for (number, target) in [("254:0", "vda"), ("254:1", "vda/vda1")] {
            let link = root.path().join("dev/block").join(number);
            std::os::unix::fs::symlink(root.path().join("devices").join(target), link)
                .expect("link");
        }
        assert_eq!(whole_disk(root.path(), (254, 0)), Some((254, 0)));
        assert_eq!(whole_disk(root.path(), (254, 1)), Some((254, 0)));
        assert_eq!(whole_disk(root.path(), (0, 24)), None, "no device");
        assert!(
            disk_of(Path::new("/proc"))
                .expect_err("no disk")
                .help()
                .is_some_and(|help| help.contains("pool = \"volume\""))
        );
    }
}
