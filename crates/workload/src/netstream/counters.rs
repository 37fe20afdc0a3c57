//! What the netstream workload counts beside the times of its exchanges.

use serde::{Deserialize, Serialize};

use super::info::METRICS;
use crate::{MetricValue, Proof, ProofRow, UnitRates, metric::with_values};

/// Answers that the server sent whole.
pub const ANSWERS: &str = "answers";
/// The content of those answers.
pub const ANSWER_BYTES: &str = "bytes of answers";

/// Of less CPU time of the host no sums are compared, s: the kernel counts in steps of 10 ms on
/// each CPU.
pub const LEAST_CPU_S: f64 = 0.5;

/// CPU time of one end inside the window, s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// All of it.
    pub whole: f64,
    /// Of it in the host's kernel; `None` where that is not told.
    pub system: Option<f64>,
}

/// CPU time of the host inside the window by what it was spent on, s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostTimes {
    /// In programs.
    pub user: f64,
    /// In the kernel on their behalf, and in its own threads.
    pub system: f64,
    /// In soft and hard interrupts.
    pub interrupts: f64,
}

/// CPU time inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSeconds {
    /// Of the guest.
    pub guest: CpuTimes,
    /// Of the guests that sent the content, for this guest; `None` where it sent it itself.
    #[serde(default)]
    pub partner: Option<CpuTimes>,
    /// Of the driver, for this guest.
    pub driver: CpuTimes,
    /// Of the whole host, for this guest, s.
    pub host: f64,
    /// The same by what it was spent on; `None` where the kernel does not tell.
    pub host_times: Option<HostTimes>,
}

/// Counters of the netstream workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetstreamCounters {
    /// Length of the window, s.
    pub window_s: f64,
    /// Exchanges that ended in the window.
    pub exchanges: u64,
    /// Content that was received in the window, bytes; of an exchange that reaches over an end of
    /// the window the part that lies inside by time.
    pub received_bytes: f64,
    /// Exchanges over the whole trial.
    pub exchanges_from_start: u64,
    /// Content of their answers, bytes.
    pub bytes_from_start: u64,
    /// Requests that were sent but whose answer did not come whole.
    pub unanswered: u64,
    /// Content of their answers, had they come.
    pub unanswered_bytes: u64,
    /// Of streams that another program measured: answers that may have been sent and not received
    /// when they ended. Exchanges of this driver are counted one by one.
    #[serde(default)]
    pub in_flight: u64,
    /// Their content, bytes.
    #[serde(default)]
    pub in_flight_bytes: u64,
    /// CPU time, where it was sampled.
    #[serde(default)]
    pub cpu: Option<CpuSeconds>,
    /// TCP segments that the guest's network sent again inside the window; where guests share the
    /// network of the host, those of all, at the first of them.
    #[serde(default)]
    pub resent_segments: Option<u64>,
    /// This guest's part, by what it received, of the TCP segments that the networks of the guests
    /// that answered it sent again inside the window: answers are resent by who sends them.
    #[serde(default)]
    pub partner_resent_segments: Option<f64>,
}

impl CpuTimes {
    fn plus(self, other: Self) -> Self {
        Self {
            whole: self.whole + other.whole,
            system: self.system.zip(other.system).map(|(a, b)| a + b),
        }
    }

    fn system_share(&self) -> Option<f64> {
        self.system
            .filter(|_| self.whole > 0.0)
            .map(|system| system / self.whole)
    }
}

impl HostTimes {
    /// All of it, s.
    #[must_use]
    pub fn whole(&self) -> f64 {
        self.user + self.system + self.interrupts
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            interrupts: self.interrupts + other.interrupts,
        }
    }

    /// Every kind times `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            user: factor * self.user,
            system: factor * self.system,
            interrupts: factor * self.interrupts,
        }
    }
}

impl CpuSeconds {
    /// What neither guests nor driver spent: interrupts that are charged to no program, and other
    /// work, s. Below nothing where they were sampled a little later than the host.
    #[must_use]
    pub fn elsewhere(&self) -> f64 {
        let partner = self.partner.map_or(0.0, |partner| partner.whole);
        self.host - self.guest.whole - partner - self.driver.whole
    }

    fn plus(self, other: Self) -> Self {
        Self {
            guest: self.guest.plus(other.guest),
            partner: match (self.partner, other.partner) {
                (Some(mine), Some(other)) => Some(mine.plus(other)),
                (mine, other) => mine.or(other),
            },
            driver: self.driver.plus(other.driver),
            host: self.host + other.host,
            host_times: self
                .host_times
                .zip(other.host_times)
                .map(|(mine, others)| mine.plus(others)),
        }
    }

