//! `[load.precision]`: how narrow intervals are wished to be, and within what time.

use std::time::Duration;

use crate::{
    grammar::{
        Below, Context, Reader, keys,
        kinds::{Choice, Percent, Time},
    },
    names::Named,
    problem::Code,
    values::{Load, LoadModel, OpenTimes, PercentileWish, Precision, RepeatGoal, Wish},
};

const NAME: &str = "precision";

pub(super) const BELOW: Below = Below {
    names: || vec![NAME],
    named_freely: false,
    meaning: || {
        "A wish instead of times: half of the 95 % interval of each point, as a share of its mean. \
         Pilots (longer trials of the smallest and the largest load of each layout) choose \
         `settle` and `steady` where these are not written; then points are repeated until their \
         intervals keep the wish or the time is spent. The report says at which points it was met. \
         It takes the place of `repeats`, `max_repeats` and `half_width`. A word alone \
         (`precision = \"batched\"`) stands for `arrivals`."
            .to_owned()
    },
    keys: PrecisionKeys::keys,
    any: None,
};

impl Named for Precision {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "exact",
            Self::Exact,
            "each arrival is started at its own time",
        ),
        (
            "batched",
            Self::Batched,
            "those of a millisecond together, which is cheaper",
        ),
    ];
}

const WIDTH: Percent = Percent {
    min: 0.001,
    max: 0.5,
    example: "5%",
};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

keys! {
    /// Keys of `[load.precision]`.
    PrecisionKeys {
        /// Wish for the throughput.
        throughput: Percent = Percent { min: 0.001, max: 0.5, example: "2%" }, Optional("no wish");
        /// Wish for the median response time of the main operation.
        p50: Percent = WIDTH, Optional("no wish");
        /// Wish for its 75th percentile.
        p75: Percent = WIDTH, Optional("no wish");
        /// Wish for its 90th percentile.
        p90: Percent = WIDTH, Optional("no wish");
        /// Wish for its 95th percentile.
        p95: Percent = WIDTH, Optional("no wish");
        /// Wish for its 99th percentile.
        p99: Percent = WIDTH, Optional("no wish");
        /// Wish for its 99.9th percentile. The key stands in quotes.
        p99_9("p99.9"): Percent = WIDTH, Optional("no wish");
        /// Time that all trials may take together, as they are planned.
        within: Time = Time { min: Duration::from_secs(1), max: WEEK, example: "30min" }, Optional("three times what \
            the study takes without the wish, with three trials of each point");
        /// Open and partly open loads: how exactly arrivals are started.
        arrivals: Choice<Precision> = Choice::NEW, Optional("\"exact\"");
    }
}

/// Keys that a wish decides itself.
const DECIDED: [&str; 3] = ["repeats", "max_repeats", "half_width"];

impl PrecisionKeys {
    /// Reads the section below `[load]`; nothing where it is absent, or a word.
    pub(crate) fn read_below(reader: &mut Reader<'_, '_, '_>) -> Option<Self> {
        if !reader.has_table(NAME) {
            return None;
        }
        let mut below = reader.section(NAME);
        let keys = Self::read(&mut below);
        below.finish();
        Some(keys)
    }

    fn percentiles(&self) -> [(f64, Option<f64>); 6] {
        [
            (50.0, self.p50),
            (75.0, self.p75),
            (90.0, self.p90),
            (95.0, self.p95),
            (99.0, self.p99),
            (99.9, self.p99_9),
        ]
    }

    /// The wish; nothing where the section says only how arrivals are started, or was refused.
    pub(crate) fn build(&self, model: LoadModel, context: &mut Context) -> Option<Wish> {
        if self.misread("load.precision", context) {
            return None;
        }
        if self.arrivals.is_some() && model == LoadModel::Closed {
            let help = "leave it out, or write `model = \"open\"` and a `rate` in place of users";
            let message = "`load.precision.arrivals` has no meaning in a load that is closed";
            return refused("load.precision.arrivals", message, help, context);
        }
        let wished = |(percentile, share): (f64, Option<f64>)| {
            share.map(|share| PercentileWish { percentile, share })
        };
        let percentiles: Vec<PercentileWish> =
            self.percentiles().into_iter().filter_map(wished).collect();
        if self.throughput.is_none() && percentiles.is_empty() {
            if self.arrivals.is_some() && self.within.is_none() {
                return None;
            }
            let message = "`load.precision` wishes for nothing";
            let help = "add what shall be known how well: `throughput = \"2%\"`, `p99 = \"5%\"`";
            return refused("load.precision", message, help, context);
        }
        if contradicted(context) {
            return None;
        }
        Some(Wish {
            throughput: self.throughput,
            percentiles,
            within: self.within,
            open: OpenTimes {
                settle: !context.spans.has("load.settle"),
                steady: !context.spans.has("load.steady"),
            },
        })
    }

