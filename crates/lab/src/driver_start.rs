//! When the users of drivers on other machines began, each by its own clock.

use rookery_store::{HostClock, Tuning};

use crate::elsewhere::DrivenPart;

/// What is known of the begin of one driver's users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DriverStart {
    /// Name of the driver.
    name: String,
    /// By thread: how long after its time its first user began, by the clock of the guests' host,
    /// microseconds; below 0 it began before.
    late_us: Vec<i64>,
    /// The driver's clock meanwhile; nothing where it was not heard.
    clock: Option<HostClock>,
}

impl DriverStart {
    pub(crate) fn new(name: &str, part: &DrivenPart) -> Self {
        let recordings = part.recordings.iter();
        let late = recordings.flat_map(|recording| recording.first_late_us());
        let shifted = |late: &u64| {
            let late = i64::try_from(*late).unwrap_or(i64::MAX);
            late.saturating_add(part.start_shift_us)
        };
        Self {
            name: name.to_owned(),
            late_us: late.map(shifted).collect(),
            clock: part.clock,
        }
    }

    /// How wrong its moments may be at most, microseconds.
    fn bound_us(&self) -> Option<i64> {
        self.clock.map(|clock| clock.bound_us)
    }
}

/// The rows among the settings of a trial that say how the clocks of its drivers were, when the
/// users of each began, and how far all begins were from their time.
pub(crate) fn facts(drivers: &[DriverStart]) -> Vec<Tuning> {
    let mut facts = Vec::new();
    for driver in drivers {
        let clock = driver.clock.map(|clock| clock.to_string());
        facts.extend(clock.map(|text| fact(&format!("driver.{}.clock", driver.name), text)));
        let start = start_text(driver);
        facts.extend(start.map(|text| fact(&format!("driver.{}.start", driver.name), text)));
    }
    facts.extend(skew_text(drivers).map(|text| fact("driver.start-skew", text)));
    facts
}

/// One such row.
pub(crate) fn fact(name: &str, effective: String) -> Tuning {
    Tuning {
        guest: "host".to_owned(),
        name: name.to_owned(),
        asked: String::new(),
        effective,
        at_end: String::new(),
    }
}

/// The begin of one driver; nothing where it had no users.
fn start_text(driver: &DriverStart) -> Option<String> {
    let (first, last) = (driver.late_us.iter().min()?, driver.late_us.iter().max()?);
    let known = known_to(driver.bound_us());
    Some(match driver.late_us.len() {
        1 => format!("{first} us after the common start, {known}"),
        threads => {
            format!("{first} to {last} us after the common start on {threads} threads, {known}")
        }
    })
}

/// How far the begins of all threads were from their time; nothing where none had users.
fn skew_text(drivers: &[DriverStart]) -> Option<String> {
    let all = drivers.iter().flat_map(|driver| &driver.late_us);
    let mut skews: Vec<u64> = all.map(|late| late.unsigned_abs()).collect();
    skews.sort_unstable();
    let rank = (99 * skews.len()).div_ceil(100);
    let p99 = skews.get(rank.checked_sub(1)?)?;
    // Of one whose clock was not heard nothing is known.
    let bound = drivers.iter().map(DriverStart::bound_us);
    let bound = bound.collect::<Option<Vec<i64>>>();
    let bound = bound.and_then(|bounds| bounds.into_iter().max());
    let threads = match skews.len() {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    Some(format!("p99 {p99} us of {threads}, {}", known_to(bound)))
}

fn known_to(bound_us: Option<i64>) -> String {
    match bound_us {
        Some(bound) => format!("known to {bound} us"),
        None => "by a clock that was not heard".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(name: &str, late_us: &[i64], bound_us: Option<i64>) -> DriverStart {
        DriverStart {
            name: name.to_owned(),
            late_us: late_us.to_vec(),
            clock: bound_us.map(|bound_us| HostClock {
                offset_us: -12,
                bound_us,
                stepped: false,
            }),
        }
    }

    fn told(drivers: &[DriverStart]) -> Vec<String> {
        let facts = facts(drivers).into_iter();
        facts
            .map(|fact| format!("{}: {}", fact.name, fact.effective))
            .collect()
    }

    #[test]
    fn skew_is_that_of_all_threads_and_as_uncertain_as_the_worst_clock() {
        let drivers = [
            driver("a", &[40, 310], Some(25)),
            driver("b", &[-900], Some(70)),
        ];
        assert_eq!(
            told(&drivers),
            [
                "driver.a.clock: -12 us ahead, known to 25 us",
                "driver.a.start: 40 to 310 us after the common start on 2 threads, known to 25 us",
                "driver.b.clock: -12 us ahead, known to 70 us",
                "driver.b.start: -900 us after the common start, known to 70 us",
                "driver.start-skew: p99 900 us of 3 threads, known to 70 us",
            ]
        );
    }

    #[test]
    fn a_driver_without_users_or_clock_claims_nothing() {
        assert_eq!(told(&[driver("a", &[], None)]), [""; 0]);
        assert_eq!(
            told(&[driver("a", &[], Some(5)), driver("b", &[3], None)]),
            [
                "driver.a.clock: -12 us ahead, known to 5 us",
                "driver.b.start: 3 us after the common start, by a clock that was not heard",
                "driver.start-skew: p99 3 us of 1 thread, by a clock that was not heard",
            ]
        );
    }
}
