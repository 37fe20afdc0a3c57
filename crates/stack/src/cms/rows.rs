//! The rows of accounts and nodes, for whatever tables a site has.
//!
//! A site says its tables as data, [`SiteTables`]; each has the rows of all accounts or of all
//! nodes, as [`lines`] of text or as [`inserts`].

use std::{fmt::Write as _, ops::Range};

use rookery_workload::cms::{ADMIN, CmsData, Node, NodeText, PASSWORD};

use super::load::{SALT, hashed};

/// A value of a row.
pub(crate) enum Value {
    Number(u64),
    Text(String),
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Number(truth.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// An account that is loaded.
pub(crate) struct LoadedAccount<'d> {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// The hash of its password.
    pub(crate) pass: &'d str,
    /// Seconds since 1970.
    pub(crate) created_s: u64,
}

impl LoadedAccount<'_> {
    /// Its address, to which nothing can be sent.
    pub(crate) fn mail(&self) -> String {
        format!("{}@site.invalid", self.name)
    }
}

/// A node that is loaded.
pub(crate) struct LoadedNode<'d> {
    pub(crate) node: Node,
    data: &'d CmsData,
    place: u32,
}

impl LoadedNode<'_> {
    /// The id of its author.
    pub(crate) fn author(&self) -> u32 {
        self.node.author + 1
    }

    pub(crate) fn title(&self) -> String {
        self.data.title(self.place)
    }

    pub(crate) fn text(&self) -> NodeText {
        self.data.text(self.place)
    }
}

/// The nodes at these places, from 0.
pub(crate) fn each_node(
    data: &CmsData,
    places: Range<u32>,
) -> impl Iterator<Item = LoadedNode<'_>> {
    places.map(|place| LoadedNode {
        node: data.node(place),
        data,
        place,
    })
}

/// A table that has a row for each of something.
pub(crate) struct SiteTable<R> {
    pub(crate) name: &'static str,
    /// Its columns in the order of a row, as a statement lists them; empty = all of them.
    pub(crate) columns: &'static str,
    /// The column of the ids.
    pub(crate) id: &'static str,
    pub(crate) row: R,
}

/// Makes the row of an account.
pub(crate) type AccountRow = fn(&LoadedAccount<'_>) -> Vec<Value>;
/// Makes the row of a node.
pub(crate) type NodeRow = fn(&LoadedNode<'_>) -> Vec<Value>;

/// The tables of a site that are loaded.
pub(crate) struct SiteTables {
    pub(crate) accounts: &'static [SiteTable<AccountRow>],
    pub(crate) nodes: &'static [SiteTable<NodeRow>],
    /// Whether the administrator is loaded too, who is there already where a site is installed.
    pub(crate) with_administrator: bool,
    /// The hash of every account's password.
    pub(crate) pass: String,
}

impl SiteTables {
    /// The id of the first account that is loaded: the administrator is the first of all.
    pub(crate) fn first_account(&self) -> u32 {
        if self.with_administrator { 1 } else { 2 }
    }

    /// Every account that is loaded, in the order of their ids.
    pub(crate) fn each_account<'d>(
        &'d self,
        data: &'d CmsData,
    ) -> impl Iterator<Item = LoadedAccount<'d>> {
        let created_s = data.node(0).created_s;
        (self.first_account()..=data.users + 1).map(move |id| LoadedAccount {
            id,
            name: match id {
                1 => ADMIN.to_owned(),
                user => CmsData::user_name(user - 1),
            },
            pass: &self.pass,
            created_s,
        })
    }

    /// Rows of all tables.
    pub(crate) fn rows(&self, data: &CmsData) -> u64 {
        let accounts = u64::from(data.users) + u64::from(self.with_administrator);
        accounts * self.accounts.len() as u64 + u64::from(data.nodes) * self.nodes.len() as u64
    }
}

/// The tables of the small site.
pub(crate) fn small_tables() -> SiteTables {
    SiteTables {
        accounts: &[SiteTable {
            name: "accounts",
            columns: "",
            id: "id",
            row: |account| {
                vec![
                    account.id.into(),
                    account.name.as_str().into(),
                    account.pass.into(),
                    account.mail().into(),
                    account.created_s.into(),
                ]
            },
        }],
        nodes: &[SiteTable {
            name: "nodes",
            columns: "",
            id: "id",
            row: |loaded| {
                let (node, text) = (loaded.node, loaded.text());
                vec![
                    node.id.into(),
                    node.kind.name().into(),
                    text.title.into(),
                    text.body.into(),
                    loaded.author().into(),
                    node.created_s.into(),
                    node.promoted.into(),
                ]
            },
        }],
        with_administrator: true,
        pass: hashed(SALT, PASSWORD),
    }
}

/// A line of a table's row for each of these: values apart by tabs.
pub(crate) fn lines<T>(
    table: &SiteTable<impl Fn(&T) -> Vec<Value>>,
    all: impl Iterator<Item = T>,
) -> impl Iterator<Item = String> {
    all.map(|one| tabbed(&(table.row)(&one)))
}

/// An `INSERT` of many rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Insert {
    pub(crate) statement: String,
    pub(crate) rows: u64,
}

/// Bytes from which on a statement takes no further row, as tools that dump databases have it.
const INSERT_BYTES: usize = 1 << 20;

/// Statements that put a row for each of these into a table of this schema.
pub(crate) fn inserts<T>(
    schema: &str,
    table: &SiteTable<impl Fn(&T) -> Vec<Value>>,
    all: impl Iterator<Item = T>,
) -> impl Iterator<Item = Insert> {
    let columns = match table.columns {
        "" => String::new(),
        columns => format!(" ({columns})"),
    };
    let head = format!("INSERT INTO {schema}.{}{columns} VALUES ", table.name);
    let mut rows = all.map(|one| (table.row)(&one)).peekable();
    std::iter::from_fn(move || {
        rows.peek()?;
        let mut insert = Insert {
            statement: head.clone(),
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

    #[test]
    fn what_would_end_a_field_is_escaped() {
        let row = [Value::Number(7), Value::Text("a\\b'c\td\ne".to_owned())];
        assert_eq!(tabbed(&row), "7\ta\\\\b'c\\td\\ne\n");
        let mut values = String::new();
        put_values(&mut values, &[7_u32.into(), "a\\b'c".into()]);
        assert_eq!(values, "(7,'a\\\\b\\'c')");
    }

    #[test]
    fn statements_hold_every_row_once_and_about_a_mebibyte_each() {
        let tables = small_tables();
        let nodes = each_node(&DATA, 0..DATA.nodes);
        let all: Vec<Insert> = inserts("CMS", &tables.nodes[0], nodes).collect();
        let rows: u64 = all.iter().map(|insert| insert.rows).sum();
        assert_eq!(rows, u64::from(DATA.nodes));
        let (last, full) = all.split_last().expect("some");
        let (least, most) = (INSERT_BYTES, INSERT_BYTES + 16_384);
        for insert in full {
            assert!((least..most).contains(&insert.statement.len()));
        }
        assert!(!full.is_empty() && last.statement.len() < most);
        let accounts = inserts("CMS", &tables.accounts[0], tables.each_account(&DATA));
        let accounts: Vec<Insert> = accounts.collect();
        assert_eq!((accounts.len(), accounts[0].rows), (1, 21));
        assert!(
            accounts[0]
                .statement
                .starts_with("INSERT INTO CMS.accounts VALUES (1,'admin',")
        );
        assert_eq!(tables.rows(&DATA), DATA.rows());
    }
}
