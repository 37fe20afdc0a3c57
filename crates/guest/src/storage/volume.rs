//! One volume from its files to its mount, and back.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use rookery_host::{
    CommandError, Host, HostError, Mount,
    io::Device,
    volume::{DeviceSource, InForce, MountedBy, VolumeSpec, devices::TakenDevice, in_force, loops},
};
use rustix::{
    fs::{FallocateFlags, fallocate},
    mount::{UnmountFlags, mount, unmount},
};

use super::{
    copies::unmount_copies,
    device_record::DeviceRecord,
    names::{IMAGE, RECORD, run_of_image, volumes},
    view::View,
};
use crate::{
    error::{GuestError, StepError},
    label::{Label, run_name},
};

/// How long a volume that is not used any more may stay busy.
const BUSY_LIMIT: Duration = Duration::from_secs(5);
/// Making a file system of some TiB takes seconds.
const MKFS_LIMIT: Duration = Duration::from_secs(300);

/// A block device of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeDevice {
    /// `/dev/loop3`
    pub path: PathBuf,
    /// Its number.
    pub device: Device,
    /// The file behind it; `None` of a device of the host.
    pub file: Option<PathBuf>,
}

/// One device of a volume, and what it is made of.
#[derive(Debug)]
struct Part {
    origin: Origin,
    /// Its name in the run's directory of volumes: the file itself, or what tells where the study
    /// has files or devices elsewhere, so that what was made is found from there.
    listed: PathBuf,
    /// Known once it is attached or taken.
    device: Option<VolumeDevice>,
}

/// What a device of a volume is made of.
#[derive(Debug)]
enum Origin {
    /// A file, which may lie elsewhere than what lists it.
    File(PathBuf),
    /// A device of the host, and how it is kept from others once it is taken.
    Device(PathBuf, Option<TakenDevice>),
}

impl Part {
    /// The device `index` of the volume `name`; nothing is made yet.
    fn new(dir: &Path, label: &Label, name: &str, spec: &VolumeSpec, index: usize) -> Self {
        let numbered = match spec.devices {
            1 => String::new(),
            _ => format!("-{}", index + 1),
        };
        let name = format!("{}-{name}{numbered}", run_name(&label.run));
        let (image, record) = (format!("{name}.{IMAGE}"), format!("{name}.{RECORD}"));
        let (listed, origin) = match &spec.source {
            DeviceSource::RunDirectory => {
                let listed = volumes(dir).join(image);
                (listed.clone(), Origin::File(listed))
            }
            DeviceSource::Directories(places) => {
                let file = volumes(&places[index]).join(&image);
                (volumes(dir).join(image), Origin::File(file))
            }
            DeviceSource::BlockDevices(devices) => {
                let device = Origin::Device(devices[index].clone(), None);
                (volumes(dir).join(record), device)
            }
        };
        Self {
            origin,
            listed,
            device: None,
        }
    }

    /// What is there already that it would have to make.
    fn taken(&self) -> Option<&Path> {
        let there = |path: &&Path| fs::symlink_metadata(path).is_ok();
        let file = match &self.origin {
            Origin::File(file) => Some(file.as_path()),
            Origin::Device(..) => None,
        };
        file.into_iter().chain([self.listed.as_path()]).find(there)
    }

    /// Set aside what it is made of: all blocks of a file, or a device that no one misses. Nothing
    /// is written to a device before it is listed.
    fn reserve(&mut self, host: &dyn Host, volume: &str, bytes: u64) -> io::Result<()> {
        let parent = |path: &Path| path.parent().unwrap_or(Path::new(".")).to_owned();
        fs::create_dir_all(parent(&self.listed))?;
        match &mut self.origin {
            Origin::File(file) => {
                if self.listed != *file {
                    symlink(&*file, &self.listed)?;
                    fs::create_dir_all(parent(file))?;
                }
                allocate(file, bytes)
            }
            Origin::Device(path, taken) => {
                let device = TakenDevice::take(host, path, bytes)?;
                DeviceRecord::new(volume, &device).write(&self.listed)?;
                self.device = Some(VolumeDevice {
                    path: path.clone(),
                    device: device.device(),
                    file: None,
                });
                *taken = Some(device);
                Ok(())
            }
        }
    }

