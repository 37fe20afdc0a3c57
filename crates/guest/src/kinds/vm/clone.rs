//! Clones of an image: an overlay, a copy, or a copy whose space is taken at once.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_host::{Host, Invocation};
use rookery_study::vm_shape::DiskClone;
use rustix::fs::FallocateFlags;

use crate::copy::copy_file;

/// How long an overlay may take on a host that is busy.
const OVERLAY_LIMIT: Duration = Duration::from_secs(60);

/// Clone a raw image into a directory, as `name` with the ending of its format; gives the file.
///
/// # Errors
/// When the disk fails or is full.
pub(super) fn clone_image(
    host: &dyn Host,
    image: &Path,
    directory: &Path,
    name: &str,
    kind: DiskClone,
) -> io::Result<PathBuf> {
    let format = if kind == DiskClone::Overlay {
        "qcow2"
    } else {
        "raw"
    };
    let target = directory.join(format!("{name}.{format}"));
    match kind {
        DiskClone::Overlay => {
            let invocation = Invocation::new("qemu-img")
                .args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"])
                .arg(image)
                .arg(&target)
                .timeout(OVERLAY_LIMIT);
            host.run(invocation).map_err(io::Error::other)?;
        }
        DiskClone::Raw => {
            host.step("clone disk")?;
            copy_file(image, &target)?;
        }
        DiskClone::Preallocated => {
            host.step("clone disk")?;
            copy_file(image, &target)?;
            let file = File::options().write(true).open(&target)?;
            // Space for what is a hole, too; it is not written.
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, file.metadata()?.len())?;
        }
    }
    Ok(target)
}
