//! Mounts of a volume in mount namespaces of others.
//!
//! A mount namespace begins with a copy of each mount that there is, whoever made it. One that is
//! copied while a volume is mounted, by any program of the host, keeps the volume in use for as
//! long as it lives, unless the copies are taken out of it.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::PathBuf,
};

use rookery_host::{Mount, detach, parse_mountinfo, process_numbers};

use super::view::View;

/// Take the mounts that `chosen` gives out of each mount namespace but that of the caller. What
/// cannot be taken out keeps its device in use, and is told there.
pub(crate) fn unmount_copies(chosen: &dyn Fn(&[Mount]) -> Vec<PathBuf>) {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let mut seen: BTreeSet<PathBuf> = namespace("thread-self").into_iter().collect();
    for process in process_numbers().unwrap_or_default() {
        let Some(own) = namespace(&process.to_string()) else {
            continue;
        };
        if !seen.insert(own) {
            continue;
        }
        let text = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
        let points = chosen(&parse_mountinfo(&String::from_utf8_lossy(&text)));
        if points.is_empty() {
            continue;
        }
        if let Ok(file) = File::open(format!("/proc/{process}/ns/mnt")) {
            // Those that were mounted last stand on the others.
            let detach_all = || points.iter().rev().try_for_each(|point| detach(point));
            let _ = View::from(file).within(detach_all);
        }
    }
}
