//! What the whole host uses.

use std::{fs::File, io::Read, os::unix::fs::FileExt};

use rookery_host::{
    BusyTime, CpuSplit, IoUsage, Usage, UsageProbe, process_stat,
    procfs::{HostMemory, parse_meminfo},
};

/// A reader of the host's busy CPU time (all CPUs together; idle and waiting for disks do not
/// count), of its memory in use (total less available), and of the requests to its disks.
pub(crate) fn host_probe() -> UsageProbe {
    let busy = BusyTime::start().ok();
    let meminfo = File::open("/proc/meminfo").ok();
    Box::new(move || {
        let cpu_us = busy.as_ref()?.us().ok()?;
        let memory = memory(meminfo.as_ref()?)?;
        Some(Usage {
            cpu_us,
            memory_bytes: memory.total.saturating_sub(memory.available),
            io: disks(),
            split: None,
            throttled_us: None,
        })
    })
}

/// A reader of what this very process uses: the driver's threads are nearly all of it.
pub(crate) fn own_probe() -> UsageProbe {
    let page = rustix::param::page_size() as u64;
    Box::new(move || {
        let stat = process_stat(std::process::id())?;
        Some(Usage {
            cpu_us: stat.cpu_us,
            memory_bytes: stat.resident_pages.saturating_mul(page),
            split: Some(CpuSplit {
                user_us: stat.cpu_us.saturating_sub(stat.system_us),
                system_us: stat.system_us,
                ..CpuSplit::default()
            }),
            ..Usage::default()
        })
    })
}

/// What `/proc/meminfo` begins with tells what is total and available.
fn memory(meminfo: &File) -> Option<HostMemory> {
    let mut bytes = [0; 512];
    let length = meminfo.read_at(&mut bytes, 0).ok()?;
    parse_meminfo(&String::from_utf8_lossy(&bytes[..length]))
}

/// More of `/proc/diskstats` is not read; a device has about 100 bytes.
const MOST_BYTES: u64 = 256 * 1024;

fn disks() -> Option<IoUsage> {
    let mut text = String::new();
    File::open("/proc/diskstats")
        .ok()?
        .take(MOST_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    parse_disks(&text)
}

/// Requests to all disks since boot; `None` where there is no disk. Parts of disks, volumes made of
/// files, and what is put together from disks are left out: their requests arrive at a disk again.
/// A sector has 512 bytes.
fn parse_disks(text: &str) -> Option<IoUsage> {
    const MADE_UP: [&str; 7] = ["loop", "ram", "zram", "dm-", "md", "sr", "fd"];
    let mut found: Vec<(&str, IoUsage)> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [
            _,
            _,
            name,
            reads,
            _,
            read_sectors,
            _,
            writes,
            _,
            written_sectors,
            ..,
        ] = fields[..]
        else {
            continue;
        };
        let numbers: Option<Vec<u64>> = [reads, writes, read_sectors, written_sectors]
            .iter()
            .map(|field| field.parse().ok())
            .collect();
        let (Some(numbers), false) = (numbers, MADE_UP.iter().any(|kind| name.starts_with(kind)))
        else {
            continue;
        };
        let usage = IoUsage {
            reads: numbers[0],
            writes: numbers[1],
            read_bytes: numbers[2].saturating_mul(512),
            written_bytes: numbers[3].saturating_mul(512),
        };
        // A disk stands before its parts.
        if !found.iter().any(|(disk, _)| name.starts_with(disk)) {
            found.push((name, usage));
        }
    }
    found
        .into_iter()
        .map(|(_, usage)| usage)
        .reduce(|sum, next| IoUsage {
            reads: sum.reads.saturating_add(next.reads),
            writes: sum.writes.saturating_add(next.writes),
            read_bytes: sum.read_bytes.saturating_add(next.read_bytes),
            written_bytes: sum.written_bytes.saturating_add(next.written_bytes),
        })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_host_has_used_something() {
        let mut probe = host_probe();
        let until = Instant::now() + Duration::from_millis(60);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        let usage = probe().expect("readable");
        assert!(usage.cpu_us > 0 && usage.memory_bytes > 0);
    }

    #[test]
    fn disks_are_counted_once() {
        let text = "   7 0 loop0 9 0 9 9 9 0 9 9 0 0 0\n 254 0 vda 10 1 80 5 4 1 16 5 0 0 0\n 254 \
                    1 vda1 10 1 80 5 4 1 16 5 0 0 0\n\
                    259 0 nvme0n1 1 0 8 0 2 0 0 0 0 0 0\n 259 1 nvme0n1p1 1 0 8 0 2 0 0 0 0 0 0\n \
                    8 0 sda x\n";
        let expected = IoUsage {
            reads: 11,
            writes: 6,
            read_bytes: 88 * 512,
            written_bytes: 16 * 512,
        };
        assert_eq!(parse_disks(text), Some(expected));
        assert_eq!(parse_disks("   7 0 loop0 9 0 9 9 9 0 9 9 0 0 0\n"), None);
    }
}
