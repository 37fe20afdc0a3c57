//! Requests to block devices inside the measured window.

use rookery_stats::{IoRates, Measurement, ResourceSample};

use crate::window::{self, HOST};

/// Mean rates of all guests together inside the window, each sample weighted by the time since the
/// one before; `None` where no guest was counted, or not every one.
#[must_use]
pub fn guest_io(resources: &[ResourceSample], measurement: &Measurement) -> Option<IoRates> {
    window::over_guests(resources, measurement, rates).map(named)
}

/// Mean rates of the host's disks inside the window, whoever asked them; `None` without samples
/// that have any.
#[must_use]
pub fn host_io(resources: &[ResourceSample], measurement: &Measurement) -> Option<IoRates> {
    window::mean(resources, HOST, measurement, rates).map(named)
}

fn rates(sample: &ResourceSample) -> Option<[f64; 4]> {
    let io = sample.io?;
    Some([
        io.reads_per_s,
        io.writes_per_s,
        io.read_bytes_per_s,
        io.written_bytes_per_s,
    ])
}

fn named(
    [
        reads_per_s,
        writes_per_s,
        read_bytes_per_s,
        written_bytes_per_s,
    ]: [f64; 4],
) -> IoRates {
    IoRates {
        reads_per_s,
        writes_per_s,
        read_bytes_per_s,
        written_bytes_per_s,
    }
}

#[cfg(test)]
mod tests {
    use rookery_stats::{DriverQuality, Mode, Pacing, Window};

    use super::*;

    fn measurement() -> Measurement {
        Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window: Window {
                start_s: 1.0,
                end_s: 4.0,
            },
            guests: Vec::new(),
            driver: DriverQuality::default(),
            aborted: None,
        }
    }

    fn sample(subject: &str, at_s: f64, reads: Option<f64>) -> ResourceSample {
        ResourceSample {
            subject: subject.to_owned(),
            at_s,
            cpu_cores: 0.0,
            memory_bytes: 0,
            io: reads.map(|reads_per_s| IoRates {
                reads_per_s,
                read_bytes_per_s: 4096.0 * reads_per_s,
                ..IoRates::default()
            }),
            parts: None,
            throttled_cores: None,
            memory: None,
        }
    }

    #[test]
    fn samples_count_by_their_part_of_the_window() {
        let samples = [
            sample("g1", 0.0, Some(9e9)),
            sample("g1", 2.0, Some(100.0)),
            sample("g1", 4.0, Some(40.0)),
            sample("g2", 1.0, None),
            sample("g2", 4.0, Some(10.0)),
            sample("host", 4.0, None),
        ];
        // g1: one second of 100/s and two of 40/s; g2: three of 10/s.
        let io = guest_io(&samples, &measurement()).expect("counted");
        assert_eq!(
            (io.reads_per_s, io.read_bytes_per_s, io.writes_per_s),
            (70.0, 70.0 * 4096.0, 0.0)
        );
        assert_eq!(host_io(&samples, &measurement()), None);
        let of_host = [sample("host", 1.0, None), sample("host", 3.0, Some(7.0))];
        assert_eq!(
            host_io(&of_host, &measurement()).map(|io| io.reads_per_s),
            Some(7.0)
        );
    }

    #[test]
    fn a_guest_that_nobody_counted_leaves_no_sum() {
        let samples = [
            sample("g1", 0.0, Some(1.0)),
            sample("g1", 2.0, Some(1.0)),
            sample("g2", 0.0, None),
            sample("g2", 2.0, None),
        ];
        assert_eq!(guest_io(&samples, &measurement()), None);
        assert_eq!(guest_io(&[], &measurement()), None);
    }
}
