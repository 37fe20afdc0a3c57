//! What a server must hold after the load, given what its users were told.

use serde::{Deserialize, Serialize};

/// What a server must hold after the load. [`Proof::check`] compares it with what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// One row per kind of record; the first is the unit of work.
    pub rows: Vec<ProofRow>,
}

/// One kind of record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofRow {
    /// What is counted, in the plural: `new orders`.
    pub what: String,
    /// Changes that users were told had been made.
    pub acknowledged: u64,
    /// Changes that were asked for, and whose outcome no answer told: each may or may not have been
    /// made.
    pub unanswered: u64,
}

impl ProofRow {
    /// A row of a proof.
    #[must_use]
    pub fn new(what: &str, acknowledged: u64, unanswered: u64) -> Self {
        Self {
            what: what.to_owned(),
            acknowledged,
            unanswered,
        }
    }

    /// The fewest records that the server may hold.
    #[must_use]
    pub fn at_least(&self) -> u64 {
        self.acknowledged
    }

    /// The most records that the server may hold.
    #[must_use]
    pub fn at_most(&self) -> u64 {
        self.acknowledged.saturating_add(self.unanswered)
    }

    /// Whether so many records agree with what users were told.
    #[must_use]
    pub fn allows(&self, found: u64) -> bool {
        (self.at_least()..=self.at_most()).contains(&found)
    }
}

/// Records that were found in a server, beyond those that were loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundRow {
    /// What is counted, as in [`ProofRow::what`].
    pub what: String,
    /// How many.
    pub found: u64,
}

impl FoundRow {
    /// So many records of a kind.
    #[must_use]
    pub fn new(what: &str, found: u64) -> Self {
        Self {
            what: what.to_owned(),
            found,
        }
    }
}

impl Proof {
    /// Every row that what was found does not agree with, as a sentence. `clients` is who was told:
    /// `users`. A row that no one looked for disagrees.
    #[must_use]
    pub fn check(&self, found: &[FoundRow], clients: &str) -> Vec<String> {
        self.rows
            .iter()
            .filter_map(|row| row.disagreement(found, clients))
            .collect()
    }

    /// The same for an audit that need not count everything: a row that it does not count is not
    /// compared. What it counts and no one was told of disagrees.
    #[must_use]
    pub fn check_counted(&self, found: &[FoundRow], clients: &str) -> Vec<String> {
        let known = |what: &str| self.rows.iter().any(|row| row.what == what);
        let counted = |row: &&ProofRow| found.iter().any(|found| found.what == row.what);
        let strange = found.iter().filter(|found| !known(&found.what)).map(|found| {
            let names: Vec<&str> = self.rows.iter().map(|row| row.what.as_str()).collect();
            format!(
                "the audit counts `{}`, of which {clients} are told nothing; they are told of: {}",
                found.what,
                names.join(", ")
            )
        });
        let rows = self.rows.iter().filter(counted);
        let told = rows.filter_map(|row| row.disagreement(found, clients));
        strange.chain(told).collect()
    }
}

impl ProofRow {
    fn disagreement(&self, found: &[FoundRow], clients: &str) -> Option<String> {
        let Self {
            what,
            acknowledged,
            unanswered,
        } = self;
        let Some(held) = found.iter().find(|found| found.what == *what) else {
            return Some(format!("the {what} in the server were not counted"));
        };
        (!self.allows(held.found)).then(|| {
            format!(
                "the server holds {} {what}, {clients} were told of {acknowledged} ({unanswered} \
                 more may or may not have been made)",
                held.found
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unanswered_changes_are_slack_and_nothing_else_is() {
        let proof = Proof {
            rows: vec![
                ProofRow::new("new orders", 10, 1),
                ProofRow::new("payments", 20, 0),
            ],
        };
        let check = |orders, payments| {
            let found = [
                FoundRow::new("new orders", orders),
                FoundRow::new("payments", payments),
            ];
            proof.check(&found, "terminals")
        };
        assert_eq!(check(10, 20), Vec::<String>::new());
        assert_eq!(check(11, 20), Vec::<String>::new());
        assert_eq!(
            check(12, 19),
            [
                "the server holds 12 new orders, terminals were told of 10 (1 more may or may not \
                 have been made)",
                "the server holds 19 payments, terminals were told of 20 (0 more may or may not \
                 have been made)",
            ]
        );
        let orders = |number| [FoundRow::new("new orders", number)];
        assert_eq!(
            proof.check(&orders(10), "users"),
            ["the payments in the server were not counted"]
        );
        assert_eq!(
            proof.check_counted(&orders(10), "users"),
            Vec::<String>::new()
        );
        assert_eq!(proof.check_counted(&orders(9), "users").len(), 1);
        assert_eq!(
            proof.check_counted(&[FoundRow::new("orders", 10)], "users"),
            [
                "the audit counts `orders`, of which users are told nothing; they are told of: \
                 new orders, payments"
            ]
        );
    }
}
