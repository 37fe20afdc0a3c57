//! Where the time of each CPU went, interrupts among it, and what a hypervisor took from it.

use rookery_stats::KernelCounter;

/// Clock ticks of `/proc/stat`, us.
const TICK_US: u64 = 10_000;

/// From `/proc/stat`: each CPU as `cpu 3`.
pub(super) fn parse(text: &str) -> Vec<(String, Vec<(KernelCounter, u64)>)> {
    let cpus = text.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let number: u32 = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, idle, waiting, irq, softirq, steal, ..] = ticks[..] else {
            return None;
        };
        let us = |ticks: u64| ticks.saturating_mul(TICK_US);
        let counts = vec![
            (KernelCounter::User, us(user.saturating_add(nice))),
            (KernelCounter::System, us(system)),
            (KernelCounter::Interrupts, us(irq)),
            (KernelCounter::SoftInterrupts, us(softirq)),
            (KernelCounter::Stolen, us(steal)),
            (KernelCounter::Idle, us(idle.saturating_add(waiting))),
        ];
        Some((format!("cpu {number}"), counts))
    });
    cpus.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_own_times() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 1 2\nintr 5 0\n";
        assert_eq!(
            parse(text),
            [(
                "cpu 0".to_owned(),
                vec![
                    (KernelCounter::User, 30_000),
                    (KernelCounter::System, 30_000),
                    (KernelCounter::Interrupts, 60_000),
                    (KernelCounter::SoftInterrupts, 70_000),
                    (KernelCounter::Stolen, 80_000),
                    (KernelCounter::Idle, 90_000),
                ]
            )]
        );
    }
}
