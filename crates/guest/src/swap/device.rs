//! One device from its making to its removal.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rookery_host::{
    Host, HostError, RunId,
    swap::{make_area, swap_areas, swap_off, swap_on, zram},
};
use rookery_study::SwapKind;
use rustix::fs::{FallocateFlags, fallocate};

use super::record::{Record, area_label, run_of_label};
use crate::{
    error::{GuestError, StepError},
    label::{Label, run_name, run_of_name},
    registry::Registry,
};

/// Name of the directory of swap files below a run's directory of guests.
const FILES: &str = "swap";
/// Extension of such a file.
const EXTENSION: &str = "swap";
/// What the head of an area takes, and what is left over where pages are larger than 4 KiB, bytes.
const HEAD_BYTES: u64 = 64 << 10;

/// Directory of the swap files of a run.
pub(crate) fn swap_files(dir: &Path) -> PathBuf {
    dir.join(FILES)
}

/// The run whose swap file this is; `None` when it is no file of ours.
pub(super) fn run_of_file(file: &Path) -> Option<RunId> {
    let ours =
        file.extension().is_some_and(|found| found == EXTENSION) && file.parent()?.ends_with(FILES);
    let stem = file.file_stem()?.to_str().filter(|_| ours)?;
    // `rookery-<run>-<name>`
    stem.strip_prefix("rookery-")?
        .contains('-')
        .then(|| run_of_name(stem))?
}

/// Where a device is made.
#[derive(Clone, Copy)]
pub(crate) struct DeviceContext<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) label: &'a Label,
    /// The run's directory of guests.
    pub(crate) dir: &'a Path,
    pub(crate) registry: &'a Registry,
}

/// A device to which the kernel swaps. Removed when it is dropped, or by
/// [`remove`](SwapDevice::remove), which gives the error.
#[derive(Debug)]
pub struct SwapDevice {
    place: Place,
    gone: bool,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Zram(Record),
}

impl SwapDevice {
    /// Make the device `name` (1 to 40 characters of `a-z`, `0-9` and `-`) of so many MiB, and let
    /// the kernel swap to it. The run is registered already; on an error nothing is left.
    ///
    /// # Errors
    /// When the kernel swaps elsewhere already, or refuses a step.
    pub(crate) fn make(
        context: DeviceContext<'_>,
        name: &str,
        kind: SwapKind,
        size_mib: u64,
    ) -> Result<Self, GuestError> {
        let fail = |error: StepError| GuestError::in_lab("making its swap device", error);
        Self::build(context, name, kind, size_mib).map_err(fail)
    }

    fn build(
        context: DeviceContext<'_>,
        name: &str,
        kind: SwapKind,
        size_mib: u64,
    ) -> Result<Self, StepError> {
        // While the lock is held no run takes a device that has no label yet for its own.
        let refused = |error: GuestError| StepError::Refused(error.to_string());
        let _lock = context.registry.lock().map_err(refused)?;
        refuse_others(&context.label.run)?;
        let bytes = size_mib.saturating_mul(1 << 20).saturating_add(HEAD_BYTES);
        // From here on the device's drop removes what was made.
        let device = match kind {
            SwapKind::File => Self::file(context, name, bytes)?,
            SwapKind::Zram => Self::zram(context, name, bytes)?,
        };
        let path = device.path()?;
        let environment = || context.label.environment(name);
        let label = area_label(&context.label.run);
        make_area(context.host, &path, &label, environment())?;
        swap_on(context.host, &path, environment())?;
        Ok(device)
    }

