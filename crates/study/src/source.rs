//! The text of a study file, with what is needed to point into it.

use std::{ops::Range, sync::Arc};

/// A file name and its text. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    name: Arc<str>,
    text: Arc<str>,
    /// Byte offset of the first byte of every line.
    line_starts: Arc<[usize]>,
}

/// Characters of a line that are shown: with its number they fit a terminal of 80 columns.
const WHOLE: usize = 66;
/// Of these, before the place in question, where a line is longer.
const BEFORE: usize = 33;

/// A piece of one line, made printable, with the columns to underline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Columns (0-based, in printed characters) of `text` to underline; never empty.
    pub(crate) underline: Range<usize>,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let starts = std::iter::once(0).chain(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at + 1),
        );
        let mut line_starts: Vec<usize> = starts.collect();
        // A final newline ends the last line, it does not begin another.
        if line_starts.len() > 1 && line_starts.last() == Some(&text.len()) {
            line_starts.pop();
        }
        Self {
            name: printable(name, usize::MAX).into(),
            text: text.into(),
            line_starts: line_starts.into(),
        }
    }

    /// The file name, made printable.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Number of lines, at least 1.
    pub(crate) fn lines(&self) -> usize {
        self.line_starts.len()
    }

    /// The 1-based line of a byte offset; offsets past the end belong to the last line.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|start| *start <= offset)
            .max(1)
    }

    /// The 1-based column, in characters, of a byte offset.
    pub(crate) fn column(&self, offset: usize) -> usize {
        let start = self.line_starts[self.line(offset) - 1];
        self.text[start..self.floor(offset.max(start))]
            .chars()
            .count()
            + 1
    }

    /// An empty span after the last character that is not blank: where something missing would be
    /// added.
    pub(crate) fn end(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        end..end
    }

    /// The line that holds the start of `span`, shortened around it.
    pub(crate) fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let line = self.line(span.start);
        let line_start = self.line_starts[line - 1];
        let line_end = self
            .line_starts
            .get(line)
            .map_or(self.text.len(), |next| *next);
        let line_end = line_start
            + self.text[line_start..line_end]
                .trim_end_matches(['\n', '\r'])
                .len();
        let from = self.floor(span.start.clamp(line_start, line_end));
        let to = self.floor(span.end.clamp(from, line_end));
        let left = if to <= line_start + WHOLE {
            line_start
        } else {
            self.floor(from.saturating_sub(BEFORE).max(line_start))
        };
        let right = self.floor((left + WHOLE).min(line_end)).max(from);
        let to = to.min(right);

        let mut text = String::from(if left > line_start { "..." } else { "" });
        text.push_str(&printable(&self.text[left..from], usize::MAX));
        let start = text.chars().count();
        text.push_str(&printable(&self.text[from..to], usize::MAX));
        let end = text.chars().count().max(start + 1);
        text.push_str(&printable(&self.text[to..right], usize::MAX));
        if right < line_end {
            text.push_str("...");
        }
        Excerpt {
            text,
            underline: start..end,
        }
    }

    /// The nearest character boundary at or below `offset`.
    fn floor(&self, offset: usize) -> usize {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// `text` with everything escaped that a terminal would obey instead of print, cut after `limit`
/// characters.
pub(crate) fn printable(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == limit {
            out.push_str("...");
            break;
        }
        match c {
            '\t' => out.push(' '),
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// Text of a file as it is quoted in a message: printable, short, in backticks.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", printable(text, 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns() {
        let source = Source::new("s", "ab\nüc\n\nd\n");
        assert_eq!(source.lines(), 4);
        assert_eq!((source.line(0), source.column(0)), (1, 1));
        assert_eq!(
            (source.line(5), source.column(5)),
            (2, 2),
            "columns count characters"
        );
        assert_eq!(source.line(7), 3);
        assert_eq!(source.line(1000), 4, "never past the last line");
        assert_eq!(source.end(), 9..9);
    }

    #[test]
    fn an_empty_file_has_one_line() {
        let source = Source::new("s", "");
        assert_eq!(
            (source.lines(), source.line(0), source.column(0)),
            (1, 1, 1)
        );
        assert_eq!(
            source.excerpt(&(0..0)),
            Excerpt {
                text: String::new(),
                underline: 0..1
            }
        );
    }

    #[test]
    fn control_characters_are_escaped_and_the_underline_follows() {
        let source = Source::new("s", "a = \"\u{1b}[31m\u{202e}\" # x");
        let excerpt = source.excerpt(&(4..14));
        assert_eq!(excerpt.text, "a = \"\\u{1b}[31m\\u{202e}\" # x");
        assert_eq!(&excerpt.text[excerpt.underline], "\"\\u{1b}[31m\\u{202e}\"");
    }

    #[test]
    fn long_lines_are_shown_around_the_place() {
        let text = format!("{} = 1 {}", "k".repeat(500), "é".repeat(500));
        let source = Source::new("s", &text);
        let excerpt = source.excerpt(&(503..504));
        assert!(excerpt.text.starts_with("...") && excerpt.text.ends_with("..."));
        assert!(excerpt.text.chars().count() < 200);
        assert_eq!(&excerpt.text[excerpt.underline], "1");
    }
}
