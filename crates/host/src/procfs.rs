//! Parsers of `/proc`: pure functions on text.

/// Kernel clock ticks per second in `/proc` (USER_HZ; 100 on every Linux architecture that Rust's
/// std supports).
const TICKS_PER_SECOND: u64 = 100;

/// Time since boot in which CPUs were idle or waited for a disk, us, summed over CPUs: from the
/// first line of `/proc/stat`.
#[must_use]
pub fn parse_idle_us(text: &str) -> Option<u64> {
    let mut fields = text.lines().next()?.split_ascii_whitespace();
    if fields.next()? != "cpu" {
        return None;
    }
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let [_, _, _, idle, waiting, ..] = ticks[..] else {
        return None;
    };
    let us = 1_000_000 / TICKS_PER_SECOND;
    Some(idle.saturating_add(waiting).saturating_mul(us))
}

/// What `/proc/<pid>/stat` tells of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// State letter: `R`, `S`, `Z`, ...
    pub state: char,
    /// Parent.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// CPU time of the process and of its children that it has waited for, us.
    pub cpu_us: u64,
    /// Of it in the kernel, us.
    pub system_us: u64,
    /// Of it in the code of guests of KVM, us; this thread's own alone.
    pub guest_us: u64,
    /// Start time, ticks since boot; with the pid it identifies a process.
    pub start_ticks: u64,
    /// Resident memory, pages.
    pub resident_pages: u64,
}

/// Read the text of `/proc/<pid>/stat`. The command name may hold spaces and parentheses.
#[must_use]
pub fn parse_process_stat(text: &str) -> Option<ProcessStat> {
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    // fields[0] is field 3 of proc_pid_stat(5).
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let signed = |field: usize| {
        Some(u64::try_from(fields.get(field - 3)?.parse::<i64>().ok()?).unwrap_or(0))
    };
    let us = |ticks: u64| ticks.saturating_mul(1_000_000 / TICKS_PER_SECOND);
    let user = number(14)?.saturating_add(signed(16)?);
    let system = number(15)?.saturating_add(signed(17)?);
    Some(ProcessStat {
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(4)?).ok()?,
        group: u32::try_from(number(5)?).ok()?,
        cpu_us: us(user.saturating_add(system)),
        system_us: us(system),
        // Old kernels end before it.
        guest_us: us(number(43).unwrap_or(0)),
        start_ticks: number(22)?,
        resident_pages: signed(24)?,
    })
}

/// The name of the program in the text of `/proc/<pid>/stat`.
#[must_use]
pub fn parse_program_name(text: &str) -> Option<String> {
    let (before, _) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some(name.to_owned())
}

/// A number of the text of `/proc/PID/io`; `key` ends with its colon.
pub(crate) fn parse_process_io(text: &str, key: &str) -> Option<u64> {
    let number = text.lines().find_map(|line| line.strip_prefix(key))?;
    number.trim().parse().ok()
}

/// Memory of the host, from `/proc/meminfo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// All of it, bytes.
    pub total: u64,
    /// What can be had without swapping, bytes.
    pub available: u64,
}

/// Read `/proc/meminfo`.
#[must_use]
pub fn parse_meminfo(text: &str) -> Option<HostMemory> {
    let field = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()?
            .checked_mul(1024)
    };
    Some(HostMemory {
        total: field("MemTotal:")?,
        available: field("MemAvailable:")?,
    })
}

/// First model name in `/proc/cpuinfo` (`model name`, or `Model`/`Hardware` on other
/// architectures).
#[must_use]
pub fn parse_cpu_model(text: &str) -> Option<String> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(k, _)| k.trim() == key)
            .map(|(_, v)| v.trim().to_owned())
    };
    value("model name")
        .or_else(|| value("Model"))
        .or_else(|| value("Hardware"))
}

/// Value of a variable in the text of `/proc/<pid>/environ`.
#[must_use]
pub fn environ_value<'a>(environ: &'a [u8], key: &str) -> Option<&'a str> {
    let variables = environ.split(|byte| *byte == 0);
    let value = variables
        .into_iter()
        .find_map(|variable| variable.strip_prefix(key.as_bytes())?.strip_prefix(b"="))?;
    str::from_utf8(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_waits_for_a_disk_is_idle() {
        let text = "cpu  10 1 5 100 20 2 3 4 9 9\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse_idle_us(text), Some(1_200_000));
        assert_eq!(parse_idle_us("cpu 1 2 3 4"), None);
        assert_eq!(parse_idle_us("intr 1"), None);
        assert_eq!(parse_idle_us(""), None);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "42 (a) (b c) S 7 42 42 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 777 123456 \
                    512 18446744073709551615 1 1\n";
        let stat = parse_process_stat(text).expect("valid");
        assert_eq!(
            stat,
            ProcessStat {
                state: 'S',
                parent: 7,
                group: 42,
                cpu_us: 2_000_000,
                system_us: 750_000,
                guest_us: 0,
                start_ticks: 777,
                resident_pages: 512
            }
        );
        assert_eq!(parse_process_stat("42 (a) S 7"), None);
        assert_eq!(parse_process_stat(""), None);
    }

    #[test]
    fn memory_is_bytes() {
        let memory =
            parse_meminfo("MemTotal:       100 kB\nMemFree: 1 kB\nMemAvailable:    50 kB\n")
                .expect("valid");
        assert_eq!(
            memory,
            HostMemory {
                total: 102_400,
                available: 51_200
            }
        );
        assert_eq!(parse_meminfo("MemTotal: 100 kB\n"), None);
    }

    #[test]
    fn model_and_environ() {
        assert_eq!(
            parse_cpu_model("processor\t: 0\nmodel name\t: Some CPU\n").as_deref(),
            Some("Some CPU")
        );
        assert_eq!(parse_cpu_model("processor\t: 0\n"), None);
        assert_eq!(
            environ_value(b"A=1\0ROOKERY_RUN=ab\0", "ROOKERY_RUN"),
            Some("ab")
        );
        assert_eq!(
            environ_value(b"XROOKERY_RUN=ab\0ROOKERY_RUNS=c\0", "ROOKERY_RUN"),
            None
        );
    }
}
