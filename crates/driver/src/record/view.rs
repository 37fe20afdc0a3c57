//! The seconds of a load as they are shown while it runs.

use rookery_stats::{ErrorClass, SecondSample};
use serde::{Deserialize, Serialize};

use super::second::{Second, sample};
use crate::fault::Fault;

/// Seconds that wait at most for somebody to look at them.
const MOST_WAITING: usize = 16;

/// What one thread recorded of a guest since it was last shown.
#[derive(Debug, Default)]
pub(crate) struct GuestNews {
    /// Every request.
    pub(crate) requests: Vec<Second>,
    /// The operation that stands for a unit of work.
    pub(crate) main: Vec<Second>,
    /// How often each fault came since the begin of the load.
    pub(crate) faults: Vec<(Fault, u64)>,
}

impl GuestNews {
    /// Takes in what came after it.
    pub(crate) fn add(&mut self, mut later: Self) {
        self.requests.append(&mut later.requests);
        self.main.append(&mut later.main);
        self.faults = later.faults;
    }

    /// Forget all but the last seconds.
    pub(crate) fn bound(&mut self) {
        for seconds in [&mut self.requests, &mut self.main] {
            let too_many = seconds.len().saturating_sub(MOST_WAITING);
            seconds.drain(..too_many);
        }
    }

    /// What is new of it; the counts stay.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            requests: std::mem::take(&mut self.requests),
            main: std::mem::take(&mut self.main),
            faults: self.faults.clone(),
        }
    }

    /// What its parts say of one second.
    pub(crate) fn second(&self, second: u32) -> GuestSecond {
        GuestSecond {
            requests: sample_of(second, [self.requests.as_slice()]),
            main: sample_of(second, [self.main.as_slice()]),
        }
    }

    /// Forget what lies before `second`.
    pub(crate) fn forget_before(&mut self, second: u32) {
        self.requests.retain(|part| part.second >= second);
        self.main.retain(|part| part.second >= second);
    }
}

/// One second of some parts, whatever else they hold.
pub(crate) fn sample_of<'p>(
    second: u32,
    parts: impl IntoIterator<Item = &'p [Second]>,
) -> SecondSample {
    let of_it: Vec<&Second> = parts
        .into_iter()
        .flatten()
        .filter(|part| part.second == second)
        .collect();
    sample(second, of_it.iter().copied())
}

/// A second of a load, all threads of its driver together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSecond {
    /// Which, since the common start (0 = first).
    pub second: u32,
    /// All guests together.
    pub all: GuestSecond,
    /// By guest, in the order of the load.
    pub guests: Vec<GuestSecond>,
    /// Faults since the begin of the load, all guests together, the most frequent first.
    pub faults: Vec<FaultCount>,
    /// Scheduling lag inside the window so far, of the thread where it is largest, us: p99.
    pub lag_p99_us: u64,
    /// The largest.
    pub lag_max_us: u64,
}

/// A second of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuestSecond {
    /// Every request.
    pub requests: SecondSample,
    /// The operation that stands for a unit of work.
    pub main: SecondSample,
}

/// How often a fault came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCount {
    /// Class.
    pub class: ErrorClass,
    /// Sub-class in words.
    pub sub_class: String,
    /// How often.
    pub count: u64,
}
