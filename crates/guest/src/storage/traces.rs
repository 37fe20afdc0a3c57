//! Volumes of runs as they can be found on the host, registered or not.

use std::{io, path::PathBuf};

use rookery_host::{
    Mount, RunId,
    volume::loops::{LoopDevice, loops},
};

use super::{device_record::device_traces, names::run_of_image, volume::remove_image};
use crate::label::run_of_name;

/// A loop device of a run, with the file behind it and where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Whose it is.
    pub(crate) run: RunId,
    /// `/dev/loop3`
    pub(crate) device: PathBuf,
    /// The file.
    pub(crate) image: PathBuf,
    /// Mount points, in mount order.
    pub(crate) points: Vec<PathBuf>,
}

impl Trace {
    /// Free the device and delete the file, once nothing is mounted.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove_image(&self.image)
    }

    /// As it is listed.
    pub(crate) fn name(&self) -> String {
        format!("{} of {}", self.device.display(), self.image.display())
    }
}

/// The volumes of all runs among the loop devices of this host.
pub(crate) fn traces(mounts: &[Mount]) -> Vec<Trace> {
    traces_of(loops(), mounts)
}

/// What runs have mounted, each with its label, in mount order: volumes, and what is called after a
/// run, as the clones of containers are.
pub(crate) fn mounted_by_runs(mounts: &[Mount]) -> Vec<(RunId, PathBuf)> {
    let loops = traces(mounts).into_iter();
    let devices = device_traces([], mounts).into_iter();
    let volumes: Vec<(RunId, Vec<PathBuf>)> = loops
        .map(|trace| (trace.run, trace.points))
        .chain(devices.map(|trace| (trace.run, trace.points)))
        .collect();
    let run_of = |mount: &Mount| {
        let of_volume = volumes
            .iter()
            .find(|(_, points)| points.contains(&mount.point));
        let run = of_volume.map(|(run, _)| run.clone());
        run.or_else(|| run_of_name(&mount.source))
    };
    mounts
        .iter()
        .filter_map(|mount| Some((run_of(mount)?, mount.point.clone())))
        .collect()
}

fn traces_of(loops: Vec<LoopDevice>, mounts: &[Mount]) -> Vec<Trace> {
    let trace = |device: LoopDevice| {
        let mounted = mounts
            .iter()
            .filter(|mount| mount.is_of(device.device, &device.path));
        Some(Trace {
            run: run_of_image(&device.file)?,
            points: mounted.map(|mount| mount.point.clone()).collect(),
            device: device.path,
            image: device.file,
        })
    };
    loops.into_iter().filter_map(trace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_of_ours_is_found_with_its_mounts() {
        let device = |number: u32, file: &str| LoopDevice {
            path: format!("/dev/loop{number}").into(),
            device: (7, number),
            file: file.into(),
            direct: true,
            bytes: 1 << 20,
        };
        let mounts = rookery_host::parse_mountinfo(
            "1 0 7:1 / /runs/r/volumes/g1 rw - ext4 /dev/loop1 rw\n2 0 7:2 / /home/iso rw - \
             iso9660 /dev/loop2 rw\n3 0 0:45 / /runs/r/volumes/g2 rw - btrfs /dev/loop3 rw\n",
        );
        let loops = vec![
            device(1, "/runs/r/volumes/rookery-ab-g1.img"),
            device(2, "/home/some.iso"),
            device(3, "/disk/volumes/rookery-ab-g2-1.img"),
            device(4, "/disk/volumes/rookery-ab-g2-2.img"),
        ];
        let found = traces_of(loops, &mounts);
        assert_eq!(found.len(), 3);
        assert_eq!(found[1].points, [PathBuf::from("/runs/r/volumes/g2")]);
        assert!(found[2].points.is_empty());
        assert_eq!(
            (found[0].run.as_str(), found[0].points.as_slice()),
            ("ab", [PathBuf::from("/runs/r/volumes/g1")].as_slice())
        );
        assert_eq!(
            found[0].name(),
            "/dev/loop1 of /runs/r/volumes/rookery-ab-g1.img"
        );
    }
}
