//! `/proc/self/mountinfo`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::mount::{UnmountFlags, unmount};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Number of its device, major and minor; major 0 of what has none.
    pub device: (u32, u32),
    /// Options of this mount alone: `rw,noatime`.
    pub flags: String,
    /// File-system type: `ext4`, `overlay`, `cgroup`, ...
    pub kind: String,
    /// What is mounted; for pseudo file systems a free name.
    pub source: String,
    /// Options of the superblock.
    pub options: String,
}

impl Mount {
    /// Whether it is a mount of the block device of this number and name. What lies on several
    /// devices has a number of its own, and is called after one of them.
    #[must_use]
    pub fn is_of(&self, device: (u32, u32), path: &Path) -> bool {
        self.device == device || (self.device.0 == 0 && Path::new(&self.source) == path)
    }
}

/// Read the text of a mountinfo file. Lines that do not parse are left out.
#[must_use]
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// All mounts of this process's mount namespace, in mount order.
///
/// # Errors
/// When `/proc` is not there.
pub fn mounts() -> io::Result<Vec<Mount>> {
    // The names in it are bytes; a stray non-UTF-8 mount elsewhere must not blind us.
    Ok(parse_mountinfo(&String::from_utf8_lossy(&fs::read(
        "/proc/self/mountinfo",
    )?)))
}

/// Unmount; what is busy vanishes from sight at once, and for good with its last user. Absent is
/// fine.
///
/// # Errors
/// When the caller may not unmount it.
pub fn detach(point: &Path) -> io::Result<()> {
    match unmount(point, UnmountFlags::DETACH) {
        Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Fields: id parent dev root point options [optional...] - type source super-options
/// (proc_pid_mountinfo(5)).
fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ');
    let (major, minor) = fields.nth(2)?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let point = PathBuf::from(unescape(fields.nth(1)?));
    let flags = fields.next()?.to_owned();
    let mut right = right.split(' ');
    let kind = right.next()?.to_owned();
    let source = unescape(right.next()?);
    Some(Mount {
        point,
        device,
        flags,
        kind,
        source,
        options: unescape(right.next().unwrap_or_default()),
    })
}

/// Undo the kernel's octal escapes of space, tab, newline and backslash.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .filter(|digits| digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        let value = octal.map(|d| {
            u32::from(d[0] - b'0') * 64 + u32::from(d[1] - b'0') * 8 + u32::from(d[2] - b'0')
        });
        match value.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &tail[3..];
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_optional_fields_and_escapes() {
        let text = "36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 shared:7 - ext3 /dev/root \
                    rw,errors=continue\n\
                    40 27 0:99 / /run/g/rootfs rw,relatime - overlay rookery-abc \
                    rw,lowerdir=/t,upperdir=/u\nnonsense\n";
        let mounts = parse_mountinfo(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].point, PathBuf::from("/mnt/a b"));
        assert_eq!(
            (mounts[0].device, mounts[0].flags.as_str()),
            ((98, 0), "rw,noatime")
        );
        assert_eq!(
            (mounts[1].kind.as_str(), mounts[1].source.as_str()),
            ("overlay", "rookery-abc")
        );
    }

    #[test]
    fn a_lone_backslash_stays() {
        assert_eq!(unescape("a\\b\\1"), "a\\b\\1");
        assert_eq!(unescape("\\134\\777"), "\\\\777");
    }
}
