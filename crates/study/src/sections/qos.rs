//! `[qos]`: the limits that a good trial keeps, for every operation and for single ones.

use std::time::Duration;

use rookery_stats::qos::{PercentileLimit, Qos};

use crate::{
    Workload, WorkloadKind,
    grammar::{
        Below, Context, Reader, SectionInfo, keys,
        kinds::{Factor, Time, Whole},
    },
    problem::Code,
    workloads::limits_meaning,
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "qos",
    many: false,
    meaning: "Limits that a good trial keeps. The percentiles here hold for every operation that \
              is one request.",
    keys: all_keys,
    below: &[Below {
        names: operations,
        named_freely: true,
        meaning: operations_meaning,
        keys: LimitKeys::keys,
        any: None,
    }],
};

/// The operations that can have limits of their own, under the names of the results: those of one
/// workload after the other.
fn operations() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for operation in WorkloadKind::ALL
        .into_iter()
        .flat_map(|kind| kind.info().operations)
    {
        if !names.contains(&operation.name) {
            names.push(operation.name);
        }
    }
    names
}

fn operations_meaning() -> String {
    let meanings: Vec<&str> = WorkloadKind::ALL.into_iter().map(limits_meaning).collect();
    format!(
        "Limits for one operation, besides those for all. {}",
        meanings.join(" ")
    )
}

