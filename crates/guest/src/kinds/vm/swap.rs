//! The disk to which a machine swaps: a file on the host's side, found by its serial inside.

use std::{fs, io, os::unix::fs::OpenOptionsExt as _, path::Path};

use rookery_host::{Host, HostError, bound_command};
use rookery_study::{Swap, SwapKind};
use rustix::fs::{FallocateFlags, fallocate};

use super::{looks::ask, pool::Disk, serials::disk_in};
use crate::{spec::GuestSpec, storage::InForce, swap::SWAP};

/// The serial of the disk, by which the guest's service finds it.
pub(super) const SERIAL: &str = "rookery-swap";
/// The request that is answered by what the guest can swap to, bytes.
pub(super) const REQUEST: &str = "swap";
/// What the head of an area takes, and what is left over where pages are larger than 4 KiB, bytes.
const HEAD_BYTES: u64 = 64 << 10;

/// Most that a guest swaps, MiB; 0 where it does not. Its memory is that of the machine.
pub(super) fn swap_mib(spec: &GuestSpec, memory_mib: u64) -> u64 {
    spec.swap.of_guest(memory_mib).map_or(0, |(_, mib)| mib)
}

/// The disk in a guest's directory, with all its blocks; nothing of a guest that does not swap.
///
/// # Errors
/// When the host's disk is full.
pub(super) fn make_disk(
    host: &dyn Host,
    directory: &Path,
    swap_mib: u64,
) -> io::Result<Option<Disk>> {
    if swap_mib == 0 {
        return Ok(None);
    }
    host.step("swap disk")?;
    let path = directory.join("swap.img");
    let file = fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    let bytes = swap_mib.saturating_mul(1 << 20).saturating_add(HEAD_BYTES);
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => {}
        // File systems that cannot reserve make holes.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(bytes)?,
        Err(error) => return Err(HostError::at(&path, error.into()).into()),
    }
    Ok(Some(Disk::File { path, qcow2: false }))
}

/// The swap that was asked for, beside what the guest's kernel says; nothing of a guest that does
/// not swap.
pub(super) fn reading(swap_mib: u64, control: &Path) -> Option<InForce> {
    if swap_mib == 0 {
        return None;
    }
    let file = |size_mib| {
        let kind = SwapKind::File;
        let swap = match size_mib {
            0 => Swap::None,
            mib => Swap::Device {
                kind,
                size_mib: Some(mib),
            },
        };
        swap.to_string()
    };
    let told = ask(control, REQUEST, true).ok();
    let bytes = told.and_then(|line| line.trim().parse::<u64>().ok());
    let effective = bytes.map_or_else(String::new, |bytes| file(bytes >> 20));
    Some(InForce::new(SWAP, file(swap_mib), effective))
}

/// Inside: swap to the disk.
///
/// # Errors
/// When there is no such disk, or the guest's kernel refuses it.
pub(super) fn swap_on() -> io::Result<()> {
    let path = disk_in(Path::new("/sys/block"), SERIAL)
        .ok_or_else(|| io::Error::other("the host gave no disk for it"))?;
    for program in ["mkswap", "swapon"] {
        let ended = bound_command(program).arg(&path).output()?;
        if !ended.status.success() {
            let words = String::from_utf8_lossy(&ended.stderr);
            let what = format!("`{program}` says: {}", words.trim_end());
            return Err(io::Error::other(what));
        }
    }
    Ok(())
}

/// Inside: what the kernel that shows itself at `proc` can swap to, bytes.
pub(super) fn swap_bytes(proc: &Path) -> u64 {
    let text = fs::read_to_string(proc.join("meminfo")).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("SwapTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use rookery_host::RealHost;

    use super::*;

    #[test]
    fn a_disk_is_a_little_larger_than_what_is_swapped() {
        let directory = tempfile::tempdir().expect("temporary directory");
        assert!(
            make_disk(&RealHost, directory.path(), 0)
                .expect("none")
                .is_none()
        );
        let disk = make_disk(&RealHost, directory.path(), 2).expect("made");
        let path = disk.expect("a disk").path().to_owned();
        let bytes = path.metadata().expect("there").len();
        assert_eq!(bytes, (2 << 20) + HEAD_BYTES);
        assert!(
            make_disk(&RealHost, directory.path(), 2).is_err(),
            "there is one"
        );
    }

    #[test]
    fn what_the_kernel_can_swap_to_is_read() {
        let proc = tempfile::tempdir().expect("temporary directory");
        fs::write(proc.path().join("meminfo"), "SwapTotal:   65540 kB\n").expect("written");
        assert_eq!(swap_bytes(proc.path()), 65_540 << 10);
        assert_eq!(swap_bytes(Path::new("/no/such")), 0);
    }

    #[test]
    fn a_guest_that_does_not_answer_has_nothing_in_force() {
        assert_eq!(reading(0, Path::new("/no/such")), None);
        let reading = reading(64, Path::new("/no/such")).expect("asked");
        assert_eq!((&*reading.asked, &*reading.effective), ("file 64MiB", ""));
    }
}
