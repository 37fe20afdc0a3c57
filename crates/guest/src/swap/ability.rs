//! Whether this host can swap as a study asks for.

use std::{fs, path::Path};

use rookery_host::{
    Cgroups, find_program,
    swap::{swap_areas, zram::CONTROL},
};
use rookery_study::SwapKind;
use rustix::fs::statfs;

use super::device::{already_swaps, run_of_area};
use crate::host_check::Lack;

/// Programs, with their packages.
const PROGRAMS: [(&str, &str); 3] = [
    ("mkswap", "util-linux"),
    ("swapon", "mount"),
    ("swapoff", "mount"),
];
/// What is to be done where the kernel cannot.
const NO_SWAP: &str = "write `swap = \"none\"` in [guest]";
/// Whether what is swapped is kept compressed in memory first.
const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";
/// File systems whose files can be swapped to, by the numbers in statfs(2): ext2 to ext4, XFS.
const FILE_SYSTEMS: [i64; 2] = [0xEF53, 0x5846_5342];

/// What this host lacks to swap to such a device. Nothing of it is changed. `directory` is where
/// runs are kept, if that is known (it need not exist).
pub(crate) fn missing(kind: SwapKind, directory: Option<&Path>) -> Vec<Lack> {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push(Lack::new(
            "it needs root",
            format!("run as root, or {NO_SWAP}"),
        ));
    }
    if !Path::new("/proc/swaps").exists() {
        let help = format!("boot a kernel with CONFIG_SWAP, or {NO_SWAP}");
        missing.push(Lack::new("the kernel cannot swap", help));
    }
    for (program, package) in PROGRAMS {
        if find_program(program).is_none() {
            let help = format!("apt install {package}");
            missing.push(Lack::new(format!("there is no `{program}`"), help));
        }
    }
    if !groups_count_swap() {
        let help = format!("boot with swapaccount=1, or {NO_SWAP}");
        missing.push(Lack::new("control groups do not count swap", help));
    }
    // Those of runs are no obstacle: what a dead run left is removed, and a living one ends.
    let areas = swap_areas().unwrap_or_default();
    let mut others = areas
        .iter()
        .filter(|area| run_of_area(&area.path).is_none());
    missing.extend(
        others
            .next()
            .map(|area| Lack::from(already_swaps(&area.path, None))),
    );
    missing.extend(match kind {
        SwapKind::File => missing_for_file(directory),
        SwapKind::Zram => missing_for_zram(),
    });
    missing
}

/// Version 1 of control groups has a file for it only where the kernel counts it; version 2 always
/// counts.
fn groups_count_swap() -> bool {
    let Ok(cgroups) = Cgroups::detect() else {
        return false;
    };
    let directory = cgroups.directory("memory", "");
    directory.is_some_and(|directory| {
        !cgroups.is_v1("memory") || directory.join("memory.memsw.limit_in_bytes").exists()
    })
}

fn missing_for_zram() -> Vec<Lack> {
    if Path::new(CONTROL).exists() {
        return Vec::new();
    }
    let help = "modprobe zram, or write `swap = \"file\"` in [guest]";
    vec![Lack::new("the kernel offers no zram devices", help)]
}

fn missing_for_file(directory: Option<&Path>) -> Vec<Lack> {
    let mut missing = Vec::new();
    if fs::read_to_string(ZSWAP).is_ok_and(|text| text.trim() == "Y") {
        missing.push(Lack::new(
            "zswap keeps what goes to a file in memory first",
            format!("`echo N > {ZSWAP}` for the time of the run"),
        ));
    }
    // A relative path that does not exist lies in the working directory.
    let existing = directory.map(|directory| {
        let found = directory.ancestors().find(|path| path.exists());
        found.filter(|path| path.is_dir()).unwrap_or(Path::new("."))
    });
    let unfit = existing.filter(|directory| {
        !statfs(*directory).is_ok_and(|found| FILE_SYSTEMS.contains(&found.f_type))
    });
    missing.extend(unfit.map(|directory| {
        Lack::new(
            format!(
                "{} lies on a file system whose files cannot be swapped to",
                directory.display()
            ),
            "keep runs on ext4 or XFS, or write `swap = \"zram\"` in [guest]",
        )
    }));
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_swapped_to_on_few_file_systems() {
        let told = |directory: &str| {
            let missing = missing_for_file(Some(Path::new(directory)));
            missing
                .iter()
                .any(|lack| lack.what.contains("cannot be swapped to"))
        };
        assert!(told("/proc/self") && told("/proc/no/such"), "no disk");
        let unknown = missing_for_file(None);
        assert!(
            unknown
                .iter()
                .all(|lack| !lack.what.contains("file system"))
        );
    }
}
