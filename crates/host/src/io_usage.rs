//! What a control group read and wrote on block devices: `blkio.throttle.io_serviced` and
//! `io_service_bytes` of version 1, `io.stat` of version 2.
//!
//! A volume made of a file is a loop device on another: the kernel counts a request there on both.
//! Where a group used loop devices, these alone count.

use std::{fs, io::Read, path::PathBuf};

use crate::{cgroup::Cgroups, usage::IoUsage};

/// More of a file is not read; a line has less than 100 bytes.
const MOST_BYTES: u64 = 256 * 1024;
/// Major number of loop devices.
const LOOP: &str = "7";

/// The files of one group.
pub(crate) enum IoReader {
    /// Requests and bytes.
    V1 { serviced: PathBuf, bytes: PathBuf },
    /// Both in one.
    V2 { stat: PathBuf },
    /// The kernel does not count.
    Absent,
}

impl IoReader {
    pub(crate) fn new(cgroups: &Cgroups, group: &str) -> Self {
        if cgroups.is_v1("blkio") {
            let Some(directory) = cgroups.directory("blkio", group) else {
                return Self::Absent;
            };
            return Self::V1 {
                serviced: directory.join("blkio.throttle.io_serviced"),
                bytes: directory.join("blkio.throttle.io_service_bytes"),
            };
        }
        cgroups
            .directory("io", group)
            .map_or(Self::Absent, |directory| Self::V2 {
                stat: directory.join("io.stat"),
            })
    }

    /// The counters now; `None` where nothing counts.
    pub(crate) fn read(&self) -> Option<IoUsage> {
        match self {
            Self::V1 { serviced, bytes } => {
                let serviced = text(serviced)?;
                names_a_device(&serviced).then_some(())?;
                Some(parse_v1(&serviced, &text(bytes)?))
            }
            Self::V2 { stat } => Some(parse_v2(&text(stat)?)),
            Self::Absent => None,
        }
    }
}

fn text(path: &PathBuf) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .ok()?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// New kernels count in version 1 only where a limit was set on a device before: without a line for
/// any device, zero would be a guess.
fn names_a_device(serviced: &str) -> bool {
    serviced
        .lines()
        .any(|line| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(':'))
}

/// Sums over devices, once over loop devices and once over all others.
#[derive(Default)]
struct Sums {
    on_loop: IoUsage,
    other: IoUsage,
}

impl Sums {
    fn add(&mut self, device: &str, of: impl Fn(&mut IoUsage) -> &mut u64, value: u64) {
        let is_loop = device
            .split_once(':')
            .is_some_and(|(major, _)| major == LOOP);
        let sum = of(if is_loop {
            &mut self.on_loop
        } else {
            &mut self.other
        });
        *sum = sum.saturating_add(value);
    }

    fn chosen(self) -> IoUsage {
        if self.on_loop == IoUsage::default() {
            self.other
        } else {
            self.on_loop
        }
    }
}

/// Lines such as `254:0 Read 512`; totals and other kinds are left out.
fn parse_v1(serviced: &str, bytes: &str) -> IoUsage {
    let mut sums = Sums::default();
    let mut lines =
        |text: &str, read: fn(&mut IoUsage) -> &mut u64, write: fn(&mut IoUsage) -> &mut u64| {
            for line in text.lines() {
                let mut fields = line.split_ascii_whitespace();
                let (Some(device), Some(kind), Some(Ok(value))) =
                    (fields.next(), fields.next(), fields.next().map(str::parse))
                else {
                    continue;
                };
                match kind {
                    "Read" => sums.add(device, read, value),
                    "Write" => sums.add(device, write, value),
                    _ => {}
                }
            }
        };
    lines(
        serviced,
        |usage| &mut usage.reads,
        |usage| &mut usage.writes,
    );
    lines(
        bytes,
        |usage| &mut usage.read_bytes,
        |usage| &mut usage.written_bytes,
    );
    sums.chosen()
}

/// Lines such as `254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`.
fn parse_v2(stat: &str) -> IoUsage {
    let mut sums = Sums::default();
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some(device) = fields.next() else {
            continue;
        };
        for (key, value) in fields.filter_map(|field| field.split_once('=')) {
            let Ok(value) = value.parse() else { continue };
            match key {
                "rios" => sums.add(device, |usage| &mut usage.reads, value),
                "wios" => sums.add(device, |usage| &mut usage.writes, value),
                "rbytes" => sums.add(device, |usage| &mut usage.read_bytes, value),
                "wbytes" => sums.add(device, |usage| &mut usage.written_bytes, value),
                _ => {}
            }
        }
    }
    sums.chosen()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: fn(u64, u64, u64, u64) -> IoUsage =
        |reads, writes, read_bytes, written_bytes| IoUsage {
            reads,
            writes,
            read_bytes,
            written_bytes,
        };

    #[test]
    fn version_1_counts_requests_and_bytes_in_two_files() {
        let serviced = "254:0 Read 10\n254:0 Write 4\n254:0 Total 14\n254:16 Read 5\nTotal 19\n";
        let bytes = "254:0 Read 40960\n254:0 Write 8192\n254:0 Total 49152\nTotal 49152\n";
        assert_eq!(parse_v1(serviced, bytes), OF(15, 4, 40_960, 8_192));
    }

    #[test]
    fn version_2_has_a_line_for_each_device() {
        let stat = "254:0 rbytes=4096 wbytes=512 rios=1 wios=2 dbytes=9 dios=9\n254:16\n";
        assert_eq!(parse_v2(stat), OF(1, 2, 4_096, 512));
    }

    #[test]
    fn a_volume_is_not_counted_twice() {
        let stat =
            "254:0 rbytes=9000 wbytes=0 rios=9 wios=1\n7:3 rbytes=4096 wbytes=0 rios=1 wios=0\n";
        assert_eq!(parse_v2(stat), OF(1, 0, 4_096, 0));
    }

    #[test]
    fn what_the_kernel_does_not_count_is_not_zero() {
        assert!(!names_a_device("Total 0\n") && !names_a_device(""));
        assert!(names_a_device("254:0 Read 0\n254:0 Total 0\nTotal 0\n"));
    }

    #[test]
    fn damage_counts_nothing() {
        assert_eq!(
            parse_v1("254:0 Read x\n254:0\nRead 7\n", ""),
            IoUsage::default()
        );
        assert_eq!(parse_v2("254:0 rios=-1 wios\n=7\n"), IoUsage::default());
    }
}
