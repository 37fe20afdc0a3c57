//! `[load.search]`: find the largest load within the limits, or the least memory.

use std::time::Duration;

use crate::{
    grammar::{
        Below, Context, Reader, keys,
        kinds::{Choice, Factor, RangeEnd, Time, Whole},
    },
    names::Named,
    problem::Code,
    values::{LoadModel, Over, SearchEnd, SearchUse},
};

const NAME: &str = "search";

pub(super) const BELOW: Below = Below {
    names: || vec![NAME],
    named_freely: false,
    meaning: || {
        "Find the largest load within the limits of [qos], for every layout, or the least \
              memory of its guests: every trial is \
              taken as noisy, the answer is confirmed by fresh trials \
              and has an interval. The users (or rates) of [load] are tried first, as a ladder for \
              figures; without them there is the search alone. Of memory the ladder are the levels \
              of `guest.memory`."
            .to_owned()
    },
    keys: SearchKeys::keys,
    any: None,
};

impl Named for Over {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "users",
            Self::Users,
            "users of all guests together, in closed loads",
        ),
        (
            "rate",
            Self::Rate,
            "arrivals per second at all guests together, in open loads",
        ),
        (
            "guests",
            Self::Guests,
            "the number of guests, each with the users or the rate that is written",
        ),
        (
            "memory",
            Self::Memory,
            "the memory of each guest under the users or the rate that is written: the least that \
             keeps the limits; of containers and machines",
        ),
    ];
}

/// The interval that a search over memory is to have: its edge is sharp where guests are killed.
const USUAL_INTERVAL: f64 = 0.05;

const DAY: Duration = Duration::from_secs(24 * 3600);

keys! {
    /// Keys of `[load.search]`.
    SearchKeys {
        /// What is searched.
        over: Choice<Over> = Choice::NEW, Optional("\"users\" of a closed load, \"rate\" of an \
            open one");
        /// Smallest load of interest, counted as users are; a number of guests stands alone; least
        /// memory of interest.
        from: RangeEnd = RangeEnd, Optional("one user for each guest, one arrival in ten seconds, \
            one guest, or 16MiB (of machines 128MiB)");
        /// Largest load, or most memory, that may be tried.
        to: RangeEnd = RangeEnd, Optional("10000 users per vCPU, 10000 arrivals/s per vCPU, as \
                                           many guests as this host carries, or `guest.memory`");
        /// Smallest difference that matters, as a share of the load or the memory.
        resolution: Factor = Factor { min: 0.001, max: 0.5 }, Default("0.02");
        /// How narrow the interval of the edge shall be, as a share of it: trials that are left
        /// over go there. No less than twice `resolution` can be had.
        interval: Factor = Factor { min: 0.002, max: 1.0 }, Optional("0.05, or twice `resolution`, \
            where memory is searched; else as it comes");
        /// Most trials of one search, confirmation included.
        probes: Whole<u32> = Whole { min: 2, max: 200 }, Default("20");
        /// Fresh trials that confirm the answer.
        confirm: Whole<u32> = Whole { min: 0, max: 10 }, Default("3");
        /// The measured window of trials that only approach the answer.
        steady: Time = Time { min: Duration::from_secs(1), max: DAY, example: "30s" }, Optional("the steady of [load]");
    }
}

impl SearchKeys {
    /// Reads the section below `[load]`; nothing where it is absent.
    pub(crate) fn read_below(reader: &mut Reader<'_, '_, '_>) -> Option<Self> {
        let mut below = reader.section(NAME);
        let keys = Self::read(&mut below);
        below.finish();
        reader.context.spans.has("load.search").then_some(keys)
    }

    /// Nothing where the load contradicts it.
    pub(crate) fn build(
        self,
        model: Option<LoadModel>,
        context: &mut Context,
    ) -> Option<SearchUse> {
        let closed = model? == LoadModel::Closed;
        let over = self
            .over
            .unwrap_or(if closed { Over::Users } else { Over::Rate });
        let resolution = self.resolution?;
        let usual = (over == Over::Memory).then(|| USUAL_INTERVAL.max(2.0 * resolution));
        let search = SearchUse {
            over,
            from: self.from,
            to: self.to,
            resolution,
            interval: self.interval.or(usual),
            probes: self.probes?,
            confirm: self.confirm?,
            steady: self.steady,
        };
        check_ends(&search, context)?;
        let span = context.spans.nearest("load.search.over");
        match (over, closed) {
            (Over::Users, false) => {
                let help = "write `over = \"rate\"`, or `model = \"closed\"`";
                context.refuse(
                    Code::Contradiction,
                    span,
                    "an open load has no users to search over",
                    help,
                )
            }
            (Over::Rate, true) => {
                let help = "write `over = \"users\"`, or `model = \"open\"`";
                context.refuse(
                    Code::Contradiction,
                    span,
                    "a closed load has no rate to search over",
                    help,
                )
            }
            _ => Some(search),
        }
    }

