//! Parameters and columns in the binary protocol of MySQL: whole numbers, text, and dates, which
//! come back as text.

use rookery_cast::{count_u8, count_u32, low_u8};
use rookery_workload::orderentry::transaction::{Answers, Value};

use super::packet::{Reader, cut, put_text};
use crate::ClientError;

const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const VAR_STRING: u8 = 0xfd;

const UNSIGNED: u64 = 0x20;

/// What becomes of columns of types that the schema of order entry does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// They are an error: money is never a float.
    Refused,
    /// They come as text.
    AsText,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    kind: u8,
    unsigned: bool,
}

impl Column {
    /// Reads the description of a column.
    pub(super) fn parse(packet: &[u8]) -> Result<Self, ClientError> {
        let mut reader = Reader(packet);
        // Catalogue, schema, table twice, name twice.
        for _ in 0..6 {
            reader.text()?;
        }
        // Length of the rest, character set, width.
        reader.bytes(1 + 2 + 4)?;
        Ok(Self {
            kind: low_u8(reader.number(1)?),
            unsigned: reader.number(2)? & UNSIGNED != 0,
        })
    }
}

/// Appends the parameters of a call: which are null, their types, their values.
pub(super) fn put_parameters<'a>(
    out: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
) {
    if values.len() == 0 {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + values.len().div_ceil(8), 0);
    // The types follow.
    out.push(1);
    for (index, value) in values.clone().enumerate() {
        let kind = match value {
            Value::Null => {
                out[nulls + index / 8] |= 1 << (index % 8);
                NULL
            }
            Value::Int(_) => LONGLONG,
            // An exact number is exact as text alone.
            Value::Decimal(_) | Value::Time(_) | Value::Text(_) => VAR_STRING,
        };
        out.extend_from_slice(&[kind, 0]);
    }
    for value in values {
        match value {
            Value::Null => {}
            Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Decimal(decimal) => put_short(out, |out| decimal.write(out)),
            Value::Time(time) => put_text(out, time.to_string().as_bytes()),
            Value::Text(text) => put_text(out, text),
        }
    }
}

/// Appends what `write` appends, at most 250 bytes, with its length before it.
fn put_short(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    out[at] = count_u8(out.len() - at - 1);
}

/// Appends a row, its first byte included, to `answers`.
pub(super) fn push_row(
    packet: &[u8],
    columns: &[Column],
    others: Others,
    answers: &mut Answers,
) -> Result<(), ClientError> {
    let mut reader = Reader(packet);
    reader.bytes(1)?;
    let nulls = reader.bytes((columns.len() + 2).div_ceil(8))?;
    for (index, column) in columns.iter().enumerate() {
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            answers.push_null();
        } else {
            push(*column, others, &mut reader, answers)?;
        }
    }
    answers.end_row();
    Ok(())
}

#[inline]
fn push(
    column: Column,
    others: Others,
    reader: &mut Reader<'_>,
    answers: &mut Answers,
) -> Result<(), ClientError> {
    let width = match column.kind {
        TINY => 1,
        SHORT | YEAR => 2,
        LONG | INT24 => 4,
        LONGLONG => 8,
        FLOAT if others == Others::AsText => {
            let number = f32::from_bits(rookery_cast::low_u32(reader.number(4)?));
            answers.push_text(number.to_string().as_bytes());
            return Ok(());
        }
        DOUBLE if others == Others::AsText => {
            let number = f64::from_bits(reader.number(8)?);
            answers.push_text(number.to_string().as_bytes());
            return Ok(());
        }
        TIME if others == Others::AsText => {
            answers.push_text(time(reader.text()?)?.as_bytes());
            return Ok(());
        }
        FLOAT | DOUBLE => {
            return Err(ClientError::Session(
                "a column is a float: the schema is not the workload's".to_owned(),
            ));
        }
        DATE | DATETIME | TIMESTAMP => {
            answers.push_text(date(reader.text()?)?.as_bytes());
            return Ok(());
        }
        TIME => return Err(ClientError::Session("a column is a time of day".to_owned())),
        _ => {
            answers.push_text(reader.text()?);
            return Ok(());
        }
    };
    let raw = reader.number(width)?;
    let number = if column.unsigned {
        i64::try_from(raw).unwrap_or(i64::MAX)
    } else {
        // The sign stands in the highest bit of the number's own width.
        let unused = 64 - 8 * count_u32(width);
        (raw << unused).cast_signed() >> unused
    };
    answers.push_int(number);
    Ok(())
}

