//! Real processes that work in programs, or in the kernel, seen in a real control group. Needs
//! root; set `ROOKERY_SKIP_ROOT_TESTS` to leave it out on purpose.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rookery_host::{Cgroups, CpuSplit, GroupLimits};

/// So much CPU time tells the parts apart: thirty ticks of the kernel's clock.
const ENOUGH_US: u64 = 300_000;
/// On a busy host it may take a while to come.
const LIMIT: Duration = Duration::from_secs(60);

/// Ends the process and removes its group, whatever happens.
struct Held {
    child: Child,
    cgroups: Cgroups,
    group: String,
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.cgroups.remove(&self.group);
    }
}

/// Where the CPU time of a command goes.
fn split_of(name: &str, script: &str) -> CpuSplit {
    let cgroups = Cgroups::detect().expect("/proc is there");
    let group = format!("rookery-test-split-{name}-{}", std::process::id());
    let child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("sh");
    let held = Held {
        child,
        cgroups: cgroups.clone(),
        group: group.clone(),
    };
    cgroups
        .confine(&group, held.child.id(), &GroupLimits::default())
        .expect("a group; as root");
    let mut probe = cgroups.usage_probe(&group);
    let deadline = Instant::now() + LIMIT;
    loop {
        let usage = probe().expect("the group is there");
        if usage.cpu_us >= ENOUGH_US {
            let split = usage.split.expect("the kernel tells the parts");
            let sum = split.user_us + split.system_us;
            assert!(
                sum >= usage.cpu_us && sum < usage.cpu_us + ENOUGH_US / 10,
                "{usage:?}"
            );
            assert_eq!((split.guest_us, split.emulator_us), (0, 0), "no machine");
            return split;
        }
        assert!(
            Instant::now() < deadline,
            "{name} has used {} us only",
            usage.cpu_us
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn programs_and_kernel_are_told_apart() {
    if std::env::var_os("ROOKERY_SKIP_ROOT_TESTS").is_some() {
        eprintln!("SKIPPED: it needs root");
        return;
    }
    let computing = split_of("user", "while :; do :; done");
    // One byte each time: nearly all of it is the kernel's.
    let calling = split_of("system", "exec dd if=/dev/zero of=/dev/null bs=1");
    let share = |split: CpuSplit| split.system_us as f64 / (split.user_us + split.system_us) as f64;
    assert!(share(computing) < 0.25, "{computing:?}");
    assert!(share(calling) > 0.4, "{calling:?}");
}
