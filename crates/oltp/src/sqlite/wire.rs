//! Frames and fields: how messages lie on the line. Nothing that arrives is trusted.
//!
//! A frame is its length (4 bytes, without themselves) and as many bytes; numbers have their lowest
//! byte first. A value is a tag (0 null, 1 whole number, 2 text) and its content.

use crate::error::WireError;
use rookery_cast::count_u32;
use rookery_workload::orderentry::transaction::Value;

/// Bytes of a frame's length.
pub(super) const LENGTH: usize = 4;

/// Longest frame of a client. The largest flight of the workload has some 10 kB.
pub(super) const MAX_REQUEST: usize = 1 << 20;

/// Longest frame of the server.
pub(super) const MAX_REPLY: usize = 1 << 24;

/// The length that a frame's first bytes announce.
pub(super) fn frame_length(head: [u8; LENGTH], limit: usize) -> Result<usize, WireError> {
    let length = u32::from_le_bytes(head) as usize;
    if length > limit {
        return Err(WireError::TooLong { length, limit });
    }
    Ok(length)
}

/// Starts a frame in `out`, which it empties.
pub(super) fn begin_frame(out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; LENGTH]);
}

/// Writes the length of the frame that `out` holds.
pub(super) fn end_frame(out: &mut [u8]) {
    let length = count_u32(out.len() - LENGTH);
    out[..LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// Fields that are still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self
            .0
            .split_first_chunk::<N>()
            .ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, WireError> {
        self.array().map(i64::from_le_bytes)
    }

    /// Bytes behind their length.
    pub(super) fn long_bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.u32()? as usize;
        self.bytes(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, WireError> {
        std::str::from_utf8(self.long_bytes()?).map_err(|_| WireError::NotText)
    }

    /// A value; decimals and times never travel as such.
    pub(super) fn value(&mut self) -> Result<Value<'a>, WireError> {
        match self.u8()? {
            0 => Ok(Value::Null),
            1 => self.i64().map(Value::Int),
            2 => self.long_bytes().map(Value::Text),
            tag => Err(WireError::Unknown {
                what: "the type of a value",
                number: tag.into(),
            }),
        }
    }

    /// Nothing may be left.
    pub(super) fn end(self) -> Result<(), WireError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(WireError::Surplus(self.0.len()))
        }
    }
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&count_u32(bytes.len()).to_le_bytes());
    out.extend_from_slice(bytes);
}

pub(super) fn put_null(out: &mut Vec<u8>) {
    out.push(0);
}

pub(super) fn put_int(out: &mut Vec<u8>, number: i64) {
    out.push(1);
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(2);
    put_bytes(out, text);
}

/// A value as SQLite stores it: decimals as their unscaled number, times as text.
pub(super) fn put_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Null => put_null(out),
        Value::Int(number) => put_int(out, number),
        Value::Decimal(decimal) => put_int(out, decimal.unscaled),
        Value::Time(time) => put_text(out, time.to_string().as_bytes()),
        Value::Text(text) => put_text(out, text),
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::orderentry::{Decimal, Timestamp};

    use super::*;

    #[test]
    fn values_come_back_as_they_are_stored() {
        let mut out = Vec::new();
        let values = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::Decimal(Decimal::cents(-1005)),
            Value::Time(Timestamp::DEFAULT_LOAD),
            Value::Text(b"a\0b"),
        ];
        values.iter().for_each(|&value| put_value(&mut out, value));
        let mut fields = Fields(&out);
        let stored = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::Int(-1005),
            Value::Text(b"2000-01-01 00:00:00"),
            Value::Text(b"a\0b"),
        ];
        for value in stored {
            assert_eq!(fields.value(), Ok(value));
        }
        assert_eq!(fields.end(), Ok(()));
        assert_eq!(fields.value(), Err(WireError::Truncated));
    }

    #[test]
    fn garbage_is_named() {
        assert_eq!(
            Fields(&[7]).value(),
            Err(WireError::Unknown {
                what: "the type of a value",
                number: 7
            })
        );
        assert_eq!(
            Fields(&[2, 255, 255, 255, 255]).value(),
            Err(WireError::Truncated)
        );
        assert_eq!(Fields(&[1, 0, 0, 0, 0xff]).text(), Err(WireError::NotText));
        assert_eq!(Fields(b"ab").end(), Err(WireError::Surplus(2)));
        // A web browser's first bytes are no length.
        let error = frame_length(*b"GET ", MAX_REQUEST).expect_err("too long");
        assert!(error.to_string().contains("another protocol"), "{error}");
    }
}
