//! The keys that all workloads as data have.

use std::time::Duration;

use rookery_workload::data_driven::{OnFailure, Order, Per, is_name};

use super::kinds::{ANY, NAME, Named, RANGE, Read, Values};
use crate::{
    grammar::{
        keys,
        kinds::{Choice, Text, Time, Truth, Whole},
    },
    names::Named as Words,
};

/// Most feeders of a workload.
pub(in crate::workloads) const MOST_FEEDERS: usize = 32;
/// Most of what one operation has of a kind.
pub(in crate::workloads) const MOST: usize = 64;
/// Most values of one feeder.
const MOST_VALUES: usize = 10_000;

impl Words for OnFailure {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "restart",
            Self::Restart,
            "the session ends, and another begins",
        ),
        ("continue", Self::Continue, "the session goes on"),
    ];
}

impl Words for Order {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("random", Self::Random, "at random, again and again"),
        (
            "sequential",
            Self::Sequential,
            "one after the other for each user, from the first again behind the last",
        ),
        (
            "once",
            Self::Once,
            "each once over all users of a guest; an operation that needs more fails as \
             data/feeder-dry",
        ),
    ];
}

impl Words for Per {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "operation",
            Self::Operation,
            "new for each operation that uses it",
        ),
        ("session", Self::Session, "kept for a session"),
    ];
}

/// Pauses.
pub(in crate::workloads) const THINK: Time = Time {
    min: Duration::ZERO,
    max: Duration::from_secs(3600),
    example: "250ms",
};

/// A table of values whose keys are `what`.
pub(in crate::workloads) const fn named<K>(
    kind: K,
    what: &'static str,
    key: &'static str,
    good: fn(&str) -> bool,
) -> Named<K> {
    Named {
        kind,
        what,
        key,
        good,
        most: MOST,
    }
}

/// Whether an operation or a value may have this name.
pub(in crate::workloads) fn is_plain_name(name: &str) -> bool {
    is_name(name) && !name.contains('.')
}

keys! {
    /// The keys of a feeder.
    FeederKeys {
        /// Its name: `${NAME}`, or `${NAME.column}` of a table.
        name: Read<String> = NAME, Required;
        /// Whole numbers.
        range: Read<(u64, u64)> = RANGE, Optional("none");
        /// Texts.
        values: Values<Read<String>> = Values { kind: ANY, most: MOST_VALUES }, Optional("none");
        /// File of comma-separated values whose first line names the columns, relative to the file
        /// of this key.
        csv: Text = Text { most: 500, lines: false, example: "users.csv" }, Optional("none");
        /// Names of columns of `csv` whose values are kept nowhere, such as passwords: they are
        /// read anew by who drives the users, and masked wherever an answer repeats them.
        secret: Values<Read<String>> = Values { kind: NAME, most: MOST }, Optional("none");
        /// Where the values of `secret` columns are, beside `rows` that lack them: a path from the
        /// root. With `csv` it is the path of that file.
        secret_file: Text = Text { most: 4095, lines: false, example: "/home/ann/users.csv" }, Optional("none");
        /// Names of the columns of `rows`.
        columns: Values<Read<String>> = Values { kind: NAME, most: MOST }, Optional("none");
        /// Rows of a table, each a list of texts.
        rows: Values<Values<Read<String>>> = Values { kind: Values { kind: ANY, most: MOST }, most: MOST_VALUES }, Optional("none");
        /// Small letters at random, from the fewest to the most.
        letters: Read<(u64, u64)> = RANGE, Optional("none");
        /// So many words of a built-in list at random.
        words: Whole<u32> = Whole { min: 1, max: 1000 }, Optional("none");
        /// A text that no other draw of the trial gives.
        id: Truth = Truth, Optional("false");
        /// In which order values are given, and what happens behind the last.
        order: Choice<Order> = Choice::NEW, Default("\"random\"");
        /// How long a user keeps what it drew.
        per: Choice<Per> = Choice::NEW, Default("\"operation\"");
    }
}
