//! Errors on the way: what is tried again, what is not, and what travels with what. The session is
//! a script.

use std::{collections::VecDeque, future::ready, time::Duration};

use super::*;
use crate::orderentry::{
    decimal::Timestamp,
    dialect::Dialect,
    sql::{Statement, Verb},
    terminal::{DeliveryInput, StockLevelInput},
};

/// A session that answers every call with the same row of numbers, and fails where it is told to.
struct Script {
    dialect: Dialect,
    /// The flights that fail, counted from 1, and how.
    failures: VecDeque<(usize, ErrorClass)>,
    flights: Vec<Vec<Statement>>,
    affected: u64,
}

impl Script {
    fn new(dialect: Dialect, failures: &[(usize, ErrorClass)]) -> Self {
        Self {
            dialect,
            failures: failures.to_vec().into(),
            flights: Vec::new(),
            affected: 1,
        }
    }

    fn count(&self, statement: Statement) -> usize {
        self.flights
            .iter()
            .flatten()
            .filter(|&&sent| sent == statement)
            .count()
    }
}

impl Session for Script {
    type Error = ErrorClass;

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> impl Future<Output = Result<(), ErrorClass>> {
        self.flights
            .push(flight.calls().map(|(statement, _)| statement).collect());
        for _ in flight.calls() {
            // District, customer and sum of every order alike, so that each question finds its
            // answer.
            for number in [1, 1, 1] {
                answers.push_int(number);
            }
            answers.end_row();
            answers.end_answer(self.affected);
        }
        let now = self.flights.len();
        ready(match self.failures.front() {
            Some(&(flight, class)) if flight == now => {
                self.failures.pop_front();
                Err(class)
            }
            _ => Ok(()),
        })
    }

    fn classify(&self, error: &ErrorClass) -> ErrorClass {
        *error
    }
}

fn stock_level() -> Input {
    Input::StockLevel(StockLevelInput {
        warehouse: 1,
        district: 1,
        threshold: 15,
    })
}

fn delivery() -> Input {
    Input::Delivery(DeliveryInput {
        warehouse: 1,
        carrier: 1,
        at: Timestamp(0),
    })
}

fn run(
    script: &mut Script,
    style: Style,
    input: &Input,
    max_retries: u32,
) -> (Performed<ErrorClass>, Vec<Duration>) {
    let mut waits = Vec::new();
    let mut retries = Retries::new(max_retries, 1, 0);
    let performed = block_on(perform(
        script,
        &mut Desk::new(),
        style,
        input,
        &mut retries,
        async |wait| waits.push(wait),
    ));
    (performed, waits)
}

#[test]
fn a_deadlock_is_rolled_back_and_tried_again() {
    let deadlock = ErrorClass::Retry(Cause::Deadlock);
    // BEGIN, next order: fails; ROLLBACK; BEGIN: fails; ROLLBACK; then all four.
    let mut script = Script::new(Dialect::Mariadb, &[(2, deadlock), (4, deadlock)]);
    let (performed, waits) = run(&mut script, Style::Plain, &stock_level(), 10);
    assert!(matches!(
        performed.ended,
        Ended::Done(Outcome::StockLevel { low: 1 })
    ));
    assert_eq!(performed.attempts, 3);
    assert_eq!(performed.retries, [2, 0, 0, 0, 0]);
    assert_eq!(script.count(Statement::ROLLBACK), 2);
    assert_eq!(script.count(Statement::BEGIN_READ), 3);
    assert!(waits.len() <= 1, "the first retry is at once");
}

#[test]
fn retries_end() {
    let busy = ErrorClass::Retry(Cause::Busy);
    let failures: Vec<_> = (0..9).map(|attempt| (2 * attempt + 1, busy)).collect();
    let mut script = Script::new(Dialect::Sqlite, &failures);
    let (performed, _) = run(&mut script, Style::Plain, &stock_level(), 3);
    assert!(matches!(performed.ended, Ended::Failed(Cause::Busy)));
    assert_eq!(
        (performed.attempts, performed.retries),
        (4, [0, 0, 0, 3, 0])
    );
    assert_eq!(script.count(Statement::ROLLBACK), 4);
}

