//! The keys of `[workload]` with `kind = "sql"`, and of its workload files.

use std::time::Duration;

use rookery_workload::{
    DelayDistribution,
    data_driven::{MOST_OPERATIONS, OnFailure, Template},
    sql::{MOST_STATEMENTS, StatementText},
};

use crate::{
    grammar::{
        keys,
        kinds::{Choice, Factor, Text, Time, Truth, Whole},
    },
    workloads::data_driven::{
        keys::{FeederKeys, MOST, MOST_FEEDERS, THINK, is_plain_name, named},
        kinds::{ANY, NAME, Named, Read, TEMPLATE, Tables, Values},
    },
};

/// Most statements that make and fill the tables.
pub(super) const MOST_SETUP: usize = 1000;

/// A statement with parameters.
const STATEMENT: Read<StatementText> = Read {
    what: "statement in which `${name}` is a parameter, whose value is bound",
    example: "SELECT title FROM notes WHERE id = ${id}",
    parse: |text| StatementText::parse(text).map_err(|error| error.to_string()),
    write: StatementText::to_string,
};

/// A statement without parameters.
const PLAIN: Read<String> = Read {
    what: "statement without parameters",
    example: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title VARCHAR(80))",
    ..ANY
};

const COUNT: Whole<u64> = Whole {
    min: 0,
    max: 1_000_000_000,
};

keys! {
    /// Keys that stand in a study alone, whether or not the rest is in a file.
    StudyKeys {
        /// Workload file with all other keys of the workload, relative to the file of the study.
        file: Text = Text { most: 500, lines: false, example: "site.toml" }, Optional("the keys stand here");
        /// MiB that the tables take which `setup` fills: how much disk and time the plan counts.
        expected_mib: Whole<u32> = Whole { min: 1, max: 1 << 20 }, Default("16");
        /// Mean pause after an operation that says none; with cycle pacing the cycle time.
        think_time: Time = THINK, Default("\"0s\"");
        /// How pauses scatter about their mean, where an operation says nothing.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
    }
}

keys! {
    /// The keys of a workload file.
    ContentKeys {
        /// Statements that make and fill the tables, once for all guests.
        setup: Values<Read<String>> = Values { kind: PLAIN, most: MOST_SETUP }, Optional("in `setup_file`");
        /// File of such statements, each ended by `;`, relative to the file of this key.
        setup_file: Text = Text { most: 500, lines: false, example: "tables.sql" }, Optional("in `setup`");
        /// The operations: statements one after the other.
        operation: Tables<OperationKeys> = Tables { what: "operations", most: MOST_OPERATIONS, example: "{name = \"read\", statement = [{sql = \"SELECT 1\"}]}", keys: OperationKeys::keys, read: OperationKeys::read, write: OperationKeys::write }, Optional("in the file");
        /// Sources of values: `${NAME}` in statements.
        feeder: Tables<FeederKeys> = Tables { what: "feeders", most: MOST_FEEDERS, example: "{name = \"id\", range = \"1..1000\"}", keys: FeederKeys::keys, read: FeederKeys::read, write: FeederKeys::write }, Optional("no data");
        /// What is counted in the database after the load.
        audit: Tables<AuditKeys> = Tables { what: "audits", most: MOST, example: "{counts = \"notes\", sql = \"SELECT count(*) FROM notes\", initial = 100}", keys: AuditKeys::keys, read: AuditKeys::read, write: AuditKeys::write }, Optional("nothing is counted");
        /// Operations one after the other, as a session; instead of weights or `next`.
        script: Values<Read<String>> = Values { kind: NAME, most: 1000 }, Optional("as weights or `next` say");
        /// What a session begins with, by probability; with `next` of the operations.
        start: Named<Factor> = named(Factor::SHARE, "operation", "browse", is_plain_name), Optional("the first operation");
        /// Operations of a session that are drawn by weights.
        session_operations: Whole<u32> = Whole { min: 1, max: 1_000_000 }, Optional("a session has no end");
        /// The operation that every session begins with, once.
        login: Read<String> = NAME, Optional("none");
        /// What a failure does to the session of its user.
        on_failure: Choice<OnFailure> = Choice::NEW, Default("\"restart\"");
        /// Mean pause between two sessions.
        session_pause: Time = THINK, Optional("as after any operation");
        /// How that pause scatters about its mean.
        session_pause_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
        /// Attempts of an operation after the first, where a deadlock or a conflict undid it.
        retries: Whole<u32> = Whole { min: 0, max: 100 }, Default("3");
    }
}

keys! {
    /// The keys of an operation.
    OperationKeys {
        /// Its name in tables and limits.
        name: Read<String> = NAME, Required;
        /// Its statements, one after the other.
        statement: Tables<StatementKeys> = Tables { what: "statements", most: MOST_STATEMENTS, example: "{sql = \"SELECT title FROM notes WHERE id = ${id}\", rows = 1}", keys: StatementKeys::keys, read: StatementKeys::read, write: StatementKeys::write }, Required;
        /// Whether its statements are one transaction; else each is its own.
        transaction: Truth = Truth, Default("false");
        /// How often it is drawn, relative to the others.
        weight: Factor = Factor { min: 0.0, max: 1e6 }, Optional("1; of the login 0");
        /// What follows it, by probability; `end` is the end of the session. The row sums to 1.
        next: Named<Factor> = named(Factor::SHARE, "operation", "end", is_plain_name), Optional("as weights say");
        /// Mean pause after it; with cycle pacing its cycle time.
        think_time: Time = THINK, Optional("as the workload says");
        /// How the pause scatters about its mean.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("as the workload says");
        /// Limit on the whole operation.
        timeout: Time = Time { min: Duration::from_millis(1), max: Duration::from_secs(3600), example: "10s" }, Optional("as [load] says");
        /// What each success makes one more of in the database, for the audit.
        counts: Text = Text { most: 60, lines: false, example: "notes" }, Optional("nothing");
    }
}

keys! {
    /// The keys of a statement.
    StatementKeys {
        /// The statement; `${NAME}` is a parameter.
        sql: Read<StatementText> = STATEMENT, Required;
        /// Rows that it answers with, or changes where it answers with none.
        rows: Whole<u64> = COUNT, Optional("not checked");
        /// Fewest rows that it answers with or changes.
        min_rows: Whole<u64> = COUNT, Optional("not checked");
        /// Most rows that it answers with or changes.
        max_rows: Whole<u64> = COUNT, Optional("not checked");
        /// Columns of the first row, from the first column on, as text.
        values: Values<Read<Template>> = Values { kind: TEMPLATE, most: MOST }, Optional("not checked");
        /// Values taken from the first row, by the number of their column, counted from 1.
        capture: Named<Whole<u16>> = named(Whole { min: 1, max: 1000 }, "value", "note", is_plain_name), Optional("none");
    }
}

keys! {
    /// The keys of an audit.
    AuditKeys {
        /// What it looks for, as `counts` of operations has it.
        counts: Text = Text { most: 60, lines: false, example: "notes" }, Required;
        /// Statement that answers with one number.
        sql: Read<String> = PLAIN, Required;
        /// The number that it gives before the load.
        initial: Whole<u64> = Whole { min: 0, max: 1 << 53 }, Default("0");
    }
}
