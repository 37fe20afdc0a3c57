//! The sample workload: read, list or write records, one request after the other.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_cast::count_u8;
use rookery_driver::{Fault, Nanos, OperationEntry, OperationId, OperationTable, Span, seconds};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay,
    sample::{
        AnswerFault, INFO, SampleCounters, SampleData, SampleOperation, SampleUser,
        TransitionMatrix, check_list, check_record, check_written, list_target, record_target,
        write_target,
    },
};
use serde::{Deserialize, Serialize};

use super::problem::ScriptProblem;
use crate::{
    client::{Ask, Client, Failed},
    http::decode::Keep,
    user::UserScript,
};

/// The operations, in the order of the workload.
pub(crate) const OPERATIONS: OperationTable = OperationTable::new(&ENTRIES);

static ENTRIES: [OperationEntry; 3] = [
    OperationEntry::listed(INFO.operations[0]),
    OperationEntry::listed(INFO.operations[1]),
    OperationEntry::listed(INFO.operations[2]),
];

const fn id_of(operation: SampleOperation) -> OperationId {
    OperationId::new(count_u8(operation.index()))
}

/// What the users of one guest are configured with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleScript {
    /// What the guest holds.
    pub data: SampleData,
    /// Records in a list.
    pub list_length: u32,
    /// Which operation follows which.
    pub matrix: TransitionMatrix,
}

impl SampleScript {
    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        if self.data.records > 0 && self.data.record_bytes > 0 && self.list_length > 0 {
            return Ok(());
        }
        Err(ScriptProblem {
            what: "users have no records, or lists of nothing".to_owned(),
            help: "give at least one record of one byte, and lists of one record",
        })
    }
}

/// The users of one guest on one thread: their script, and what they count.
#[derive(Debug)]
pub(crate) struct RecordSite {
    script: SampleScript,
    record: RefCell<SampleRecord>,
}

impl RecordSite {
    pub(crate) fn new(script: SampleScript) -> Self {
        Self {
            script,
            record: RefCell::new(SampleRecord::new(&script)),
        }
    }

    /// The trial ended while a request was under way.
    pub(crate) fn unfinished(&self, operation: OperationId, written: bool) {
        if operation == id_of(SampleOperation::Write) && written {
            let bytes = self.script.data.record_bytes;
            self.record.borrow_mut().unanswered(bytes);
        }
    }

    /// What was counted; the site counts anew from here.
    pub(crate) fn take_record(&self) -> SampleRecord {
        self.record.replace(SampleRecord::new(&self.script))
    }
}

/// The counters of one guest on one thread, or on several.
#[derive(Clone, Debug)]
pub(crate) struct SampleRecord(SampleCounters);

impl SampleRecord {
    pub(crate) fn new(script: &SampleScript) -> Self {
        Self(SampleCounters {
            matrix: script.matrix,
            ..SampleCounters::default()
        })
    }

    fn drawn(&mut self, from: SampleOperation, to: SampleOperation) {
        self.0.transitions[from.index()][to.index()] += 1;
    }

    /// A record was written; `inside` the window or not.
    fn wrote(&mut self, inside: bool, bytes: u32, time: Nanos) {
        self.0.written_from_start += 1;
        self.0.bytes_from_start += u64::from(bytes);
        if inside {
            self.0.written += 1;
            self.0.writing_ms += time as f64 / 1e6;
        }
    }

    fn unanswered(&mut self, bytes: u32) {
        self.0.unanswered += 1;
        self.0.unanswered_bytes += u64::from(bytes);
    }

    /// Adds what another thread counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The counters over `window`.
    pub(crate) fn counters(self, window: Span) -> SampleCounters {
        SampleCounters {
            window_s: seconds(window.length()),
            ..self.0
        }
    }
}

/// One user.
pub(crate) struct RecordUser {
    site: Rc<RecordSite>,
    seed: u64,
    guest: u32,
    user: SampleUser,
}

impl RecordUser {
    pub(crate) fn new(site: Rc<RecordSite>, seed: u64, guest: u32, number: u32) -> Self {
        Self {
            site,
            seed,
            guest,
            user: SampleUser::new(seed, guest, number),
        }
    }

