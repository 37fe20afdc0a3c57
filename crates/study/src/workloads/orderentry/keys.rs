//! The keys of `[workload]` that only order entry has.

use rookery_diagnosis::Diagnosis;
use rookery_workload::{
    DelayDistribution,
    orderentry::{
        DataSize, DeliveryMode, Isolation, Profile, Scale,
        sql::Style,
        terminal::{Binding, Mix, Pacing},
    },
};

use super::{
    super::{Pace, WorkloadKind, refuse_distribution, refuse_pace},
    DatabaseSize, OrderentryUse, THINK,
    values::{HitRatio, WAREHOUSES, Weights},
};
use crate::{
    Amount, Per, Scaled,
    grammar::{
        Context, keys,
        kinds::{Choice, Count, Factor, Memory, Truth, Whole},
    },
    names::Named,
    problem::Code,
};

impl Named for Profile {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "spec",
            Self::Spec,
            "ten terminals per warehouse, each bound to one, with keying and think times",
        ),
        ("nothink", Self::Nothink, "eight terminals without pauses"),
        (
            "seed001",
            Self::Seed001,
            "6.5 GB of data, eight terminals per vCPU without pauses",
        ),
        (
            "seed003",
            Self::Seed003,
            "no pauses, buffer hit ratio held at 80 %",
        ),
        (
            "mini",
            Self::Mini,
            "a hundredth of a database, for tests: its figures mean nothing",
        ),
    ];
}

impl Named for Binding {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("fixed", Self::Fixed, "each terminal keeps one warehouse"),
        (
            "uniform",
            Self::Uniform,
            "a new warehouse for each transaction",
        ),
        (
            "slice",
            Self::Slice,
            "each terminal goes round in its own share",
        ),
    ];
}

/// How the next transaction is chosen, without its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MixName {
    Deck,
    Weighted,
}

impl Named for MixName {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("deck", Self::Deck, "from a shuffled deck: exact shares"),
        (
            "weighted",
            Self::Weighted,
            "by independent draws with `weights`",
        ),
    ];
}

impl Named for Style {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "plain",
            Self::Plain,
            "one prepared statement per round trip",
        ),
        ("batched", Self::Batched, "several rows per statement"),
        (
            "pipelined",
            Self::Pipelined,
            "several statements per round trip",
        ),
        ("procs", Self::Procs, "one call per transaction"),
    ];
}

impl Named for Isolation {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("default", Self::Default, "whatever the server gives"),
        ("read_committed", Self::ReadCommitted, "READ COMMITTED"),
        ("repeatable_read", Self::RepeatableRead, "REPEATABLE READ"),
        ("serializable", Self::Serializable, "SERIALIZABLE"),
    ];
}

impl Named for DeliveryMode {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "inline",
            Self::Inline,
            "by the terminal, like every transaction",
        ),
        ("deferred", Self::Deferred, "by a worker behind a queue"),
    ];
}

keys! {
    /// Keys of order entry.
    OrderentryKeys {
        /// Preset of all keys of order entry and of the users, which every key overrides (this and
        /// all keys below: order entry only).
        profile: Choice<Profile> = Choice::NEW, Optional("\"nothink\"");
        /// Warehouses of each guest's database.
        warehouses: Count = WAREHOUSES, Optional("as the profile says: 1, or as many as \
            `db_size` gives");
        /// Size of each guest's database instead of warehouses: as many as come closest to it on
        /// the stack's database.
        db_size: Memory = Memory, Optional("as the profile says");
        /// Divisor of the rows of a test database: 1, or a divisor of 100. The figures of a divided
        /// database mean nothing.
        divisor: Whole<u32> = Whole { min: 1, max: 100 }, Optional("1; in profile \"mini\" 100");
        /// Which warehouses a terminal works for.
        binding: Choice<Binding> = Choice::NEW, Optional("as the profile says");
        /// How the next transaction is chosen.
        mix: Choice<MixName> = Choice::NEW, Optional("\"deck\"");
        /// Weights of a weighted mix.
        weights: Weights = Weights, Optional("[45, 43, 4, 4, 4] in a weighted mix");
        /// What keying and think times are multiplied by with `pacing = "scaled"`.
        pacing_scale: Factor = Factor { min: 0.000_001, max: 1_000_000.0 }, Optional("needed by \
            `pacing = \"scaled\"`");
        /// How think times scatter about their means; keying times are constant.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"truncated-exponential\"");
        /// How steps become statements. Figures of different styles are never compared.
        statements: Choice<Style> = Choice::NEW, Optional("\"plain\"");
        /// The isolation level that is asked for.
        isolation: Choice<Isolation> = Choice::NEW, Optional("\"default\"");
        /// How deliveries are executed.
        delivery: Choice<DeliveryMode> = Choice::NEW, Optional("\"inline\"");
        /// Whether references between the tables are declared.
        foreign_keys: Truth = Truth, Optional("false");
        /// Whether payments have a key.
        history_pk: Truth = Truth, Optional("true");
        /// Retries of a transaction at most.
        max_retries: Whole<u32> = Whole { min: 0, max: 1000 }, Optional("10");
        /// Buffer hit ratio that is held: calibration trials size the buffer pool before the first
        /// trial of a point.
        hit_target: HitRatio = HitRatio, Optional("the pool is as the tuning says; in \
            profile \"seed003\" 0.8");
        /// Whether the consistency conditions are checked in every guest after every trial.
        verify: Truth = Truth, Optional("true");
    }
}

