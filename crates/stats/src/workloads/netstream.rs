//! Checks of the netstream workload.

use rookery_workload::netstream::{CpuSeconds, HostTimes, LEAST_CPU_S};

use crate::{Measurement, checks::Remark};

/// Share of the host's CPU time by which sums may differ from it before it is said.
const TOLERANCE: f64 = 0.05;

/// Whether the CPU time of guests and driver, and that of all kinds of work, add up to what the
/// host spent. Nothing of it makes a trial void.
pub(super) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    let counted = measurement
        .guests
        .iter()
        .filter_map(|guest| guest.counters.netstream()?.cpu);
    let all: Vec<CpuSeconds> = counted.collect();
    let host: f64 = all.iter().map(|cpu| cpu.host).sum();
    if host < LEAST_CPU_S {
        return Vec::new();
    }
    let elsewhere: f64 = all.iter().map(CpuSeconds::elsewhere).sum();
    let kinds: Option<Vec<HostTimes>> = all.iter().map(|cpu| cpu.host_times).collect();
    let kinds = kinds.map(|kinds| kinds.iter().map(HostTimes::whole).sum::<f64>());
    let beside = ends_against_host(host, elsewhere);
    let split = kinds.and_then(|kinds| kinds_against_host(host, kinds));
    beside
        .into_iter()
        .chain(split)
        .map(Remark::Warning)
        .collect()
}

fn ends_against_host(host: f64, elsewhere: f64) -> Option<String> {
    let share = elsewhere / host;
    (share.abs() > TOLERANCE).then(|| {
        let ends = host - elsewhere;
        let percent = 100.0 * share;
        let why = if share > 0.0 {
            "interrupts and waking idle CPUs, which no program is charged with, and other work \
             have the rest"
        } else {
            "they were sampled at other moments than the host"
        };
        format!(
            "guests and driver spent {ends:.2} of the {host:.2} s of CPU time of the host ({percent:.0} % \
             went elsewhere): {why}"
        )
    })
}

fn kinds_against_host(host: f64, kinds: f64) -> Option<String> {
    ((kinds / host - 1.0).abs() > TOLERANCE).then(|| {
        format!(
            "programs, kernel and interrupts add up to {kinds:.2} s of CPU time, and the host spent \
             {host:.2} s: the window begins or ends between two samples"
        )
    })
}

#[cfg(test)]
mod tests {
    use rookery_workload::{
        Counters,
        netstream::{CpuTimes, NetstreamCounters},
    };

    use super::*;
    use crate::faults::{FaultCode, faults, tests::healthy, warnings};

    /// A trial whose ends spent so much of a host's two seconds, of which so much has a kind.
    fn spent(ends: f64, kinds: f64) -> Vec<String> {
        let mut measurement = healthy();
        let half = CpuTimes {
            whole: ends / 2.0,
            system: None,
        };
        measurement.guests.truncate(1);
        measurement.guests[0].counters = Counters::Netstream(NetstreamCounters {
            cpu: Some(CpuSeconds {
                guest: half,
                partner: None,
                driver: half,
                host: 2.0,
                host_times: Some(HostTimes {
                    user: kinds / 2.0,
                    system: kinds / 4.0,
                    interrupts: kinds / 4.0,
                }),
            }),
            ..NetstreamCounters::default()
        });
        own_checks(&measurement)
            .into_iter()
            .map(|remark| match remark {
                Remark::Warning(text) => text,
                Remark::Fault(fault) => panic!("a fault: {}", fault.text),
            })
            .collect()
    }

    #[test]
    fn sums_that_are_near_enough_are_not_worth_a_word() {
        assert_eq!(spent(1.91, 2.09), Vec::<String>::new());
    }

    #[test]
    fn sums_that_differ_are_told_with_where_the_rest_may_be() {
        assert_eq!(
            spent(1.5, 2.0),
            [
                "guests and driver spent 1.50 of the 2.00 s of CPU time of the host (25 % went elsewhere): \
                 interrupts and waking idle CPUs, which no program is charged with, and other work \
                 have the rest"
            ]
        );
        let more = spent(2.2, 2.5);
        assert_eq!(more.len(), 2);
        assert!(more[0].contains("at other moments"), "{more:?}");
        assert!(more[1].starts_with("programs, kernel and interrupts add up to 2.50 s"));
    }

    #[test]
    fn a_busy_driver_is_at_fault_unless_it_is_one_end_of_what_is_measured() {
        let mut measurement = healthy();
        measurement.driver.cpu_share = 0.97;
        assert!(matches!(
            faults(&measurement).as_slice(),
            [fault] if fault.code == FaultCode::Cpu
        ));
        for guest in &mut measurement.guests {
            guest.counters = Counters::Netstream(NetstreamCounters::default());
        }
        assert_eq!(faults(&measurement), Vec::new());
        let said = warnings(&measurement);
        assert!(
            said.iter()
                .any(|said| said.contains("is one end of what is measured")),
            "{said:?}"
        );
    }
}
