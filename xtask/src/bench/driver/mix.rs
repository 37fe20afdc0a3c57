//! What is executed on databases, and through which client of ours.

/// The client that goes through `tokio-postgres`.
pub(super) const LIBRARY: &str = "tokio-postgres";
/// The client with the sessions of terminals.
pub(super) const TERMINALS: &str = "terminals";

/// What is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mix {
    /// `oltp_point_select`: one row by its key.
    PointSelect,
    /// `oltp_read_write`: 14 reads, 4 changes, begin and commit.
    ReadWrite,
    /// `pgbench -S`: one row by its key.
    SelectOnly,
    /// `pgbench`: 3 updates, a read, an insert, begin and commit.
    TpcB,
}

impl Mix {
    pub(super) const ALL: [Self; 4] = [
        Self::PointSelect,
        Self::ReadWrite,
        Self::SelectOnly,
        Self::TpcB,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point-select",
            Self::ReadWrite => "read-write",
            Self::SelectOnly => "select-only",
            Self::TpcB => "tpc-b",
        }
    }

    pub(super) fn statements(self) -> &'static [&'static str] {
        match self {
            Self::PointSelect => &["SELECT c FROM sbtest1 WHERE id=?"],
            Self::ReadWrite => &[
                "BEGIN",
                "SELECT c FROM sbtest1 WHERE id=?",
                "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
                "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
                "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
                "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
                "UPDATE sbtest1 SET k=k+1 WHERE id=?",
                "UPDATE sbtest1 SET c=? WHERE id=?",
                "DELETE FROM sbtest1 WHERE id=?",
                "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
                "COMMIT",
                "ROLLBACK",
            ],
            Self::SelectOnly => &["SELECT abalance FROM pgbench_accounts WHERE aid = $1"],
            Self::TpcB => &[
                "BEGIN",
                "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
                "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
                "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
                "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, \
                 CURRENT_TIMESTAMP)",
                "END",
            ],
        }
    }
}
