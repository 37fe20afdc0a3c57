//! The desk of a terminal: the calls that it prepares, and the answers that it got.

use super::{
    exchange::{Answer, Answers, Flight, Row, Session},
    failure::{Bug, Failure},
};
use crate::orderentry::sql::Statement;

/// The buffers of one terminal.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    flight: Flight,
    answers: Answers,
    flown: bool,
    stops_at_error: bool,
}

impl Desk {
    /// Empty buffers; they grow to the largest transaction and stay so.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn reset<S: Session>(&mut self, session: &S) {
        self.flight.clear();
        self.flown = false;
        self.stops_at_error = session.stops_at_error();
    }

    /// Adds a call to the flight; the first one after [`Self::fly`] begins a new flight.
    pub(super) fn call(&mut self, statement: Statement) -> &mut Flight {
        if self.flown {
            self.flight.clear();
            self.flown = false;
        }
        self.flight.call(statement)
    }

    /// Sends the flight and waits for its answers.
    pub(super) async fn fly<S: Session>(
        &mut self,
        session: &mut S,
    ) -> Result<(), Failure<S::Error>> {
        let committing = self
            .flight
            .calls()
            .any(|(statement, _)| statement == Statement::COMMIT);
        self.send(session, committing).await
    }

    async fn send<S: Session>(
        &mut self,
        session: &mut S,
        committing: bool,
    ) -> Result<(), Failure<S::Error>> {
        self.answers.clear();
        self.flown = true;
        let sent = session.fly(&self.flight, &mut self.answers).await;
        sent.map_err(|error| Failure::Session { error, committing })
    }

    /// Sends one call that needs no parameters.
    pub(super) async fn control<S: Session>(
        &mut self,
        session: &mut S,
        statement: Statement,
    ) -> Result<(), Failure<S::Error>> {
        self.call(statement);
        self.fly(session).await
    }

    /// Sends a flight that commits by itself, as a procedure does.
    pub(super) async fn fly_committing<S: Session>(
        &mut self,
        session: &mut S,
    ) -> Result<(), Failure<S::Error>> {
        self.send(session, true).await
    }

    /// Sends the last flight of a transaction with its COMMIT, or the COMMIT behind it where it
    /// must not travel along. `check` looks at the answers before a COMMIT that travels alone, else
    /// after it.
    pub(super) async fn fly_and_commit<S: Session>(
        &mut self,
        session: &mut S,
        check: impl FnOnce(&Self) -> Result<(), Failure<S::Error>>,
    ) -> Result<(), Failure<S::Error>> {
        if self.stops_at_error {
            self.call(Statement::COMMIT);
            self.fly(session).await?;
            check(self)
        } else {
            self.fly(session).await?;
            check(self)?;
            self.control(session, Statement::COMMIT).await
        }
    }

    /// Number of calls in the flight.
    pub(super) fn calls(&self) -> usize {
        self.flight.len()
    }

    /// The answer to call `call` of the last flight.
    pub(super) fn answer(&self, call: usize) -> Result<Answer<'_>, Bug> {
        self.answers.get(call).ok_or(Bug::NoAnswer(call))
    }

    /// The first row of an answer, if there is one.
    pub(super) fn first(&self, call: usize) -> Result<Option<Row<'_>>, Bug> {
        Ok(self.answer(call)?.row(0))
    }

    /// The first row of an answer that must have one.
    pub(super) fn row(&self, call: usize) -> Result<Row<'_>, Bug> {
        self.first(call)?
            .ok_or_else(|| Bug::MissingRow(self.statement(call)))
    }

    /// Checks that a call changed exactly `expected` rows.
    pub(super) fn changed(&self, call: usize, expected: u64) -> Result<(), Bug> {
        let changed = self.answer(call)?.affected();
        if changed == expected {
            return Ok(());
        }
        Err(Bug::Changed {
            statement: self.statement(call),
            changed,
            expected,
        })
    }

    fn statement(&self, call: usize) -> Statement {
        self.flight.statement(call).unwrap_or(Statement::COMMIT)
    }
}
