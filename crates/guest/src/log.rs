//! What a guest's log says; it is reached through no symbolic link
//! ([`rookery_host::without_links`]).

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use rookery_host::without_links;

/// The last `bytes` bytes of a file as text, from the start of a line where one begins; empty when
/// there is no such file, or only through a symbolic link.
pub(crate) fn tail(path: &Path, bytes: usize) -> String {
    let read = || {
        let mut file = without_links::read(path)?;
        let skipped = file.metadata()?.len().saturating_sub(bytes as u64);
        file.seek(SeekFrom::Start(skipped))?;
        let mut content = Vec::new();
        file.take(bytes as u64).read_to_end(&mut content)?;
        Ok::<_, io::Error>((skipped, String::from_utf8_lossy(&content).into_owned()))
    };
    let Ok((skipped, text)) = read() else {
        return String::new();
    };
    match text.split_once('\n') {
        Some((_, whole_lines)) if skipped > 0 && !whole_lines.is_empty() => whole_lines.to_owned(),
        _ => text,
    }
}

/// Indent every line, for use in an error; says so when there is nothing.
pub(crate) fn indented(text: &str) -> String {
    if text.trim().is_empty() {
        return "    (its log is empty)".to_owned();
    }
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .map(|line| format!("    {line}"))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_log_begins_with_a_whole_line() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        std::fs::write(file.path(), "first line\nsecond\nthird\n").expect("written");
        assert_eq!(tail(file.path(), 15), "second\nthird\n".to_owned());
        assert_eq!(tail(file.path(), 1000), "first line\nsecond\nthird\n");
        assert_eq!(tail(Path::new("/nonexistent/log"), 10), "");
        assert_eq!(indented("a\nb\n"), "    a\n    b");
    }
}
