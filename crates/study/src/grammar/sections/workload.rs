//! `[workload]`: what the emulated users do. The keys of order entry are in `orderentry.rs`.

use std::time::Duration;

use rookery_stats::Pacing;
use rookery_workload::orderentry::terminal::Pacing as TerminalPacing;

use super::orderentry::{self, OrderentryKeys};

use crate::{
    grammar::{
        Context, KeyInfo, Reader, SectionInfo, keys,
        kinds::{Choice, Database, Factor, Named, Time, Whole},
    },
    model::{Workload, WorkloadKind},
    problem::Code,
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "workload",
    many: false,
    meaning: "What the emulated users do.",
    keys: all_keys,
    below: None,
};

impl Named for WorkloadKind {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("dvdstore", Self::Dvdstore, "DVD Store 2.1 over HTTP"),
        (
            "orderentry",
            Self::Orderentry,
            "five transactions of a wholesale company on a database",
        ),
    ];
}

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

/// The paces of both workloads, which share one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Think,
    Cycle,
    None,
    Spec,
    Scaled,
}

impl Named for Pace {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "think",
            Self::Think,
            "DVD Store: the next order starts a think time after the end of the last",
        ),
        (
            "cycle",
            Self::Cycle,
            "DVD Store: orders start a cycle time apart, or at once when the last took longer",
        ),
        ("none", Self::None, "order entry: no pauses"),
        (
            "spec",
            Self::Spec,
            "order entry: keying and think times around every transaction",
        ),
        (
            "scaled",
            Self::Scaled,
            "order entry: the same times `pacing_scale`",
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
        pacing: Choice<Pace> = Choice::NEW, Optional("\"think\"; order entry: as its profile says");
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

/// Keys that only the DVD Store has.
const DVDSTORE_KEYS: [&str; 6] = [
    "database",
    "think_time",
    "new_customers",
    "searches",
    "search_batch",
    "line_items",
];

fn all_keys() -> Vec<KeyInfo> {
    let mut keys = WorkloadKeys::keys();
    keys.extend(OrderentryKeys::keys());
    keys
}

/// The whole of `[workload]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkloadSection {
    keys: WorkloadKeys,
    orderentry: OrderentryKeys,
}

impl WorkloadSection {
    pub(crate) fn read(reader: &mut Reader<'_, '_, '_>) -> Self {
        Self {
            keys: WorkloadKeys::read(reader),
            orderentry: OrderentryKeys::read(reader),
        }
    }

    pub(crate) fn build(self, context: &mut Context) -> Option<Workload> {
        let kind = self.keys.kind?;
        let foreign: &[&str] = match kind {
            WorkloadKind::Dvdstore => &orderentry::KEYS,
            WorkloadKind::Orderentry => &DVDSTORE_KEYS,
        };
        let mut sound = true;
        for key in foreign {
            if context.spans.has(&format!("{}.{key}", SECTION.name)) {
                refuse_foreign::<()>(kind, key, "", context);
                sound = false;
            }
        }
        let orderentry = match kind {
            WorkloadKind::Dvdstore => None,
            WorkloadKind::Orderentry => Some(self.orderentry.build(self.keys.pacing, context)?),
        };
        let pacing = match (kind, self.keys.pacing) {
            (WorkloadKind::Dvdstore, Some(Pace::Think)) => Pacing::Think,
            (WorkloadKind::Dvdstore, Some(Pace::Cycle)) => Pacing::Cycle,
            (WorkloadKind::Dvdstore, Some(pace)) => {
                return refuse_foreign(kind, "pacing", &format!(" = \"{}\"", pace.name()), context);
            }
            (WorkloadKind::Dvdstore, None) if context.spans.has("workload.pacing") => return None,
            (_, None) | (WorkloadKind::Orderentry, _) => Pacing::Think,
        };
        if pacing == Pacing::Cycle && self.keys.think_time == Some(Duration::ZERO) {
            let span = context.spans.nearest("workload.pacing");
            let message = "`workload.pacing` is \"cycle\", but the cycle time is zero";
            let mend = "write the cycle time as `think_time`, for instance `think_time = \"1s\"`";
            return context.refuse(Code::Contradiction, span, message, mend);
        }
        let workload = Workload {
            kind,
            database: self.keys.database?,
            think_time: self.keys.think_time?,
            pacing,
            new_customers: self.keys.new_customers?,
            searches: self.keys.searches?,
            search_batch: self.keys.search_batch?,
            line_items: self.keys.line_items?,
            orderentry,
        };
        sound.then_some(workload)
    }

    pub(crate) fn of(workload: &Workload) -> Self {
        let dvdstore = workload.kind == WorkloadKind::Dvdstore;
        let pacing = match (&workload.orderentry, workload.pacing) {
            (None, Pacing::Think | Pacing::Arrivals) => Pace::Think,
            (None, Pacing::Cycle) => Pace::Cycle,
            (Some(wanted), _) => match wanted.pacing {
                TerminalPacing::None | TerminalPacing::Rate(_) => Pace::None,
                TerminalPacing::Spec => Pace::Spec,
                TerminalPacing::Scaled(_) => Pace::Scaled,
            },
        };
        Self {
            keys: WorkloadKeys {
                kind: Some(workload.kind),
                database: dvdstore.then(|| workload.database.clone()),
                think_time: dvdstore.then_some(workload.think_time),
                pacing: Some(pacing),
                new_customers: dvdstore.then_some(workload.new_customers),
                searches: dvdstore.then_some(workload.searches),
                search_batch: dvdstore.then_some(workload.search_batch),
                line_items: dvdstore.then_some(workload.line_items),
            },
            orderentry: OrderentryKeys::of(workload.orderentry.as_ref()),
        }
    }

    /// Appends the section.
    pub(crate) fn write(&self, out: &mut String) {
        self.keys.write(out);
        self.orderentry.write(out);
    }
}

/// Refuse a key of the other workload.
pub(super) fn refuse_foreign<T>(
    kind: WorkloadKind,
    key: &str,
    value: &str,
    context: &mut Context,
) -> Option<T> {
    let (owner, other) = match kind {
        WorkloadKind::Dvdstore => ("order entry", WorkloadKind::Orderentry),
        WorkloadKind::Orderentry => ("the DVD Store", WorkloadKind::Dvdstore),
    };
    let span = context.spans.nearest(&format!("{}.{key}", SECTION.name));
    let message = format!(
        "`workload.{key}`{value} belongs to {owner}, but `workload.kind` is \"{}\"",
        kind.name()
    );
    let mend = format!(
        "write `kind = \"{}\"` in [workload], or remove it",
        other.name()
    );
    context.refuse(Code::Contradiction, span, message, mend)
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
        assert!(
            with("[workload]\nkind = \"dvdstore\"\npacing = \"cycle\"\nthink_time = \"1s\"\n")
                .is_ok()
        );
    }
}
