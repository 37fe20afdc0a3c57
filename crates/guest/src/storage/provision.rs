//! What a guest gets beyond its shape: memory nodes, storage, limits on I/O.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{
    Cgroups,
    io::{Device, IoLimits, check_throttle, disk_of},
    volume::{FileSystem, VolumeSpec},
};

use super::Volume;
use crate::{GuestError, Kind, open::on_path, site::remove_tree};

/// What a guest gets beyond its shape. The default is nothing: any memory node, a clone in the run's directory, no limits.
#[derive(Clone, Debug, Default)]
pub struct Provision {
    /// Memory nodes that it may use; empty = all. Containers alone are held to them.
    pub nodes: Vec<u32>,
    /// The volume that holds its data, alone or with others; `None` = the run's directory.
    pub volume: Option<Arc<Volume>>,
    /// Most I/O on the device of its data. Containers alone are held to it.
    pub limits: IoLimits,
}

/// A guest's storage, once it is made: where its data go, and on which device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) volume: Option<Arc<Volume>>,
    /// Directory of this guest on the volume.
    pub(crate) home: Option<PathBuf>,
    pub(crate) limits: IoLimits,
    /// The device that is limited; known where there are limits.
    pub(crate) device: Option<Device>,
    pub(crate) nodes: Vec<u32>,
}

impl Store {
    /// The storage of a guest of this name whose clone lies below `site`.
    ///
    /// # Errors
    /// When limits are asked for and the directory lies on nothing that can be limited.
    pub(crate) fn of(provision: &Provision, guest: &str, site: &Path) -> Result<Self, String> {
        let volume = provision.volume.clone();
        let device = match &volume {
            _ if provision.limits.is_none() => None,
            Some(volume) => Some(volume.device().device),
            None => Some(disk_of(site)?),
        };
        Ok(Self {
            home: volume
                .as_ref()
                .and_then(|volume| Some(volume.point()?.join(guest))),
            volume,
            limits: provision.limits,
            device,
            nodes: provision.nodes.clone(),
        })
    }

    /// The device number of a raw volume.
    pub(crate) fn raw(&self) -> Option<Device> {
        let volume = self
            .volume
            .as_ref()
            .filter(|volume| volume.point().is_none())?;
        Some(volume.device().device)
    }

    /// Write out the copy of the data: the load shall not pay for it.
    pub(crate) fn settle(&self) {
        if let Some(volume) = &self.volume {
            volume.sync();
        }
    }

    /// Give back: the guest's directory, and the volume when it was its last guest.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn release(&mut self) -> std::io::Result<()> {
        if let Some(home) = &self.home {
            remove_tree(home)?;
            self.home = None;
        }
        match self.volume.take().and_then(Arc::into_inner) {
            Some(mut last) => last.remove(),
            None => Ok(()),
        }
    }
}

/// Whether this host can give guests of `kind` such storage. Changes nothing. `directory` is where runs are kept, if that is known (it need not
/// exist): its disk is that of guests without a volume.
///
/// # Errors
/// Everything that is missing, at once, each with its mend.
pub fn check_storage(
    kind: Kind,
    volume: Option<&VolumeSpec>,
    limits: &IoLimits,
    directory: Option<&Path>,
) -> Result<(), GuestError> {
    let mut missing: Vec<(String, String)> = Vec::new();
    let mut lacks = |what: String, mend: &str| missing.push((what, mend.to_owned()));
    if let Some(spec) = volume {
        if !rustix::process::geteuid().is_root() {
            lacks(
                "volumes need root".to_owned(),
                "run as root, or write `pool = \"directory\"` in [storage]",
            );
        }
        if !Path::new("/dev/loop-control").exists() {
            lacks("there are no loop devices".to_owned(), "modprobe loop");
        }
        if on_path("losetup").is_none() {
            lacks("there is no `losetup`".to_owned(), "apt install mount");
        }
        if let Some(file_system) = spec.file_system {
            let (maker, package) = file_system.maker();
            if on_path(maker).is_none() {
                lacks(
                    format!("there is no `{maker}`"),
                    &format!("apt install {package}"),
                );
            }
            if !kernel_has(file_system) {
                lacks(
                    format!("the kernel offers no {}", file_system.name()),
                    &format!("modprobe {}", file_system.name()),
                );
            }
        }
        if let Err(what) = spec.check() {
            lacks(what, "change [storage]");
        }
        if kind == Kind::Fake {
            lacks(
                "fake guests keep no data".to_owned(),
                "write `pool = \"directory\"` in [storage]",
            );
        }
    }
    // The emulator of a virtual machine limits its own disks.
    if !limits.is_none() && kind != Kind::Vm {
        if kind != Kind::Container {
            lacks(
                "only containers can be held to limits on I/O".to_owned(),
                "write `kind = \"container\"` in [guest], or remove the limits",
            );
        }
        let able = Cgroups::detect()
            .map_err(|error| error.to_string())
            .and_then(|cgroups| check_throttle(&cgroups));
        let directory = directory.filter(|_| volume.is_none());
        // A relative path that does not exist lies in the working directory.
        let existing = |path: &Path| {
            path.ancestors()
                .find(|path| path.exists())
                .unwrap_or(Path::new("."))
                .to_owned()
        };
        let disk = directory.and_then(|directory| disk_of(&existing(directory)).err());
        for why in [able.err(), disk].into_iter().flatten() {
            let (what, mend) = why
                .split_once("\n  mend: ")
                .map_or((why.as_str(), ""), |parts| parts);
            lacks(what.to_owned(), mend);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (what, mend): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    Err(GuestError::HostNotReady {
        kind: kind_name(kind),
        what: format!("for their storage, {}", what.join("; ")),
        mend: mend.join("; "),
    })
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bare => "bare",
        Kind::Container => "container",
        Kind::Fake => "fake",
        Kind::Vm => "vm",
    }
}

/// A file system that is a module may not be listed before its first mount, which loads it.
fn kernel_has(file_system: FileSystem) -> bool {
    let listed = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    listed
        .lines()
        .any(|line| line.split_whitespace().last() == Some(file_system.name()))
        || Path::new("/lib/modules")
            .join(release)
            .join("kernel/fs")
            .join(file_system.name())
            .is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_need_containers_and_a_disk() {
        let limits = IoLimits {
            read_iops: Some(100),
            ..IoLimits::default()
        };
        let text = check_storage(Kind::Bare, None, &limits, Some(Path::new("/proc/self")))
            .expect_err("bare")
            .to_string();
        assert!(
            text.contains("only containers can be held to limits"),
            "{text}"
        );
        assert!(
            text.contains("without a device of its own") && text.contains("pool = \"volume\""),
            "{text}"
        );
        check_storage(
            Kind::Bare,
            None,
            &IoLimits::default(),
            Some(Path::new("/proc/self")),
        )
        .expect("nothing asked");
    }

    #[test]
    fn a_guest_without_provision_has_plain_storage() {
        let mut store = Store::of(&Provision::default(), "g1", Path::new("/proc/self"))
            .expect("no device needed");
        assert!(store.home.is_none() && store.device.is_none() && store.raw().is_none());
        store.release().expect("nothing to give back");
    }
}
