//! The windows of a point's good trials together, for workloads that show counters of their own.

use rookery_analysis::Run;
use rookery_stats::{Latencies, Measurement};
use rookery_study::{Point, Purpose};
use rookery_workload::Counters;

/// Counters of one workload that can be added up.
pub(super) trait WindowCounters: Clone {
    /// Those of a guest; `None` where it is of another workload.
    fn of_guest(counters: &Counters) -> Option<&Self>;

    /// Add those of another guest in the same window.
    fn add_guest(&mut self, other: &Self);

    /// Add those of another window of the same users: its time counts, its users do not.
    fn add_window(&mut self, other: &Self);
}

/// All good trials of a point together.
pub(super) struct PointWindow<'r, C> {
    pub(super) point: &'r Point,
    pub(super) counters: C,
    pub(super) measured: Vec<&'r Measurement>,
}

impl<C: WindowCounters> PointWindow<'_, C> {
    /// Times of an operation.
    pub(super) fn latencies(&self, operation: &str) -> Latencies {
        let mut all = Latencies::new();
        for measured in &self.measured {
            all.merge(&measured.latencies(operation));
        }
        all
    }

    /// What each single window counted.
    pub(super) fn single(&self) -> impl Iterator<Item = C> {
        self.measured
            .iter()
            .filter_map(|measured| counters(measured))
    }
}

/// What all guests of a trial counted; `None` where they are of another workload.
fn counters<C: WindowCounters>(measured: &Measurement) -> Option<C> {
    let mut guests = measured
        .guests
        .iter()
        .filter_map(|guest| C::of_guest(&guest.counters));
    let mut all = guests.next()?.clone();
    guests.for_each(|guest| all.add_guest(guest));
    Some(all)
}

/// The windows of all points that have any.
pub(super) fn windows<C: WindowCounters>(run: &Run) -> Vec<PointWindow<'_, C>> {
    let points = run.header.plan.points.iter();
    points.filter_map(|point| window(run, point)).collect()
}

fn window<'r, C: WindowCounters>(run: &'r Run, point: &'r Point) -> Option<PointWindow<'r, C>> {
    let own = run.trials.iter().filter(|trial| {
        trial.row.trial.point == point.id && trial.row.trial.purpose != Purpose::Pilot
    });
    let measured: Vec<&Measurement> = own
        .filter_map(|trial| Some(trial.valid()?.1))
        .filter(|measured| counters::<C>(measured).is_some())
        .collect();
    let mut all = measured.iter().filter_map(|one| counters::<C>(one));
    let mut counters = all.next()?;
    all.for_each(|other| counters.add_window(&other));
    Some(PointWindow {
        point,
        counters,
        measured,
    })
}
