//! Messages come back as they were written, and no bytes make a reader panic.

use proptest::prelude::*;
use rookery_workload::orderentry::transaction::Row;

use super::*;
use crate::sqlite::{
    frames,
    wire::{LENGTH, MAX_REPLY, frame_length},
};

/// What a frame in `out` holds.
fn content(out: &[u8]) -> &[u8] {
    let (head, content) = out.split_first_chunk::<LENGTH>().expect("a frame");
    assert_eq!(frame_length(*head, MAX_REPLY), Ok(content.len()));
    content
}

#[test]
fn requests_come_back() {
    let mut out = Vec::new();
    for style in [None, Some(Style::Plain), Some(Style::Pipelined)] {
        write_hello(&mut out, Hello::new(style));
        let Ok(Request::Hello(hello)) = Request::read(content(&out)) else {
            panic!("a greeting");
        };
        assert!(hello.fits() && hello.style == style);
        assert!(
            !Hello {
                version: 9,
                ..hello
            }
            .fits()
                && !Hello {
                    fingerprint: 9,
                    ..hello
                }
                .fits()
        );
    }
    write_text(&mut out, "SELECT 1");
    assert_eq!(Request::read(content(&out)), Ok(Request::Text("SELECT 1")));
    write_counters_request(&mut out);
    assert_eq!(Request::read(content(&out)), Ok(Request::Counters));
    let load = LoadRequest {
        population: Population::new(Scale::new(7, 100).expect("valid"), 42),
        schema: SchemaOptions {
            foreign_keys: true,
            history_key: false,
        },
        overwrite: true,
    };
    write_load(&mut out, &load);
    assert_eq!(Request::read(content(&out)), Ok(Request::Load(load)));
}

#[test]
fn replies_come_back() {
    let mut out = Vec::new();
    write_welcome(&mut out, "3.50");
    assert_eq!(Reply::read(content(&out)), Ok(Reply::Welcome("3.50")));
    let counters = CacheCounters { hits: 5, misses: 7 };
    write_counters(&mut out, counters);
    assert_eq!(Reply::read(content(&out)), Ok(Reply::Counters(counters)));
    write_progress(&mut out, 1, 2);
    assert_eq!(
        Reply::read(content(&out)),
        Ok(Reply::Progress { rows: 1, bytes: 2 })
    );
    for kind in ErrorKind::ALL {
        write_error(&mut out, kind, -5, "no");
        let error = Reply::Error {
            kind,
            code: -5,
            text: "no",
        };
        assert_eq!(Reply::read(content(&out)), Ok(error));
    }
}

#[test]
fn answers_come_back() {
    let mut out = Vec::new();
    let mut writer = AnswersWriter::begin(&mut out);
    writer.begin_answer(0);
    writer.end_answer(3);
    writer.begin_answer(2);
    for number in [1, 2] {
        let row = writer.row();
        put_value(row, Value::Int(number));
        put_value(row, Value::Text(b"x"));
    }
    writer.end_answer(0);
    writer.finish();
    let Ok(Reply::Answers(reader)) = Reply::read(content(&out)) else {
        panic!("answers");
    };
    let mut answers = Answers::default();
    reader.into_answers(&mut answers).expect("read");
    assert_eq!(answers.get(0).expect("the first").affected(), 3);
    let second = answers.get(1).expect("the second");
    let values: Vec<_> = second
        .rows()
        .filter_map(|row: Row<'_>| row.value(0))
        .collect();
    assert_eq!(values, [Value::Int(1), Value::Int(2)]);
    let text = reader.into_text().expect("read");
    assert_eq!(text[1], [Some("2".to_owned()), Some("x".to_owned())]);
    // Rows without columns could be any number in a short frame.
    assert_eq!(bounded(u32::MAX, 0), Err(WireError::Truncated));
}

/// A flight of one call as bytes.
fn flight_bytes(statement: Statement, values: &[Value<'_>]) -> Vec<u8> {
    let mut bytes = 1_u16.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(statement.index() as u16).to_le_bytes());
    bytes.push(values.len() as u8);
    values
        .iter()
        .for_each(|&value| put_value(&mut bytes, value));
    bytes
}

#[test]
fn calls_of_a_flight_are_read_in_order() {
    let bytes = flight_bytes(Statement::COMMIT, &[Value::Int(4), Value::Null]);
    let mut reader = FlightReader::new(Fields(&bytes)).expect("a flight");
    assert_eq!(reader.call(), Ok(Some((Statement::COMMIT.index(), 2))));
    assert_eq!(reader.value(), Ok(Value::Int(4)));
    assert_eq!(reader.value(), Ok(Value::Null));
    assert_eq!(reader.call(), Ok(None));
    let longer = [bytes.as_slice(), b"x"].concat();
    let mut reader = FlightReader::new(Fields(&longer)).expect("a flight");
    while let Ok(Some((_, values))) = reader.call() {
        (0..values).for_each(|_| drop(reader.value()));
    }
    assert_eq!(reader.call(), Err(WireError::Surplus(1)));
}

#[test]
fn a_line_is_read_frame_by_frame() {
    let mut line = Vec::new();
    let mut out = Vec::new();
    write_text(&mut out, "SELECT 1");
    line.extend_from_slice(&out);
    let flight = flight_bytes(Statement::COMMIT, &[Value::Int(4), Value::Null]);
    line.extend_from_slice(&(flight.len() as u32 + 1).to_le_bytes());
    line.push(FLIGHT);
    line.extend_from_slice(&flight);
    let mut writer = AnswersWriter::begin(&mut out);
    writer.begin_answer(0);
    writer.end_answer(3);
    writer.finish();
    line.extend_from_slice(&out);
    let read = frames::read(&line);
    assert_eq!(
        (read.requests, read.values, read.replies, read.answers),
        (2, 2, 1, 1)
    );
    line.pop();
    assert_eq!(
        frames::read(&line).replies,
        0,
        "a frame that is not whole is none"
    );
}

#[test]
fn every_statement_has_a_number_that_travels() {
    assert!(Statement::COUNT <= usize::from(u16::MAX));
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(kind in 0_u8..=255, rest in proptest::collection::vec(any::<u8>(), 0..300)) {
        let length = (rest.len() as u32 + 1).to_le_bytes();
        let frame = [&length[..], &[kind], &rest].concat();
        let read = frames::read(&frame);
        prop_assert!(read.requests <= 1 && read.replies <= 1);
        prop_assert_eq!(read.disputed, 0);
    }

    #[test]
    fn a_cut_message_is_refused(cut in 0_usize..30) {
        let mut out = Vec::new();
        write_load(&mut out, &LoadRequest {
            population: Population::new(Scale::new(1, 1).expect("valid"), 1),
            schema: SchemaOptions::default(),
            overwrite: false,
        });
        let whole = content(&out);
        prop_assume!(cut < whole.len());
        prop_assert!(Request::read(&whole[..cut]).is_err());
    }
}
