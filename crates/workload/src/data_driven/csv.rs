//! Tables of comma-separated values: RFC 4180, with lines that may end in either way.

use thiserror::Error;

use super::is_name;

/// Most rows of a table, and most columns.
const MOST_ROWS: usize = 10_000;
const MOST_COLUMNS: usize = 64;
/// So many characters of a wrong name are shown.
const MOST_SHOWN: usize = 40;

/// A text that is no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CsvError {
    /// A quote that no other one closes.
    #[error("line {0} ends within quotes")]
    OpenQuote(usize),
    /// A value goes on behind its closing quote.
    #[error("line {line}: something follows the closing quote of value {value}")]
    BehindQuote {
        /// The line, from 1.
        line: usize,
        /// The value in it, from 1.
        value: usize,
    },
    /// A line of another length than the first.
    #[error("line {line} has {found} values, the first line names {expected} columns")]
    Shape {
        /// The line, from 1.
        line: usize,
        /// Values in it.
        found: usize,
        /// Values of the first.
        expected: usize,
    },
    /// The first line names no columns.
    #[error("`{0}` cannot be the name of a column; names have letters, digits, `_` and `-`")]
    Name(String),
    /// Too much, or nothing.
    #[error("there are no columns, or more than {MOST_COLUMNS}, or more than {MOST_ROWS} rows")]
    Size,
}

/// Columns and rows.
pub type Table = (Vec<String>, Vec<Vec<String>>);

/// Reads a table whose first line names its columns. Empty lines are skipped.
///
/// # Errors
/// With the line at which the text is no table, or has too much.
pub fn table(text: &str) -> Result<Table, CsvError> {
    let mut lines = Lines {
        rest: text.trim_start_matches('\u{feff}'),
        line: 0,
    };
    let columns = lines.next_record()?.unwrap_or_default();
    for name in &columns {
        if !is_name(name) || name.contains('.') {
            let shown = name.chars().take(MOST_SHOWN).flat_map(char::escape_debug);
            return Err(CsvError::Name(shown.collect()));
        }
    }
    let mut rows = Vec::new();
    while let Some(row) = lines.next_record()? {
        if row.len() != columns.len() {
            return Err(CsvError::Shape {
                line: lines.line,
                found: row.len(),
                expected: columns.len(),
            });
        }
        rows.push(row);
        if rows.len() > MOST_ROWS {
            return Err(CsvError::Size);
        }
    }
    if columns.is_empty() || columns.len() > MOST_COLUMNS {
        return Err(CsvError::Size);
    }
    Ok((columns, rows))
}

struct Lines<'t> {
    rest: &'t str,
    /// Lines that were read.
    line: usize,
}

impl Lines<'_> {
    /// The values of the next line that has any.
    fn next_record(&mut self) -> Result<Option<Vec<String>>, CsvError> {
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            let values = self.record()?;
            if values.len() > 1 || !values[0].is_empty() {
                return Ok(Some(values));
            }
        }
    }

    fn record(&mut self) -> Result<Vec<String>, CsvError> {
        let mut values = Vec::new();
        loop {
            let value = match self.rest.strip_prefix('"') {
                Some(quoted) => {
                    self.rest = quoted;
                    let value = self.quoted()?;
                    if !self.rest.is_empty() && !self.rest.starts_with([',', '\n', '\r']) {
                        return Err(CsvError::BehindQuote {
                            line: self.line,
                            value: values.len() + 1,
                        });
                    }
                    value
                }
                None => {
                    let end = self.rest.find([',', '\n', '\r']).unwrap_or(self.rest.len());
                    let (value, rest) = self.rest.split_at(end);
                    self.rest = rest;
                    value.to_owned()
                }
            };
            values.push(value);
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        let rest = self.rest.strip_prefix('\r').unwrap_or(self.rest);
        self.rest = rest.strip_prefix('\n').unwrap_or(rest);
        Ok(values)
    }

    /// What stands in quotes, up to and with the closing one.
    fn quoted(&mut self) -> Result<String, CsvError> {
        let mut value = String::new();
        let begun = self.line;
        loop {
            let end = self.rest.find('"').ok_or(CsvError::OpenQuote(begun))?;
            value.push_str(&self.rest[..end]);
            self.line += self.rest[..end].matches('\n').count();
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('"') {
                Some(rest) => {
                    value.push('"');
                    self.rest = rest;
                }
                None => return Ok(value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let (columns, rows) =
            table("name,city\r\nann,\"Bonn, \"\"old\"\"\"\n\nbob,\n").expect("a table");
        assert_eq!(columns, ["name", "city"]);
        assert_eq!(rows, [["ann", "Bonn, \"old\""], ["bob", ""]]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        for (text, said) in [
            ("", CsvError::Size),
            (
                "a,b\n1\n",
                CsvError::Shape {
                    line: 2,
                    found: 1,
                    expected: 2,
                },
            ),
            ("a\n\"x", CsvError::OpenQuote(2)),
            ("a\n\"x\"y\n", CsvError::BehindQuote { line: 2, value: 1 }),
            ("a b\n", CsvError::Name("a b".to_owned())),
        ] {
            assert_eq!(table(text), Err(said), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a,\"\r\n]{0,40}") {
            let _ = table(&text);
        }
    }
}
