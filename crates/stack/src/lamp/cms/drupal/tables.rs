//! The tables of Drupal that hold accounts and nodes, and their rows.
//!
//! All that a page of a node needs is there; revisions, statistics of comments and search are as
//! after a creation by a user, but for the indexes of the search, which nothing reads.

use rookery_workload::cms::NodeKind;

use crate::cms::{
    AccountRow, LoadedAccount, LoadedNode, NodeRow, SiteNodes, SiteTable, SiteTables, Value,
};

/// The query that tells the hash of the administrator's password, which is that of all accounts.
pub(crate) const PASS_7: &str = "SELECT pass FROM drupal.users WHERE uid = 1";
pub(crate) const PASS_10: &str = "SELECT pass FROM drupal.users_field_data WHERE uid = 1";

/// Where the nodes and accounts are, as the audit reads them.
pub(crate) const NODES_7: SiteNodes = SiteNodes {
    nodes: "(SELECT n.nid AS id, IF(n.type = 'article', 'story', n.type) AS kind, n.title, \
            IFNULL(b.body_value, '') AS body, n.uid AS author, n.promote AS promoted FROM \
            drupal.node n LEFT JOIN drupal.field_data_body b ON b.entity_type = 'node' AND \
            b.entity_id = n.nid AND b.revision_id = n.vid AND n.status = 1)",
    accounts: "(SELECT uid AS id FROM drupal.users)",
};
pub(crate) const NODES_10: SiteNodes = SiteNodes {
    nodes: "(SELECT n.nid AS id, IF(n.type = 'article', 'story', n.type) AS kind, n.title, \
            IFNULL(b.body_value, '') AS body, n.uid AS author, n.promote AS promoted FROM \
            drupal.node_field_data n LEFT JOIN drupal.node__body b ON b.entity_id = n.nid AND \
            b.revision_id = n.vid AND n.status = 1)",
    accounts: "(SELECT uid AS id FROM drupal.users)",
};

/// The name of a kind there.
fn type_of(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Story => "article",
        NodeKind::Page => "page",
    }
}

/// Nothing.
const ZERO: Value = Value::Number(0);
/// One, and yes.
const ONE: Value = Value::Number(1);

/// Those of Drupal 7; all accounts have the password with this hash.
pub(crate) fn tables_7(pass: String) -> SiteTables {
    SiteTables {
        accounts: &ACCOUNTS_7,
        nodes: &TABLES_7,
        with_administrator: false,
        pass,
    }
}

static ACCOUNTS_7: [SiteTable<AccountRow>; 1] = [SiteTable {
    name: "users",
    columns: "uid, name, pass, mail, status, created, access, login, language, init, timezone",
    id: "uid",
    row: |account| {
        vec![
            account.id.into(),
            account.name.as_str().into(),
            account.pass.into(),
            account.mail().into(),
            ONE,
            account.created_s.into(),
            ZERO,
            ZERO,
            "".into(),
            account.mail().into(),
            "UTC".into(),
        ]
    },
}];

static TABLES_7: [SiteTable<NodeRow>; 5] = [
    SiteTable {
        name: "node",
        columns: "nid, vid, type, language, title, uid, status, created, changed, comment, promote, \
                  sticky, tnid, translate",
        id: "nid",
        row: |loaded| {
            let node = loaded.node;
            vec![
                node.id.into(),
                node.id.into(),
                type_of(node.kind).into(),
                "und".into(),
                loaded.title().into(),
                loaded.author().into(),
                ONE,
                node.created_s.into(),
                node.created_s.into(),
                comments_7(node.kind),
                node.promoted.into(),
                ZERO,
                ZERO,
                ZERO,
            ]
        },
    },
    SiteTable {
        name: "node_revision",
        columns: "nid, vid, uid, title, log, timestamp, status, comment, promote, sticky",
        id: "nid",
        row: |loaded| {
            let node = loaded.node;
            vec![
                node.id.into(),
                node.id.into(),
                loaded.author().into(),
                loaded.title().into(),
                "".into(),
                node.created_s.into(),
                ONE,
                comments_7(node.kind),
                node.promoted.into(),
                ZERO,
            ]
        },
    },
    SiteTable {
        name: "node_comment_statistics",
        columns: "nid, cid, last_comment_timestamp, last_comment_name, last_comment_uid, \
                  comment_count",
        id: "nid",
        row: |loaded| {
            vec![
                loaded.node.id.into(),
                ZERO,
                loaded.node.created_s.into(),
                "".into(),
                loaded.author().into(),
                ZERO,
            ]
        },
    },
    SiteTable {
        name: "field_data_body",
        columns: BODY_7,
        id: "entity_id",
        row: body_7,
    },
    SiteTable {
        name: "field_revision_body",
        columns: BODY_7,
        id: "entity_id",
        row: body_7,
    },
];

/// Whether visitors may comment on a node, in the numbers of Drupal 7.
fn comments_7(kind: NodeKind) -> Value {
    match kind {
        NodeKind::Story => Value::Number(2),
        NodeKind::Page => ONE,
    }
}

const BODY_7: &str = "entity_type, bundle, deleted, entity_id, revision_id, language, delta, \
                      body_value, body_summary, body_format";

fn body_7(loaded: &LoadedNode<'_>) -> Vec<Value> {
    let node = loaded.node;
    vec![
        "node".into(),
        type_of(node.kind).into(),
        ZERO,
        node.id.into(),
        node.id.into(),
        "und".into(),
        ZERO,
        loaded.text().body.into(),
        "".into(),
        "filtered_html".into(),
    ]
}

