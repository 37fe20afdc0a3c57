//! Where rows go: any sink, and the text that databases load in bulk.

use std::str::FromStr;

use crate::{
    digits::push_number,
    orderentry::{
        decimal::{Decimal, Timestamp},
        dialect::{Dialect, ParseNameError},
    },
};

/// Takes rows field by field, in the order of
/// [`Table::loaded_columns`](crate::orderentry::Table::loaded_columns).
///
/// A loader implements it for the format of its client: a binary copy stream, parameter arrays, a
/// prepared insert.
pub trait RowSink {
    /// A whole number.
    fn int(&mut self, value: i64);
    /// Text, ASCII.
    fn text(&mut self, value: &[u8]);
    /// An exact decimal.
    fn decimal(&mut self, value: Decimal);
    /// A date and time.
    fn time(&mut self, value: Timestamp);
    /// Nothing.
    fn null(&mut self);
    /// The row is complete. Says whether the sink takes another one now; if not, the rest is kept
    /// for the next call.
    fn end_row(&mut self) -> bool;
}

/// A format that databases load in bulk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// Text of PostgreSQL's COPY: tabs between fields, `\N` for null.
    Copy,
    /// Text of MariaDB's and MySQL's LOAD DATA with its default clauses: tabs between fields, `\N`
    /// for null.
    LoadData,
    /// Comma separated, nothing quoted, nothing at all for null. Decimals are written out.
    Csv,
}

impl TextFormat {
    /// The name, and the ending of files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::LoadData => "load-data",
            Self::Csv => "csv",
        }
    }

    /// The format that `dialect` loads fastest as text.
    #[must_use]
    pub fn fastest_for(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Postgresql => Self::Copy,
            Dialect::Mariadb | Dialect::Mysql => Self::LoadData,
            Dialect::Sqlite | Dialect::Db2 | Dialect::Generic => Self::Csv,
        }
    }

    fn separator(self) -> u8 {
        if self == Self::Csv { b',' } else { b'\t' }
    }
}

impl FromStr for TextFormat {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "copy" => Ok(Self::Copy),
            "load-data" => Ok(Self::LoadData),
            "csv" => Ok(Self::Csv),
            _ => Err(ParseNameError {
                what: "format",
                name: name.to_owned(),
                choices: "copy, load-data or csv",
            }),
        }
    }
}

/// Appends rows as text to a buffer, until it holds `target` bytes or more.
#[derive(Debug)]
pub struct TextSink<'b> {
    out: &'b mut Vec<u8>,
    format: TextFormat,
    target: usize,
    rows: u64,
    first: bool,
    time: Option<(Timestamp, [u8; 19])>,
}

impl<'b> TextSink<'b> {
    /// A sink that appends to `out` and asks for no more rows when that holds `target` bytes.
    pub fn new(out: &'b mut Vec<u8>, format: TextFormat, target: usize) -> Self {
        Self {
            out,
            format,
            target,
            rows: 0,
            first: true,
            time: None,
        }
    }

    /// Rows written so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    #[inline]
    fn separate(&mut self) {
        if !self.first {
            self.out.push(self.format.separator());
        }
        self.first = false;
    }
}

impl RowSink for TextSink<'_> {
    #[inline]
    fn int(&mut self, value: i64) {
        self.separate();
        if value < 0 {
            self.out.push(b'-');
        }
        push_number(value.unsigned_abs(), self.out);
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        self.separate();
        self.out.extend_from_slice(value);
    }

    #[inline]
    fn decimal(&mut self, value: Decimal) {
        self.separate();
        value.write(self.out);
    }

    #[inline]
    fn time(&mut self, value: Timestamp) {
        self.separate();
        // Rows of one load share one time.
        match &self.time {
            Some((same, text)) if *same == value => self.out.extend_from_slice(text),
            _ => {
                let text = value.to_string();
                self.out.extend_from_slice(text.as_bytes());
                self.time = text.as_bytes().try_into().ok().map(|text| (value, text));
            }
        }
    }

    #[inline]
    fn null(&mut self) {
        self.separate();
        if self.format != TextFormat::Csv {
            self.out.extend_from_slice(b"\\N");
        }
    }

    #[inline]
    fn end_row(&mut self) -> bool {
        self.out.push(b'\n');
        self.first = true;
        self.rows += 1;
        self.out.len() < self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: TextFormat) -> String {
        let mut out = Vec::new();
        let mut sink = TextSink::new(&mut out, format, 1000);
        for time in [
            Timestamp::DEFAULT_LOAD,
            Timestamp::DEFAULT_LOAD,
            Timestamp(0),
        ] {
            sink.int(-7);
            sink.text(b"a b");
            sink.decimal(Decimal::cents(-1005));
            sink.time(time);
            sink.null();
            assert!(sink.end_row());
        }
        assert_eq!(sink.rows(), 3);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn rows_are_what_bulk_loaders_read() {
        let row = "-7\ta b\t-10.05\t2000-01-01 00:00:00\t\\N\n";
        let last = "-7\ta b\t-10.05\t1970-01-01 00:00:00\t\\N\n";
        assert_eq!(written(TextFormat::Copy), format!("{row}{row}{last}"));
        assert_eq!(written(TextFormat::LoadData), format!("{row}{row}{last}"));
        assert_eq!(
            written(TextFormat::Csv).lines().next(),
            Some("-7,a b,-10.05,2000-01-01 00:00:00,")
        );
    }
}