    /// Appends the section, if there is a search.
    pub(crate) fn write_below(search: Option<&SearchUse>, out: &mut String) {
        let Some(search) = search else { return };
        out.push_str("\n[load.search]\n");
        let keys = Self {
            over: Some(search.over),
            from: search.from.clone(),
            to: search.to.clone(),
            resolution: Some(search.resolution),
            interval: search.interval,
            probes: Some(search.probes),
            confirm: Some(search.confirm),
            steady: search.steady,
        };
        keys.write(out);
    }
}

/// The ends of the range are of what is searched.
fn check_ends(search: &SearchUse, context: &mut Context) -> Option<()> {
    let mut sound = Some(());
    for (key, end) in [("from", &search.from), ("to", &search.to)] {
        let (message, help) = match (search.over, end) {
            (Over::Memory, Some(SearchEnd::Load(_))) => (
                format!("`load.search.{key}` is no amount of memory, and memory is searched"),
                format!("write it with a unit: `{key} = \"64MiB\"`"),
            ),
            (Over::Users | Over::Rate | Over::Guests, Some(SearchEnd::Memory { .. })) => (
                format!(
                    "`load.search.{key}` is an amount of memory, and {} are searched",
                    search.over.unit()
                ),
                "write `over = \"memory\"`, or a number without a unit".to_owned(),
            ),
            _ => continue,
        };
        let span = context.spans.nearest(&format!("load.search.{key}"));
        sound = context.refuse(Code::Contradiction, span, message, help);
    }
    sound
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    const LIMIT: &str = "[qos]\np95 = \"1s\"\n";

    #[test]
    fn a_search_has_defaults() {
        let search = with(&format!("[load]\nsearch = {{}}\n{LIMIT}"))
            .expect("valid")
            .load
            .search
            .expect("a search");
        assert_eq!(
            (
                search.over,
                search.resolution,
                search.probes,
                search.confirm
            ),
            (Over::Users, 0.02, 20, 3)
        );
        let interval = |more: &str| {
            let text = format!("[load]\nusers = 5\nsearch = {{ {more} }}\n{LIMIT}");
            let container = "[guest]\nkind = \"container\"\nmemory = \"1GiB\"\n";
            let study = with(&format!("{text}{container}")).expect("valid");
            study.load.search.expect("a search").interval
        };
        assert_eq!(interval("over = \"users\""), None);
        assert_eq!(interval("over = \"memory\""), Some(0.05));
        assert_eq!(interval("over = \"memory\", resolution = 0.1"), Some(0.2));
        assert_eq!(interval("over = \"memory\", interval = 0.1"), Some(0.1));
        let open = format!("[load]\nmodel = \"open\"\n[load.search]\nto = 50\n{LIMIT}");
        assert_eq!(
            with(&open)
                .expect("valid")
                .load
                .search
                .expect("a search")
                .over,
            Over::Rate
        );
        assert_eq!(with("").expect("valid").load.search, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let texts = [
            "[load]\nsearch = { over = \"rate\" }".to_owned(),
            format!("[load]\nusers = 5\nsearch = {{ over = \"rate\" }}\n{LIMIT}"),
            format!("[load]\nsearch = {{ over = \"guests\" }}\n{LIMIT}"),
            format!("[load]\nsearch = {{ form = 5, from = [1, 2] }}\n{LIMIT}"),
            format!("[load]\nusers = 5\nsearch = {{ over = \"memory\", from = 5 }}\n{LIMIT}"),
            format!("[load]\nsearch = {{ to = \"1GiB\" }}\n{LIMIT}"),
            format!("[load]\nusers = 5\nsearch = {{ over = \"memory\" }}\n{LIMIT}"),
            format!(
                "[load]\nsearch = {{ over = \"memory\" }}\n{LIMIT}[guest]\nkind = \"container\"\n"
            ),
            "[load]\nsearch = {}".to_owned(),
            "[load]\nusers = 5\nhalf_width = 0.02\nrepeats = 2".to_owned(),
            "[load]\nusers = 5\nhalf_width = 0.02\nrepeats = 12".to_owned(),
        ];
        insta::assert_snapshot!(texts.map(|text| refusal(&format!("{text}\n"))).join("\n"));
    }
}
