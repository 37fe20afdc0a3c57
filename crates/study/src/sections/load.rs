//! `[load]`: how many users, and for how long.

use std::time::Duration;

use crate::{
    grammar::{
        Context, SectionInfo, keys,
        kinds::{
            Choice, Count, CourseText, Factor, ListOf, MOST_USERS, OrSection, Ramp, Time, Whole,
        },
    },
    names::Named,
    problem::Code,
    sections::{precision, search},
    values::{
        Arrivals, Load, LoadModel, LoopType, OpenLoad, Order, Over, Precision, RepeatGoal,
        SearchUse, Visit, Wish,
    },
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "load",
    many: false,
    meaning: "How many users, and for how long. A trial is ramp_up, settle, steady (measured), \
              ramp_down.",
    keys: LoadKeys::keys,
    below: &[search::BELOW, precision::BELOW],
};

impl Named for LoadModel {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "closed",
            Self::Closed,
            "a fixed number of users, each waits for its answers",
        ),
        (
            "open",
            Self::Open,
            "visitors arrive on a schedule that does not wait for answers, order once and leave",
        ),
        (
            "partly-open",
            Self::PartlyOpen,
            "such visitors stay for several orders, with think times between them",
        ),
    ];
}

impl Named for Arrivals {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("poisson", Self::Poisson, "independent of each other"),
        ("uniform", Self::Uniform, "at even distances"),
    ];
}

impl Named for Order {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "random",
            Self::Random,
            "all points in random order, then again in another, ...",
        ),
        (
            "interleaved",
            Self::Interleaved,
            "all points in the order of the file, then again, ...",
        ),
    ];
}

/// Visitors that may be present at one guest unless said.
const MAX_IN_FLIGHT: u32 = 1000;

/// The name of a loop type.
fn name(model: LoadModel) -> &'static str {
    let mut names = LoadModel::NAMES.iter();
    names
        .find(|(_, value, _)| *value == model)
        .map_or("", |(name, ..)| name)
}

/// Fewest trials that tell the scatter of a point.
const FIRST_LOT: u32 = 3;

/// Most trials of a point that is repeated for a wish: its time ends earlier.
const MOST_FOR_WISH: u32 = 1000;

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
        users: ListOf<Count> = ListOf { kind: Count::USERS, most: MOST_LEVELS }, Optional("every \
            layout must have its own users; open loads have none");
        /// Open and partly open loads: visitors that arrive per second, each of several rates a
        /// point of its own.
        rate: ListOf<Count> = ListOf { kind: Count::RATE, most: MOST_LEVELS }, Optional("a closed \
            load has none");
        /// Open and partly open loads: how the rate changes over the measured window; shares are of
        /// `rate`.
        course: CourseText = CourseText, Optional("level");
        /// Open and partly open loads: how arrivals are spaced.
        arrivals: Choice<Arrivals> = Choice::NEW, Optional("\"poisson\"");
        /// Open and partly open loads: visitors that may be present at one guest; further arrivals
        /// are dropped and counted. In rules, `users` stands for it.
        max_in_flight: Whole<u32> = Whole { min: 1, max: MOST_USERS }, Optional("1000");
        /// Open and partly open loads: how exactly arrivals are started.
        precision: OrSection<Choice<Precision>> = OrSection(Choice::NEW), Optional("\"exact\"");
        /// Partly open loads: orders of each visitor, with think times between them.
        acts: Whole<u32> = Whole { min: 1, max: 10_000 }, Optional("as `go_on` says");
        /// Partly open loads: probability that a visitor orders again after an order.
        go_on: Factor = Factor { min: 0.0, max: 0.999 }, Optional("as `acts` says");
        /// Users start evenly over this time, or so many of them each second.
        ramp_up: Ramp = Ramp(Time { min: Duration::ZERO, max: DAY, example: "5s" }), Default("\"5s\"");
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
        /// Repeat a point beyond `repeats` until half of the 95 % interval of its throughput is
        /// this share of the mean.
        half_width: Factor = Factor { min: 0.001, max: 0.5 }, Optional("each point has exactly \
            `repeats` trials");
        /// Most trials of a point that is repeated for its `half_width`.
        max_repeats: Whole<u32> = Whole { min: 1, max: 1000 }, Default("10");
        /// How often a trial of a point is run again that its own checks have made void, with a
        /// fresh seed, in its block; the void one is kept and shown.
        retry_void: Whole<u32> = Whole { min: 0, max: 10 }, Default("2");
        /// Pause between two trials.
        rest: Time = Time { min: Duration::ZERO, max: DAY, example: "5min" }, Default("\"0s\"");
        /// Order of the trials.
        order: Choice<Order> = Choice::NEW, Default("\"random\"");
    }
}

