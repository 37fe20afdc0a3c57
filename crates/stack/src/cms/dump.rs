//! Accounts and nodes as tab-separated text.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    ops::{ControlFlow, Range},
    path::Path,
};

use rookery_workload::cms::{ADMIN, CmsData, PASSWORD};
use sha2::{Digest as _, Sha256};

use super::{
    CmsError,
    load::{SALT, hashed},
};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of all files.
    pub bytes: u64,
    /// SHA-256 over all files, in hexadecimal digits.
    pub digest: String,
}

/// Writes `accounts.tsv` and `nodes.tsv` into a directory, which is made if it does not exist;
/// `progress` is told rows that are done, and may end it.
///
/// # Errors
/// When a file cannot be written, exists already, or `progress` ends it.
pub fn write_dump(
    directory: &Path,
    data: &CmsData,
    progress: &dyn Fn(u64) -> ControlFlow<()>,
) -> Result<Written, CmsError> {
    fs::create_dir_all(directory).map_err(CmsError::file(directory, "making the directory"))?;
    let mut files = Files {
        directory,
        bytes: 0,
        digest: Sha256::new(),
    };
    files.write("accounts.tsv", |out| accounts(out, data))?;
    files.write("nodes.tsv", |out| nodes(out, data, progress))?;
    let digest = files.digest.finalize();
    Ok(Written {
        bytes: files.bytes,
        digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

struct Files<'d> {
    directory: &'d Path,
    bytes: u64,
    digest: Sha256,
}

/// A file that is being written.
struct Out<'f> {
    file: BufWriter<File>,
    bytes: &'f mut u64,
    digest: &'f mut Sha256,
}

impl Files<'_> {
    fn write(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Out<'_>) -> io::Result<()>,
    ) -> Result<(), CmsError> {
        let path = self.directory.join(name);
        let write = || {
            let mut out = Out {
                file: BufWriter::new(File::create_new(&path)?),
                bytes: &mut self.bytes,
                digest: &mut self.digest,
            };
            work(&mut out)?;
            out.file.flush()
        };
        write().map_err(CmsError::file(&path, "writing the data"))
    }
}

impl Out<'_> {
    fn put(&mut self, text: &str) -> io::Result<()> {
        *self.bytes += text.len() as u64;
        self.digest.update(text.as_bytes());
        self.file.write_all(text.as_bytes())
    }
}

/// A value of a row.
enum Value {
    Number(u64),
    Text(String),
}

fn account_rows(data: &CmsData) -> impl Iterator<Item = Vec<Value>> + '_ {
    let pass = hashed(SALT, PASSWORD);
    let created = data.node(0).created_s;
    let admin = std::iter::once((1, ADMIN.to_owned()));
    let users = (1..=data.users).map(|number| (number + 1, CmsData::user_name(number)));
    admin.chain(users).map(move |(id, name)| {
        let mail = format!("{name}@site.invalid");
        vec![
            Value::Number(id.into()),
            Value::Text(name),
            Value::Text(pass.clone()),
            Value::Text(mail),
            Value::Number(created),
        ]
    })
}

fn node_rows(data: &CmsData, places: Range<u32>) -> impl Iterator<Item = Vec<Value>> + '_ {
    places.map(|place| {
        let (node, text) = (data.node(place), data.text(place));
        vec![
            Value::Number(node.id.into()),
            Value::Text(node.kind.name().to_owned()),
            Value::Text(text.title),
            Value::Text(text.body),
            Value::Number(u64::from(node.author) + 1),
            Value::Number(node.created_s),
            Value::Number(node.promoted.into()),
        ]
    })
}

/// A line for each account: id, name, password, mail, created.
pub(crate) fn account_lines(data: &CmsData) -> impl Iterator<Item = String> + '_ {
    account_rows(data).map(|row| tabbed(&row))
}

/// A line for each node at these places, from 0: id, kind, title, body, author, created, promoted.
pub(crate) fn node_lines(data: &CmsData, places: Range<u32>) -> impl Iterator<Item = String> + '_ {
    node_rows(data, places).map(|row| tabbed(&row))
}

/// Statements that put the accounts into `table`, as [`inserts`] makes them.
pub(crate) fn account_inserts<'d>(
    table: &'d str,
    data: &'d CmsData,
) -> impl Iterator<Item = Insert> + 'd {
    inserts(table, account_rows(data))
}

/// Statements that put the nodes at these places, from 0, into `table`, as [`inserts`] makes them.
pub(crate) fn node_inserts<'d>(
    table: &'d str,
    data: &'d CmsData,
    places: Range<u32>,
) -> impl Iterator<Item = Insert> + 'd {
    inserts(table, node_rows(data, places))
}

/// An `INSERT` of many rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Insert {
    pub(crate) statement: String,
    pub(crate) rows: u64,
}

/// Bytes from which on a statement takes no further row, as tools that dump databases have it.
const INSERT_BYTES: usize = 1 << 20;

