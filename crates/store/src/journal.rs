//! The store itself, and the journal of its trials.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use rookery_study::Trial;
use rusqlite::{Connection, Transaction, params};

use crate::{
    Attempt, Note, Reason, RunHeader, StoreError, TrialRecord, TrialRow, TrialStatus,
    cells::{Cells, name_of},
    damage::Damage,
    store_file::StoreFile,
    write::write_record,
};

/// The store of one run.
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    pub(crate) header: RunHeader,
    pub(crate) file: StoreFile,
}

impl Store {
    /// Where the store lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was known of the run before its first trial.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn header(&self) -> Result<RunHeader, StoreError> {
        Ok(self.header.clone())
    }

    /// Journal that a trial begins, before anything is touched. `at` is RFC 3339. An earlier void
    /// or failed record of the trial is dropped; its attempt stays in the journal.
    ///
    /// # Errors
    /// When the trial is not planned, is done, or runs already; when the disk refuses.
    pub fn begin_trial(&self, trial: u32, at: &str) -> Result<(), StoreError> {
        match self.status(trial)? {
            TrialStatus::Done => {
                return Err(
                    self.state(trial, "is done already; a finished trial is never repeated")
                );
            }
            TrialStatus::Running => {
                return Err(self.state(
                    trial,
                    "was begun and never ended; `rookery run --resume` continues it",
                ));
            }
            TrialStatus::Skipped => {
                return Err(self.state(trial, "was taken out of the plan"));
            }
            TrialStatus::Planned | TrialStatus::Void | TrialStatus::Failed => {}
        }
        self.write("journaling the begin of a trial", |transaction| {
            forget_record(transaction, trial)?;
            transaction.execute(
                "UPDATE trials SET status = 'running', attempts = attempts + 1, started_at = ?2, \
                 ended_at = NULL WHERE trial = ?1",
                params![trial, at],
            )?;
            transaction.execute(
                "INSERT INTO attempts (trial, attempt, started_at) SELECT trial, attempts, ?2 FROM \
                 trials WHERE trial = ?1",
                params![trial, at],
            )?;
            Ok(())
        })
    }

    /// Store everything that a trial yielded and journal its end, in one transaction. `at` is RFC
    /// 3339.
    ///
    /// # Errors
    /// When the trial was not begun; when the disk refuses.
    pub fn end_trial(&self, trial: u32, at: &str, record: &TrialRecord) -> Result<(), StoreError> {
        if self.status(trial)? != TrialStatus::Running {
            return Err(self.state(trial, "was not begun, so it cannot end"));
        }
        self.write("storing a trial", |transaction| {
            write_record(transaction, trial, record)?;
            let status = name_of(TrialStatus::from(record.outcome));
            transaction.execute(
                "UPDATE trials SET status = ?2, ended_at = ?3 WHERE trial = ?1",
                params![trial, status, at],
            )?;
            transaction.execute(
                "UPDATE attempts SET ended_at = ?2, ended_as = ?3 WHERE trial = ?1 AND ended_as IS \
                 NULL",
                params![trial, at, status],
            )?;
            Ok(())
        })
    }

    /// Every planned trial and where it stands, in the order of execution.
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn trials(&self) -> Result<Vec<TrialRow>, StoreError> {
        let mut rows = self.collect(
            "trials",
            "SELECT * FROM trials ORDER BY trial",
            [],
            |cells| self.trial_row(cells),
        )?;
        if rows.len() != self.header.plan.trials.len() {
            return Err(self.damaged("trials", Damage::OtherTrials));
        }
        let mut reasons = self.all_reasons()?;
        for row in &mut rows {
            row.reasons = reasons.remove(&row.trial.id).unwrap_or_default();
        }
        Ok(rows)
    }

    /// The reasons of all trials in one query: a run may have thousands of trials.
    fn all_reasons(&self) -> Result<HashMap<u32, Vec<Reason>>, StoreError> {
        let sql = "SELECT trial, code, reason FROM reasons ORDER BY trial, position";
        let mut all: HashMap<u32, Vec<Reason>> = HashMap::new();
        self.visit("reasons", sql, [], |cells| {
            all.entry(cells.small("trial")?).or_default().push(Reason {
                code: cells.text("code")?,
                text: cells.text("reason")?,
            });
            Ok(())
        })?;
        Ok(all)
    }

    /// Every attempt at every trial.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn attempts(&self) -> Result<Vec<Attempt>, StoreError> {
        self.collect(
            "attempts",
            "SELECT * FROM attempts ORDER BY trial, attempt",
            [],
            |cells| {
                Ok(Attempt {
                    trial: cells.small("trial")?,
                    attempt: cells.small("attempt")?,
                    started_at: cells.text("started_at")?,
                    ended_at: cells.optional_text("ended_at")?,
                    end: cells.optional_text("ended_as")?,
                })
            },
        )
    }

    /// Plan again every trial that was begun and never ended; the attempt stays in the journal as
    /// `interrupted`. Returns these trials.
    ///
    /// # Errors
    /// When a table is damaged or the disk refuses.
    pub fn reset_running(&self) -> Result<Vec<u32>, StoreError> {
        let running = self.collect(
            "trials",
            "SELECT trial FROM trials WHERE status = 'running' ORDER BY trial",
            [],
            |cells| Ok(cells.small("trial")?),
        )?;
        self.write("planning interrupted trials again", |transaction| {
            transaction.execute(
                "UPDATE attempts SET ended_as = 'interrupted' WHERE ended_as IS NULL",
                [],
            )?;
            transaction.execute(
                "UPDATE trials SET status = 'planned' WHERE status = 'running'",
                [],
            )?;
            Ok(())
        })?;
        Ok(running)
    }

    /// Take the trials of a point that have not begun out of what is performed; gives how many.
    ///
    /// # Errors
    /// When a table is damaged or the disk refuses.
    pub fn skip_point(&self, point: u32) -> Result<usize, StoreError> {
        let mut skipped = 0;
        self.write("skipping a point", |transaction| {
            skipped = transaction.execute(
                "UPDATE trials SET status = 'skipped' WHERE point = ?1 AND status = 'planned'",
                [point],
            )?;
            Ok(())
        })?;
        Ok(skipped)
    }

    /// Keep a remark on the whole run. `at` is RFC 3339.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn note(&self, at: &str, text: &str) -> Result<(), StoreError> {
        self.write("keeping a note", |transaction| {
            transaction.execute(
                "INSERT INTO notes (at, text) VALUES (?1, ?2)",
                params![at, text],
            )?;
            Ok(())
        })
    }

    /// The remarks, oldest first.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn notes(&self) -> Result<Vec<Note>, StoreError> {
        self.collect("notes", "SELECT * FROM notes ORDER BY note", [], |cells| {
            Ok(Note {
                at: cells.text("at")?,
                text: cells.text("text")?,
            })
        })
    }

    pub(crate) fn reasons(&self, trial: u32) -> Result<Vec<Reason>, StoreError> {
        let sql = "SELECT code, reason FROM reasons WHERE trial = ?1 ORDER BY position";
        self.collect("reasons", sql, [trial], |cells| {
            Ok(Reason {
                code: cells.text("code")?,
                text: cells.text("reason")?,
            })
        })
    }

    /// The rows of a query, read and checked one by one.
    pub(crate) fn collect<T>(
        &self,
        table: &'static str,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl Fn(&Cells<'_>) -> Result<T, Damage>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.visit(table, sql, params, |cells| {
            all.push(read(cells)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Visit the rows of a query, which are checked one by one.
    pub(crate) fn visit(
        &self,
        table: &'static str,
        sql: &str,
        params: impl rusqlite::Params,
        mut read: impl FnMut(&Cells<'_>) -> Result<(), Damage>,
    ) -> Result<(), StoreError> {
        let damaged = |error: rusqlite::Error| self.damaged(table, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(damaged)?;
        let mut rows = statement.query(params).map_err(damaged)?;
        while let Some(row) = rows.next().map_err(damaged)? {
            let cells = Cells(row);
            read(&cells).map_err(|error| self.damaged_row(table, &cells, error))?;
        }
        Ok(())
    }

    pub(crate) fn damaged(&self, table: &'static str, source: impl Into<Damage>) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            table,
            row: None,
            source: Box::new(source.into()),
        }
    }

    pub(crate) fn damaged_row(
        &self,
        table: &'static str,
        cells: &Cells<'_>,
        source: impl Into<Damage>,
    ) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            table,
            row: Some(cells.key()).filter(|key| !key.is_empty()),
            source: Box::new(source.into()),
        }
    }

    pub(crate) fn write(
        &self,
        step: &'static str,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        self.file.check(&self.path, step)?;
        let transaction = self
            .connection
            .unchecked_transaction()
            .map_err(|source| self.failed(step, source))?;
        write(&transaction)
            .and_then(|()| transaction.commit())
            .map_err(|source| self.failed(step, source))
    }

    pub(crate) fn failed(&self, step: &'static str, source: rusqlite::Error) -> StoreError {
        StoreError::Database {
            path: self.path.clone(),
            step,
            source,
        }
    }

    fn state(&self, trial: u32, what: &str) -> StoreError {
        StoreError::State {
            path: self.path.clone(),
            trial,
            what: what.to_owned(),
        }
    }

    fn status(&self, trial: u32) -> Result<TrialStatus, StoreError> {
        let sql = "SELECT status FROM trials WHERE trial = ?1";
        let found = self.collect("trials", sql, [trial], |cells| Ok(cells.named("status")?))?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| self.state(trial, "is not in the plan"))
    }

    fn trial_row(&self, cells: &Cells<'_>) -> Result<TrialRow, Damage> {
        let id = cells.small("trial")?;
        let trials = &self.header.plan.trials;
        // They stand in the order of their numbers, in every plan that we made.
        let at_place = (id as usize)
            .checked_sub(1)
            .and_then(|place| trials.get(place));
        let planned = at_place
            .filter(|trial| trial.id == id)
            .or_else(|| trials.iter().find(|trial| trial.id == id));
        let trial: Trial = planned.ok_or(Damage::UnplannedTrial { trial: id })?.clone();
        Ok(TrialRow {
            trial,
            status: cells.named("status")?,
            attempts: cells.small("attempts")?,
            started_at: cells.optional_text("started_at")?,
            ended_at: cells.optional_text("ended_at")?,
            reasons: Vec::new(),
        })
    }
}

/// Details first: they refer to what is above them.
fn forget_record(transaction: &Transaction<'_>, trial: u32) -> rusqlite::Result<()> {
    let tables = [
        "error_examples",
        "errors",
        "seconds",
        "operations",
        "metrics",
        "guests",
        "measurements",
        "rules",
        "verdicts",
        "resources",
        "machines",
        "other_programs",
        "kernel_counts",
        "trial_hosts",
        "proofs",
        "audits",
        "tunings",
        "loads",
        "logs",
        "outputs",
        "reasons",
        "records",
    ];
    for table in tables {
        transaction.execute(&format!("DELETE FROM {table} WHERE trial = ?1"), [trial])?;
    }
    Ok(())
}