#[test]
fn a_connection_lost_during_commit_leaves_the_outcome_unknown() {
    let lost = ErrorClass::ConnectionLost;
    let ended = |flight, style| {
        run(
            &mut Script::new(Dialect::Postgresql, &[(flight, lost)]),
            style,
            &stock_level(),
            10,
        )
        .0
        .ended
    };
    assert!(matches!(ended(1, Style::Plain), Ended::Disconnected(_)));
    assert!(matches!(ended(3, Style::Plain), Ended::Disconnected(_)));
    assert!(matches!(ended(4, Style::Plain), Ended::Unknown(_)));
    assert!(matches!(ended(2, Style::Pipelined), Ended::Unknown(_)));
    assert!(matches!(ended(1, Style::Procs), Ended::Unknown(_)));
    // Lost while it rolls back: nothing was changed.
    let script = &mut Script::new(
        Dialect::Mariadb,
        &[(2, ErrorClass::Retry(Cause::Deadlock)), (3, lost)],
    );
    assert!(matches!(
        run(script, Style::Plain, &stock_level(), 10).0.ended,
        Ended::Disconnected(_)
    ));
}

#[test]
fn what_must_not_happen_is_not_tried_again() {
    let mut script = Script::new(Dialect::Mariadb, &[(3, ErrorClass::Bug)]);
    let (performed, _) = run(&mut script, Style::Plain, &stock_level(), 10);
    assert!(matches!(performed.ended, Ended::Refused(_)));
    assert_eq!(
        (performed.attempts, script.count(Statement::ROLLBACK)),
        (1, 1)
    );
    let mut script = Script::new(Dialect::Mariadb, &[]);
    script.affected = 2;
    let (performed, _) = run(&mut script, Style::Plain, &delivery(), 10);
    let Ended::Bug(bug) = performed.ended else {
        panic!("two rows of one key were deleted");
    };
    assert_eq!(
        bug.to_string(),
        "DeleteNewOrder changed 2 rows instead of 1: the database is not consistent"
    );
}

#[test]
fn a_lost_race_is_tried_again() {
    for style in [Style::Plain, Style::Batched, Style::Pipelined] {
        let mut script = Script::new(Dialect::Mariadb, &[]);
        script.affected = 0;
        let (performed, _) = run(&mut script, style, &delivery(), 2);
        assert!(
            matches!(performed.ended, Ended::Failed(Cause::LostRace)),
            "{style:?}: {:?}",
            performed.ended
        );
        assert_eq!(
            (performed.attempts, performed.retries),
            (3, [0, 0, 0, 0, 2])
        );
        assert_eq!(script.count(Statement::ROLLBACK), 3);
        assert_eq!(script.count(Statement::COMMIT), 0);
    }
}

#[test]
fn a_commit_travels_along_only_where_an_error_stops_the_flight() {
    let payment = Input::Payment(crate::orderentry::terminal::PaymentInput {
        warehouse: 1,
        district: 1,
        customer_warehouse: 1,
        customer_district: 1,
        customer: crate::orderentry::terminal::CustomerChoice::Id(1),
        amount_cents: 100,
    });
    let flights = |dialect| {
        let mut script = TextScript(Script::new(dialect, &[]));
        let mut desk = Desk::new();
        let outcome = block_on(execute(&mut script, &mut desk, Style::Pipelined, &payment));
        assert!(
            matches!(outcome, Ok(Outcome::Payment { .. })),
            "{outcome:?}"
        );
        script.0.flights
    };
    let together = flights(Dialect::Postgresql);
    assert_eq!(together.len(), 2);
    assert_eq!(together[1].last(), Some(&Statement::COMMIT));
    let alone = flights(Dialect::Mariadb);
    assert_eq!(alone.len(), 3);
    assert_eq!(alone[2], [Statement::COMMIT]);
    assert_eq!(
        together[0][..2],
        [Statement::BEGIN_WRITE, Statement::one(Verb::WarehousePay)]
    );
}

/// Answers with text first and a number after it, as payments want it.
struct TextScript(Script);

impl Session for TextScript {
    type Error = ErrorClass;

    fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    fn fly(
        &mut self,
        flight: &Flight,
        answers: &mut Answers,
    ) -> impl Future<Output = Result<(), ErrorClass>> {
        self.0
            .flights
            .push(flight.calls().map(|(statement, _)| statement).collect());
        for _ in flight.calls() {
            answers.push_text(b"GC");
            answers.push_text(b"-10.00");
            answers.end_row();
            answers.end_answer(1);
        }
        ready(Ok(()))
    }

    fn classify(&self, error: &ErrorClass) -> ErrorClass {
        *error
    }
}
