//! A stream of bytes read as both ends of a session read it, for fuzzing.

use rookery_workload::orderentry::transaction::Answers;

use super::{
    message::{FlightReader, Reply, Request},
    wire::{LENGTH, MAX_REPLY, MAX_REQUEST, frame_length},
};
use crate::error::WireError;

/// What was understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Frames that are requests, their flights read to the end.
    pub requests: usize,
    /// Values of those flights.
    pub values: usize,
    /// Frames that are replies, their answers read to the end.
    pub replies: usize,
    /// Answers of those replies.
    pub answers: usize,
    /// Replies whose answers one reader understands and the other does not: always none.
    pub disputed: usize,
}

/// Reads frame after frame, each as a request and as a reply, until one announces more than there
/// is.
#[must_use]
pub fn read(mut bytes: &[u8]) -> Frames {
    let mut frames = Frames::default();
    while let Some((head, rest)) = bytes.split_first_chunk::<LENGTH>() {
        let Ok(length) = frame_length(*head, MAX_REPLY) else {
            break;
        };
        let Some((frame, rest)) = rest.split_at_checked(length) else {
            break;
        };
        if length <= MAX_REQUEST
            && let Ok(values) = request(frame)
        {
            frames.requests += 1;
            frames.values += values;
        }
        reply(frame, &mut frames);
        bytes = rest;
    }
    frames
}

/// Values of the flight that a request is; none of others.
fn request(frame: &[u8]) -> Result<usize, WireError> {
    let Request::Flight(fields) = Request::read(frame)? else {
        return Ok(0);
    };
    let mut reader = FlightReader::new(fields)?;
    let mut values = 0;
    while let Some((_, count)) = reader.call()? {
        (0..count).try_for_each(|_| reader.value().map(drop))?;
        values += usize::from(count);
    }
    Ok(values)
}

fn reply(frame: &[u8], frames: &mut Frames) {
    let reader = match Reply::read(frame) {
        Ok(Reply::Answers(reader)) => reader,
        other => {
            frames.replies += usize::from(other.is_ok());
            return;
        }
    };
    let mut answers = Answers::default();
    let (read, text) = (reader.into_answers(&mut answers), reader.into_text());
    match (read, text) {
        (Ok(()), Ok(_)) => {
            frames.replies += 1;
            frames.answers += (0..)
                .take_while(|&index| answers.get(index).is_some())
                .count();
        }
        (Err(_), Err(_)) => {}
        _ => frames.disputed += 1,
    }
}
