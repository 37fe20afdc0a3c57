//! Devices and files to which the kernel swaps memory: those that there are, and making one.

mod areas;
pub mod zram;

use std::path::Path;

pub use areas::{SwapArea, swap_areas, swap_off};

use crate::command::{CommandError, Host, Invocation};

/// The priority of an area that is filled before all others.
pub const FIRST_PRIORITY: i32 = 32_767;

/// Most characters of the label of an area.
pub const MOST_LABEL: usize = 15;

/// Make a swap area of a file or a device; what was on it is lost. `label` has at most
/// [`MOST_LABEL`] characters, `environment` labels the command.
///
/// # Errors
/// When the command fails, with its words.
pub fn make_area(
    host: &dyn Host,
    path: &Path,
    label: &str,
    environment: Vec<(String, String)>,
) -> Result<(), CommandError> {
    let invocation = Invocation::new("mkswap").args(["--label", label]).arg(path);
    host.run(invocation.envs(environment)).map(drop)
}

/// Let the kernel swap to an area, before it does to others.
///
/// # Errors
/// When the kernel refuses it, with the words of the command.
pub fn swap_on(
    host: &dyn Host,
    path: &Path,
    environment: Vec<(String, String)>,
) -> Result<(), CommandError> {
    let invocation = Invocation::new("swapon")
        .args(["--priority", &FIRST_PRIORITY.to_string()])
        .arg(path);
    host.run(invocation.envs(environment)).map(drop)
}