fn inserts<'d>(
    table: &'d str,
    rows: impl Iterator<Item = Vec<Value>> + 'd,
) -> impl Iterator<Item = Insert> + 'd {
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        rows.peek()?;
        let mut insert = Insert {
            statement: format!("INSERT INTO {table} VALUES "),
            rows: 0,
        };
        while insert.statement.len() < INSERT_BYTES {
            let Some(row) = rows.next() else { break };
            if insert.rows > 0 {
                insert.statement.push(',');
            }
            put_values(&mut insert.statement, &row);
            insert.rows += 1;
        }
        Some(insert)
    })
}

/// A row in parentheses: quotes and backslashes within text are escaped by a backslash.
fn put_values(out: &mut String, row: &[Value]) {
    for (place, value) in row.iter().enumerate() {
        out.push(if place == 0 { '(' } else { ',' });
        match value {
            // Writing to a string does not fail.
            Value::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Value::Text(text) => {
                out.push('\'');
                for character in text.chars() {
                    if matches!(character, '\'' | '\\') {
                        out.push('\\');
                    }
                    out.push(character);
                }
                out.push('\'');
            }
        }
    }
    out.push(')');
}

fn accounts(out: &mut Out<'_>, data: &CmsData) -> io::Result<()> {
    account_lines(data).try_for_each(|line| out.put(&line))
}

fn nodes(
    out: &mut Out<'_>,
    data: &CmsData,
    progress: &dyn Fn(u64) -> ControlFlow<()>,
) -> io::Result<()> {
    for (line, done) in node_lines(data, 0..data.nodes).zip(u64::from(data.users) + 2..) {
        out.put(&line)?;
        go_on(done, progress)?;
    }
    Ok(())
}

/// Rows between two looks at whether the user wants to go on.
const LOOK_EVERY: u64 = 1_000;

fn go_on(done: u64, progress: &dyn Fn(u64) -> ControlFlow<()>) -> io::Result<()> {
    if done.is_multiple_of(LOOK_EVERY) && progress(done).is_break() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(())
}

/// A row: tabs, line feeds and backslashes within text are escaped by a backslash.
fn tabbed(row: &[Value]) -> String {
    let mut out = String::new();
    for (place, value) in row.iter().enumerate() {
        if place > 0 {
            out.push('\t');
        }
        match value {
            // Writing to a string does not fail.
            Value::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Value::Text(text) => {
                for character in text.chars() {
                    match character {
                        '\\' => out.push_str("\\\\"),
                        '\t' => out.push_str("\\t"),
                        '\n' => out.push_str("\\n"),
                        other => out.push(other),
                    }
                }
            }
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: CmsData = CmsData {
        nodes: 1_500,
        users: 20,
        authors: 5,
        first_node: 1,
        story_ppm: 500_000,
        promoted_ppm: 500_000,
        seed: 7,
    };

    fn written() -> (tempfile::TempDir, Written) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let written = write_dump(dir.path(), &DATA, &|_| ControlFlow::Continue(()));
        (dir, written.expect("written"))
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let (dir, first) = written();
        assert_eq!(first, written().1);
        let files = fs::read_dir(dir.path()).expect("read");
        let bytes: u64 = files
            .map(|file| file.expect("a file").metadata().expect("known").len())
            .sum();
        assert_eq!(bytes, first.bytes);
        let again = write_dump(dir.path(), &DATA, &|_| ControlFlow::Continue(()));
        assert!(matches!(again, Err(CmsError::Server(_))), "{again:?}");
    }

    #[test]
    fn every_row_is_a_line() {
        let (dir, _) = written();
        let lines = |name: &str| {
            let text = fs::read_to_string(dir.path().join(name)).expect("text");
            text.lines().count() as u64
        };
        assert_eq!(lines("nodes.tsv"), u64::from(DATA.nodes));
        assert_eq!(lines("accounts.tsv") + lines("nodes.tsv"), DATA.rows());
    }

    #[test]
    fn what_would_end_a_field_is_escaped() {
        let row = [Value::Number(7), Value::Text("a\\b'c\td\ne".to_owned())];
        assert_eq!(tabbed(&row), "7\ta\\\\b'c\\td\\ne\n");
    }

    #[test]
    fn statements_hold_every_row_once_and_about_a_mebibyte_each() {
        let all: Vec<Insert> = node_inserts("t", &DATA, 0..DATA.nodes).collect();
        let rows: u64 = all.iter().map(|insert| insert.rows).sum();
        assert_eq!(rows, u64::from(DATA.nodes));
        let (last, full) = all.split_last().expect("some");
        let (least, most) = (INSERT_BYTES, INSERT_BYTES + 16_384);
        for insert in full {
            assert!((least..most).contains(&insert.statement.len()));
        }
        assert!(!full.is_empty() && last.statement.len() < most);
        let accounts: Vec<Insert> = account_inserts("t", &DATA).collect();
        assert_eq!((accounts.len(), accounts[0].rows), (1, 21));
        let mut values = String::new();
        put_values(
            &mut values,
            &[Value::Number(7), Value::Text("a\\b'c".to_owned())],
        );
        assert_eq!(values, "(7,'a\\\\b\\'c')");
    }

    #[test]
    fn who_wants_no_more_ends_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let ended = write_dump(dir.path(), &DATA, &|_| ControlFlow::Break(()));
        assert!(matches!(ended, Err(CmsError::Server(_))), "{ended:?}");
    }
}
