//! What the kernel of a machine says on its console when it lacks memory.

/// Of the console so much is looked at, from its end.
pub(super) const MOST_BYTES: usize = 256 * 1024;

/// Where the kernel killed a process, and where it gave up.
const WORDS: [&str; 3] = [
    "Out of memory: Killed process",
    "Out of memory and no killable processes",
    "System is deadlocked on memory",
];

/// How often a console says that something was killed for want of memory.
pub(super) fn count(console: &str) -> u64 {
    let says = |line: &&str| WORDS.iter().any(|words| line.contains(words));
    console.lines().filter(says).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_and_panics_are_counted() {
        let console = "[    9.1] mariadbd invoked oom-killer: gfp_mask=0x140cca\n\
                       [    9.2] Out of memory: Killed process 93 (mariadbd) total-vm:900kB\n\
                       [   11.0] Kernel panic - not syncing: System is deadlocked on memory\n";
        assert_eq!(count(console), 2);
        assert_eq!(count(""), 0);
    }
}
