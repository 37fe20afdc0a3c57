//! Rows in PostgreSQL's binary COPY format (its manual, "COPY", "Binary Format"): the server need
//! not read numbers and times from text again.

use rookery_cast::{count_u16, count_u32, low_u16};
use rookery_workload::orderentry::{
    Column, ColumnType, Decimal, Table, Timestamp,
    population::{PartRows, RowSink},
};

/// What a stream begins with: its signature, no flags, no extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with, instead of a row's count of fields.
pub(super) const TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// The server counts time from 2000-01-01, in us.
const EPOCH: Timestamp = Timestamp::DEFAULT_LOAD;
/// A digit of its decimals holds so many decimal digits.
const DIGIT: u8 = 4;
/// And is less than this.
const BASE: u64 = 10_000;
/// The digits of a 64-bit number, and one for the zeros that fill the last.
const MOST_DIGITS: usize = 6;

/// Appends rows to `out` until that holds `target` bytes or more, or there are none. Gives the
/// number of rows, and whether more follow.
pub(super) fn fill(
    rows: &mut PartRows,
    table: Table,
    out: &mut Vec<u8>,
    target: usize,
) -> (u64, bool) {
    let mut sink = BinarySink {
        out,
        columns: table.loaded_columns(),
        target,
        field: 0,
        rows: 0,
    };
    let more = rows.fill(&mut sink);
    (sink.rows, more)
}

struct BinarySink<'b> {
    out: &'b mut Vec<u8>,
    columns: &'static [Column],
    target: usize,
    /// The number of the next field.
    field: usize,
    rows: u64,
}

impl BinarySink<'_> {
    /// Begins a field, and before the first one the row.
    #[inline]
    fn next(&mut self) -> Option<ColumnType> {
        if self.field == 0 {
            self.out
                .extend_from_slice(&count_u16(self.columns.len()).to_be_bytes());
        }
        self.field += 1;
        self.columns.get(self.field - 1).map(|column| column.kind)
    }

    /// A field of fixed length: the length and the value in one.
    #[inline]
    fn eight(&mut self, value: i64) {
        let mut field = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        field[4..].copy_from_slice(&value.to_be_bytes());
        self.out.extend_from_slice(&field);
    }
}

impl RowSink for BinarySink<'_> {
    #[inline]
    fn int(&mut self, value: i64) {
        let kind = self.next();
        if let (Some(ColumnType::Small), Ok(value)) = (kind, i16::try_from(value)) {
            let [high, low] = value.to_be_bytes();
            self.out.extend_from_slice(&[0, 0, 0, 2, high, low]);
        } else if let (Some(ColumnType::Int), Ok(value)) = (kind, i32::try_from(value)) {
            let mut field = [0, 0, 0, 4, 0, 0, 0, 0];
            field[4..].copy_from_slice(&value.to_be_bytes());
            self.out.extend_from_slice(&field);
        } else {
            // What does not fit its column is refused by the server for its length.
            self.eight(value);
        }
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        self.next();
        self.out
            .extend_from_slice(&count_u32(value.len()).to_be_bytes());
        self.out.extend_from_slice(value);
    }

    #[inline]
    fn decimal(&mut self, value: Decimal) {
        self.next();
        push_numeric(value, self.out);
    }

    #[inline]
    fn time(&mut self, value: Timestamp) {
        self.next();
        self.eight((value.0 - EPOCH.0) * 1_000_000);
    }

    #[inline]
    fn null(&mut self) {
        self.next();
        self.out.extend_from_slice(&(-1_i32).to_be_bytes());
    }

    #[inline]
    fn end_row(&mut self) -> bool {
        self.field = 0;
        self.rows += 1;
        self.out.len() < self.target
    }
}

/// A field with a decimal: how many digits of base 10,000, the power of the first, sign, digits
/// behind the point, digits.
fn push_numeric(value: Decimal, out: &mut Vec<u8>) {
    let behind = usize::from(value.scale.div_ceil(DIGIT));
    let mut rest = value.unscaled.unsigned_abs();
    let mut digits = [0_u16; MOST_DIGITS];
    let mut count = 0;
    let odd = u32::from(value.scale % DIGIT);
    if odd > 0 {
        // The last one is filled with zeros.
        let part = 10_u64.pow(odd);
        digits[0] = low_u16(rest % part * (BASE / part));
        rest /= part;
        count = 1;
    }
    while rest > 0 && count < MOST_DIGITS {
        digits[count] = (rest % BASE) as u16;
        rest /= BASE;
        count += 1;
    }
    // Signed in 16 bits.
    let weight = count_u16(count).wrapping_sub(count_u16(behind) + 1);
    let sign: u16 = if value.unscaled < 0 { 0x4000 } else { 0 };
    out.extend_from_slice(&(8 + 2 * count_u32(count)).to_be_bytes());
    for part in [count_u16(count), weight, sign, u16::from(value.scale)] {
        out.extend_from_slice(&part.to_be_bytes());
    }
    for digit in digits[..count].iter().rev() {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(unscaled: i64, scale: u8) -> Vec<i16> {
        let mut out = Vec::new();
        push_numeric(Decimal { unscaled, scale }, &mut out);
        assert_eq!(out[..4], (out.len() as u32 - 4).to_be_bytes(), "its length");
        out[4..]
            .chunks(2)
            .map(|pair| i16::from_be_bytes([pair[0], pair[1]]))
            .collect()
    }

    #[test]
    fn decimals_have_digits_of_four() {
        // Count, power of the first, sign, digits behind the point; digits.
        assert_eq!(numeric(0, 2), [1, -1, 0, 2, 0]);
        assert_eq!(numeric(0, 4), [0, -2, 0, 4]);
        assert_eq!(numeric(1, 2), [1, -1, 0, 2, 100]);
        assert_eq!(numeric(-1_000, 2), [2, 0, 0x4000, 2, 10, 0]);
        assert_eq!(numeric(30_000_000, 2), [3, 1, 0, 2, 30, 0, 0]);
        assert_eq!(numeric(1_234, 4), [1, -1, 0, 4, 1_234]);
        assert_eq!(numeric(123_456, 0), [2, 1, 0, 0, 12, 3_456]);
        assert_eq!(
            numeric(i64::MIN, 9)[..2],
            [6, 2],
            "the largest that there is"
        );
    }

    #[test]
    fn a_row_is_its_fields_behind_their_lengths() {
        let mut out = Vec::new();
        let mut sink = BinarySink {
            out: &mut out,
            columns: Table::NewOrders.loaded_columns(),
            target: 0,
            field: 0,
            rows: 0,
        };
        sink.int(7);
        sink.int(-2);
        sink.int(1 << 40);
        assert!(!sink.end_row() && sink.rows == 1);
        let fits: [u8; 16] = [0, 3, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 2, 255, 254];
        assert_eq!(out[..16], fits);
        assert_eq!(
            out[16..],
            [0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0],
            "eight bytes where the column has four"
        );
    }
}
