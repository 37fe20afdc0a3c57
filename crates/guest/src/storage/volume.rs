//! One volume from its file to its mount, and back.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use rookery_host::{
    Host, HostError,
    volume::{InForce, VolumeSpec, in_force, loops},
};
use rustix::{
    fs::{FallocateFlags, fallocate},
    mount::{UnmountFlags, mount, unmount},
};

use super::view::View;
use crate::{
    error::{GuestError, StepError},
    label::{Label, run_name, run_of_name},
};

/// Name of the directory of volumes below a run's directory of guests.
const VOLUMES: &str = "volumes";
/// Extension of the file behind a volume.
const IMAGE: &str = "img";
/// How long a volume that is not used any more may stay busy.
const BUSY_LIMIT: Duration = Duration::from_secs(5);
/// Making a file system of some TiB takes seconds.
const MKFS_LIMIT: Duration = Duration::from_secs(300);

/// Directory of all volumes of a run.
pub(crate) fn volumes(dir: &Path) -> PathBuf {
    dir.join(VOLUMES)
}

/// The file behind the volume `name`.
fn image(dir: &Path, label: &Label, name: &str) -> PathBuf {
    volumes(dir).join(format!("{}-{name}.{IMAGE}", run_name(&label.run)))
}

/// The run whose volume has this file; `None` when it is no file of ours.
pub(super) fn run_of_image(file: &Path) -> Option<rookery_host::RunId> {
    let ours = file.extension().is_some_and(|extension| extension == IMAGE)
        && file.parent()?.ends_with(VOLUMES);
    let stem = file.file_stem()?.to_str().filter(|_| ours)?;
    // `rookery-<run>-<volume>`
    stem.strip_prefix("rookery-")?
        .contains('-')
        .then(|| run_of_name(stem))?
}

/// A volume, mounted, or a raw device. Removed with its last guest; dropping it removes it as well.
#[derive(Debug)]
pub struct Volume {
    name: String,
    spec: VolumeSpec,
    image: PathBuf,
    point: PathBuf,
    device: Option<loops::LoopDevice>,
    /// Where it is mounted besides.
    view: OnceLock<Arc<View>>,
    gone: bool,
}

impl Volume {
    /// Make the volume `name` (1 to 40 characters of `a-z`, `0-9` and `-`). The run is registered
    /// already; on an error nothing is left.
    ///
    /// # Errors
    /// When the disk is full, or a command fails; with its words.
    pub(crate) fn make(
        host: &dyn Host,
        label: &Label,
        dir: &Path,
        name: &str,
        spec: &VolumeSpec,
    ) -> Result<Arc<Self>, GuestError> {
        let fail = |error: StepError| GuestError::in_guest(name, "making its volume", error);
        spec.check().map_err(|error| fail(error.into()))?;
        let safe = name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !safe || !(1..=40).contains(&name.len()) {
            let what = "a name takes 1 to 40 characters of a-z, 0-9 and -";
            return Err(fail(StepError::Refused(what.to_owned())));
        }
        let image = image(dir, label, name);
        if image.exists() {
            let what = format!("{} is there already", image.display());
            return Err(fail(StepError::Refused(what)));
        }
        let mut volume = Self {
            name: name.to_owned(),
            spec: spec.clone(),
            image,
            point: volumes(dir).join(name),
            device: None,
            view: OnceLock::new(),
            gone: false,
        };
        // From here on the volume's drop removes what was made.
        volume.build(host, label).map_err(fail)?;
        Ok(Arc::new(volume))
    }

    fn build(&mut self, host: &dyn Host, label: &Label) -> Result<(), StepError> {
        host.step("volume file")?;
        self.allocate()?;
        let environment = || label.environment(&self.name);
        let device = loops::attach(host, &self.image, self.spec.direct, environment())?;
        if let Some(mkfs) = self.spec.mkfs(&device.path) {
            host.run(mkfs.envs(environment()).timeout(MKFS_LIMIT))?;
            host.step("volume mount")?;
            fs::create_dir(&self.point)?;
            self.mount(&device.path)?;
        }
        self.device = Some(device);
        Ok(())
    }