    /// A file with all its blocks: the kernel takes none with holes.
    fn file(context: DeviceContext<'_>, name: &str, bytes: u64) -> Result<Self, StepError> {
        context.host.step("swap file")?;
        let directory = swap_files(context.dir);
        fs::create_dir_all(&directory)?;
        let stem = format!("{}-{name}", run_name(&context.label.run));
        let path = directory.join(stem).with_extension(EXTENSION);
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| HostError::at(&path, error))?;
        let device = Self {
            place: Place::File(path),
            gone: false,
        };
        fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(|error| {
            let mib = bytes >> 20;
            HostError::because(
                io::Error::from(error),
                format!("free {mib} MiB of disk, or write less `memory` or `swap` in [guest]"),
            )
        })?;
        Ok(device)
    }

    /// A device of compressed memory.
    fn zram(context: DeviceContext<'_>, name: &str, bytes: u64) -> Result<Self, StepError> {
        let run = &context.label.run;
        let directory = context.registry.state_dir(super::STATE, run);
        let record = Record::begin(context.host, &directory, name, area_label(run))?;
        let mut device = Self {
            place: Place::Zram(record),
            gone: false,
        };
        let number = zram::add_zram(context.host)?;
        if let Place::Zram(record) = &mut device.place {
            record.tell(context.host, number)?;
        }
        zram::size_zram(context.host, number, bytes)?;
        Ok(device)
    }

    fn path(&self) -> Result<PathBuf, StepError> {
        match &self.place {
            Place::File(path) => Ok(path.clone()),
            Place::Zram(record) => record
                .number()
                .map(zram::zram_path)
                .ok_or_else(|| StepError::Refused("it has no number".to_owned())),
        }
    }

    /// Take back what lies there, and remove it. Idempotent.
    ///
    /// # Errors
    /// When something stays; `clean` finds it by its label.
    pub fn remove(&mut self) -> Result<(), GuestError> {
        if self.gone {
            return Ok(());
        }
        let removed = match &self.place {
            Place::File(path) => remove_file(path),
            Place::Zram(record) => record.remove(),
        };
        removed.map_err(|error| GuestError::in_lab("removing its swap device", error))?;
        self.gone = true;
        Ok(())
    }
}

impl Drop for SwapDevice {
    fn drop(&mut self) {
        // What stays is still labelled and registered: the lab's end or `clean` removes it.
        let _ = self.remove();
    }
}

/// Swap to a file no more, and delete it. Absent is fine.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    swap_off(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(HostError::at(path, error).into())
        }
        _ => Ok(()),
    }
}

/// Pages go wherever the kernel likes: what is swapped to beside a device of ours would take some
/// of them.
fn refuse_others(run: &RunId) -> Result<(), StepError> {
    let areas = swap_areas()?;
    let mut owners = areas
        .iter()
        .map(|area| (&area.path, run_of_area(&area.path)));
    match owners.find(|(_, owner)| owner.as_ref() != Some(run)) {
        None => Ok(()),
        Some((path, owner)) => Err(already_swaps(path, owner.as_ref()).into()),
    }
}

/// The run whose area is at a path; `None` when it is none of ours.
pub(super) fn run_of_area(path: &Path) -> Option<RunId> {
    match zram::number_of(path).and_then(zram::zram_use) {
        Some(zram::ZramUse::Swap(label)) => run_of_label(&label),
        _ => run_of_file(path),
    }
}

/// The host swaps elsewhere, for this run of ours or for something else.
pub(super) fn already_swaps(path: &Path, owner: Option<&RunId>) -> HostError {
    let path = path.display();
    let what = format!("the host swaps to {path} already, and memory of guests would go there too");
    let help = match owner {
        Some(run) => format!("wait for the end of run {run}, or `rookery clean` if it is dead"),
        None => format!(
            "`swapoff {path}` for the time of the run, or write `swap = \"none\"` in [guest]"
        ),
    };
    HostError::refused(what, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_ours_tell_a_run() {
        let run = |path: &str| run_of_file(Path::new(path)).map(String::from);
        let file = "/runs/a/guests/swap/rookery-ab12-g1.swap";
        assert_eq!(run(file).as_deref(), Some("ab12"));
        for other in [
            "/runs/swap/rookery-ab12.swap",
            "/runs/swap/rookery-ab12-g1.img",
            "/home/rookery-ab12-g1.swap",
            "/swapfile",
        ] {
            assert_eq!(run(other), None, "{other}");
        }
    }
}
