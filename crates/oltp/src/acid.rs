//! What the isolation level in use keeps apart, and what it does not: scripted with two connections
//! on a loaded database.
//!
//! The nine tests follow the isolation tests of the rules that the workload follows; two more ask
//! whether a transaction is done whole or not at all. Each says what it saw, and what theory says
//! of this database at this level. Tests 1 to 6 must hold everywhere; what 7 to 9 see depends on
//! the level, and the workload does not need more. The tests leave orders and payments behind as
//! terminals do, so that every condition holds afterwards. Nobody else may write meanwhile.

mod scripts;
mod session;

use std::{sync::atomic::AtomicBool, time::Duration};

use rookery_workload::orderentry::{Dialect, Isolation, Population};

use crate::{OltpError, Target, runtime, sqlite, stopping::unless_stopped, verify::read_meta};
use session::AcidSession;

/// What a test saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The state before the other transaction.
    Old,
    /// The state that the other transaction made and committed.
    New,
    /// A state that nobody ever committed.
    Uncommitted,
    /// It waited for the other transaction and then went on from what that left.
    Waited,
    /// It waited, was refused, and was done from the start.
    Retried,
    /// The old state; the other transaction had to wait.
    HeldUp,
    /// The transaction was done whole.
    Whole,
    /// Nothing of the transaction is there.
    Nothing,
    /// Something was lost or doubled.
    Wrong,
}

impl Seen {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Old => "the old state",
            Self::New => "the other's change",
            Self::Uncommitted => "what was never committed",
            Self::Waited => "waits",
            Self::Retried => "waits, then again from the start",
            Self::HeldUp => "the old state, the other waits",
            Self::Whole => "all of it",
            Self::Nothing => "nothing of it",
            Self::Wrong => "something is lost or doubled",
        }
    }
}

/// A test and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcidRow {
    /// 1 to 9 are the isolation tests, 10 and 11 ask for atomicity.
    pub number: u8,
    /// What is done.
    pub test: &'static str,
    /// What was seen.
    pub seen: Seen,
    /// What theory says.
    pub expected: Seen,
    /// Whether that outcome is what full serializability asks for.
    pub isolated: bool,
}

impl AcidRow {
    /// Whether the outcome is the expected one.
    #[must_use]
    pub fn as_expected(&self) -> bool {
        self.seen == self.expected
    }
}

/// The outcome of all tests.
#[derive(Clone, Debug)]
pub struct Acid {
    /// The server's version, in its own words.
    pub version: String,
    /// The isolation level, in the server's words; of SQLite with what makes it so.
    pub isolation: String,
    /// All tests in order.
    pub rows: Vec<AcidRow>,
}

impl Acid {
    /// Whether every outcome is the expected one.
    #[must_use]
    pub fn as_expected(&self) -> bool {
        self.rows.iter().all(AcidRow::as_expected)
    }

    /// As lines of text: the level, then each test with what it saw.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!(
            "isolation {}\n   #  outcome    seen                              test\n",
            self.isolation
        );
        for row in &self.rows {
            let outcome = match (row.as_expected(), row.isolated) {
                (true, true) => "holds",
                (true, false) => "expected",
                (false, _) => "DEVIATION",
            };
            text += &format!(
                "  {:>2}  {outcome:<9}  {:<32}  {}\n",
                row.number,
                row.seen.words(),
                row.test
            );
            if !row.as_expected() {
                text += &format!("                 instead of: {}\n", row.expected.words());
            }
        }
        if self
            .rows
            .iter()
            .any(|row| row.as_expected() && !row.isolated)
        {
            text += "  expected: this level does not keep that apart, and the workload does not \
                     need it\n";
        }
        text
    }
}

/// The titles of the tests.
const TESTS: [&str; 11] = [
    "order status while an order of the customer is open, which is committed",
    "order status while an order of the customer is open, which is rolled back",
    "two new orders of a district, the first is committed",
    "two new orders of a district, the first is rolled back",
    "payment of a customer whose delivery is open, which is committed",
    "payment of a customer whose delivery is open, which is rolled back",
    "new order reads a price twice, which changes in between",
    "delivery looks twice into an empty district, which gets an order in between",
    "order status reads the last order twice, and one comes in between",
    "payment up to its end, then committed",
    "payment up to its end, then rolled back",
];