/// A length of time as the server would write it, without parts of seconds.
fn time(raw: &[u8]) -> Result<String, ClientError> {
    if raw.is_empty() {
        return Ok("00:00:00".to_owned());
    }
    let mut reader = Reader(raw);
    let sign = if reader.number(1)? != 0 { "-" } else { "" };
    let days = reader.number(4)?;
    let clock = reader.bytes(3).map_err(|_| cut())?;
    let hours = days * 24 + u64::from(clock[0]);
    Ok(format!("{sign}{hours:02}:{:02}:{:02}", clock[1], clock[2]))
}

/// A date and time as the server would write it.
fn date(raw: &[u8]) -> Result<String, ClientError> {
    if raw.is_empty() {
        return Ok("0000-00-00 00:00:00".to_owned());
    }
    let mut reader = Reader(raw);
    let (year, month, day) = (reader.number(2)?, reader.number(1)?, reader.number(1)?);
    if reader.0.is_empty() {
        return Ok(format!("{year:04}-{month:02}-{day:02} 00:00:00"));
    }
    let clock = reader.bytes(3).map_err(|_| cut())?;
    Ok(format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        clock[0], clock[1], clock[2]
    ))
}

#[cfg(test)]
mod tests {
    use rookery_workload::orderentry::Decimal;

    use super::*;

    #[test]
    fn parameters_are_types_and_values() {
        let mut out = Vec::new();
        let values = [
            Value::Int(-2),
            Value::Null,
            Value::Decimal(Decimal::cents(-105)),
            Value::Text(b"ab"),
        ];
        put_parameters(&mut out, values.into_iter());
        let types = [0b10, 1, LONGLONG, 0, NULL, 0, VAR_STRING, 0, VAR_STRING, 0];
        assert_eq!(out[..types.len()], types);
        assert_eq!(out[types.len()..types.len() + 8], (-2i64).to_le_bytes());
        assert_eq!(&out[types.len() + 8..], b"\x05-1.05\x02ab");
        out.clear();
        put_parameters(&mut out, std::iter::empty());
        assert!(out.is_empty());
    }

    fn cells(columns: &[(u8, bool)], packet: &[u8]) -> Result<Answers, ClientError> {
        let columns: Vec<Column> = columns
            .iter()
            .map(|&(kind, unsigned)| Column { kind, unsigned })
            .collect();
        let mut answers = Answers::default();
        push_row(packet, &columns, Others::Refused, &mut answers)?;
        answers.end_answer(0);
        Ok(answers)
    }

    #[test]
    fn rows_are_read_by_their_types() {
        let kinds = [
            (TINY, false),
            (SHORT, true),
            (LONG, false),
            (LONGLONG, false),
            (VAR_STRING, false),
            (DATETIME, false),
        ];
        let mut packet = vec![0, 0b0010_0000];
        packet.extend_from_slice(&[0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        packet.extend_from_slice(b"\x02ab\x07\xd0\x07\x01\x02\x03\x04\x05");
        let answers = cells(&kinds, &packet).expect("whole");
        let row = answers
            .get(0)
            .and_then(|answer| answer.row(0))
            .expect("a row");
        let expected = [
            Value::Int(-1),
            Value::Int(65_534),
            Value::Int(i64::from(i32::MAX)),
            Value::Text(b"ab"),
        ];
        assert_eq!(
            [0, 1, 2, 4].map(|column| row.value(column)),
            expected.map(Some)
        );
        assert_eq!(
            row.value(3),
            Some(Value::Null),
            "the bits of nulls begin at the third"
        );
        assert_eq!(row.value(5), Some(Value::Text(b"2000-01-02 03:04:05")));
        assert!(
            cells(&kinds, &packet[..packet.len() - 1]).is_err(),
            "a byte is missing"
        );
        assert!(
            cells(&[(DOUBLE, false)], &[0; 10]).is_err(),
            "money is never a float"
        );
    }

    #[test]
    fn other_types_come_as_text_where_they_may() {
        let columns = [DOUBLE, FLOAT, TIME].map(|kind| Column {
            kind,
            unsigned: false,
        });
        let mut packet = vec![0, 0];
        packet.extend_from_slice(&1.5f64.to_le_bytes());
        packet.extend_from_slice(&(-0.25f32).to_le_bytes());
        packet.extend_from_slice(&[8, 1, 1, 0, 0, 0, 2, 3, 4]);
        let mut answers = Answers::default();
        push_row(&packet, &columns, Others::AsText, &mut answers).expect("whole");
        answers.end_answer(0);
        let answer = answers.get(0).expect("an answer");
        let row = answer.row(0).expect("a row");
        let texts = [b"1.5".as_slice(), b"-0.25", b"-26:03:04"];
        assert_eq!(
            [0, 1, 2].map(|column| row.value(column)),
            texts.map(|text| Some(Value::Text(text)))
        );
    }
}
