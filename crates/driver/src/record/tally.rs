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

    /// What was counted, by the names of operations.
    pub(crate) fn into_errors(self, table: OperationTable) -> Vec<ErrorTally> {
        let tallies = self.tallies.into_iter();
        tallies.map(|tally| tally.into_public(table)).collect()
    }
}

/// All threads together: by class and sub-class, each class with its first examples.
pub(crate) fn merged(parts: impl IntoIterator<Item = ErrorTally>) -> Vec<ErrorTally> {
    let mut all: Vec<ErrorTally> = parts.into_iter().collect();
    // Stable: of two at the same moment, that of the first thread is the first.
    all.sort_by(|a, b| (a.class, &a.sub_class).cmp(&(b.class, &b.sub_class)));
    all.dedup_by(|other, mine| {
        let same = (other.class, &other.sub_class) == (mine.class, &mine.sub_class);
        if same {
            mine.count += other.count;
            mine.examples.append(&mut other.examples);
        }
        same
    });
    all.chunk_by_mut(|a, b| a.class == b.class)
        .for_each(keep_first);
    all
}

/// Of all examples of a class only the first stay.
fn keep_first(tallies: &mut [ErrorTally]) {
    let mut times: Vec<f64> = tallies
        .iter()
        .flat_map(|tally| &tally.examples)
        .map(|example| example.at_s)
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    let last = times.get(EXAMPLES - 1).copied().unwrap_or(f64::INFINITY);
    let mut room = EXAMPLES;
    for tally in tallies {
        tally.examples.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        tally.examples.retain(|example| example.at_s <= last);
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
        let merged = merged(tallies.into_errors(WHOLE));
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