impl OrderentryKeys {
    pub(crate) fn build(self, pace: Option<Pace>, context: &mut Context) -> Option<OrderentryUse> {
        if self.misread("workload", context)
            || (pace.is_none() && context.spans.has("workload.pacing"))
        {
            return None;
        }
        let profile = self.profile.unwrap_or_default();
        let preset = profile.settings();
        let size = self.size(preset.size, context)?;
        let divisor = self.divisor.unwrap_or(preset.divisor);
        if let Err(error) = Scale::new(1, divisor) {
            let span = context.spans.nearest("workload.divisor");
            let help = error.help().unwrap_or_default();
            return context.refuse(Code::OutOfRange, span, error.to_string(), help);
        }
        let pacing = self.pacing(pace, preset.pacing, context)?;
        if self.think_distribution.is_some() && pacing == Pacing::None {
            let message = "`workload.think_distribution` has no meaning without pauses";
            return refuse_distribution(message, context);
        }
        Some(OrderentryUse {
            profile,
            size,
            divisor,
            binding: self.binding.unwrap_or(preset.binding),
            mix: self.mix(context)?,
            pacing,
            think_distribution: self.think_distribution.unwrap_or(THINK),
            statements: self.statements.unwrap_or(preset.statements),
            isolation: self.isolation.unwrap_or(preset.isolation),
            delivery: self.delivery.unwrap_or(preset.delivery),
            foreign_keys: self.foreign_keys.unwrap_or(preset.foreign_keys),
            history_pk: self.history_pk.unwrap_or(preset.history_pk),
            max_retries: self.max_retries.unwrap_or(preset.max_retries),
            hit_target: self.hit_target.or(preset.hit_target),
            verify: self.verify.unwrap_or(true),
        })
    }

    fn size(&self, preset: DataSize, context: &mut Context) -> Option<DatabaseSize> {
        let each = |amount| {
            Amount::Scaled(Scaled {
                amount,
                per: Per::Guest,
            })
        };
        match (&self.warehouses, &self.db_size, preset) {
            (Some(_), Some(_), _) => {
                let span = context.spans.nearest("workload.db_size");
                let message = "`workload.warehouses` and `workload.db_size` both say how large the \
                               database is";
                context.refuse(Code::Contradiction, span, message, "remove one of the two")
            }
            (Some(warehouses), None, _) => Some(DatabaseSize::Warehouses(warehouses.clone())),
            (None, Some(size), _) => Some(DatabaseSize::Mib(size.clone())),
            (None, None, DataSize::Warehouses(warehouses)) => {
                Some(DatabaseSize::Warehouses(each(f64::from(warehouses))))
            }
            (None, None, DataSize::Bytes(bytes)) => {
                Some(DatabaseSize::Mib(each(bytes as f64 / 1_048_576.0)))
            }
        }
    }