    /// Make a block device of a file.
    fn attach(
        &mut self,
        host: &dyn Host,
        direct: bool,
        environment: Vec<(String, String)>,
    ) -> Result<(), CommandError> {
        let Origin::File(file) = &self.origin else {
            return Ok(());
        };
        let made = loops::attach(host, file, direct, environment)?;
        self.device = Some(VolumeDevice {
            path: made.path,
            device: made.device,
            file: Some(made.file),
        });
        Ok(())
    }

    /// Keep everyone else from a device of the host that the host does not mount.
    fn hold(&mut self) -> io::Result<()> {
        if let Origin::Device(_, Some(taken)) = &mut self.origin {
            taken.hold()?;
        }
        Ok(())
    }

    /// Free the device, and delete the file and what lists it; a device of the host is given back
    /// blank.
    fn remove(&mut self) -> io::Result<()> {
        match &mut self.origin {
            Origin::File(file) => {
                remove_image(file)?;
                if self.listed != *file {
                    remove_file(&self.listed)?;
                    remove_empty_parent(file);
                }
            }
            Origin::Device(_, taken) => {
                if let Some(device) = taken {
                    device.make_blank()?;
                    remove_file(&self.listed)?;
                }
                *taken = None;
            }
        }
        Ok(())
    }
}

/// A file with all its blocks: a disk that is full is found now, and not by a database under load.
fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let file = File::create_new(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        // File systems that cannot reserve make holes.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(bytes),
        Err(error) => {
            let size = bytes >> 20;
            Err(HostError::because(
                HostError::at(path, error.into()),
                format!("free disk space, or make `size` in [storage] smaller ({size} MiB)"),
            )
            .into())
        }
    }
}

/// Delete a file; absent is fine.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", path.display()),
        )),
        _ => Ok(()),
    }
}

/// Delete the directory of volumes that was made beside what a user keeps there, with its last
/// file.
fn remove_empty_parent(file: &Path) {
    let _ = file.parent().map(fs::remove_dir);
}

/// Delete the files that a run's directory of volumes lists elsewhere. What lists them goes with
/// the directory.
///
/// # Errors
/// When one stays.
pub(crate) fn remove_listed(directory: &Path, run: &rookery_host::RunId) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let listed = entry?.path();
        let Ok(file) = fs::read_link(&listed) else {
            continue;
        };
        // Only a file whose name is that of the link, and says that it is this run's.
        let ours = run_of_image(&file).is_some_and(|of| of == *run);
        if ours && file.file_name() == listed.file_name() {
            remove_image(&file)?;
            remove_empty_parent(&file);
        }
    }
    Ok(())
}