/// How a database keeps transactions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Every statement sees what was committed before it.
    Statement,
    /// Every transaction sees one snapshot; who changes a row that has changed since is refused.
    Snapshot,
    /// Plain reads see one snapshot, locking reads and changes the last committed state, with the
    /// gaps beside them locked.
    Gaps,
    /// As before, but whoever changes a row that has changed since is refused.
    StrictGaps,
    /// Every read locks.
    Locks,
    /// Who writes is alone from its begin to its end; who only reads sees one snapshot and waits
    /// for nobody.
    OneWriter,
}

impl Level {
    /// The level behind the server's name for it.
    fn from_name(dialect: Dialect, name: &str, strict_snapshot: bool) -> Self {
        if dialect == Dialect::Sqlite {
            return Self::OneWriter;
        }
        let name = name.to_ascii_lowercase().replace('-', " ");
        match (dialect.is_mysql_like(), name.as_str()) {
            (true, "serializable") => Self::Locks,
            (true, "repeatable read") if strict_snapshot => Self::StrictGaps,
            (true, "repeatable read") => Self::Gaps,
            (false, "repeatable read" | "serializable") => Self::Snapshot,
            _ => Self::Statement,
        }
    }

    /// What test `number` must see.
    fn expected(self, number: u8) -> Seen {
        match (number, self) {
            (1 | 2, Self::Locks) | (4 | 6, _) => Seen::Waited,
            (1 | 2, _) => Seen::Old,
            // Seen on MariaDB 10.11: the delivery of test 5 is not refused there, and both changes
            // are kept.
            (3 | 5, Self::Snapshot) | (3, Self::StrictGaps) => Seen::Retried,
            (3 | 5, _) => Seen::Waited,
            (7..=9, Self::Statement) => Seen::New,
            (7 | 9, Self::Locks) | (8, Self::Gaps | Self::StrictGaps | Self::Locks) => Seen::HeldUp,
            // New orders and deliveries write, so that whoever would change what they read has to
            // wait; order status only reads.
            (7 | 8, Self::OneWriter) => Seen::HeldUp,
            (7..=9, _) => Seen::Old,
            (10, _) => Seen::Whole,
            _ => Seen::Nothing,
        }
    }

    /// How long a statement of test `number` is watched before it is called waiting.
    fn watch(self, number: u8) -> Duration {
        match (self.expected(number), self) {
            (Seen::Waited | Seen::Retried | Seen::HeldUp, _) => LOOK,
            // What waits against all theory must go on before the server gives it up: then it is a
            // deviation that is told, not an error.
            (_, Self::OneWriter) => sqlite::LOCK_PATIENCE * 4 / 5,
            _ => PATIENCE,
        }
    }

    /// What to call it where the server says `name`.
    fn called(self, name: String) -> String {
        match self {
            Self::OneWriter => format!("{name}, one writer"),
            _ => name,
        }
    }
}

/// Runs all tests. Blocks for some seconds; `stop` ends it soon.
///
/// # Errors
/// When there is no way to the database, it was not loaded, it has no connections that could be
/// held against each other, or a statement is refused that must not be. An unexpected outcome is no
/// error.
pub fn acid(target: &Target, isolation: Isolation, stop: &AtomicBool) -> Result<Acid, OltpError> {
    runtime()?.block_on(unless_stopped(stop, async {
        let mut lab = Lab::open(target, isolation).await?;
        let mut rows = Vec::new();
        for (number, test) in (1..).zip(TESTS) {
            let seen = scripts::run(&mut lab, number).await?;
            rows.push(AcidRow {
                number,
                test,
                seen,
                expected: lab.level.expected(number),
                isolated: !matches!(seen, Seen::New | Seen::Uncommitted | Seen::Wrong),
            });
        }
        Ok(Acid {
            version: lab.one.version().to_owned(),
            isolation: lab.isolation,
            rows,
        })
    }))
}

/// Two connections to one database.
struct Lab {
    one: AcidSession,
    two: AcidSession,
    level: Level,
    isolation: String,
}

/// How long a statement must wait to be called waiting.
const LOOK: Duration = Duration::from_millis(400);

/// Longest wait for a statement that is expected to be answered.
const PATIENCE: Duration = Duration::from_secs(10);

