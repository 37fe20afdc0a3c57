//! Guests on whose CPUs the interrupts of others are served.

use rookery_workload::Window;

use crate::{GuestLink, KernelCount, KernelCounter, checks::Remark};

/// Share of the window in interrupts, on all CPUs of a guest together, from which on it is said.
const SERVED: f64 = 0.05;
/// More than so many times what a guest's own packets account for are interrupts of others.
const BEYOND: f64 = 1.5;

/// Guests whose CPUs spent more of all interrupts than the guests' packets account for, where that
/// takes a part of their window worth a word. Nothing of it makes a trial void.
#[must_use]
pub fn interrupt_remarks(
    links: &[GuestLink],
    counts: &[KernelCount],
    window: &Window,
) -> Vec<Remark> {
    let length_us = (window.end_s - window.start_s) * 1e6;
    let all_us = interrupts_us(counts, |_| true);
    let packets: Vec<Option<u64>> = links.iter().map(|link| packets(link, counts)).collect();
    let all_packets: u64 = packets.iter().flatten().sum();
    if all_us == 0 || all_packets == 0 || packets.iter().flatten().count() < 2 {
        return Vec::new();
    }
    let told = links.iter().zip(packets).filter_map(|(link, packets)| {
        let own_us = interrupts_us(counts, |cpu| link.cpus.contains(&cpu)) as f64;
        let of_window = own_us / (length_us * link.cpus.len() as f64);
        let of_interrupts = own_us / all_us as f64;
        let of_packets = packets? as f64 / all_packets as f64;
        (of_window >= SERVED && of_interrupts > BEYOND * of_packets).then(|| {
            let list: Vec<String> = link.cpus.iter().map(u32::to_string).collect();
            format!(
                "the CPUs of {} ({}) spent {:.0} % of the window in interrupts, {:.0} % of those of \
                 the host, and it had {:.0} % of the packets of all guests: they serve others",
                link.guest,
                list.join(", "),
                100.0 * of_window,
                100.0 * of_interrupts,
                100.0 * of_packets
            )
        })
    });
    told.map(Remark::Warning).collect()
}

/// Time in interrupts of the CPUs that are wanted.
fn interrupts_us(counts: &[KernelCount], wanted: impl Fn(u32) -> bool) -> u64 {
    let of_cpus = counts.iter().filter(|count| {
        let interrupts = [KernelCounter::Interrupts, KernelCounter::SoftInterrupts];
        let cpu = count.scope.strip_prefix("cpu ");
        interrupts.contains(&count.counter)
            && cpu
                .and_then(|number| number.parse().ok())
                .is_some_and(&wanted)
    });
    of_cpus.map(|count| count.count).sum()
}

/// Packets of a guest's interface; `None` where it has none of its own.
fn packets(link: &GuestLink, counts: &[KernelCount]) -> Option<u64> {
    let both = [KernelCounter::ReceivedPackets, KernelCounter::SentPackets];
    let own = both.map(|counter| link.counted(counts, counter));
    let counted = own.iter().flatten().count() > 0 && !link.cpus.is_empty();
    counted.then(|| own.iter().flatten().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        start_s: 10.0,
        end_s: 20.0,
    };

    /// What is said of guests on CPU 0 and 1 with such packets and such time in interrupts, us.
    fn said(packets: [u64; 2], interrupts_us: [u64; 3]) -> Vec<String> {
        let links = ["g1", "g2"].iter().zip(0..).map(|(guest, cpu)| GuestLink {
            guest: (*guest).to_owned(),
            cpus: vec![cpu],
            ..GuestLink::default()
        });
        let count = |scope: String, counter, count| KernelCount {
            scope,
            counter,
            count,
        };
        let of_links = ["g1", "g2"].iter().zip(packets).map(|(guest, packets)| {
            count(format!("{guest} eth0"), KernelCounter::SentPackets, packets)
        });
        let of_cpus = interrupts_us
            .into_iter()
            .zip(0..)
            .map(|(us, cpu)| count(format!("cpu {cpu}"), KernelCounter::SoftInterrupts, us));
        let counts: Vec<KernelCount> = of_links.chain(of_cpus).collect();
        interrupt_remarks(&links.collect::<Vec<_>>(), &counts, &WINDOW)
            .into_iter()
            .map(|remark| match remark {
                Remark::Warning(text) => text,
                Remark::Fault(fault) => panic!("a fault: {}", fault.text),
            })
            .collect()
    }

    #[test]
    fn a_guest_that_serves_the_interrupts_of_others_is_told() {
        assert_eq!(
            said([50, 950], [2_000_000, 500_000, 500_000]),
            [
                "the CPUs of g1 (0) spent 20 % of the window in interrupts, 67 % of those of the \
                 host, and it had 5 % of the packets of all guests: they serve others"
            ]
        );
    }

    #[test]
    fn interrupts_of_its_own_packets_are_not_worth_a_word() {
        // Half of them are served where the driver sends.
        assert!(said([500, 500], [1_000_000, 1_000_000, 2_000_000]).is_empty());
        assert!(said([50, 950], [100_000, 0, 0]).is_empty(), "a moment");
        assert!(said([0, 0], [2_000_000, 0, 0]).is_empty(), "no packets");
    }
}