    fn mix(&self, context: &mut Context) -> Option<Mix> {
        match (self.mix, self.weights) {
            (Some(MixName::Weighted), None) => Some(Mix::MINIMUMS),
            (Some(MixName::Weighted), Some(weights)) => Some(Mix::Weighted(weights)),
            (Some(MixName::Deck) | None, None) => Some(Mix::Deck),
            (Some(MixName::Deck) | None, Some(_)) => {
                let span = context.spans.nearest("workload.weights");
                let message = "`workload.weights` has no meaning in a mix from the deck, whose \
                               shares are fixed";
                context.refuse(
                    Code::Contradiction,
                    span,
                    message,
                    "write `mix = \"weighted\"` in [workload], or remove it",
                )
            }
        }
    }

    fn pacing(&self, pace: Option<Pace>, preset: Pacing, context: &mut Context) -> Option<Pacing> {
        let pacing = match (pace, self.pacing_scale) {
            (Some(Pace::Scaled), Some(scale)) => return Some(Pacing::Scaled(scale)),
            (Some(Pace::Scaled), None) => {
                let span = context.spans.nearest("workload.pacing");
                let message =
                    "`workload.pacing` is \"scaled\", but `workload.pacing_scale` is missing";
                return context.refuse(
                    Code::MissingKey,
                    span,
                    message,
                    "write for instance `pacing_scale = 0.1`",
                );
            }
            (Some(pace @ (Pace::Think | Pace::Cycle)), _) => {
                return refuse_pace(WorkloadKind::Orderentry, pace, context);
            }
            (Some(Pace::None), _) => Pacing::None,
            (Some(Pace::Spec), _) => Pacing::Spec,
            (None, _) => preset,
        };
        if self.pacing_scale.is_some() {
            let span = context.spans.nearest("workload.pacing_scale");
            let message = "`workload.pacing_scale` has no meaning without `pacing = \"scaled\"`";
            return context.refuse(
                Code::Contradiction,
                span,
                message,
                "write `pacing = \"scaled\"` in [workload], or remove it",
            );
        }
        Some(pacing)
    }