    fn host_share(&self, of: fn(&HostTimes) -> f64) -> Option<f64> {
        let times = self.host_times.filter(|times| times.whole() > 0.0)?;
        Some(of(&times) / times.whole())
    }
}

impl NetstreamCounters {
    /// Every metric, in the order of the workload's list.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let rate = |amount: f64| (self.window_s > 0.0).then(|| amount / self.window_s);
        let cpu = self.cpu.as_ref();
        let costs = |amount: f64| {
            let sides: [fn(&CpuSeconds) -> Option<f64>; 5] = [
                |cpu| Some(cpu.guest.whole),
                |cpu| cpu.partner.map(|partner| partner.whole),
                |cpu| Some(cpu.driver.whole),
                |cpu| Some(cpu.elsewhere()),
                |cpu| Some(cpu.host),
            ];
            sides.map(|of| Some(of(cpu.filter(|_| amount > 0.0)?)? / amount))
        };
        let [guest_gb, partner_gb, driver_gb, else_gb, host_gb] = costs(self.received_bytes / 1e9);
        let [
            guest_million,
            partner_million,
            driver_million,
            else_million,
            host_million,
        ] = costs(self.exchanges as f64 / 1e6);
        with_values(
            &METRICS,
            [
                Some(self.unit_rates().units_per_minute),
                Some(rate(8.0 * self.received_bytes / 1e6).unwrap_or(0.0)),
                rate(self.exchanges as f64),
                Some(self.exchanges as f64),
                guest_gb,
                partner_gb,
                driver_gb,
                else_gb,
                host_gb,
                guest_million,
                partner_million,
                driver_million,
                else_million,
                host_million,
                cpu.and_then(|cpu| cpu.guest.system_share()),
                cpu.and_then(|cpu| cpu.partner?.system_share()),
                cpu.and_then(|cpu| cpu.driver.system_share()),
                cpu.and_then(|cpu| cpu.host_share(|times| times.user)),
                cpu.and_then(|cpu| cpu.host_share(|times| times.system)),
                cpu.and_then(|cpu| cpu.host_share(|times| times.interrupts)),
                self.resent_segments.map(|count| count as f64),
                self.partner_resent_segments,
                Some(self.exchanges_from_start as f64),
                Some(self.unanswered as f64),
            ],
        )
    }

    /// Answers that connections received whole were sent by the server; unanswered ones may have
    /// been.
    #[must_use]
    pub fn proof(&self) -> Proof {
        let under_way = self.unanswered.saturating_add(self.in_flight);
        let bytes_under_way = self.unanswered_bytes.saturating_add(self.in_flight_bytes);
        Proof {
            rows: vec![
                ProofRow::new(ANSWERS, self.exchanges_from_start, under_way),
                ProofRow::new(ANSWER_BYTES, self.bytes_from_start, bytes_under_way),
            ],
        }
    }

    /// Exchanges per minute: each is one request.
    #[must_use]
    pub fn unit_rates(&self) -> UnitRates {
        let per_minute = if self.window_s > 0.0 {
            60.0 * self.exchanges as f64 / self.window_s
        } else {
            0.0
        };
        UnitRates {
            units_per_minute: per_minute,
            requests_per_minute: per_minute,
        }
    }

    /// Add what another guest counted in the same window.
    pub fn merge(&mut self, other: &Self) {
        // Guests of a trial share the window; one that counted nothing may not know it.
        self.window_s = self.window_s.max(other.window_s);
        self.received_bytes += other.received_bytes;
        let counts = [
            (&mut self.exchanges, other.exchanges),
            (&mut self.exchanges_from_start, other.exchanges_from_start),
            (&mut self.bytes_from_start, other.bytes_from_start),
            (&mut self.unanswered, other.unanswered),
            (&mut self.unanswered_bytes, other.unanswered_bytes),
            (&mut self.in_flight, other.in_flight),
            (&mut self.in_flight_bytes, other.in_flight_bytes),
        ];
        for (mine, others) in counts {
            *mine = mine.saturating_add(others);
        }
        self.cpu = match (self.cpu, other.cpu) {
            (Some(mine), Some(other)) => Some(mine.plus(other)),
            (mine, other) => mine.or(other),
        };
        self.resent_segments = match (self.resent_segments, other.resent_segments) {
            (Some(mine), Some(other)) => Some(mine.saturating_add(other)),
            (mine, other) => mine.or(other),
        };
        let resent = (self.partner_resent_segments, other.partner_resent_segments);
        self.partner_resent_segments = match resent {
            (Some(mine), Some(other)) => Some(mine + other),
            (mine, other) => mine.or(other),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counters;

    fn counters() -> NetstreamCounters {
        NetstreamCounters {
            window_s: 10.0,
            exchanges: 1000,
            received_bytes: 1e9,
            exchanges_from_start: 1500,
            bytes_from_start: 1_500_000_000,
            unanswered: 1,
            unanswered_bytes: 1_000_000,
            in_flight: 0,
            in_flight_bytes: 0,
            cpu: Some(CpuSeconds {
                guest: CpuTimes {
                    whole: 0.5,
                    system: Some(0.4),
                },
                partner: None,
                driver: CpuTimes {
                    whole: 1.0,
                    system: None,
                },
                host: 2.0,
                host_times: Some(HostTimes {
                    user: 0.5,
                    system: 1.0,
                    interrupts: 0.5,
                }),
            }),
            resent_segments: Some(3),
            partner_resent_segments: None,
        }
    }

    #[test]
    fn costs_are_those_of_what_was_carried() {
        let all = Counters::Netstream(counters());
        for (name, value) in [
            ("received_mbit_per_s", 800.0),
            ("exchanges_per_s", 100.0),
            ("guest_cpu_s_per_gb", 0.5),
            ("elsewhere_cpu_s_per_gb", 0.5),
            ("host_cpu_s_per_gb", 2.0),
            ("driver_cpu_s_per_million", 1000.0),
            ("guest_system_share", 0.8),
            ("host_interrupt_share", 0.25),
            ("resent_segments", 3.0),
        ] {
            assert_eq!(all.metric(name), Some(value), "{name}");
        }
        assert_eq!(all.metric("driver_system_share"), None);
        let nothing = Counters::Netstream(NetstreamCounters::default());
        assert_eq!(nothing.metric("guest_cpu_s_per_gb"), None);
        assert_eq!(nothing.metric("received_mbit_per_s"), Some(0.0));
    }

    #[test]
    fn the_parts_of_a_cost_add_up_to_that_of_the_host() {
        let all = Counters::Netstream(counters());
        let value = |name: &str| all.metric(name).expect("a value");
        for amount in ["gb", "million"] {
            let parts: f64 = ["guest", "driver", "elsewhere"]
                .iter()
                .map(|side| value(&format!("{side}_cpu_s_per_{amount}")))
                .sum();
            assert_eq!(parts, value(&format!("host_cpu_s_per_{amount}")));
        }
        let shares = [
            "host_user_share",
            "host_system_share",
            "host_interrupt_share",
        ];
        assert_eq!(shares.map(value).iter().sum::<f64>(), 1.0);
    }

    #[test]
    fn what_another_guest_sent_it_paid_for() {
        let mut between = counters();
        if let Some(cpu) = &mut between.cpu {
            cpu.partner = Some(CpuTimes {
                whole: 0.25,
                system: Some(0.2),
            });
        }
        let all = Counters::Netstream(between);
        for (name, value) in [
            ("partner_cpu_s_per_gb", 0.25),
            ("elsewhere_cpu_s_per_gb", 0.25),
            ("partner_cpu_s_per_million", 250.0),
            ("partner_system_share", 0.8),
        ] {
            assert_eq!(all.metric(name), Some(value), "{name}");
        }
        between.partner_resent_segments = Some(1.5);
        let all = Counters::Netstream(between);
        assert_eq!(all.metric("partner_resent_segments"), Some(1.5));
        let alone = Counters::Netstream(counters());
        assert_eq!(alone.metric("partner_resent_segments"), None);
        assert_eq!(alone.metric("partner_cpu_s_per_gb"), None);
        between.merge(&counters());
        let cpu = between.cpu.expect("counted");
        assert_eq!(cpu.partner.map(|partner| partner.whole), Some(0.25));
        assert_eq!(between.partner_resent_segments, Some(1.5));
    }

    #[test]
    fn guests_together_are_counted_together() {
        let mut all = counters();
        all.merge(&counters());
        assert_eq!((all.exchanges, all.received_bytes), (2000, 2e9));
        assert_eq!(all.cpu.map(|cpu| cpu.host), Some(4.0));
        assert_eq!(all.resent_segments, Some(6));
        assert_eq!(
            all.proof().rows,
            [
                ProofRow::new(ANSWERS, 3000, 2),
                ProofRow::new(ANSWER_BYTES, 3_000_000_000, 2_000_000)
            ]
        );
        assert_eq!(all.unit_rates().units_per_minute, 12_000.0);
        let host = all.metrics();
        let host = host
            .iter()
            .find(|value| value.metric.name == "host_cpu_s_per_gb");
        assert_eq!(host.map(|value| value.value), Some(2.0));
    }
}
