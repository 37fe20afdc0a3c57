//! A transaction with its retries.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{Bug, Cause, Desk, ErrorClass, Failure, Outcome, Retries, Session, Verdict, execute};
use crate::orderentry::{
    sql::{Statement, Style},
    terminal::Input,
};

/// How a transaction ended.
#[derive(Debug)]
pub enum Ended<E> {
    /// It completed.
    Done(Outcome),
    /// All retries failed, the last for this cause. Nothing was changed.
    Failed(Cause),
    /// The connection was lost during a COMMIT: nobody knows whether the transaction was committed.
    Unknown(E),
    /// The connection was lost before a COMMIT: nothing was changed, and the same input may be
    /// tried on a new connection.
    Disconnected(E),
    /// The server refused something that it must not refuse: the run stops.
    Refused(E),
    /// The database is not what it must be: the run stops.
    Bug(Bug),
}

/// A transaction and what it took.
#[derive(Debug)]
pub struct Performed<E> {
    /// How it ended.
    pub ended: Ended<E>,
    /// Attempts, at least 1.
    pub attempts: u32,
    /// Retries by cause, in the order of [`Cause::ALL`].
    pub retries: [u32; 5],
}

/// Executes `input`, and again when that may help: the same input from the start, in a new
/// transaction.
///
/// `pause` waits; the time between the first attempt and the end is the response time.
pub async fn perform<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &Input,
    retries: &mut Retries,
    mut pause: impl AsyncFnMut(Duration),
) -> Performed<S::Error> {
    let mut performed = Performed {
        ended: Ended::Failed(Cause::LostRace),
        attempts: 0,
        retries: [0; 5],
    };
    loop {
        performed.attempts += 1;
        let cause = match execute(session, desk, style, input).await {
            Ok(outcome) => {
                performed.ended = Ended::Done(outcome);
                return performed;
            }
            Err(Failure::LostRace) => Cause::LostRace,
            Err(Failure::Bug(bug)) => {
                // The connection may be used again; that rolling back fails too would add nothing.
                let _ = desk.control(session, Statement::ROLLBACK).await;
                performed.ended = Ended::Bug(bug);
                return performed;
            }
            Err(Failure::Session { error, committing }) => match session.classify(&error) {
                ErrorClass::Retry(cause) => cause,
                ErrorClass::ConnectionLost => {
                    performed.ended = if committing {
                        Ended::Unknown(error)
                    } else {
                        Ended::Disconnected(error)
                    };
                    return performed;
                }
                ErrorClass::Bug => {
                    let _ = desk.control(session, Statement::ROLLBACK).await;
                    performed.ended = Ended::Refused(error);
                    return performed;
                }
            },
        };
        if let Err(failure) = desk.control(session, Statement::ROLLBACK).await {
            performed.ended = rollback_failed(failure);
            return performed;
        }
        match retries.judge(performed.attempts) {
            Verdict::After(wait) => {
                performed.retries[cause as usize] += 1;
                if !wait.is_zero() {
                    pause(wait).await;
                }
            }
            Verdict::GiveUp => {
                performed.ended = Ended::Failed(cause);
                return performed;
            }
        }
    }
}

/// Without a connection nothing stays: the server rolls back by itself.
fn rollback_failed<E>(failure: Failure<E>) -> Ended<E> {
    match failure {
        Failure::Session { error, .. } => Ended::Disconnected(error),
        Failure::LostRace => Ended::Failed(Cause::LostRace),
        Failure::Bug(bug) => Ended::Bug(bug),
    }
}

/// Drives a future of a blocking session, which is always ready.
///
/// # Panics
/// When the future waits: the session was not a blocking one.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a blocking session never waits for another task"),
    }
}
