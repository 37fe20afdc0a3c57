//! What one guest used: as libvirt counts it from outside, and as the guest's own kernel counts it
//! from inside.

use std::{collections::BTreeMap, fs, path::Path};

use rookery_cast::truncate_u64;
use rookery_stats::MachineInside;

use crate::counters::{DiskCounters, OutsideCounters};

/// Clock ticks of `/proc/stat` for each second: fixed for user space on Linux.
const TICKS_PER_S: u64 = 100;

/// What the kernel counts that shows itself at `proc`. What is not there is 0 or absent.
pub(super) fn inside(proc: &Path) -> MachineInside {
    let text = |name: &str| fs::read_to_string(proc.join(name)).unwrap_or_default();
    let stat = text("stat");
    let ticks: Vec<u64> = stat
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .map(|line| {
            line.split_whitespace()
                .map(|word| word.parse().unwrap_or(0))
                .collect()
        })
        .unwrap_or_default();
    let us = |index: usize| {
        ticks
            .get(index)
            .copied()
            .unwrap_or(0)
            .saturating_mul(1_000_000 / TICKS_PER_S)
    };
    let uptime = text("uptime");
    let uptime = uptime
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok())
        .unwrap_or(0.0);
    let memory = text("meminfo");
    let bytes = |key: &str| {
        let line = memory
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0).saturating_mul(1024)
    };
    let pressure = |name: &str| {
        let text = text(&format!("pressure/{name}"));
        let some = text.lines().find(|line| line.starts_with("some "))?;
        some.split_whitespace()
            .find_map(|word| word.strip_prefix("total=")?.parse().ok())
    };
    MachineInside {
        uptime_us: truncate_u64(uptime * 1e6),
        user_us: us(0).saturating_add(us(1)),
        system_us: us(2).saturating_add(us(5)).saturating_add(us(6)),
        idle_us: us(3),
        iowait_us: us(4),
        steal_us: us(7),
        memory_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        cpu_pressure_us: pressure("cpu"),
        memory_pressure_us: pressure("memory"),
        io_pressure_us: pressure("io"),
    }
}

/// The counters in the words of `virsh domstats` for one domain.
pub(super) fn parse_domstats(text: &str) -> OutsideCounters {
    let values: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.trim().split_once('='))
        .collect();
    let number = |key: &str| {
        values
            .get(key)
            .and_then(|value| value.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let us = |key: &str| number(key) / 1000;
    // What is counted is bounded: a guest has at most 255 vCPUs, and a few disks and interfaces.
    let count = |key: &str| number(key).min(255);
    let vcpus = count("vcpu.maximum");
    let disks = (0..count("block.count")).filter_map(|index| {
        let name = values.get(format!("block.{index}.name").as_str())?;
        let of = |what: &str| number(&format!("block.{index}.{what}"));
        Some((
            (*name).to_owned(),
            DiskCounters {
                reads: of("rd.reqs"),
                read_bytes: of("rd.bytes"),
                read_us: of("rd.times") / 1000,
                writes: of("wr.reqs"),
                written_bytes: of("wr.bytes"),
                write_us: of("wr.times") / 1000,
                flushes: of("fl.reqs"),
                flush_us: of("fl.times") / 1000,
            },
        ))
    });
    let over_nics = |what: &str| -> u64 {
        (0..count("net.count"))
            .map(|index| number(&format!("net.{index}.{what}")))
            .sum()
    };
    OutsideCounters {
        cpu_us: us("cpu.time"),
        user_us: us("cpu.user"),
        system_us: us("cpu.system"),
        vcpu_us: (0..vcpus)
            .map(|vcpu| us(&format!("vcpu.{vcpu}.time")))
            .collect(),
        vcpu_wait_us: (0..vcpus)
            .map(|vcpu| us(&format!("vcpu.{vcpu}.wait")))
            .sum(),
        memory_bytes: number("balloon.current").saturating_mul(1024),
        resident_bytes: number("balloon.rss").saturating_mul(1024),
        disks: disks.collect(),
        received_bytes: over_nics("rx.bytes"),
        sent_bytes: over_nics("tx.bytes"),
        dropped: over_nics("rx.drop").saturating_add(over_nics("tx.drop")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libvirts_words_become_counters() {
        let text = "Domain: 'rookery-ab12-g1'\n  cpu.time=2000000\n  cpu.user=1500000\n  \
                    cpu.system=500000\n  vcpu.current=1\n  vcpu.maximum=1\n  \
                    vcpu.0.time=1200000\n  vcpu.0.wait=3000\n  balloon.current=524288\n  \
                    balloon.rss=1000\n  block.count=2\n  block.0.name=vda\n  \
                    block.1.name=vdb\n  block.1.rd.reqs=7\n  block.1.wr.bytes=512\n  \
                    block.1.fl.times=9000\n  net.count=1\n  net.0.rx.bytes=11\n  \
                    net.0.tx.bytes=13\n  net.0.rx.drop=1\n";
        let counters = parse_domstats(text);
        assert_eq!(
            (counters.cpu_us, counters.user_us, counters.system_us),
            (2000, 1500, 500)
        );
        assert_eq!(
            (counters.vcpu_us.as_slice(), counters.vcpu_wait_us),
            ([1200].as_slice(), 3)
        );
        assert_eq!(
            (counters.memory_bytes, counters.resident_bytes),
            (512 << 20, 1_024_000)
        );
        let disk = counters.disks["vdb"];
        assert_eq!((disk.reads, disk.written_bytes, disk.flush_us), (7, 512, 9));
        assert_eq!(
            (
                counters.received_bytes,
                counters.sent_bytes,
                counters.dropped
            ),
            (11, 13, 1)
        );
        assert_eq!(
            parse_domstats("vcpu.maximum=18446744073709551615\nblock.count=-1")
                .vcpu_us
                .len(),
            255
        );
    }

    #[test]
    fn a_guests_kernel_is_read() {
        let proc = tempfile::tempdir().expect("temporary directory");
        fs::create_dir(proc.path().join("pressure")).expect("made");
        for (name, text) in [
            ("stat", "cpu  10 1 20 300 4 2 3 5 0 0\ncpu0 1 1 1 1\n"),
            ("uptime", "12.50 3.00\n"),
            (
                "meminfo",
                "MemTotal:  500000 kB\nMemAvailable:  400000 kB\n",
            ),
            (
                "pressure/cpu",
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=4242\n",
            ),
        ] {
            fs::write(proc.path().join(name), text).expect("written");
        }
        let counters = inside(proc.path());
        assert_eq!(counters.uptime_us, 12_500_000);
        assert_eq!((counters.user_us, counters.system_us), (110_000, 250_000));
        assert_eq!(
            (counters.idle_us, counters.iowait_us, counters.steal_us),
            (3_000_000, 40_000, 50_000)
        );
        assert_eq!(
            (counters.memory_bytes, counters.available_bytes),
            (512_000_000, 409_600_000)
        );
        assert_eq!(
            (counters.cpu_pressure_us, counters.io_pressure_us),
            (Some(4242), None)
        );
        assert_eq!(inside(Path::new("/nonexistent")), MachineInside::default());
    }
}