/// Refuse limits on operations that the workload does not have.
pub(crate) fn check_operations(qos: &Qos, workload: &Workload, context: &mut Context) {
    let known = workload.operation_names();
    let named = qos
        .percentiles
        .iter()
        .filter_map(|limit| limit.operation.as_deref());
    let mut strange: Vec<&str> = named
        .filter(|operation| !known.contains(operation))
        .collect();
    strange.dedup();
    for operation in strange {
        let span = context.spans.nearest(&format!("qos.{operation}"));
        let message = format!(
            "`qos.{operation}` limits an operation that `workload.kind` = \"{}\" does not have",
            workload.kind().name()
        );
        let help = format!("it has {}", known.join(", "));
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}

const TIMES: Time = Time {
    min: Duration::from_micros(1),
    max: Duration::from_secs(3600),
    example: "2s",
};

keys! {
    /// Limits on percentiles.
    LimitKeys {
        /// Limit on the median response time.
        p50: Time = TIMES, Optional("no limit");
        /// Limit on the 75th percentile.
        p75: Time = TIMES, Optional("no limit");
        /// Limit on the 90th percentile.
        p90: Time = TIMES, Optional("no limit");
        /// Limit on the 95th percentile.
        p95: Time = TIMES, Optional("no limit");
        /// Limit on the 99th percentile.
        p99: Time = TIMES, Optional("no limit");
        /// Limit on the 99.9th percentile. The key stands in quotes.
        p99_9("p99.9"): Time = TIMES, Optional("no limit");
    }
}

keys! {
    /// The keys of `[qos]` that are no percentiles.
    RestKeys {
        /// Largest share of failed operations.
        errors: Factor = Factor::SHARE, Default("0.001");
        /// Fewest operations that make a percentile worth judging.
        min_operations: Whole<u64> = Whole { min: 1, max: 1_000_000_000 }, Default("100");
    }
}

fn all_keys() -> Vec<crate::grammar::KeyInfo> {
    let mut keys = LimitKeys::keys();
    keys.extend(RestKeys::keys());
    keys
}

/// The whole of `[qos]` and its operations.
#[derive(Debug)]
pub(crate) struct QosSection {
    every: LimitKeys,
    rest: RestKeys,
    operations: Vec<(String, LimitKeys)>,
}

impl LimitKeys {
    /// Percentile and limit, ascending.
    fn pairs(&self) -> [(f64, Option<Duration>); 6] {
        [
            (50.0, self.p50),
            (75.0, self.p75),
            (90.0, self.p90),
            (95.0, self.p95),
            (99.0, self.p99),
            (99.9, self.p99_9),
        ]
    }

    fn from_limits(limits: &[PercentileLimit], operation: Option<&str>) -> Self {
        let of_operation = |limit: &&PercentileLimit| limit.operation.as_deref() == operation;
        let find = |percentile: f64| {
            let limit = limits
                .iter()
                .filter(of_operation)
                .find(|limit| limit.percentile == percentile);
            limit.map(|limit| Duration::from_micros(limit.limit_us))
        };
        Self {
            p50: find(50.0),
            p75: find(75.0),
            p90: find(90.0),
            p95: find(95.0),
            p99: find(99.0),
            p99_9: find(99.9),
        }
    }

    fn limits(&self, operation: Option<&str>) -> impl Iterator<Item = PercentileLimit> {
        let limit = move |(percentile, limit): (f64, Option<Duration>)| {
            Some(PercentileLimit {
                operation: operation.map(str::to_owned),
                percentile,
                limit_us: u64::try_from(limit?.as_micros()).unwrap_or(u64::MAX),
            })
        };
        self.pairs().into_iter().filter_map(limit)
    }

    /// A limit below that of a lower percentile makes the lower one idle: one of the two is a
    /// mistake.
    fn check(&self, path: &str, context: &mut Context) {
        let given: Vec<_> = self
            .pairs()
            .into_iter()
            .filter_map(|(percentile, limit)| Some((percentile, limit?)))
            .collect();
        for pair in given.windows(2) {
            let ((low, low_limit), (high, high_limit)) = (pair[0], pair[1]);
            if high_limit < low_limit {
                let span = context.spans.nearest(&format!("{path}.p{high}"));
                let message = format!(
                    "the limit `p{high}` of `{path}` is shorter than `p{low}`, so that `p{low}` \
                     can never decide"
                );
                let help =
                    format!("make `p{high}` at least as long as `p{low}`, or remove `p{low}`");
                context.refuse::<()>(Code::Contradiction, span, message, help);
            }
        }
    }
}

impl QosSection {
    /// Reads the section; `own` are the operations of the study's workload.
    pub(crate) fn read(mut reader: Reader<'_, '_, '_>, own: &[String]) -> Self {
        let every = LimitKeys::read(&mut reader);
        every.check(SECTION.name, reader.context);
        let rest = RestKeys::read(&mut reader);
        let mut names: Vec<&str> = operations();
        for name in own {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let operations = names.into_iter().map(|operation| {
            let mut below = reader.section_named(operation);
            let limits = LimitKeys::read(&mut below);
            limits.check(&format!("{}.{operation}", SECTION.name), below.context);
            below.finish();
            (operation.to_owned(), limits)
        });
        let mut operations: Vec<(String, LimitKeys)> = operations.collect();
        // Limits stand in the order of the workload's operations, whichever workload came first
        // with an operation of the same name.
        operations.sort_by_key(|(name, _)| {
            let place = own.iter().position(|own| own == name);
            place.unwrap_or(usize::MAX)
        });
        reader.finish();
        Self {
            every,
            rest,
            operations,
        }
    }

    pub(crate) fn build(self) -> Option<Qos> {
        let mut percentiles: Vec<_> = self.every.limits(None).collect();
        for (operation, limits) in &self.operations {
            percentiles.extend(limits.limits(Some(operation)));
        }
        Some(Qos {
            percentiles,
            error_ratio: Some(self.rest.errors?),
            min_operations: self.rest.min_operations?,
        })
    }

    pub(crate) fn of(qos: &Qos) -> Self {
        let mut names: Vec<String> = operations().into_iter().map(str::to_owned).collect();
        for operation in qos
            .percentiles
            .iter()
            .filter_map(|limit| limit.operation.as_ref())
        {
            if !names.contains(operation) {
                names.push(operation.clone());
            }
        }
        let operations = names
            .into_iter()
            .map(|operation| {
                let limits = LimitKeys::from_limits(&qos.percentiles, Some(&operation));
                (operation, limits)
            })
            .collect();
        Self {
            every: LimitKeys::from_limits(&qos.percentiles, None),
            rest: RestKeys {
                // Without a limit any share passes.
                errors: Some(qos.error_ratio.unwrap_or(1.0)),
                min_operations: Some(qos.min_operations),
            },
            operations,
        }
    }

    /// Appends the section and those below it.
    pub(crate) fn write(&self, out: &mut String) {
        self.every.write(out);
        self.rest.write(out);
        for (operation, limits) in &self.operations {
            let mut lines = String::new();
            limits.write(&mut lines);
            if !lines.is_empty() {
                out.push_str(&format!("\n[{}.{operation}]\n{lines}", SECTION.name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn limits_come_in_order_and_by_operation() {
        let qos = with(
            "[qos]\np99 = \"4s\"\n\"p99.9\" = \"8s\"\np95 = \"2s\"\n[qos.order]\np90 = \"3s\"\n",
        )
        .expect("valid")
        .qos;
        let limits: Vec<_> = qos
            .percentiles
            .iter()
            .map(|limit| (limit.operation.as_deref(), limit.percentile, limit.limit_us))
            .collect();
        assert_eq!(
            limits,
            [
                (None, 95.0, 2_000_000),
                (None, 99.0, 4_000_000),
                (None, 99.9, 8_000_000),
                (Some("order"), 90.0, 3_000_000),
            ]
        );
        assert_eq!((qos.error_ratio, qos.min_operations), (Some(0.001), 100));
    }

    #[test]
    fn falling_limits_are_refused() {
        assert_eq!(
            refusal("[qos]\np95 = \"2s\"\np99 = \"1s\"\n"),
            "study::contradiction: the limit `p99` of `qos` is shorter than `p95`, so that `p95` \
             can never decide"
        );
        assert!(
            refusal("[qos.login]\np50 = \"2s\"\n\"p99.9\" = \"1s\"\n")
                .contains("`p99.9` of `qos.login`")
        );
    }
}
