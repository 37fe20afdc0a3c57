//! A server that stands still up to the end of the trial.

use super::{Fault, FaultCode};
use crate::{GuestMeasurement, Measurement, Mode};

/// At so many of a guest's users that still wait when the driver gives up, its server is said to
/// stand still: a slow operation keeps few of them.
const WAITING: f64 = 0.5;

/// A guest of a closed load that answered nobody, or hardly anybody, up to the end.
///
/// The throughput of such a trial depends on where its window ends, and nobody knows when its users
/// would have been answered: it is void, whatever its percentiles say.
pub(super) fn standstill(measurement: &Measurement) -> Option<Fault> {
    if measurement.mode != Mode::Closed || measurement.aborted.is_some() {
        return None;
    }
    let guests: Vec<String> = measurement.guests.iter().filter_map(in_words).collect();
    (!guests.is_empty()).then(|| {
        let guests = guests.join("; ");
        Fault::new(
            FaultCode::Standstill,
            format!("a server stood still up to the end: {guests}; look into its log"),
        )
    })
}

fn in_words(guest: &GuestMeasurement) -> Option<String> {
    let waiting: u64 = guest.requests().map(|request| request.unfinished).sum();
    let users = guest.users;
    (waiting > 0 && waiting as f64 >= WAITING * f64::from(users)).then(|| {
        let last = guest.series.iter().rfind(|second| second.requests > 0);
        let since = last.map_or_else(String::new, |last| {
            format!(" and the last answer came in second {}", last.second)
        });
        format!(
            "{}, where {waiting} of {users} users still waited{since}",
            guest.guest
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::healthy, *};
    use crate::SecondSample;

    fn waiting(unfinished: u64) -> Measurement {
        let mut measurement = healthy();
        let guest = &mut measurement.guests[0];
        guest.operations[0].name = "page".to_owned();
        guest.operations[0].unfinished = unfinished;
        guest.series = (0..40)
            .map(|second| SecondSample {
                second,
                requests: if second < 14 { 20 } else { 0 },
                ..SecondSample::default()
            })
            .collect();
        measurement
    }

    #[test]
    fn users_who_wait_to_the_end_void_a_trial() {
        let fault = standstill(&waiting(10)).expect("nobody was answered");
        assert_eq!(
            fault.text,
            "a server stood still up to the end: g1, where 10 of 10 users still waited and the \
             last answer came in second 13; look into its log"
        );
        assert!(standstill(&waiting(5)).is_some());
        assert_eq!(standstill(&waiting(4)), None, "slow operations of some");
        assert_eq!(standstill(&healthy()), None);
    }

    #[test]
    fn open_and_aborted_trials_are_judged_otherwise() {
        let mut open = waiting(10);
        open.mode = Mode::Open;
        assert_eq!(standstill(&open), None);
        let mut aborted = waiting(10);
        aborted.aborted = Some("stopped".to_owned());
        assert_eq!(standstill(&aborted), None);
    }
}
