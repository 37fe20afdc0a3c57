//! The text of a study file and of the files that it names, with what is needed to point into it.

use std::{ops::Range, sync::Arc};

/// The text of a file, and behind it the texts of the files that it names. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    text: Arc<str>,
    /// Byte offset of the first byte of every line.
    line_starts: Arc<[usize]>,
    /// The files in the order of the text; the first is the study.
    files: Arc<[SourceFile]>,
}

/// One file of a source.
#[derive(Clone, Debug)]
struct SourceFile {
    name: Arc<str>,
    bytes: Range<usize>,
    lines: Range<usize>,
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
        let mut source = Self {
            text: "".into(),
            line_starts: Arc::default(),
            files: Arc::default(),
        };
        source.add(name, text);
        source
    }

    /// Adds a file that the study names; where its text begins.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> usize {
        // A file begins on a line of its own.
        let before = match self.files.is_empty() {
            true => String::new(),
            false => format!("{}\n", self.text),
        };
        let start = before.len();
        let starts = std::iter::once(0).chain(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at + 1),
        );
        let mut own: Vec<usize> = starts.collect();
        // A final newline ends the last line, it does not begin another.
        if own.len() > 1 && own.last() == Some(&text.len()) {
            own.pop();
        }
        let mut line_starts = self.line_starts.to_vec();
        let first = line_starts.len();
        line_starts.extend(own.into_iter().map(|own| start + own));
        let mut files = self.files.to_vec();
        files.push(SourceFile {
            name: printable(name, usize::MAX).into(),
            bytes: start..start + text.len(),
            lines: first..line_starts.len(),
        });
        self.text = format!("{before}{text}").into();
        self.line_starts = line_starts.into();
        self.files = files.into();
        start
    }

    /// The file of a byte offset; offsets past the end belong to the last.
    fn file_at(&self, offset: usize) -> &SourceFile {
        let after = self
            .files
            .partition_point(|file| file.bytes.start <= offset);
        &self.files[after.saturating_sub(1)]
    }

    /// The name of the study's file, made printable.
    pub(crate) fn name(&self) -> &str {
        &self.files[0].name
    }

    /// The name of the file of a byte offset.
    pub(crate) fn file(&self, offset: usize) -> Arc<str> {
        Arc::clone(&self.file_at(offset).name)
    }

    /// The text of the study's file.
    pub(crate) fn text(&self) -> &str {
        &self.text[self.files[0].bytes.clone()]
    }

    /// Number of lines of the study's file, at least 1.
    pub(crate) fn lines(&self) -> usize {
        self.files[0].lines.len()
    }

    /// The 1-based line of a byte offset in its file; offsets past the end belong to the last line.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.place(offset) - self.file_at(offset).lines.start + 1
    }

    /// The 0-based line of a byte offset in all files together.
    pub(crate) fn place(&self, offset: usize) -> usize {
        let after = self.line_starts.partition_point(|start| *start <= offset);
        after.saturating_sub(1)
    }

    /// The 1-based column, in characters, of a byte offset.
    pub(crate) fn column(&self, offset: usize) -> usize {
        let start = self.line_starts[self.place(offset)];
        self.text[start..self.floor(offset.max(start))]
            .chars()
            .count()
            + 1
    }

    /// An empty span after the last character that is not blank: where something missing would be
    /// added.
    pub(crate) fn end(&self) -> Range<usize> {
        let end = self.text().trim_end().len();
        end..end
    }

    /// The line that holds the start of `span`, shortened around it.
    pub(crate) fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let line = self.place(span.start);
        let line_start = self.line_starts[line];
        let next = self.line_starts.get(line + 1);
        let line_end = next.map_or(self.text.len(), |next| *next);
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
