//! `[workload]`: what the emulated users do.

use std::time::Duration;

use rookery_stats::Pacing;

use crate::{
    grammar::{
        Context, SectionInfo, keys,
        kinds::{Choice, Database, Factor, Named, Time, Whole},
    },
    model::{Workload, WorkloadKind},
    problem::Code,
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "workload",
    many: false,
    meaning: "What the emulated users do.",
    keys: WorkloadKeys::keys,
    below: None,
};

impl Named for WorkloadKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[("dvdstore", Self::Dvdstore, "DVD Store 2.1 over HTTP")];
}

impl Named for Pacing {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("think", Self::Think, "the next order starts a think time after the end of the last"),
        (
            "cycle",
            Self::Cycle,
            "orders start a cycle time apart, or at once when the last took longer",
        ),
    ];
}

// Means are drawn from 1 to 2n - 1, and a page shows at most 100 rows.
keys! {
    /// Keys of `[workload]`.
    WorkloadKeys {
        /// Which workload.
        kind: Choice<WorkloadKind> = Choice::NEW, Required;
        /// Nominal size of each guest's database, rounded up to whole megabytes (beyond 1023MB to whole gigabytes).
        database: Database = Database, Default("\"10MB per guest\"");
        /// Mean think time between the orders of a user, drawn evenly from zero to twice the mean; with cycle pacing the cycle time.
        think_time: Time = Time { min: Duration::ZERO, max: Duration::from_secs(3600), example: "250ms" }, Default("\"0s\"");
        /// How users pace themselves.
        pacing: Choice<Pacing> = Choice::NEW, Default("\"think\"");
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

impl WorkloadKeys {
    pub(crate) fn build(self, context: &mut Context) -> Option<Workload> {
        if self.pacing == Some(Pacing::Cycle) && self.think_time == Some(Duration::ZERO) {
            let span = context.spans.nearest("workload.pacing");
            let message = "`workload.pacing` is \"cycle\", but the cycle time is zero";
            let mend = "write the cycle time as `think_time`, for instance `think_time = \"1s\"`";
            return context.refuse(Code::Contradiction, span, message, mend);
        }
        Some(Workload {
            kind: self.kind?,
            database: self.database?,
            think_time: self.think_time?,
            pacing: self.pacing?,
            new_customers: self.new_customers?,
            searches: self.searches?,
            search_batch: self.search_batch?,
            line_items: self.line_items?,
        })
    }

    pub(crate) fn of(workload: &Workload) -> Self {
        Self {
            kind: Some(workload.kind),
            database: Some(workload.database.clone()),
            think_time: Some(workload.think_time),
            pacing: Some(workload.pacing),
            new_customers: Some(workload.new_customers),
            searches: Some(workload.searches),
            search_batch: Some(workload.search_batch),
            line_items: Some(workload.line_items),
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::dvdstore::{ShopperParams, Size};

    use super::{super::testing::*, *};

    #[test]
    fn defaults_are_those_of_the_original_driver() {
        let workload = with("").expect("valid").workload;
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
        assert!(with("[workload]\nkind = \"dvdstore\"\npacing = \"cycle\"\nthink_time = \"1s\"\n").is_ok());
    }
}
