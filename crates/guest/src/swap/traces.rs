//! Swap devices of runs as they can be found on the host, registered or not.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_host::{
    RunId,
    swap::{
        swap_areas,
        zram::{ZramNumber, ZramUse, remove_zram, zram_numbers, zram_path, zram_use},
    },
};

use super::{
    device::{remove_file, run_of_file},
    record::{Record, run_of_label},
};
use crate::paths::remove_tree;

/// What swapping leaves on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SwapTrace {
    /// A file to which the kernel swaps.
    File(PathBuf),
    /// A device of compressed memory.
    Zram(ZramNumber),
    /// The directory of a run's records.
    Records(PathBuf),
}

impl SwapTrace {
    /// What it is, in a word or two.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::File(_) => "swap file",
            Self::Zram(_) => "swap device",
            Self::Records(_) => "swap record",
        }
    }

    /// As it is listed.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Records(path) => path.display().to_string(),
            Self::Zram(number) => zram_path(*number).display().to_string(),
        }
    }

    /// Take it away; absent is fine.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match self {
            Self::File(path) => remove_file(path),
            Self::Zram(number) => remove_zram(*number),
            Self::Records(directory) => remove_records(directory),
        }
    }
}

fn remove_records(directory: &Path) -> io::Result<()> {
    for record in Record::all_in(directory) {
        record.remove()?;
    }
    remove_tree(directory)
}

/// The swap files and devices of all runs.
///
/// # Errors
/// When the kernel's list of areas cannot be read.
pub(crate) fn swap_traces() -> io::Result<Vec<(RunId, SwapTrace)>> {
    let areas = swap_areas()?.into_iter();
    let mut found: Vec<(RunId, SwapTrace)> = areas
        .filter_map(|area| Some((run_of_file(&area.path)?, SwapTrace::File(area.path))))
        .collect();
    for number in zram_numbers() {
        if let Some(ZramUse::Swap(label)) = zram_use(number)
            && let Some(run) = run_of_label(&label)
        {
            found.push((run, SwapTrace::Zram(number)));
        }
    }
    Ok(found)
}