/// Those of Drupal 10 and 11; all accounts have the password with this hash.
pub(crate) fn tables_10(pass: String) -> SiteTables {
    SiteTables {
        accounts: &ACCOUNTS_10,
        nodes: &TABLES_10,
        with_administrator: false,
        pass,
    }
}

/// An identifier that no other thing of this kind has.
fn uuid(kind: u32, id: u32) -> Value {
    format!("{kind:08x}-0000-4000-8000-{id:012x}").into()
}

static ACCOUNTS_10: [SiteTable<AccountRow>; 2] = [
    SiteTable {
        name: "users",
        columns: "uid, uuid, langcode",
        id: "uid",
        row: |account| vec![account.id.into(), uuid(1, account.id), "en".into()],
    },
    SiteTable {
        name: "users_field_data",
        columns: "uid, langcode, preferred_langcode, name, pass, mail, timezone, status, created, \
                  changed, access, login, init, default_langcode",
        id: "uid",
        row: |account: &LoadedAccount<'_>| {
            vec![
                account.id.into(),
                "en".into(),
                "en".into(),
                account.name.as_str().into(),
                account.pass.into(),
                account.mail().into(),
                "UTC".into(),
                ONE,
                account.created_s.into(),
                account.created_s.into(),
                ZERO,
                ZERO,
                account.mail().into(),
                ONE,
            ]
        },
    },
];

static TABLES_10: [SiteTable<NodeRow>; 6] = [
    SiteTable {
        name: "node",
        columns: "nid, vid, type, uuid, langcode",
        id: "nid",
        row: |loaded| {
            let node = loaded.node;
            vec![
                node.id.into(),
                node.id.into(),
                type_of(node.kind).into(),
                uuid(2, node.id),
                "en".into(),
            ]
        },
    },
    SiteTable {
        name: "node_revision",
        columns: "nid, vid, langcode, revision_uid, revision_timestamp, revision_default",
        id: "nid",
        row: |loaded| {
            let node = loaded.node;
            vec![
                node.id.into(),
                node.id.into(),
                "en".into(),
                loaded.author().into(),
                node.created_s.into(),
                ONE,
            ]
        },
    },
    SiteTable {
        name: "node_field_data",
        columns: "nid, vid, type, langcode, status, uid, title, created, changed, promote, sticky, \
                  default_langcode, revision_translation_affected",
        id: "nid",
        row: |loaded| {
            let mut row = vec![
                loaded.node.id.into(),
                loaded.node.id.into(),
                type_of(loaded.node.kind).into(),
            ];
            row.extend(fields_10(loaded));
            row
        },
    },
    SiteTable {
        name: "node_field_revision",
        columns: "nid, vid, langcode, status, uid, title, created, changed, promote, sticky, \
                  default_langcode, revision_translation_affected",
        id: "nid",
        row: |loaded| {
            let mut row = vec![loaded.node.id.into(), loaded.node.id.into()];
            row.extend(fields_10(loaded));
            row
        },
    },
    SiteTable {
        name: "node__body",
        columns: BODY_10,
        id: "entity_id",
        row: body_10,
    },
    SiteTable {
        name: "node_revision__body",
        columns: BODY_10,
        id: "entity_id",
        row: body_10,
    },
];

/// What a node and its revision have alike.
fn fields_10(loaded: &LoadedNode<'_>) -> [Value; 10] {
    let node = loaded.node;
    [
        "en".into(),
        ONE,
        loaded.author().into(),
        loaded.title().into(),
        node.created_s.into(),
        node.created_s.into(),
        node.promoted.into(),
        ZERO,
        ONE,
        ONE,
    ]
}

const BODY_10: &str = "bundle, deleted, entity_id, revision_id, langcode, delta, body_value, \
                       body_summary, body_format";

fn body_10(loaded: &LoadedNode<'_>) -> Vec<Value> {
    let node = loaded.node;
    vec![
        type_of(node.kind).into(),
        ZERO,
        node.id.into(),
        node.id.into(),
        "en".into(),
        ZERO,
        loaded.text().body.into(),
        "".into(),
        "basic_html".into(),
    ]
}

#[cfg(test)]
mod tests {
    use rookery_workload::cms::CmsData;

    use super::*;
    use crate::cms::each_node;

    const DATA: CmsData = CmsData {
        nodes: 3,
        users: 2,
        authors: 2,
        first_node: 11,
        story_ppm: 1_000_000,
        promoted_ppm: 1_000_000,
        seed: 7,
    };

    #[test]
    fn every_row_has_a_value_for_each_column() {
        for tables in [tables_7("hash".to_owned()), tables_10("hash".to_owned())] {
            let accounts: Vec<LoadedAccount<'_>> = tables.each_account(&DATA).collect();
            assert_eq!(
                (accounts[0].id, accounts[0].name.as_str()),
                (2, "user00001")
            );
            assert_eq!(accounts.len(), 2);
            let width = |columns: &str| columns.split(',').count();
            for table in tables.accounts {
                assert_eq!(
                    (table.row)(&accounts[0]).len(),
                    width(table.columns),
                    "{}",
                    table.name
                );
                assert!(table.columns.contains(table.id));
            }
            for table in tables.nodes {
                for node in each_node(&DATA, 0..DATA.nodes) {
                    assert_eq!(
                        (table.row)(&node).len(),
                        width(table.columns),
                        "{}",
                        table.name
                    );
                }
                assert!(table.columns.contains(table.id));
            }
        }
    }
}
