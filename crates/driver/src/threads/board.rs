//! What threads show of the seconds of their load, and how these become one view.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use rookery_stats::Latencies;

use crate::{
    clock::Nanos,
    fault::Fault,
    record::{FaultCount, GuestNews, GuestSecond, LoadSecond, Recorder, sample_of, second_of},
};

/// Seconds after which a thread that has not shown one is no longer waited for.
const PATIENCE_S: u32 = 3;
/// Kinds of faults that are shown.
const MOST_FAULTS: usize = 12;

/// The seconds of one thread: written once a second at a sweep, never on the way of a request.
#[derive(Debug, Default)]
pub struct SecondBoard {
    /// Seconds before this one are shown.
    until: AtomicU32,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    guests: Vec<GuestNews>,
    lag_p99_us: u64,
    lag_max_us: u64,
}

impl SecondBoard {
    /// Show the seconds that are over at `now`. `recorders` = by guest.
    pub fn publish(&self, recorders: &mut [Recorder], lag: &Latencies, now: Nanos) {
        let second = second_of(now);
        if second <= self.until.load(Relaxed) {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown
            .guests
            .resize_with(recorders.len(), GuestNews::default);
        for (known, recorder) in shown.guests.iter_mut().zip(recorders) {
            known.add(recorder.news(second));
            known.bound();
        }
        shown.lag_p99_us = lag.percentile_us(99.0).unwrap_or(0);
        shown.lag_max_us = lag.max_us().unwrap_or(0);
        drop(shown);
        self.until.store(second, Relaxed);
    }
}

/// The seconds of all threads, as they become whole.
#[derive(Debug, Default)]
pub(super) struct LoadView {
    guests: Vec<GuestNews>,
    /// The first second that was not given.
    next: u32,
}

impl LoadView {
    /// The seconds before `over` that all threads have shown and that were not given before.
    pub(super) fn seconds<'b>(
        &mut self,
        boards: impl IntoIterator<Item = &'b SecondBoard>,
        over: u32,
    ) -> Vec<LoadSecond> {
        let mut whole = over;
        let (mut lag_p99_us, mut lag_max_us) = (0, 0);
        let mut faults: BTreeMap<_, (Fault, u64)> = BTreeMap::new();
        for board in boards {
            whole = whole.min(board.until.load(Relaxed));
            let mut shown = board.shown.lock().unwrap_or_else(PoisonError::into_inner);
            lag_p99_us = lag_p99_us.max(shown.lag_p99_us);
            lag_max_us = lag_max_us.max(shown.lag_max_us);
            let guests = self.guests.len().max(shown.guests.len());
            self.guests.resize_with(guests, GuestNews::default);
            for (all, part) in self.guests.iter_mut().zip(&mut shown.guests) {
                let part = part.take();
                for (fault, count) in &part.faults {
                    let key = (fault.class, fault.sub_class.text());
                    faults.entry(key).or_insert((*fault, 0)).1 += count;
                }
                all.add(part);
            }
        }
        let whole = whole.max(over.saturating_sub(PATIENCE_S));
        let faults = most_frequent(faults.into_values());
        let given = (self.next..whole).map(|second| LoadSecond {
            faults: faults.clone(),
            lag_p99_us,
            lag_max_us,
            ..self.second(second)
        });
        let given = given.collect();
        self.next = self.next.max(whole);
        let next = self.next;
        self.guests
            .iter_mut()
            .for_each(|guest| guest.forget_before(next));
        given
    }

    fn second(&self, second: u32) -> LoadSecond {
        let all = GuestSecond {
            requests: sample_of(
                second,
                self.guests.iter().map(|guest| guest.requests.as_slice()),
            ),
            main: sample_of(
                second,
                self.guests.iter().map(|guest| guest.main.as_slice()),
            ),
        };
        LoadSecond {
            second,
            all,
            guests: self
                .guests
                .iter()
                .map(|guest| guest.second(second))
                .collect(),
            faults: Vec::new(),
            lag_p99_us: 0,
            lag_max_us: 0,
        }
    }
}

fn most_frequent(faults: impl Iterator<Item = (Fault, u64)>) -> Vec<FaultCount> {
    let mut counts: Vec<FaultCount> = faults
        .map(|(fault, count)| FaultCount {
            class: fault.class,
            sub_class: fault.sub_class.text().into_owned(),
            count,
        })
        .collect();
    counts.sort_by_key(|fault| std::cmp::Reverse(fault.count));
    counts.truncate(MOST_FAULTS);
    counts
}

#[cfg(test)]
mod tests {
    use rookery_stats::ErrorClass;

    use super::*;
    use crate::{
        clock::Span,
        operation::OperationId,
        record::{Outcome, Timing},
    };