/// A volume, mounted, or a device for a guest. Removed with its last guest; dropping it removes it
/// as well.
#[derive(Debug)]
pub struct Volume {
    name: String,
    spec: VolumeSpec,
    /// Its devices, at least one.
    parts: Vec<Part>,
    point: PathBuf,
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
        let spec = resolved(spec).map_err(|error| fail(error.into()))?;
        let parts =
            (0..spec.devices as usize).map(|index| Part::new(dir, label, name, &spec, index));
        let parts: Vec<Part> = parts.collect();
        if let Some(path) = parts.iter().find_map(Part::taken) {
            let what = format!("{} is there already", path.display());
            return Err(fail(StepError::Refused(what)));
        }
        let mut volume = Self {
            name: name.to_owned(),
            spec,
            parts,
            point: volumes(dir).join(name),
            view: OnceLock::new(),
            gone: false,
        };
        // From here on the volume's drop removes what was made.
        volume.build(host, label).map_err(fail)?;
        Ok(Arc::new(volume))
    }

    fn build(&mut self, host: &dyn Host, label: &Label) -> Result<(), StepError> {
        host.step("volume file")?;
        for part in &mut self.parts {
            part.reserve(host, &self.name, self.spec.device_bytes())?;
        }
        let environment = || label.environment(&self.name);
        for part in &mut self.parts {
            part.attach(host, self.spec.direct, environment())?;
        }
        if let Some(mkfs) = self.spec.mkfs(&self.paths()) {
            host.run(mkfs.envs(environment()).timeout(MKFS_LIMIT))?;
        }
        if self.point().is_some() {
            host.step("volume mount")?;
            fs::create_dir(&self.point)?;
            self.mount()?;
        } else {
            self.parts.iter_mut().try_for_each(Part::hold)?;
        }
        Ok(())
    }

    /// Its devices that are attached.
    fn paths(&self) -> Vec<PathBuf> {
        self.devices().map(|device| device.path.clone()).collect()
    }

    fn mount(&self) -> io::Result<()> {
        let devices = self.paths();
        let options = self.spec.data(&devices);
        let kind = self
            .spec
            .file_system
            .map_or("", rookery_host::volume::FileSystem::name);
        let data = std::ffi::CString::new(options.as_str()).map_err(io::Error::other)?;
        mount(
            &self.device().path,
            &self.point,
            kind,
            self.spec.flags(),
            Some(data.as_c_str()),
        )
        .map_err(|error| {
            let at = self.point.display();
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

    /// Where the host mounts it; `None` of a raw device, and of one that a guest mounts.
    #[must_use]
    pub fn point(&self) -> Option<&Path> {
        let mounted = self.spec.file_system.is_some() && self.spec.mounted_by == MountedBy::Host;
        mounted.then_some(self.point.as_path())
    }

    /// Its block devices: one, or those that its blocks are dealt over.
    pub fn devices(&self) -> impl Iterator<Item = &VolumeDevice> {
        self.parts.iter().filter_map(|part| part.device.as_ref())
    }

    /// The first of its block devices, by which it is mounted.
    ///
    /// # Panics
    /// Never: a volume that was made has its devices.
    #[must_use]
    pub fn device(&self) -> &VolumeDevice {
        self.devices()
            .next()
            .expect("a volume that was made has its devices")
    }

    /// Mount it in another namespace as well, at the same place: a device is seen there
    /// already.
    ///
    /// # Errors
    /// When it cannot be mounted there.
    pub(crate) fn show_in(&self, view: &Arc<View>) -> io::Result<()> {
        if self.point().is_none() {
            return Ok(());
        }
        let _ = self.view.set(Arc::clone(view));
        view.within(|| self.mount())
    }

    /// Where it is mounted, and the clones of containers whose upper layers lie on it: they keep it
    /// in use as well.
    fn mounted_among(&self, mounts: &[Mount]) -> Vec<PathBuf> {
        let layer = format!("upperdir={}/", self.point.display());
        let is_of = |mount: &&Mount| {
            let mut devices = self.devices();
            let own = devices.any(|device| mount.is_of(device.device, &device.path));
            own || (mount.kind == "overlay" && mount.options.contains(&layer))
        };
        let own = mounts.iter().filter(is_of);
        own.map(|mount| mount.point.clone()).collect()
    }

    /// What it is, read back from the kernel; `None` where the host has not mounted it.
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

    /// Unmount, free the device, delete the file or make the device blank. Idempotent.
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
        unmount_copies(&|mounts| self.mounted_among(mounts));
        self.parts.iter_mut().try_for_each(Part::remove)?;
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
    remove_file(image)
}

/// The same with directories and devices as the kernel names them.
fn resolved(spec: &VolumeSpec) -> io::Result<VolumeSpec> {
    let mut spec = spec.clone();
    let help = match &spec.source {
        DeviceSource::BlockDevices(_) => "name another device in [storage]",
        _ => "make the directory, or name another in [storage]",
    };
    for path in spec.source.paths_mut() {
        *path = path
            .canonicalize()
            .map_err(|error| HostError::because(HostError::at(path, error), help))?;
    }
    Ok(spec)
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
    fn files_elsewhere_go_with_what_lists_them_and_no_other_does() {
        let place = tempfile::tempdir().expect("temporary directory");
        let (run_dir, disk) = (
            place.path().join("volumes"),
            place.path().join("disk/volumes"),
        );
        fs::create_dir_all(&run_dir).expect("made");
        fs::create_dir_all(&disk).expect("made");
        let put = |name: &str, listed: &str| {
            fs::write(disk.join(name), "1").expect("written");
            symlink(disk.join(name), run_dir.join(listed)).expect("linked");
        };
        put("rookery-ab-g1-1.img", "rookery-ab-g1-1.img");
        put("rookery-cd-g1.img", "rookery-cd-g1.img");
        put("rookery-ab-g2.img", "rookery-ab-other.img");
        put("precious.img", "precious.img");
        let run = rookery_host::RunId::try_from("ab".to_owned()).expect("a run");
        remove_listed(&run_dir, &run).expect("removed");
        let mut left: Vec<_> = fs::read_dir(&disk).expect("read").flatten().collect();
        left.sort_by_key(fs::DirEntry::file_name);
        let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
        assert_eq!(
            left,
            ["precious.img", "rookery-ab-g2.img", "rookery-cd-g1.img"]
        );
        remove_listed(&place.path().join("none"), &run).expect("nothing to do");
    }
}
