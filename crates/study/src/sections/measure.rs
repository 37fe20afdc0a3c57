//! `[measure]`: what trials measure.

use crate::{
    grammar::{SectionInfo, keys, kinds::Truth},
    model::Measure,
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "measure",
    many: false,
    meaning: "What trials measure, where it is not how users are served.",
    keys: MeasureKeys::keys,
    below: &[],
};

keys! {
    /// Keys of `[measure]`.
    MeasureKeys {
        /// Every trial makes the databases of its guests anew, with their settings, in their shape
        /// and on their storage, and measures how long that takes; there are no users.
        load_time: Truth = Truth, Default("false");
    }
}

impl MeasureKeys {
    pub(crate) fn build(self) -> Option<Measure> {
        Some(match self.load_time? {
            true => Measure::LoadTime,
            false => Measure::Users,
        })
    }

    pub(crate) fn of(measure: Measure) -> Self {
        Self {
            load_time: Some(measure == Measure::LoadTime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::Study;

    #[test]
    fn users_are_measured_unless_said() {
        assert_eq!(with("").expect("valid").measure, Measure::Users);
        let alone = "[measure]\nload_time = true\n[load]\n";
        let study = with(alone).expect("valid without users");
        assert_eq!(study.measure, Measure::LoadTime);
        let again = Study::parse("s.toml", &study.to_toml()).expect("as it was written");
        assert_eq!(again, study);
    }

    #[test]
    fn loading_alone_refuses_what_needs_users() {
        let texts = [
            "[load]\nmodel = \"open\"\nrate = 3\n",
            "[load]\nusers = 5\nhalf_width = 0.1\n",
            "[load]\nusers = 5\nprecision = { throughput = \"2%\" }\n",
            "[load]\nusers = 5\nsearch = { to = 9 }\n[qos]\np95 = \"1s\"\n",
            "[load]\n[stack]\nkind = \"simulated\"\n",
        ];
        let refusals = texts.map(|text| refusal(&format!("[measure]\nload_time = true\n{text}")));
        insta::assert_snapshot!(refusals.join("\n"), @r"
        study::contradiction: `measure.load_time` measures databases, at which nobody arrives
        study::contradiction: `load.half_width` is judged by throughput, and `measure.load_time` leaves none
        study::contradiction: `load.precision` is judged by what users see, and `measure.load_time` leaves none of them
        study::contradiction: `measure.load_time` leaves no load that could be searched
        study::contradiction: a simulated stack has no database whose load could be measured
        ");
        assert_eq!(
            refusal("[measure]\nload_time = [true, false]\n"),
            "study::contradiction: `measure.load_time` cannot have several values: a run measures \
             one thing"
        );
    }
}
