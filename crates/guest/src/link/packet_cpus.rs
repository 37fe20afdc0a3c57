//! On which CPUs the packets of a link are handled: the masks of the queues of its interfaces.
//!
//! Interfaces of a lab have no hardware and no interrupts. A packet that one of them receives is
//! handled in a softirq on the CPU of its sender, unless the mask of its receive queue
//! (`rps_cpus`, receive packet steering) names others. The mask of a send queue (`xps_cpus`) says
//! which CPUs send through it; an interface with room for one queue has no such mask.

use std::io;

use rookery_host::{Host, NamespaceSysfs, format_cpu_list};

/// Which of the masks of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Receive,
    Send,
}

impl Direction {
    /// What the names of its queues begin with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Receive => "rx-",
            Self::Send => "tx-",
        }
    }

    fn mask(self) -> &'static str {
        match self {
            Self::Receive => "rps_cpus",
            Self::Send => "xps_cpus",
        }
    }
}

/// Have the packets of these interfaces handled on these CPUs, or as the kernel has it where there
/// are none. The caller is in the namespace of the interfaces.
///
/// # Errors
/// When the kernel has no such masks for packets that are received, or refuses one.
pub(super) fn place(host: &dyn Host, cpus: &[u32], devices: &[String]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let sysfs = NamespaceSysfs::open()?;
    let mask = mask_of(cpus);
    for device in devices {
        for direction in [Direction::Receive, Direction::Send] {
            for file in masks(&sysfs, device, direction)? {
                host.step("CPUs for packets of an interface")?;
                sysfs.write(&file, &mask)?;
            }
        }
    }
    Ok(())
}

/// The CPUs that these interfaces have for one direction: a list as the kernel writes it, several
/// where queues differ; `None` where none of the queues has a mask. The caller is in their
/// namespace.
pub(super) fn placed(devices: &[String], direction: Direction) -> Option<String> {
    let sysfs = NamespaceSysfs::open().ok()?;
    let mut found: Vec<String> = Vec::new();
    for device in devices {
        for file in masks(&sysfs, device, direction).ok()? {
            let cpus = cpus_of(sysfs.read(&file).ok()?.trim())?;
            let text = match cpus.is_empty() {
                true => "none".to_owned(),
                false => format_cpu_list(cpus),
            };
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    (!found.is_empty()).then(|| found.join(" and "))
}

/// The files of the masks of an interface.
fn masks(sysfs: &NamespaceSysfs, device: &str, direction: Direction) -> io::Result<Vec<String>> {
    let queues = format!("class/net/{device}/queues");
    let names = sysfs.names(&queues)?;
    let own = names
        .iter()
        .filter(|name| name.starts_with(direction.prefix()));
    let files = own.map(|name| format!("{queues}/{name}/{}", direction.mask()));
    // The kernel does not show the mask of an only send queue.
    let is_there = |file: &String| {
        direction == Direction::Receive
            || !sysfs
                .read(file)
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    Ok(files.filter(is_there).collect())
}

/// Bits of each word of a mask.
const WORD_BITS: u32 = 32;

/// CPUs as a mask: hexadecimal words of 32 CPUs, the highest first.
fn mask_of(cpus: &[u32]) -> String {
    let highest = cpus.iter().max().copied().unwrap_or_default();
    let words = (0..=highest / WORD_BITS).rev().map(|word| {
        let bits = cpus
            .iter()
            .filter(|cpu| *cpu / WORD_BITS == word)
            .fold(0_u32, |bits, cpu| bits | (1 << (cpu % WORD_BITS)));
        format!("{bits:08x}")
    });
    words.collect::<Vec<_>>().join(",")
}

/// The CPUs of a mask, ascending; `None` where it is no mask.
fn cpus_of(mask: &str) -> Option<Vec<u32>> {
    let words: Option<Vec<u32>> = mask
        .split(',')
        .map(|word| u32::from_str_radix(word, 16).ok())
        .collect();
    let first_of_words = (0_u32..).step_by(WORD_BITS as usize);
    let cpus = words?
        .into_iter()
        .rev()
        .zip(first_of_words)
        .flat_map(|(bits, first)| {
            let set = (0..WORD_BITS).filter(move |bit| (bits >> bit) & 1 == 1);
            set.map(move |bit| first + bit)
        });
    Some(cpus.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_words_of_32_cpus_the_highest_first() {
        for (cpus, mask) in [
            (vec![0, 1], "00000003"),
            (vec![31], "80000000"),
            (vec![0, 33, 64], "00000001,00000002,00000001"),
        ] {
            assert_eq!(mask_of(&cpus), mask);
            assert_eq!(cpus_of(mask), Some(cpus));
        }
    }

    #[test]
    fn masks_are_read_as_the_kernel_shows_them() {
        assert_eq!(cpus_of("0"), Some(vec![]));
        assert_eq!(cpus_of("3"), Some(vec![0, 1]));
        assert_eq!(cpus_of("1,00000000"), Some(vec![32]));
        for bad in ["", "x", "1,,2", "100000000"] {
            assert_eq!(cpus_of(bad), None, "{bad}");
        }
    }
}
