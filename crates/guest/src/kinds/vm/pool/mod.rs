//! Where the disk of a guest lies: a file in its directory, a volume of LVM, or a block device of
//! its own.
//!
//! Volumes carry Rookery's tags, by which `clean` finds them after a crash, or after the host has
//! started anew.

#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_host::{
    CommandError, Host, HostError, Invocation, RunId, find_program, volume::devices::TakenDevice,
};
use rookery_study::vm_shape::{DiskClone, Pool};
use serde::Deserialize;

use super::clone::clone_image;
use crate::{
    label::guest_netns,
    storage::{InForce, Volume},
};

/// The tag of all volumes.
const TAG: &str = "rookery";
/// What the tag with the run begins with.
const RUN_TAG: &str = "rookery.run=";
/// How long a copy of a large image may take.
const COPY_LIMIT: Duration = Duration::from_secs(10 * 60);
/// How long LVM may take.
const LVM_LIMIT: Duration = Duration::from_secs(60);
/// The disk of one guest.
#[derive(Debug)]
pub(super) enum Disk {
    /// A file, and whether it is qcow2.
    File { path: PathBuf, qcow2: bool },
    /// A raw volume of the study's: the whole device.
    Raw(PathBuf),
    /// A volume: `group/name`.
    Volume { path: PathBuf, name: String },
    /// A device of the host, kept from others.
    Device(TakenDevice),
}

/// Whose disk it is.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) run: &'a RunId,
    pub(super) guest: &'a str,
    /// From 1.
    pub(super) number: u16,
}

impl Disk {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Raw(path) | Self::Volume { path, .. } => path,
            Self::Device(device) => device.path(),
        }
    }

    /// `qcow2` or `raw`.
    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::File { qcow2: true, .. } => "qcow2",
            _ => "raw",
        }
    }

    /// Whether it is a block device.
    pub(super) fn is_block(&self) -> bool {
        !matches!(self, Self::File { .. })
    }

    /// Put the image on a disk from the pool.
    ///
    /// # Errors
    /// When the pool has none for this guest, it holds what is not ours, or it is too small.
    pub(super) fn provide(
        host: &dyn Host,
        pool: &Pool,
        owner: Owner<'_>,
        image: &Path,
        directory: &Path,
        clone: DiskClone,
    ) -> io::Result<Self> {
        match pool {
            Pool::Directory => Ok(Self::File {
                path: clone_image(host, image, directory, "disk", clone)?,
                qcow2: clone == DiskClone::Overlay,
            }),
            Pool::Lvm(place) => volume(host, place, owner, image),
            Pool::Devices(devices) => {
                let path = usize::from(owner.number)
                    .checked_sub(1)
                    .and_then(|index| devices.get(index));
                let path = path.ok_or_else(|| {
                    let what = format!(
                        "guest {} has no device: the shape names {} of them",
                        owner.number,
                        devices.len()
                    );
                    io::Error::other(what)
                })?;
                device(host, path, image)
            }
        }
    }

    /// Put the image whole on a volume of the study's, into the directory `home` where it has a
    /// file system: an overlay would read from the disk of the templates.
    ///
    /// # Errors
    /// When the volume is too small.
    pub(super) fn on_volume(
        host: &dyn Host,
        volume: &Volume,
        home: Option<&Path>,
        image: &Path,
        clone: DiskClone,
    ) -> io::Result<Self> {
        let needs = image.metadata()?.len() >> 20;
        if volume.spec().size_mib < needs {
            let has = volume.spec().size_mib;
            return Err(HostError::refused(
                format!("a disk of {needs} MiB on a volume of {has} MiB"),
                "change `disk_size` in [guest.vm], or `size` in [storage]",
            )
            .into());
        }
        let Some(home) = home else {
            let path = volume.device().path.clone();
            // The blocks of a file were just reserved, and read as zeros.
            fill(host, image, &path, volume.device().file.is_some())?;
            return Ok(Self::Raw(path));
        };
        fs::create_dir(home)?;
        let clone = match clone {
            DiskClone::Overlay => DiskClone::Raw,
            whole => whole,
        };
        Ok(Self::File {
            path: clone_image(host, image, home, "disk", clone)?,
            qcow2: false,
        })
    }

    /// Give back to the pool what does not lie in the guest's directory.
    ///
    /// # Errors
    /// When a volume cannot be removed or a device not be written.
    pub(super) fn release(self, host: &dyn Host) -> io::Result<()> {
        match self {
            Self::File { .. } | Self::Raw(_) => Ok(()),
            Self::Volume { name, .. } => remove_volume(host, &name),
            Self::Device(mut device) => {
                host.step("device")?;
                device.make_blank()
            }
        }
    }

    /// What `qemu-img` says of it, but for how much of it is written: that is no setting, and
    /// grows. A file may lie `on_volume`.
    pub(super) fn in_force(&self, host: &dyn Host, on_volume: bool) -> Vec<InForce> {
        let info = Invocation::new("qemu-img")
            .args(["info", "-U", "--output=json", "-f", self.format()])
            .arg(self.path());
        let said = host.run(info).unwrap_or_default();
        let info: Info = serde_json::from_str(&said).unwrap_or_default();
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let backing = info.backing.as_deref().map_or("none", |path| {
            if path.is_empty() {
                "none"
            } else {
                "the template's image"
            }
        });
        let lies = match self {
            Self::File { .. } if on_volume => "volume of the study",
            Self::File { .. } => "directory",
            Self::Raw(_) => "raw volume of the study",
            Self::Volume { .. } => "volume of LVM",
            Self::Device(_) => "device",
        };
        [
            ("vm.disk.pool", lies.to_owned()),
            ("vm.disk.format", info.format.unwrap_or_default()),
            (
                "vm.disk.size",
                info.virtual_size.map(mib).unwrap_or_default(),
            ),
            ("vm.disk.backing", backing.to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| InForce::new(name, "", value))
        .collect()
    }
}