    const S: Nanos = 1_000_000_000;
    const UNIT: OperationId = OperationId::new(0);
    const PART: OperationId = OperationId::new(1);

    fn recorder() -> Recorder {
        let window = Span {
            start: 0,
            end: 10 * S,
        };
        Recorder::new(window, false, 2).showing(UNIT)
    }

    fn request(recorder: &mut Recorder, operation: OperationId, done: Nanos, ms: Nanos) {
        let service = ms * 1_000_000;
        let sent = done.saturating_sub(service);
        let timing = Timing {
            intended: sent,
            sent,
            done,
            service,
        };
        recorder.request(operation, timing, Outcome::Success);
    }

    fn seconds(view: &mut LoadView, boards: &[SecondBoard], over: u32) -> Vec<(u32, u32, u32)> {
        let given = view.seconds(boards, over);
        given
            .iter()
            .map(|one| (one.second, one.all.requests.requests, one.all.main.requests))
            .collect()
    }

    #[test]
    fn a_second_is_given_once_when_all_threads_have_shown_it() {
        let boards = [SecondBoard::default(), SecondBoard::default()];
        let (mut a, mut b) = ([recorder()], [recorder()]);
        let (lag, mut view) = (Latencies::new(), LoadView::default());
        request(&mut a[0], UNIT, S / 2, 10);
        request(&mut b[0], UNIT, S / 2, 30);
        request(&mut b[0], PART, S / 2, 500);
        boards[0].publish(&mut a, &lag, S + 1);
        assert_eq!(
            seconds(&mut view, &boards, 1),
            [],
            "one thread has not shown it"
        );
        boards[1].publish(&mut b, &lag, S + 2);
        let given = view.seconds(&boards, 1);
        assert_eq!(given.len(), 1);
        let all = given[0].all;
        assert_eq!((all.requests.requests, all.main.requests), (3, 2));
        assert!(all.main.max_us.abs_diff(30_000) < 300, "{all:?}");
        assert!(all.requests.max_us.abs_diff(500_000) < 5_000, "{all:?}");
        assert_eq!(given[0].guests, [all], "one guest");
        assert_eq!(seconds(&mut view, &boards, 1), []);
        // A quiet second is one, too.
        boards[0].publish(&mut a, &lag, 2 * S);
        boards[1].publish(&mut b, &lag, 2 * S);
        assert_eq!(seconds(&mut view, &boards, 2), [(1, 0, 0)]);
    }

    #[test]
    fn nothing_of_many_threads_is_lost() {
        let boards: Vec<SecondBoard> = (0..40).map(|_| SecondBoard::default()).collect();
        for board in &boards {
            let mut a = [recorder()];
            request(&mut a[0], UNIT, S / 2, 10);
            board.publish(&mut a, &Latencies::new(), S);
        }
        let mut view = LoadView::default();
        assert_eq!(seconds(&mut view, &boards, 1), [(0, 40, 40)]);
    }

    #[test]
    fn a_thread_that_shows_nothing_is_not_waited_for_without_end() {
        let boards = [SecondBoard::default(), SecondBoard::default()];
        let mut a = [recorder()];
        request(&mut a[0], UNIT, S / 2, 10);
        boards[0].publish(&mut a, &Latencies::new(), 9 * S);
        let mut view = LoadView::default();
        let given = seconds(&mut view, &boards, 9);
        assert_eq!(given.len(), 6, "{given:?}");
        assert_eq!(given[0], (0, 1, 1));
    }

    #[test]
    fn faults_are_counted_since_the_begin() {
        let boards = [SecondBoard::default()];
        let mut a = [recorder()];
        let fault = Fault::new(ErrorClass::Connect, "refused");
        let mut view = LoadView::default();
        let mut count = |second: u64| {
            a[0].failure(fault, second * S, UNIT, b"");
            boards[0].publish(&mut a, &Latencies::new(), (second + 1) * S);
            let given = view.seconds(&boards, u32::try_from(second + 1).expect("small"));
            given.last().map(|one| one.faults[0].count)
        };
        assert_eq!([count(0), count(1)], [Some(1), Some(2)]);
    }

    #[test]
    fn what_nobody_looks_at_stays_bounded() {
        let board = SecondBoard::default();
        let mut a = [recorder()];
        for second in 0..1_000u64 {
            request(&mut a[0], UNIT, second * S, 1);
            board.publish(&mut a, &Latencies::new(), (second + 1) * S);
        }
        let shown = board.shown.lock().expect("no panic");
        assert!(shown.guests[0].requests.len() <= 16 && shown.guests[0].main.len() <= 16);
    }
}
