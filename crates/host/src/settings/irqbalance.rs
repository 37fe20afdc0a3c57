//! `irqbalance`, which moves the interrupts of devices among CPUs while it runs.

use std::fs;

use serde::Serialize;

use super::files::Root;

/// Name of the daemon, as the kernel has it.
const NAME: &str = "irqbalance";
/// Where its program is.
const PROGRAMS: [&str; 3] = [
    "usr/sbin/irqbalance",
    "usr/local/sbin/irqbalance",
    "sbin/irqbalance",
];

/// An `irqbalance` that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IrqBalance {
    /// Whether its daemon runs.
    pub running: bool,
}

impl IrqBalance {
    /// In words: `runs`, or `does not run`.
    #[must_use]
    pub fn state(self) -> &'static str {
        if self.running {
            Self::RUNS
        } else {
            "does not run"
        }
    }

    /// The state in which interrupts may move.
    pub const RUNS: &'static str = "runs";
}

/// The `irqbalance` of a machine; `None` where it is neither installed nor running.
#[must_use]
pub fn irqbalance(root: &Root) -> Option<IrqBalance> {
    let running = runs(root);
    let installed = PROGRAMS.iter().any(|program| root.path(program).exists());
    (running || installed).then_some(IrqBalance { running })
}

/// Whether a process has its name.
fn runs(root: &Root) -> bool {
    let Ok(entries) = fs::read_dir(root.path("proc")) else {
        return false;
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    numbers
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .any(|number| {
            let name = root.read(&format!("proc/{number}/comm"));
            name.is_ok_and(|name| name.trim_end() == NAME)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_found_by_its_name() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let root = Root::at(directory.path());
        let write = |file: &str, text: &str| {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(path, text).expect("written");
        };
        assert_eq!(irqbalance(&root), None);
        write("proc/1/comm", "init\n");
        write("usr/sbin/irqbalance", "");
        let installed = irqbalance(&root).expect("installed");
        assert_eq!(installed.state(), "does not run");
        write("proc/77/comm", "irqbalance\n");
        let running = irqbalance(&root).expect("running");
        assert!(running.running && running.state() == IrqBalance::RUNS);
    }
}
