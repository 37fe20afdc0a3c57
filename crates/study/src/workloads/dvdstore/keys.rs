//! The keys of `[workload]` that only the DVD Store has.

use std::time::Duration;

use rookery_stats::Pacing;

use rookery_workload::DelayDistribution;

use super::{
    super::{Pace, WorkloadKind, web_distribution, web_pacing},
    DvdstoreUse,
};
use crate::{
    grammar::{
        Context, keys,
        kinds::{Choice, Database, Factor, Time, Whole},
    },
    names::Named,
};

impl Named for Pacing {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "think",
            Self::Think,
            "the next order starts a think time after the end of the last",
        ),
        (
            "cycle",
            Self::Cycle,
            "orders start a cycle time apart, or at once when the last took longer",
        ),
    ];
}

// Means are drawn from 1 to 2n - 1, and a page shows at most 100 rows.
keys! {
    /// Keys of the DVD Store.
    DvdstoreKeys {
        /// Nominal size of each guest's database, rounded up to whole megabytes (beyond 1023MB to
        /// whole gigabytes).
        database: Database = Database, Default("\"10MB per guest\"");
        /// Mean think time between the orders of a user; with cycle pacing the cycle time.
        think_time: Time = Time { min: Duration::ZERO, max: Duration::from_secs(3600), example: "250ms" }, Default("\"0s\"");
        /// How think times scatter about their mean.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
        /// Share of orders that start with a new customer instead of a login.
        new_customers: Factor = Factor::SHARE, Default("0.2");
        /// Mean number of searches in an order.
        searches: Whole<u32> = Whole { min: 1, max: 100 }, Default("3");
        /// Mean number of rows asked for in a search.
        search_batch: Whole<u32> = Whole { min: 1, max: 50 }, Default("5");
        /// Mean number of different items in an order.
        line_items: Whole<u32> = Whole { min: 1, max: 50 }, Default("5");
    }
}

impl DvdstoreKeys {
    pub(crate) fn build(self, pace: Option<Pace>, context: &mut Context) -> Option<DvdstoreUse> {
        let pacing = web_pacing(WorkloadKind::Dvdstore, pace, self.think_time, context)?;
        Some(DvdstoreUse {
            database: self.database?,
            think_time: self.think_time?,
            think_distribution: web_distribution(pacing, self.think_distribution, context)?,
            pacing,
            new_customers: self.new_customers?,
            searches: self.searches?,
            search_batch: self.search_batch?,
            line_items: self.line_items?,
        })
    }

    pub(crate) fn from_use(wanted: &DvdstoreUse) -> Self {
        Self {
            database: Some(wanted.database.clone()),
            think_time: Some(wanted.think_time),
            think_distribution: Some(wanted.think_distribution)
                .filter(|distribution| *distribution != DelayDistribution::default()),
            new_customers: Some(wanted.new_customers),
            searches: Some(wanted.searches),
            search_batch: Some(wanted.search_batch),
            line_items: Some(wanted.line_items),
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::dvdstore::{ShopperParams, Size};

    use super::*;
    use crate::{Workload, sections::testing::*};

    #[test]
    fn think_times_scatter_as_the_study_says() {
        let shop = |keys: &str| format!("[workload]\nkind = \"dvdstore\"\n{keys}\n");
        let Workload::Dvdstore(wanted) = with(&shop(
            "think_time = \"1s\"\nthink_distribution = \"exponential\"",
        ))
        .expect("valid")
        .workload
        else {
            panic!("another workload");
        };
        assert_eq!(wanted.think_distribution, DelayDistribution::Exponential);
        let cycle = "think_time = \"1s\"\npacing = \"cycle\"\nthink_distribution = \"uniform\"";
        assert_eq!(
            refusal(&shop(cycle)),
            "study::contradiction: `workload.think_distribution` has no meaning with `pacing = \
             \"cycle\"`, whose times are constant"
        );
    }

    #[test]
    fn defaults_are_those_of_the_original_driver() {
        let Workload::Dvdstore(workload) = with("").expect("valid").workload else {
            panic!("another workload");
        };
        let original = ShopperParams::new(Size::Mb(10));
        assert_eq!(workload.new_customers, original.new_customers);
        assert_eq!(workload.searches, original.searches);
        assert_eq!(workload.search_batch, original.search_batch);
        assert_eq!(workload.line_items, original.line_items);
        assert_eq!(workload.think_time, Duration::ZERO);
    }

    #[test]
    fn cycles_need_a_time() {
        let refused = refusal("[workload]\nkind = \"dvdstore\"\npacing = \"cycle\"\n");
        assert_eq!(
            refused,
            "study::contradiction: `workload.pacing` is \"cycle\", but the cycle time is zero"
        );
        assert!(
            with("[workload]\nkind = \"dvdstore\"\npacing = \"cycle\"\nthink_time = \"1s\"\n")
                .is_ok()
        );
    }
}
