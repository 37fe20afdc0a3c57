//! What was asked of a guest's swap, beside what is in force.

use rookery_host::{
    Cgroups, SwapLimit,
    swap::{SwapArea, swap_areas, zram::number_of},
};
use rookery_study::{Named as _, Swap, SwapKind};

use crate::{spec::GuestSpec, storage::InForce};

/// What swap is called among settings.
pub(crate) const SWAP: &str = "guest.swap";

/// The swap that was asked for, beside the one in force: where the kernel swaps to, and how much
/// the guest's control group may have there. Nothing of a guest whose memory is not limited.
pub(crate) fn swap_reading(spec: &GuestSpec, cgroups: &Cgroups, group: &str) -> Option<InForce> {
    let memory_mib = spec.memory_mib?;
    let asked = match spec.swap.of_guest(memory_mib) {
        None => Swap::None,
        Some((kind, mib)) => Swap::Device {
            kind,
            size_mib: Some(mib),
        },
    };
    let effective = swap_areas().map_or_else(
        |_| String::new(),
        |areas| in_force(cgroups.swap_limit(group), &areas),
    );
    Some(InForce::new(SWAP, asked.to_string(), effective))
}

/// In the words of a study, where they suffice.
fn in_force(limit: SwapLimit, areas: &[SwapArea]) -> String {
    let mut devices: Vec<&str> = areas.iter().map(device).collect();
    devices.sort_unstable();
    devices.dedup();
    let devices = devices.join(" and ");
    if areas.is_empty() || limit == SwapLimit::Bytes(0) {
        return Swap::None.to_string();
    }
    match limit {
        SwapLimit::Bytes(bytes) => format!("{devices} {}MiB", bytes >> 20),
        SwapLimit::Unlimited => format!("{devices}, not limited"),
    }
}

fn device(area: &SwapArea) -> &str {
    match number_of(&area.path) {
        Some(_) => SwapKind::Zram.name(),
        None if area.path.starts_with("/dev") => "another device",
        None => SwapKind::File.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_is_told_in_the_words_of_a_study() {
        let area = |path: &str| SwapArea {
            path: path.into(),
            bytes: 1 << 30,
            used_bytes: 0,
            priority: 0,
        };
        let zram = [area("/dev/zram2"), area("/dev/zram3")];
        let file = [area("/runs/x.swap")];
        let other = [area("/runs/x.swap"), area("/dev/sda2")];
        let limit = SwapLimit::Bytes(64 << 20);
        for (limit, areas, said) in [
            (limit, &zram[..], "zram 64MiB"),
            (limit, &file, "file 64MiB"),
            (limit, &other, "another device and file 64MiB"),
            (limit, &[], "none"),
            (SwapLimit::Bytes(0), &file, "none"),
            (SwapLimit::Unlimited, &file, "file, not limited"),
            (SwapLimit::Unlimited, &[], "none"),
        ] {
            assert_eq!(in_force(limit, areas), said);
        }
    }
}
