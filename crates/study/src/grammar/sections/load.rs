//! `[load]`: how many users, and for how long.

use std::time::Duration;

use crate::{
    grammar::{
        SectionInfo, keys,
        kinds::{Choice, ListOf, Named, Time, UserCount, Whole},
    },
    model::{Load, LoadModel, Order},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "load",
    many: false,
    meaning: "How many users, and for how long. A trial is ramp_up, settle, steady (measured), ramp_down.",
    keys: LoadKeys::keys,
    below: None,
};

impl Named for LoadModel {
    const NAMES: &'static [(&'static str, Self, &'static str)] =
        &[("closed", Self::Closed, "a fixed number of users, each waits for its answers")];
}

impl Named for Order {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("random", Self::Random, "all points in random order, then again in another, ..."),
        (
            "interleaved",
            Self::Interleaved,
            "all points in the order of the file, then again, ...",
        ),
    ];
}

/// Most levels of one factor.
pub(super) const MOST_LEVELS: usize = 64;

const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

keys! {
    /// Keys of `[load]`.
    LoadKeys {
        /// Loop type.
        model: Choice<LoadModel> = Choice::NEW, Default("\"closed\"");
        /// Users of the layouts that do not say their own.
        users: ListOf<UserCount> = ListOf { kind: UserCount, most: MOST_LEVELS }, Optional("every layout must have its own users");
        /// Users start evenly over this time.
        ramp_up: Time = Time { min: Duration::ZERO, max: DAY, example: "5s" }, Default("\"5s\"");
        /// All users run, nothing is measured yet.
        settle: Time = Time { min: Duration::ZERO, max: DAY, example: "10s" }, Default("\"10s\"");
        /// The measured window.
        steady: Time = Time { min: SECOND, max: DAY, example: "60s" }, Default("\"1min\"");
        /// Load is kept up after the window, then users stop in start order.
        ramp_down: Time = Time { min: Duration::ZERO, max: DAY, example: "2s" }, Default("\"0s\"");
        /// How long unfinished operations are awaited after the end.
        drain: Time = Time { min: Duration::ZERO, max: HOUR, example: "5s" }, Default("\"5s\"");
        /// Limit on one request.
        timeout: Time = Time { min: Duration::from_millis(1), max: HOUR, example: "10s" }, Default("\"10s\"");
        /// Trials of each point; two or more give intervals, three or more good ones.
        repeats: Whole<u32> = Whole { min: 1, max: 1000 }, Default("3");
        /// Order of the trials.
        order: Choice<Order> = Choice::NEW, Default("\"random\"");
    }
}

impl LoadKeys {
    pub(crate) fn build(self) -> Option<Load> {
        Some(Load {
            model: self.model?,
            users: self.users.unwrap_or_default(),
            ramp_up: self.ramp_up?,
            settle: self.settle?,
            steady: self.steady?,
            ramp_down: self.ramp_down?,
            drain: self.drain?,
            timeout: self.timeout?,
            repeats: self.repeats?,
            order: self.order?,
        })
    }

    pub(crate) fn of(load: &Load) -> Self {
        Self {
            model: Some(load.model),
            users: (!load.users.is_empty()).then(|| load.users.clone()),
            ramp_up: Some(load.ramp_up),
            settle: Some(load.settle),
            steady: Some(load.steady),
            ramp_down: Some(load.ramp_down),
            drain: Some(load.drain),
            timeout: Some(load.timeout),
            repeats: Some(load.repeats),
            order: Some(load.order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn defaults() {
        let load = with("").expect("valid").load;
        let seconds = [load.ramp_up, load.settle, load.steady, load.ramp_down, load.drain, load.timeout].map(|time| time.as_secs());
        assert_eq!(seconds, [5, 10, 60, 0, 5, 10]);
        assert_eq!((load.repeats, load.order, load.model), (3, Order::Random, LoadModel::Closed));
    }

    #[test]
    fn nothing_measured_is_refused() {
        assert_eq!(
            refusal("[load]\nusers = 1\nsteady = \"0s\"\nrepeats = 0\n"),
            "study::out-of-range: `load.steady` is less than 1s\nstudy::out-of-range: `load.repeats` is less than 1"
        );
    }
}