    /// The file with all its blocks: a disk that is full is found now, and not by a database under
    /// load.
    fn allocate(&self) -> io::Result<()> {
        let directory = self.image.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let file = File::create_new(&self.image)?;
        let bytes = self.spec.size_mib.saturating_mul(1 << 20);
        match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => Ok(()),
            // File systems that cannot reserve make holes.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(bytes),
            Err(error) => {
                let size = self.spec.size_mib;
                Err(HostError::because(
                    HostError::at(&self.image, error.into()),
                    format!("free disk space, or make `size` in [storage] smaller ({size} MiB)"),
                )
                .into())
            }
        }
    }

    fn mount(&self, device: &Path) -> io::Result<()> {
        let kind = self
            .spec
            .file_system
            .map_or("", rookery_host::volume::FileSystem::name);
        let data = std::ffi::CString::new(self.spec.data()).map_err(io::Error::other)?;
        mount(
            device,
            &self.point,
            kind,
            self.spec.flags(),
            Some(data.as_c_str()),
        )
        .map_err(|error| {
            let (at, options) = (self.point.display(), self.spec.data());
            HostError::refused(
                format!(
                    "mounting {kind} at {at} with `{options}`: {}",
                    io::Error::from(error)
                ),
                "leave out the option that this kernel does not know (`dmesg` names it)",
            )
            .into()
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was asked for.
    #[must_use]
    pub fn spec(&self) -> &VolumeSpec {
        &self.spec
    }

    /// Where it is mounted; `None` of a raw device.
    #[must_use]
    pub fn point(&self) -> Option<&Path> {
        self.spec
            .file_system
            .is_some()
            .then_some(self.point.as_path())
    }

    /// Its block device.
    ///
    /// # Panics
    /// Never: a volume that was made has its device.
    #[must_use]
    pub fn device(&self) -> &loops::LoopDevice {
        self.device
            .as_ref()
            .expect("a volume that was made has its device")
    }

    /// Mount it in another namespace as well, at the same place: a raw device is seen there
    /// already.
    ///
    /// # Errors
    /// When it cannot be mounted there.
    pub(crate) fn show_in(&self, view: &Arc<View>) -> io::Result<()> {
        if self.point().is_none() {
            return Ok(());
        }
        let _ = self.view.set(Arc::clone(view));
        let device = &self.device().path;
        view.within(|| self.mount(device))
    }

    /// What it is, read back from the kernel; `None` of a raw device, and when it is not mounted
    /// any more.
    #[must_use]
    pub fn in_force(&self) -> Option<InForce> {
        in_force(self.point()?)
    }

    /// Write out what its guests have written so far.
    pub(crate) fn sync(&self) {
        // Without it the first seconds of load pay for the copy.
        let _ = self
            .point()
            .map(|point| File::open(point).map(rustix::fs::syncfs));
    }

    /// Unmount, free the device, delete the file. Idempotent.
    ///
    /// # Errors
    /// When something stays; `clean` finds it by its label.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        if let Some(view) = self.view.get() {
            view.within(|| unmount_all(&self.point))?;
        }
        unmount_all(&self.point)?;
        remove_image(&self.image)?;
        match fs::remove_dir(&self.point) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(
                    error.kind(),
                    format!("{}: {error}", self.point.display()),
                ));
            }
            _ => self.gone = true,
        }
        Ok(())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // What stays is still labelled and registered: the lab's end or `clean` removes it.
        let _ = self.remove();
    }
}

/// Free the device of a volume's file and delete the file. Absent is fine.
pub(super) fn remove_image(image: &Path) -> io::Result<()> {
    loops::detach(image)?;
    match fs::remove_file(image) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", image.display()),
        )),
        _ => Ok(()),
    }
}

/// Unmount everything at a point; what stays busy vanishes from sight at once and for good with its
/// last user.
fn unmount_all(point: &Path) -> io::Result<()> {
    let deadline = Instant::now() + BUSY_LIMIT;
    loop {
        let flags = if Instant::now() < deadline {
            UnmountFlags::empty()
        } else {
            UnmountFlags::DETACH
        };
        match unmount(point, flags) {
            // There may be another below.
            Ok(()) => {}
            Err(rustix::io::Errno::BUSY) => thread::sleep(Duration::from_millis(5)),
            // Nothing is mounted there.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::INVAL) => return Ok(()),
            Err(error) => {
                return Err(io::Error::other(format!(
                    "unmounting {}: {error}",
                    point.display()
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_ours_tell_a_run() {
        let run = |path: &str| run_of_image(Path::new(path)).map(String::from);
        assert_eq!(
            run("/runs/a/guests/volumes/rookery-ab12-g1.img").as_deref(),
            Some("ab12")
        );
        for other in [
            "/runs/volumes/rookery-ab12.img",
            "/runs/volumes/rookery-ab12-g1.iso",
            "/home/rookery-ab12-g1.img",
            "/runs/volumes/my-rookery-ab12-g1.img",
            "/runs/volumes/rookery-UPPER-g1.img",
        ] {
            assert_eq!(run(other), None, "{other}");
        }
    }
}