    /// Appends the section, if there is a wish.
    pub(crate) fn write_below(load: &Load, out: &mut String) {
        let Some(RepeatGoal::Wish(wish)) = &load.goal else {
            return;
        };
        out.push_str("\n[load.precision]\n");
        let share = |percentile: f64| {
            let mut all = wish.percentiles.iter();
            all.find(|wish| wish.percentile == percentile)
                .map(|wish| wish.share)
        };
        let keys = Self {
            throughput: wish.throughput,
            p50: share(50.0),
            p75: share(75.0),
            p90: share(90.0),
            p95: share(95.0),
            p99: share(99.0),
            p99_9: share(99.9),
            within: wish.within,
            arrivals: load.open().map(|open| open.precision),
        };
        keys.write(out);
    }
}

/// Refuses what a wish cannot stand beside.
fn contradicted(context: &mut Context) -> bool {
    let mut found = false;
    for key in DECIDED {
        let path = format!("load.{key}");
        if context.spans.has(&path) {
            found = true;
            let message = format!("`{path}` stands beside `load.precision`, which decides it");
            let help = format!("remove `{key}`, or remove the wish and write the times of trials");
            refused::<()>(&path, &message, &help, context);
        }
    }
    if context.spans.has("load.search") {
        found = true;
        let message = "`load.search` has a rule of its own for how often it tries a load, and \
                       `load.precision` another";
        let help = "put the search into a study of its own, or remove the wish";
        refused::<()>("load.precision", message, help, context);
    }
    found
}

fn refused<T>(path: &str, message: &str, help: &str, context: &mut Context) -> Option<T> {
    let span = context.spans.nearest(path);
    context.refuse(Code::Contradiction, span, message, help)
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::LoopType;

    fn wish(keys: &str) -> (Load, Wish) {
        let load = with(&format!("[load]\nusers = 5\n{keys}\n"))
            .unwrap_or_else(|problems| panic!("{problems:?}"))
            .load;
        match load.goal.clone() {
            Some(RepeatGoal::Wish(wish)) => (load, wish),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wish_leaves_open_what_is_not_written() {
        let (load, both) = wish("precision = { throughput = \"2%\", p99 = 0.05 }");
        assert_eq!(both.to_string(), "throughput within 2 %, p99 within 5 %");
        assert_eq!((both.open.settle, both.open.steady), (true, true));
        assert_eq!((both.within, load.repeats), (None, 3));
        let (load, one) =
            wish("settle = \"7s\"\nprecision = { \"p99.9\" = \"10%\", within = \"30min\" }");
        assert_eq!((one.open.settle, one.open.steady), (false, true));
        assert_eq!(one.within, Some(Duration::from_secs(1800)));
        assert_eq!(load.settle, Duration::from_secs(7));
    }

    #[test]
    fn arrivals_are_said_by_a_word_or_by_a_key() {
        let precision = |text: &str| {
            let load = with(&format!("[load]\nmodel = \"open\"\nrate = 5\n{text}\n"));
            match load.map(|study| (study.load.loop_type, study.load.goal)) {
                Ok((LoopType::Open(open), goal)) => (open.precision, goal.is_some()),
                other => panic!("{other:?}"),
            }
        };
        for (text, expected) in [
            ("precision = \"batched\"", (Precision::Batched, false)),
            (
                "precision = { arrivals = \"batched\" }",
                (Precision::Batched, false),
            ),
            (
                "precision = { p95 = \"5%\", arrivals = \"batched\" }",
                (Precision::Batched, true),
            ),
            ("precision = { p95 = \"5%\" }", (Precision::Exact, true)),
        ] {
            assert_eq!(precision(text), expected, "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let texts = [
            "precision = {}",
            "precision = { within = \"5min\" }",
            "precision = { throughput = \"90%\" }",
            "precision = { throughput = [\"2%\", \"5%\"] }",
            "precision = { p98 = \"2%\" }",
            "precision = { throughput = \"2%\" }\nrepeats = 5",
            "precision = { throughput = \"2%\" }\nhalf_width = 0.02\nmax_repeats = 9",
            "precision = { throughput = \"2%\" }\nsearch = {}\n[qos]\np95 = \"1s\"",
            "precision = { throughput = \"2%\", arrivals = \"exact\" }",
            "precision = 5",
        ];
        let told = texts.map(|text| refusal(&format!("[load]\nusers = 5\n{text}\n")));
        insta::assert_snapshot!(told.join("\n"));
    }
}
