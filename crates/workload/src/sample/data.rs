//! The records that a server holds before the load.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The data of one guest, as numbers: the same numbers give the same records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleData {
    /// Records, numbered from 1.
    pub records: u32,
    /// Length of each record, bytes.
    pub record_bytes: u32,
}

impl SampleData {
    /// Bytes of all records.
    #[must_use]
    pub fn bytes(self) -> u64 {
        // Each ends its line.
        u64::from(self.records) * (u64::from(self.record_bytes) + 1)
    }

    /// The text of record `number`: its number and letters, as long as every other.
    #[must_use]
    pub fn record(self, number: u32) -> String {
        let length = self.record_bytes as usize;
        let mut text = format!("record-{number}-");
        let fill = (0u8..26).map(|letter| char::from(b'a' + letter)).cycle();
        text.extend(fill.take(length.saturating_sub(text.len())));
        text.truncate(length);
        text
    }
}

impl fmt::Display for SampleData {
    /// `1000 records of 64 bytes`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.records {
            1 => f.write_str("1 record")?,
            several => write!(f, "{several} records")?,
        }
        write!(f, " of {} bytes", self.record_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_their_length_and_their_number() {
        let data = SampleData {
            records: 20,
            record_bytes: 16,
        };
        assert_eq!(data.record(7), "record-7-abcdefg");
        assert_eq!(data.record(1_234_567_890), "record-123456789");
        assert_eq!(data.bytes(), 20 * 17);
        assert_eq!(data.to_string(), "20 records of 16 bytes");
    }
}