impl LoadKeys {
    /// The section with what stands below it.
    pub(crate) fn build(
        self,
        search: Option<SearchUse>,
        wish: Option<Wish>,
        context: &mut Context,
    ) -> Option<Load> {
        let model = self.model?;
        if wish.is_none() {
            self.check_repeats(context)?;
        }
        self.check(model, search.as_ref().map(|search| search.over), context)?;
        let loop_type = match model {
            LoadModel::Closed => LoopType::Closed {
                users: self.users.unwrap_or_default(),
            },
            LoadModel::Open | LoadModel::PartlyOpen => LoopType::Open(OpenLoad {
                rate: self.rate.unwrap_or_default(),
                course: self.course.unwrap_or_default(),
                arrivals: self.arrivals.unwrap_or(Arrivals::Poisson),
                max_in_flight: self.max_in_flight.unwrap_or(MAX_IN_FLIGHT),
                precision: self.precision.unwrap_or(Precision::Exact),
                visit: match (self.acts, self.go_on) {
                    (Some(acts), _) => Visit::Acts(acts),
                    (None, Some(probability)) => Visit::GoOn(probability),
                    (None, None) => Visit::Single,
                },
            }),
        };
        Some(Load {
            loop_type,
            ramp_up: self.ramp_up?,
            settle: self.settle?,
            steady: self.steady?,
            ramp_down: self.ramp_down?,
            drain: self.drain?,
            timeout: self.timeout?,
            repeats: match wish {
                Some(_) => FIRST_LOT,
                None => self.repeats?,
            },
            max_repeats: match wish {
                Some(_) => MOST_FOR_WISH,
                None => self.max_repeats?,
            },
            goal: wish
                .map(RepeatGoal::Wish)
                .or(self.half_width.map(RepeatGoal::HalfWidth)),
            retry_void: self.retry_void?,
            rest: self.rest?,
            order: self.order?,
            search,
        })
    }

    /// Whether repeats for an interval have a first lot and a budget.
    fn check_repeats(&self, context: &mut Context) -> Option<()> {
        let (Some(_), Some(repeats), Some(most)) =
            (self.half_width, self.repeats, self.max_repeats)
        else {
            return Some(());
        };
        if repeats < FIRST_LOT {
            let message = format!(
                "`load.half_width` is judged by the scatter of the first {repeats} trials of a \
                 point, which are too few"
            );
            let help = format!("write `repeats = {FIRST_LOT}` or more, 5 is good");
            return context.refuse(
                Code::Contradiction,
                context.spans.nearest("load.repeats"),
                message,
                help,
            );
        }
        if most < repeats {
            let message = format!(
                "`load.max_repeats` is {most}, fewer than the {repeats} repeats that every point \
                 has"
            );
            let help = format!("write `max_repeats = {}`", 2 * repeats);
            return context.refuse(
                Code::Contradiction,
                context.spans.nearest("load.max_repeats"),
                message,
                help,
            );
        }
        Some(())
    }

    /// What the loop type does not know, and what it lacks.
    fn check(&self, model: LoadModel, over: Option<Over>, context: &mut Context) -> Option<()> {
        let open_keys = [
            ("rate", self.rate.is_some()),
            ("course", self.course.is_some()),
            ("arrivals", self.arrivals.is_some()),
            ("max_in_flight", self.max_in_flight.is_some()),
            ("precision", self.precision.is_some()),
        ];
        let visit_keys = [
            ("acts", self.acts.is_some()),
            ("go_on", self.go_on.is_some()),
        ];
        let users = [("users", self.users.is_some())];
        let (strange, help): (Vec<_>, _) = match model {
            LoadModel::Closed => (
                [&open_keys[..], &visit_keys].concat(),
                "leave it out, or write `model = \"open\"` and a `rate` in place of users",
            ),
            LoadModel::Open => (
                [&users[..], &visit_keys].concat(),
                "leave it out: visitors order once; `model = \"partly-open\"` lets them stay, \
                 `model = \"closed\"` has users",
            ),
            LoadModel::PartlyOpen => (users.to_vec(), "leave it out: visitors come at a `rate`"),
        };
        let mut sound = Some(());
        for (key, _) in strange.into_iter().filter(|(_, given)| *given) {
            let message = format!(
                "`load.{key}` has no meaning in a load that is {}",
                name(model)
            );
            sound = context.refuse(
                Code::Contradiction,
                context.spans.nearest(&format!("load.{key}")),
                message,
                help,
            );
        }
        let place = context.spans.nearest("load.model");
        if model != LoadModel::Closed && self.rate.is_none() && over != Some(Over::Rate) {
            let message = format!("a load that is {} needs `load.rate`", name(model));
            let help =
                "write the arrivals per second into [load], for instance `rate = \"20 per vcpu\"`";
            sound = context.refuse(Code::MissingKey, place.clone(), message, help);
        }
        if model == LoadModel::PartlyOpen && self.acts.is_some() == self.go_on.is_some() {
            let message = "a partly open load needs either `load.acts` or `load.go_on`";
            let help = "write how many orders a visitor makes, `acts = 3`, or how likely another \
                        one is, `go_on = 0.7`";
            sound = context.refuse(Code::Contradiction, place, message, help);
        }
        sound
    }