    pub(crate) fn from_use(wanted: &OrderentryUse) -> Self {
        let (warehouses, db_size) = match wanted.size.clone() {
            DatabaseSize::Warehouses(amount) => (Some(amount), None),
            DatabaseSize::Mib(amount) => (None, Some(amount)),
        };
        let (mix, weights) = match wanted.mix {
            Mix::Deck => (MixName::Deck, None),
            Mix::Weighted(weights) => (MixName::Weighted, Some(weights)),
        };
        Self {
            profile: Some(wanted.profile),
            warehouses,
            db_size,
            divisor: Some(wanted.divisor),
            binding: Some(wanted.binding),
            mix: Some(mix),
            weights,
            pacing_scale: match wanted.pacing {
                Pacing::Scaled(scale) => Some(scale),
                _ => None,
            },
            think_distribution: Some(wanted.think_distribution)
                .filter(|distribution| *distribution != THINK),
            statements: Some(wanted.statements),
            isolation: Some(wanted.isolation),
            delivery: Some(wanted.delivery),
            foreign_keys: Some(wanted.foreign_keys),
            history_pk: Some(wanted.history_pk),
            max_retries: Some(wanted.max_retries),
            hit_target: wanted.hit_target,
            verify: Some(wanted.verify),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, Workload, sections::testing::*};

    fn study(keys: &str, more: &str) -> Result<Study, String> {
        let text = text(keys, more);
        with(&text).map_err(|_| refusal(&text))
    }

    fn text(keys: &str, more: &str) -> String {
        let stack = if more.contains("[stack]") {
            ""
        } else {
            "[stack]\nkind = \"mariadb\"\n"
        };
        format!("[workload]\nkind = \"orderentry\"\n{keys}\n{stack}{more}\n")
    }

    fn wanted(keys: &str) -> OrderentryUse {
        let study = study(keys, "").unwrap_or_else(|why| panic!("{why}"));
        match study.workload {
            Workload::Orderentry(wanted) => wanted,
            _ => panic!("another workload"),
        }
    }

    #[test]
    fn profiles_preset_what_later_keys_override() {
        let spec = wanted("profile = \"spec\"");
        assert_eq!(
            (spec.binding, spec.pacing, spec.divisor),
            (Binding::Fixed, Pacing::Spec, 1)
        );
        let other = wanted(
            "profile = \"spec\"\npacing = \"scaled\"\npacing_scale = 0.1\nbinding = \"slice\"",
        );
        assert_eq!(
            (other.binding, other.pacing),
            (Binding::Slice, Pacing::Scaled(0.1))
        );
        let held = wanted("profile = \"seed003\"");
        assert_eq!(held.hit_target.map(|target| target.ratio()), Some(0.8));
        assert_eq!(wanted("profile = \"mini\"").divisor, 100);
        assert_eq!(wanted("mix = \"weighted\"").mix, Mix::MINIMUMS);
        assert!(wanted("").verify);
    }

    #[test]
    fn limits_of_a_paper_hold_where_the_study_has_none() {
        let limits = |keys: &str, more: &str| study(keys, more).expect("valid").qos.percentiles;
        assert_eq!(limits("", "").len(), 0);
        let spec = limits("profile = \"spec\"", "");
        let told: Vec<_> = spec
            .iter()
            .map(|limit| (limit.operation.as_deref(), limit.limit_us))
            .collect();
        assert_eq!(told[0], (Some("new-order"), 5_000_000));
        assert_eq!(told[4], (Some("stock-level"), 20_000_000));
        assert_eq!(
            limits("profile = \"seed001\"", "[qos]\np95 = \"1s\"").len(),
            1
        );
    }

    #[test]
    fn contradictions_are_refused() {
        for (keys, more, expected) in [
            (
                "searches = 4",
                "",
                "`workload.searches` belongs to `kind = \"dvdstore\"`, but `workload.kind` \
                 is \"orderentry\"",
            ),
            (
                "pacing = \"cycle\"",
                "",
                "`workload.pacing` = \"cycle\" belongs to `kind = \"dvdstore\"`",
            ),
            (
                "pacing = \"scaled\"",
                "",
                "`workload.pacing_scale` is missing",
            ),
            (
                "pacing_scale = 2.0",
                "",
                "has no meaning without `pacing = \"scaled\"`",
            ),
            (
                "warehouses = 2\ndb_size = \"1GB\"",
                "",
                "both say how large the database is",
            ),
            (
                "weights = [1, 1, 1, 1, 1]",
                "",
                "`workload.weights` has no meaning in a mix from the deck",
            ),
            ("divisor = 3", "", "divisor 3 is not possible"),
            (
                "",
                "[stack]\nkind = \"lamp\"",
                "\"orderentry\", which the stack \"lamp\" does not carry",
            ),
            (
                "",
                "[guest]\nkind = \"fake\"",
                "order entry needs a database that runs",
            ),
            (
                "",
                "[qos.purchase]\np95 = \"1s\"",
                "`qos.purchase` limits an operation that",
            ),
            (
                "statements = \"procs\"",
                "[stack]\nkind = \"sqlite\"",
                "sqlite has no statements = \"procs\"",
            ),
            (
                "hit_target = 0.9",
                "[stack]\nkind = \"sqlite\"",
                "SQLite has none",
            ),
            (
                "",
                "[stack]\nkind = \"postgresql\"\ntuning = \"pureflex\"",
                "has no tuning \"pureflex\"",
            ),
            (
                "",
                "[stack]\nkind = \"postgresql\"\n[stack.settings]\n\"mariadb.x\" = 1",
                "`mariadb.x` is not one of the stack \"postgresql\"",
            ),
            (
                "",
                "[stack]\nkind = \"mariadb\"\npages = \"faithful\"",
                "belongs to the stacks of the DVD Store",
            ),
            (
                "",
                "[load]\nmodel = \"partly-open\"\nrate = 3\nacts = 2",
                "order entry has no visits",
            ),
            (
                "pacing = \"spec\"",
                "[load]\nmodel = \"open\"\nrate = 3",
                "arrive at a rate",
            ),
        ] {
            let refused = study(keys, more).expect_err(keys);
            assert!(refused.contains(expected), "{keys} {more}: {refused}");
        }
        let shop = refusal("[workload]\nkind = \"dvdstore\"\nwarehouses = 2\n");
        assert!(
            shop.contains("`workload.warehouses` belongs to `kind = \"orderentry\"`"),
            "{shop}"
        );
    }
}
