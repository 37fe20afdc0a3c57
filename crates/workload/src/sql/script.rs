//! A script of statements, taken apart at its semicolons.

use thiserror::Error;

/// Why a script cannot be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// A text, a quoted name or a comment has no end.
    #[error("what begins with `{0}` in line {1} has no end")]
    Open(&'static str, usize),
    /// There is no statement.
    #[error("there is no statement in it")]
    Empty,
}

/// The statements of a script, without their semicolons. Semicolons within texts, quoted names,
/// comments and PostgreSQL's dollar quotes end nothing; parts without anything but comments are
/// left out.
///
/// # Errors
/// When something in it has no end, or there is nothing in it.
pub fn split(script: &str) -> Result<Vec<String>, ScriptError> {
    let mut statements = Vec::new();
    let (mut start, mut at, mut is_empty) = (0, 0, true);
    while let Some(c) = script[at..].chars().next() {
        let rest = &script[at..];
        if let Some((opening, length)) = skipped(rest) {
            let length = length.ok_or_else(|| {
                let line = script[..at].matches('\n').count() + 1;
                ScriptError::Open(opening, line)
            })?;
            is_empty &= opening == "--" || opening == "/*";
            at += length;
            continue;
        }
        if c == ';' {
            if !is_empty {
                statements.push(script[start..at].trim().to_owned());
            }
            (start, is_empty) = (at + 1, true);
        } else if !c.is_whitespace() {
            is_empty = false;
        }
        at += c.len_utf8();
    }
    if !is_empty {
        statements.push(script[start..].trim().to_owned());
    }
    if statements.is_empty() {
        return Err(ScriptError::Empty);
    }
    Ok(statements)
}

/// What `rest` begins with that may hold semicolons, and its length; `None` where it has no end.
fn skipped(rest: &str) -> Option<(&'static str, Option<usize>)> {
    let until = |opening: &str, closing: &str| {
        let inner = &rest[opening.len()..];
        inner
            .find(closing)
            .map(|end| opening.len() + end + closing.len())
    };
    for (opening, closing) in [("'", "'"), ("\"", "\""), ("`", "`"), ("/*", "*/")] {
        if rest.starts_with(opening) {
            return Some((opening, until(opening, closing)));
        }
    }
    if rest.starts_with("--") {
        return Some(("--", until("--", "\n").or(Some(rest.len()))));
    }
    // `$$` or `$tag$`; a parameter such as `$1` is none.
    let inner = rest.strip_prefix('$')?;
    let end = inner.find('$')?;
    let is_tag = inner[..end]
        .chars()
        .enumerate()
        .all(|(index, c)| c == '_' || c.is_alphabetic() || index > 0 && c.is_alphanumeric());
    is_tag.then(|| {
        let tag = &rest[..end + 2];
        ("$", until(tag, tag))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_semicolons_between_statements_end_them() {
        let script = "-- tables; of notes\nCREATE TABLE a (b TEXT DEFAULT 'x;''y');\n\n\
                      INSERT INTO \"c;d\" VALUES (1); /* ; */ ;\n\
                      DO $body$ BEGIN x; END $body$; SELECT $1";
        let statements = split(script).expect("statements");
        assert_eq!(
            statements,
            [
                "-- tables; of notes\nCREATE TABLE a (b TEXT DEFAULT 'x;''y')",
                "INSERT INTO \"c;d\" VALUES (1)",
                "DO $body$ BEGIN x; END $body$",
                "SELECT $1"
            ]
        );
    }

    #[test]
    fn what_has_no_end_is_refused_with_its_line() {
        assert_eq!(
            split("SELECT 1;\nSELECT 'x"),
            Err(ScriptError::Open("'", 2))
        );
        assert_eq!(split("/* x"), Err(ScriptError::Open("/*", 1)));
        assert_eq!(split(" -- nothing"), Err(ScriptError::Empty));
    }
}