    pub(crate) fn from_load(load: &Load) -> Self {
        let (users, open) = match &load.loop_type {
            LoopType::Closed { users } => (Some(users), None),
            LoopType::Open(open) => (None, Some(open)),
        };
        let visit = open.map(|open| open.visit);
        let wish = load.wish();
        // What a wish decides, and what it leaves to pilots, is not written.
        let open_times = wish.map(|wish| wish.open).unwrap_or_default();
        let given = |time, open: bool| (!open).then_some(time);
        Self {
            model: Some(load.model()),
            users: users.filter(|users| !users.is_empty()).cloned(),
            rate: open
                .map(|open| open.rate.clone())
                .filter(|rates| !rates.is_empty()),
            course: open
                .map(|open| open.course.clone())
                .filter(|course| !course.is_level()),
            arrivals: open.map(|open| open.arrivals),
            max_in_flight: open.map(|open| open.max_in_flight),
            // Beside a wish it is a key of the same section.
            precision: open.map(|open| open.precision).filter(|_| wish.is_none()),
            acts: match visit {
                Some(Visit::Acts(acts)) => Some(acts),
                _ => None,
            },
            go_on: match visit {
                Some(Visit::GoOn(probability)) => Some(probability),
                _ => None,
            },
            ramp_up: Some(load.ramp_up),
            settle: given(load.settle, open_times.settle),
            steady: given(load.steady, open_times.steady),
            ramp_down: Some(load.ramp_down),
            drain: Some(load.drain),
            timeout: Some(load.timeout),
            repeats: Some(load.repeats).filter(|_| wish.is_none()),
            half_width: load.half_width(),
            max_repeats: Some(load.max_repeats).filter(|_| wish.is_none()),
            retry_void: Some(load.retry_void),
            rest: Some(load.rest),
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
        let seconds = [
            load.ramp_up.lasting(0, 1),
            load.settle,
            load.steady,
            load.ramp_down,
            load.drain,
            load.timeout,
        ]
        .map(|time| time.as_secs());
        assert_eq!(seconds, [5, 10, 60, 0, 5, 10]);
        assert_eq!(
            (load.repeats, load.order, load.model()),
            (3, Order::Random, LoadModel::Closed)
        );
    }

    #[test]
    fn open_loads_have_a_rate() {
        let load =
            with("[load]\nmodel = \"open\"\nrate = [\"20 per vcpu\", 5]\narrivals = \"uniform\"\n")
                .expect("valid")
                .load;
        let LoopType::Open(open) = load.loop_type else {
            panic!("no arrivals");
        };
        assert_eq!((open.rate.len(), open.arrivals), (2, Arrivals::Uniform));
        assert_eq!(
            (open.max_in_flight, open.precision, open.visit),
            (1000, Precision::Exact, Visit::Single)
        );
        let visit = |key: &str| {
            with(&format!(
                "[load]\nmodel = \"partly-open\"\nrate = 3\n{key}\n"
            ))
            .map(|study| study.load.open().map(|open| open.visit))
        };
        let acts = visit("acts = 4").expect("valid").expect("arrivals");
        let go_on = visit("go_on = 0.75").expect("valid").expect("arrivals");
        assert_eq!(
            [
                acts.mean_acts(),
                go_on.mean_acts(),
                Visit::Single.mean_acts()
            ],
            [4.0, 4.0, 1.0]
        );
    }

    #[test]
    fn loop_types_refuse_each_others_keys() {
        let texts = [
            "users = 5\nrate = 3\ngo_on = 0.5",
            "model = \"open\"\nusers = 5",
            "model = \"open\"\nrate = 3\nacts = 2",
            "model = \"partly-open\"\nrate = 3",
            "model = \"partly-open\"\nrate = 3\nacts = 2\ngo_on = 0.5",
            "model = [\"open\", \"partly-open\"]\nrate = 3",
        ];
        let refusals = texts.map(|text| refusal(&format!("[load]\n{text}\n")));
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        study::contradiction: `load.rate` has no meaning in a load that is closed
        study::contradiction: `load.go_on` has no meaning in a load that is closed
        study::missing-key: a load that is open needs `load.rate`
        study::contradiction: `load.users` has no meaning in a load that is open
        study::contradiction: `load.acts` has no meaning in a load that is open
        study::contradiction: a partly open load needs either `load.acts` or `load.go_on`
        study::contradiction: a partly open load needs either `load.acts` or `load.go_on`
        study::contradiction: `load.model` cannot have several values: its response times mean other things: run the study once for each, and compare the runs
        "#);
    }

    #[test]
    fn nothing_measured_is_refused() {
        assert_eq!(
            refusal("[load]\nusers = 1\nsteady = \"0s\"\nrepeats = 0\n"),
            "study::out-of-range: `load.steady` is less than 1s\nstudy::out-of-range: \
             `load.repeats` is less than 1"
        );
    }
}
