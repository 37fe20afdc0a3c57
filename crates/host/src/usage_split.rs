//! How the CPU time of a control group is split into programs and kernel: `cpuacct.stat` of version
//! 1, `cpu.stat` of version 2.

use crate::usage::CpuSplit;

/// Split `total_us`, the group's exact CPU time, by the words of the kernel; `None` where it says
/// nothing of both parts.
///
/// Both versions name the parts: `user` and `system` in clock ticks, or `user_usec` and
/// `system_usec`. Older kernels take them from the timer's samples, and then they do not add up to
/// the whole; they count as shares of it.
pub(crate) fn split(text: &str, total_us: u64) -> Option<CpuSplit> {
    let value = |names: [&str; 2]| {
        let line = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            names
                .contains(&name)
                .then(|| value.trim().parse::<u64>().ok())?
        };
        text.lines().find_map(line)
    };
    let (user, system) = (
        value(["user", "user_usec"])?,
        value(["system", "system_usec"])?,
    );
    let sum = u128::from(user) + u128::from(system);
    let user_us = match sum {
        0 => total_us,
        sum => u64::try_from(u128::from(total_us) * u128::from(user) / sum).unwrap_or(total_us),
    };
    Some(CpuSplit {
        user_us,
        system_us: total_us - user_us,
        ..CpuSplit::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_parts_that_add_up_to_the_whole() {
        let parts =
            |text: &str, total| split(text, total).map(|split| (split.user_us, split.system_us));
        assert_eq!(
            parts("user 30\nsystem 10\n", 1_000_000),
            Some((750_000, 250_000))
        );
        assert_eq!(
            parts("usage_usec 77\nuser_usec 70\nsystem_usec 7\n", 77),
            Some((70, 7))
        );
        assert_eq!(
            parts("user 0\nsystem 0\n", 900),
            Some((900, 0)),
            "less than a tick"
        );
        assert_eq!(parts("usage_usec 77\n", 77), None);
        assert_eq!(parts("user x\nsystem 7\n", 77), None);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_or_made_up(user: u64, system: u64, total: u64) {
            let split = split(&format!("user {user}\nsystem {system}\n"), total).expect("both \
                parts");
            proptest::prop_assert_eq!(u128::from(split.user_us) + u128::from(split.system_us), u128::from(total));
        }
    }
}