impl Lab {
    async fn open(target: &Target, isolation: Isolation) -> Result<Self, OltpError> {
        let (mut one, two) = (
            AcidSession::open(target, isolation).await?,
            AcidSession::open(target, isolation).await?,
        );
        let (population, _): (Population, _) = read_meta(one.database(), target).await?;
        let least = 5;
        if population
            .scale
            .rows(rookery_workload::orderentry::Table::Item)
            < least
        {
            return Err(OltpError::setting(format!(
                "the tests need at least {least} items"
            )));
        }
        let dialect = one.dialect();
        let name = match dialect.read_isolation() {
            Some(query) => one.value(query).await?.unwrap_or_default(),
            None => String::new(),
        };
        // Servers that do not know the switch do not refuse.
        let strict = dialect.is_mysql_like() && {
            let shown = one
                .row("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
                .await?;
            shown
                .get(1)
                .is_some_and(|value| value.as_deref() == Some("ON"))
        };
        let level = Level::from_name(dialect, &name, strict);
        Ok(Self {
            one,
            two,
            level,
            isolation: level.called(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_six_first_tests_hold_at_every_level() {
        for level in [
            Level::Statement,
            Level::Snapshot,
            Level::Gaps,
            Level::StrictGaps,
            Level::Locks,
            Level::OneWriter,
        ] {
            for number in 1..=6 {
                let expected = level.expected(number);
                assert!(
                    matches!(expected, Seen::Old | Seen::Waited | Seen::Retried),
                    "{level:?} {number}"
                );
            }
        }
    }

    #[test]
    fn levels_are_known_by_the_names_of_their_servers() {
        let cases = [
            (Dialect::Mariadb, "REPEATABLE-READ", false, Level::Gaps),
            (Dialect::Mariadb, "REPEATABLE-READ", true, Level::StrictGaps),
            (Dialect::Mysql, "READ-COMMITTED", false, Level::Statement),
            (Dialect::Mariadb, "SERIALIZABLE", true, Level::Locks),
            (
                Dialect::Postgresql,
                "read committed",
                false,
                Level::Statement,
            ),
            (
                Dialect::Postgresql,
                "repeatable read",
                false,
                Level::Snapshot,
            ),
            (Dialect::Postgresql, "serializable", false, Level::Snapshot),
            (Dialect::Sqlite, "serializable", false, Level::OneWriter),
        ];
        for (dialect, name, strict, level) in cases {
            assert_eq!(
                Level::from_name(dialect, name, strict),
                level,
                "{dialect:?} {name}"
            );
        }
    }

    #[test]
    fn a_deviation_is_told_with_what_was_expected() {
        let row = |number: u8, seen, expected, isolated| AcidRow {
            number,
            test: TESTS[usize::from(number) - 1],
            seen,
            expected,
            isolated,
        };
        let found = Acid {
            version: "a server".to_owned(),
            isolation: "read committed".to_owned(),
            rows: vec![
                row(6, Seen::Wrong, Seen::Waited, false),
                row(7, Seen::New, Seen::New, false),
            ],
        };
        assert_eq!(
            found.table(),
            "isolation read committed\n   #  outcome    seen                              test\n   \
             6  DEVIATION  something is lost or doubled      \
             payment of a customer whose delivery is open, which is rolled back\n                 \
             instead of: waits\n   7  expected   \
             the other's change                new order reads a price twice, which changes in \
             between\n  expected: this level does not \
             keep that apart, and the workload does not need it\n"
        );
    }

    #[test]
    fn the_rows_that_depend_on_the_level_are_told_apart() {
        let of = |level: Level| [7, 8, 9].map(|number| level.expected(number));
        assert_eq!(of(Level::Statement), [Seen::New; 3]);
        assert_eq!(of(Level::Snapshot), [Seen::Old; 3]);
        assert_eq!(of(Level::Gaps), [Seen::Old, Seen::HeldUp, Seen::Old]);
        assert_eq!(
            of(Level::OneWriter),
            [Seen::HeldUp, Seen::HeldUp, Seen::Old]
        );
    }

    #[test]
    fn nobody_is_watched_for_longer_than_sqlite_lets_it_wait() {
        for number in 1..=11 {
            assert!(
                Level::OneWriter.watch(number) < sqlite::LOCK_PATIENCE,
                "{number}"
            );
        }
    }
}