    async fn read(&mut self, client: &mut Client) -> Result<(), Failed> {
        let number = self.user.record(self.site.script.data.records);
        let ask = Ask {
            target: |out: &mut Vec<u8>| record_target(out, number),
            repeatable: true,
            keep: Keep::Body,
        };
        let judge = |body: &[u8]| check_record(body, number).map_err(fault);
        client
            .request(id_of(SampleOperation::Read), ask, judge)
            .await?;
        if self.inside(client) {
            self.site.record.borrow_mut().0.read += 1;
        }
        Ok(())
    }

    async fn list(&mut self, client: &mut Client) -> Result<(), Failed> {
        let script = &self.site.script;
        let count = script.list_length.min(script.data.records);
        let first = self.user.list_start(script.data.records, count);
        let ask = Ask {
            target: |out: &mut Vec<u8>| list_target(out, first, count),
            repeatable: true,
            keep: Keep::Body,
        };
        let judge = |body: &[u8]| check_list(body, first, count).map_err(fault);
        client
            .request(id_of(SampleOperation::List), ask, judge)
            .await?;
        if self.inside(client) {
            let counters = &mut self.site.record.borrow_mut().0;
            counters.lists += 1;
            counters.listed += u64::from(count);
        }
        Ok(())
    }

    async fn write(&mut self, client: &mut Client) -> Result<(), Failed> {
        let bytes = self.site.script.data.record_bytes;
        let text = self.user.text(bytes);
        let ask = Ask {
            target: |out: &mut Vec<u8>| write_target(out, &text),
            // Sent once only: a second one would be a second record.
            repeatable: false,
            keep: Keep::Body,
        };
        let judge = |body: &[u8]| check_written(body).map_err(fault);
        let answer = client
            .request(id_of(SampleOperation::Write), ask, judge)
            .await;
        let inside = self.inside(client);
        let mut record = self.site.record.borrow_mut();
        match answer {
            Ok((_, time)) => {
                record.wrote(inside, bytes, time);
                Ok(())
            }
            Err(failed) => {
                if failed.written {
                    record.unanswered(bytes);
                }
                Err(failed)
            }
        }
    }

    /// Whether the last request ended in the window.
    fn inside(&self, client: &Client) -> bool {
        client.window().contains(client.ended_at())
    }
}

impl UserScript for RecordUser {
    const ACT: Option<OperationId> = None;

    fn renew(&mut self, number: u32) {
        self.user = SampleUser::new(self.seed, self.guest, number);
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.user.initial_delay_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.user.think_us(delay) * 1_000
    }

    /// A new user looks at a list.
    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.list(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let (from, to) = self.user.step(&self.site.script.matrix);
        self.site.record.borrow_mut().drawn(from, to);
        match to {
            SampleOperation::Read => self.read(client).await,
            SampleOperation::List => self.list(client).await,
            SampleOperation::Write => self.write(client).await,
        }
    }
}

fn fault(answer: AnswerFault) -> Fault {
    Fault::new(ErrorClass::Parse, answer.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_place() {
        assert_eq!(OPERATIONS.entries().len(), INFO.operations.len());
        for operation in SampleOperation::ALL {
            assert_eq!(OPERATIONS.name(id_of(operation)), operation.name());
        }
        assert_eq!(OPERATIONS.main(), id_of(SampleOperation::Write));
    }

    #[test]
    fn writes_count_for_the_proof_wherever_they_end() {
        let script = SampleScript {
            data: SampleData {
                records: 10,
                record_bytes: 8,
            },
            list_length: 3,
            matrix: TransitionMatrix::default(),
        };
        let site = RecordSite::new(script);
        site.record.borrow_mut().wrote(false, 8, 1_000_000);
        site.record.borrow_mut().wrote(true, 8, 3_000_000);
        site.unfinished(id_of(SampleOperation::Write), true);
        site.unfinished(id_of(SampleOperation::Write), false);
        site.unfinished(id_of(SampleOperation::Read), true);
        let window = Span {
            start: 0,
            end: 60_000_000_000,
        };
        let counters = site.take_record().counters(window);
        assert_eq!((counters.written, counters.writing_ms), (1, 3.0));
        assert_eq!(
            (counters.written_from_start, counters.bytes_from_start),
            (2, 16)
        );
        assert_eq!((counters.unanswered, counters.unanswered_bytes), (1, 8));
        assert_eq!(counters.unit_rates().units_per_minute, 1.0);
    }

    #[test]
    fn users_without_records_are_refused() {
        let script = SampleScript {
            data: SampleData {
                records: 0,
                record_bytes: 8,
            },
            list_length: 3,
            matrix: TransitionMatrix::default(),
        };
        assert!(script.check().is_err());
    }
}
