//! The data on the disk of one guest, as the host may see them.

use std::{fs, io, path::Path, time::Duration};

use rookery_host::{Host, Invocation};

use super::pool::Disk;
use crate::paths::remove_tree;

/// How long a copy of a large image may take.
const COPY_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Take the directory `/data` of a guest that does not run out of its disk, into `target` as it
/// was, by way of files in `directory`: what the guest's file system had promised (its journal) is
/// carried out first. The disk itself is left as the guest left it.
///
/// # Errors
/// When the file system cannot be read.
pub(super) fn extract_data(
    host: &dyn Host,
    disk: &Disk,
    directory: &Path,
    target: &Path,
) -> io::Result<()> {
    let raw = directory.join("data.raw");
    let taken = (|| {
        let convert = Invocation::new("qemu-img")
            // The format is said: what a guest writes does not decide how its disk is read.
            .args([
                "convert",
                "-q",
                "-f",
                disk.format(),
                "-O",
                "raw",
                "-S",
                "4k",
            ])
            .arg(disk.path())
            .arg(&raw);
        host.run(convert.timeout(COPY_LIMIT))
            .map_err(io::Error::other)?;
        let replay = Invocation::new("e2fsck")
            .args(["-p", "-E", "journal_only"])
            .arg(&raw)
            .timeout(COPY_LIMIT);
        match host.run(replay) {
            // 1: something was put right, which is what it is for.
            Err(rookery_host::CommandError::Failed { status, .. }) if status.code() == Some(1) => {}
            done => drop(done.map_err(io::Error::other)?),
        }
        let fresh = directory.join("data.new");
        remove_tree(&fresh)?;
        fs::create_dir(&fresh)?;
        let request = format!("rdump /data \"{}\"", plain(&fresh)?);
        let dump = Invocation::new("debugfs")
            .args(["-R", &request])
            .arg(&raw)
            .timeout(COPY_LIMIT);
        host.run(dump).map_err(io::Error::other)?;
        if !fresh.join("data").is_dir() {
            return Err(io::Error::other(format!(
                "{} holds no /data",
                disk.path().display()
            )));
        }
        remove_tree(target)?;
        fs::rename(fresh.join("data"), target)?;
        remove_tree(&fresh)
    })();
    let _ = fs::remove_file(&raw);
    taken
}

/// A path as debugfs reads it between double quotes.
fn plain(path: &Path) -> io::Result<&str> {
    path.to_str()
        .filter(|text| !text.contains(['"', '\\', '\n']))
        .ok_or_else(|| {
            io::Error::other(format!(
                "{}: choose a directory without quotes and backslashes",
                path.display()
            ))
        })
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::MetadataExt};

    use rookery_host::RealHost;
    use rookery_study::vm_shape::DiskClone;

    use super::{super::clone::clone_image, *};

    #[test]
    fn every_kind_of_clone_holds_the_data_and_leaves_the_image_alone() {
        let base = tempfile::tempdir().expect("temporary directory");
        let tree = base.path().join("tree");
        fs::create_dir_all(tree.join("data/deep")).expect("made");
        fs::write(tree.join("data/deep/row"), "first").expect("written");
        let image = base.path().join("image");
        File::create(&image)
            .and_then(|file| file.set_len(32 << 20))
            .expect("made");
        RealHost
            .run(
                Invocation::new("mke2fs")
                    .args(["-q", "-F", "-t", "ext4", "-d"])
                    .arg(&tree)
                    .arg(&image),
            )
            .expect("mke2fs");
        for kind in [DiskClone::Overlay, DiskClone::Raw, DiskClone::Preallocated] {
            let directory = tempfile::tempdir().expect("temporary directory");
            let path =
                clone_image(&RealHost, &image, directory.path(), "disk", kind).expect("cloned");
            let disk = Disk::File {
                path: path.clone(),
                qcow2: kind == DiskClone::Overlay,
            };
            let data = directory.path().join("data");
            extract_data(&RealHost, &disk, directory.path(), &data).expect("extracted");
            extract_data(&RealHost, &disk, directory.path(), &data).expect("and again");
            assert_eq!(
                fs::read_to_string(data.join("deep/row")).expect("read"),
                "first"
            );
            assert_eq!(
                fs::read_dir(directory.path()).expect("read").count(),
                2,
                "disk and data"
            );
            let taken = path.metadata().expect("there").blocks() * 512;
            match kind {
                DiskClone::Preallocated => assert!(taken >= 32 << 20, "{taken}"),
                _ => assert!(taken < 16 << 20, "{taken}"),
            }
        }
    }
}
