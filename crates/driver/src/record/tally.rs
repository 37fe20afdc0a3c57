//! Failures by class and sub-class, with the first few as evidence.

use rookery_stats::{ErrorClass, ErrorExample, ErrorTally};

use crate::{
    clock::{Nanos, seconds},
    fault::{Fault, printable},
    operation::{OperationId, OperationTable},
};

/// Examples kept of each class.
const EXAMPLES: usize = 20;

#[derive(Debug)]
struct Example {
    at: Nanos,
    operation: OperationId,
    evidence: String,
}

#[derive(Debug)]
struct Tally {
    fault: Fault,
    count: u64,
    examples: Vec<Example>,
}

/// The failures of one guest on one thread.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// Few in practice; bounded by the sub-classes and the status codes.
    tallies: Vec<Tally>,
}

impl Tallies {
    pub(crate) fn count(
        &mut self,
        fault: Fault,
        at: Nanos,
        operation: OperationId,
        evidence: &[u8],
    ) {
        let room = self.examples_of(fault.class) < EXAMPLES;
        let tally = self.tally(fault);
        tally.count += 1;
        if room {
            tally.examples.push(Example {
                at,
                operation,
                evidence: printable(evidence),
            });
        }
    }

    /// How often each fault came so far.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Fault, u64)> {
        self.tallies.iter().map(|tally| (tally.fault, tally.count))
    }

    fn examples_of(&self, class: ErrorClass) -> usize {
        self.tallies
            .iter()
            .filter(|tally| tally.fault.class == class)
            .map(|tally| tally.examples.len())
            .sum()
    }

    fn tally(&mut self, fault: Fault) -> &mut Tally {
        let found = self.tallies.iter().position(|tally| tally.fault == fault);
        let index = found.unwrap_or_else(|| {
            self.tallies.push(Tally {
                fault,
                count: 0,
                examples: Vec::new(),
            });
            self.tallies.len() - 1
        });
        &mut self.tallies[index]
    }

    /// All threads together: by class and sub-class, each class with its first examples.
    pub(crate) fn merge(
        parts: impl IntoIterator<Item = Self>,
        table: OperationTable,
    ) -> Vec<ErrorTally> {
        let mut all = Self::default();
        for tally in parts.into_iter().flat_map(|part| part.tallies) {
            let mine = all.tally(tally.fault);
            mine.count += tally.count;
            mine.examples.extend(tally.examples);
        }
        all.tallies
            .sort_by_key(|tally| (tally.fault.class, tally.fault.sub_class.text()));
        for of_class in all
            .tallies
            .chunk_by_mut(|a, b| a.fault.class == b.fault.class)
        {
            keep_first(of_class);
        }
        all.tallies
            .into_iter()
            .map(|tally| tally.into_public(table))
            .collect()
    }
}

/// Of all examples of a class only the first stay.
fn keep_first(tallies: &mut [Tally]) {
    let mut times: Vec<Nanos> = tallies
        .iter()
        .flat_map(|tally| &tally.examples)
        .map(|example| example.at)
        .collect();
    times.sort_unstable();
    let last = times.get(EXAMPLES - 1).copied().unwrap_or(Nanos::MAX);
    let mut room = EXAMPLES;
    for tally in tallies {
        tally.examples.sort_by_key(|example| example.at);
        tally.examples.retain(|example| example.at <= last);
        tally.examples.truncate(room);
        room -= tally.examples.len();
    }
}

impl Tally {
    fn into_public(self, table: OperationTable) -> ErrorTally {
        let example = |example: Example| ErrorExample {
            at_s: seconds(example.at),
            operation: table.name(example.operation).to_owned(),
            detail: example.evidence,
        };
        ErrorTally {
            class: self.fault.class,
            sub_class: self.fault.sub_class.text().into_owned(),
            count: self.count,
            examples: self.examples.into_iter().map(example).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::tests::WHOLE;

    #[test]
    fn each_class_keeps_its_first_twenty_examples() {
        let mut tallies = Tallies::default();
        for n in 0..30 {
            tallies.count(
                Fault::code(ErrorClass::Status, 500 + n % 2),
                u64::from(n),
                OperationId::new(1),
                b"oops",
            );
        }
        tallies.count(
            Fault::new(ErrorClass::Connect, "refused"),
            7,
            OperationId::new(0),
            b"",
        );
        let merged = Tallies::merge([tallies], WHOLE);
        let shape: Vec<_> = merged
            .iter()
            .map(|tally| (tally.sub_class.as_str(), tally.count, tally.examples.len()))
            .collect();
        assert_eq!(shape, [("refused", 1, 1), ("500", 15, 10), ("501", 15, 10)]);
        assert_eq!(
            (
                merged[1].examples[0].operation.as_str(),
                merged[1].examples[0].detail.as_str()
            ),
            ("look", "oops")
        );
    }
}
