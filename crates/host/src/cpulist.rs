//! CPU lists as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;

/// Most CPUs that a list may name; a guard against absurd text.
const MAX_CPU: u32 = 8191;

/// Read a kernel CPU list; an empty text is an empty list. `None` when the text is no such list.
#[must_use]
pub fn parse_cpu_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?),
            None => (part.parse::<u32>().ok()?, part.parse::<u32>().ok()?),
        };
        if first > last || last > MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Write a kernel CPU list, ranges folded.
#[must_use]
pub fn format_cpu_list(cpus: impl IntoIterator<Item = u32>) -> String {
    let cpus: BTreeSet<u32> = cpus.into_iter().collect();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text: Vec<String> = ranges
        .into_iter()
        .map(|(a, b)| {
            if a == b {
                a.to_string()
            } else {
                format!("{a}-{b}")
            }
        })
        .collect();
    text.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(
            parse_cpu_list("0-2,8\n"),
            Some(BTreeSet::from([0, 1, 2, 8]))
        );
        assert_eq!(parse_cpu_list("\n"), Some(BTreeSet::new()));
        assert_eq!(parse_cpu_list("3-1"), None);
        assert_eq!(parse_cpu_list("0-4000000000"), None);
        assert_eq!(parse_cpu_list("a"), None);
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["0", "0-3", "0-1,3,5-7"] {
            assert_eq!(format_cpu_list(parse_cpu_list(text).expect("valid")), text);
        }
    }
}