/// Output of `qemu-img info`.
#[derive(Default, Deserialize)]
struct Info {
    format: Option<String>,
    #[serde(rename = "virtual-size")]
    virtual_size: Option<u64>,
    #[serde(rename = "backing-filename")]
    backing: Option<String>,
}

/// A volume of its own, `group` or `group/pool` of thin volumes, with the image on it.
fn volume(host: &dyn Host, place: &str, owner: Owner<'_>, image: &Path) -> io::Result<Disk> {
    let group = place.split('/').next().unwrap_or(place);
    let name = guest_netns(owner.run, owner.guest);
    let thin = place.contains('/');
    let size = format!("{}b", image.metadata()?.len());
    let run = format!("{RUN_TAG}{}", owner.run);
    let mut create = Invocation::new("lvcreate")
        .args(["--yes", "--name", &name, "--addtag", TAG, "--addtag", &run]);
    create = match thin {
        true => create.args(["--thin", "--virtualsize", &size, place]),
        false => create.args([
            "--wipesignatures",
            "y",
            "--zero",
            "y",
            "--size",
            &size,
            place,
        ]),
    };
    host.run(lvm(create)).map_err(|error| {
        HostError::because(
            error,
            "`vgs` shows the groups and what is free; apt install lvm2",
        )
    })?;
    let path = PathBuf::from(format!("/dev/{group}/{name}"));
    let name = format!("{group}/{name}");
    let filled = fill(host, image, &path, thin);
    if filled.is_err() {
        let _ = remove_volume(host, &name);
    }
    filled.map(|()| Disk::Volume { path, name })
}

fn lvm(invocation: Invocation) -> Invocation {
    invocation
        .env("LC_ALL", "C")
        .env("LVM_SUPPRESS_FD_WARNINGS", "1")
        .timeout(LVM_LIMIT)
}

fn remove_volume(host: &dyn Host, name: &str) -> io::Result<()> {
    let remove = Invocation::new("lvremove").args(["--yes", name]);
    match host.run(lvm(remove)) {
        Err(CommandError::Failed { words, .. }) if words.contains("Failed to find") => Ok(()),
        removed => removed.map(drop).map_err(io::Error::other),
    }
}

/// A device, once it is sure that nobody misses what is on it.
fn device(host: &dyn Host, path: &Path, image: &Path) -> io::Result<Disk> {
    let mut device = TakenDevice::take(host, path, image.metadata()?.len())?;
    device.hold()?;
    fill(host, image, path, false)?;
    Ok(Disk::Device(device))
}

/// Copy an image onto a block device; what is a hole in it becomes zeros, unless the device is
/// known to hold nothing else.
fn fill(host: &dyn Host, image: &Path, device: &Path, is_zero: bool) -> io::Result<()> {
    let convert = Invocation::new("qemu-img")
        .args(["convert", "-q", "-n", "-f", "raw", "-O", "raw"])
        .args(is_zero.then_some("--target-is-zero"))
        .arg(image)
        .arg(device);
    host.run(convert.timeout(COPY_LIMIT))
        .map(drop)
        .map_err(io::Error::other)
}

/// A volume of a run that `lvs` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaggedVolume {
    pub(super) run: RunId,
    /// `group/name`.
    pub(super) name: String,
}

impl TaggedVolume {
    /// Remove it.
    ///
    /// # Errors
    /// When LVM refuses.
    pub(super) fn remove(&self, host: &dyn Host) -> io::Result<()> {
        remove_volume(host, &self.name)
    }
}

/// All volumes with Rookery's tags, where this host has LVM.
pub(super) fn tagged_volumes(host: &dyn Host) -> Vec<TaggedVolume> {
    if find_program("lvs").is_none() || !Path::new("/sys/class/misc/device-mapper").exists() {
        return Vec::new();
    }
    let words = [
        "--reportformat",
        "json",
        "--options",
        "vg_name,lv_name,lv_tags",
        "--select",
    ];
    let list = Invocation::new("lvs")
        .args(words)
        .arg(format!("lv_tags={TAG}"));
    parse_volumes(&host.run(lvm(list)).unwrap_or_default())
}

/// Volumes in a report of `lvs`: those with both tags and a name of the same run.
fn parse_volumes(said: &str) -> Vec<TaggedVolume> {
    #[derive(Deserialize)]
    struct Report {
        report: Vec<Part>,
    }
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        lv: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Row {
        vg_name: String,
        lv_name: String,
        lv_tags: String,
    }
    let Ok(report) = serde_json::from_str::<Report>(said) else {
        return Vec::new();
    };
    let rows = report.report.into_iter().flat_map(|part| part.lv);
    rows.filter_map(|row| {
        let tags: Vec<&str> = row.lv_tags.split(',').collect();
        let run = tags.iter().find_map(|tag| tag.strip_prefix(RUN_TAG))?;
        let run = RunId::try_from(run.to_owned()).ok()?;
        let ours = tags.contains(&TAG) && row.lv_name.starts_with(&guest_netns(&run, ""));
        ours.then(|| TaggedVolume {
            name: format!("{}/{}", row.vg_name, row.lv_name),
            run,
        })
    })
    .collect()
}
