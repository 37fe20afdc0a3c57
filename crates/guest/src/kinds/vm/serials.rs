//! Inside: disks that are found by the serials that the host gave them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The device of the disk with this serial among those that the kernel shows at `blocks`.
pub(super) fn disk_in(blocks: &Path, serial: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(blocks).into_iter().flatten().flatten();
    let mut disks = entries.filter(|entry| {
        let found = fs::read_to_string(entry.path().join("serial")).unwrap_or_default();
        found.trim() == serial
    });
    disks
        .next()
        .map(|disk| Path::new("/dev").join(disk.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_found_by_its_serial() {
        let blocks = tempfile::tempdir().expect("temporary directory");
        for (name, serial) in [("vda", ""), ("vdd", "rookery-swap\n")] {
            fs::create_dir(blocks.path().join(name)).expect("made");
            fs::write(blocks.path().join(name).join("serial"), serial).expect("written");
        }
        assert_eq!(
            disk_in(blocks.path(), "rookery-swap"),
            Some("/dev/vdd".into())
        );
        assert_eq!(disk_in(blocks.path(), "rookery-log"), None);
        assert_eq!(disk_in(Path::new("/no/such"), "rookery-swap"), None);
    }
}
