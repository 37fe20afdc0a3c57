//! The netstream workload: exchanges, one after the other, on a kept connection or each on a new
//! one.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rookery_driver::{Fault, Nanos, OperationEntry, OperationId, OperationTable, Span, seconds};
use rookery_stats::ErrorClass;
use rookery_workload::{
    RandomDelay, UserDelays,
    netstream::{
        ConnectionUse, ExchangeSize, FETCH_PATH, INFO, NetstreamCounters, Receiver,
        exchange_target, receipt,
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

static ENTRIES: [OperationEntry; 1] = [OperationEntry::listed(INFO.operations[0])];

const EXCHANGE: OperationId = OperationId::new(0);

/// Answers up to this size are kept and measured; of larger ones the length that the server
/// announced is waited for.
const MOST_KEPT: u32 = 4096;

/// What the connections to one guest are configured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetstreamScript {
    /// How large requests and answers are.
    pub size: ExchangeSize,
    /// What becomes of a connection after an exchange.
    pub connection: ConnectionUse,
    /// Who receives the content. A guest that does has been told size and connection at its start.
    pub receiver: Receiver,
}

impl NetstreamScript {
    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        let ExchangeSize {
            pad_bytes,
            answer_bytes,
        } = self.size;
        if pad_bytes <= ExchangeSize::MOST_PAD
            && (1..=ExchangeSize::MOST_ANSWER).contains(&answer_bytes)
        {
            return Ok(());
        }
        Err(ScriptProblem {
            what: format!(
                "requests longer by {pad_bytes} bytes, or answers of {answer_bytes} bytes"
            ),
            help: "give requests at most 4096 bytes more, and answers 1 byte to 64 MiB",
        })
    }
}

/// The connections to one guest on one thread: their script, and what they count.
#[derive(Debug)]
pub(crate) struct ExchangeSite {
    script: NetstreamScript,
    /// What each exchange asks for.
    target: Vec<u8>,
    /// What the answer must be, where that is more than so many bytes.
    receipt: Option<String>,
    record: RefCell<NetstreamRecord>,
}

impl ExchangeSite {
    pub(crate) fn new(script: NetstreamScript) -> Self {
        let mut target = Vec::new();
        let receipt = match script.receiver {
            Receiver::Driver => {
                exchange_target(&mut target, script.size);
                None
            }
            Receiver::Guest => {
                target.extend_from_slice(FETCH_PATH.as_bytes());
                Some(receipt(script.size.answer_bytes))
            }
        };
        Self {
            script,
            target,
            receipt,
            record: RefCell::default(),
        }
    }

    /// The trial ended while a request was under way.
    pub(crate) fn unfinished(&self, written: bool) {
        if written {
            self.record.borrow_mut().unanswered(self.script.size);
        }
    }

    /// What was counted; the site counts anew from here.
    pub(crate) fn take_record(&self) -> NetstreamRecord {
        self.record.take()
    }
}

/// The counters of one guest on one thread, or on several.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetstreamRecord(NetstreamCounters);

impl NetstreamRecord {
    /// An answer was received whole, in a request that lasted from `began` to `ended`.
    fn received(&mut self, size: ExchangeSize, began: Nanos, ended: Nanos, window: Span) {
        let bytes = size.answer_bytes;
        let counters = &mut self.0;
        counters.exchanges_from_start += 1;
        counters.bytes_from_start += u64::from(bytes);
        counters.exchanges += u64::from(window.contains(ended));
        counters.received_bytes += f64::from(bytes) * share_inside(began, ended, window);
    }

    fn unanswered(&mut self, size: ExchangeSize) {
        self.0.unanswered += 1;
        self.0.unanswered_bytes += u64::from(size.answer_bytes);
    }

    /// Adds what another thread counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The counters over `window`.
    pub(crate) fn counters(self, window: Span) -> NetstreamCounters {
        NetstreamCounters {
            window_s: seconds(window.length()),
            ..self.0
        }
    }
}

/// The share of the time from `began` to `ended` that lies in the window.
fn share_inside(began: Nanos, ended: Nanos, window: Span) -> f64 {
    if ended <= began {
        return f64::from(u8::from(window.contains(ended)));
    }
    let inside = ended
        .min(window.end)
        .saturating_sub(began.max(window.start));
    inside as f64 / (ended - began) as f64
}

/// One connection at a time.
pub(crate) struct Exchanger {
    site: Rc<ExchangeSite>,
    seed: u64,
    guest: u32,
    delays: UserDelays,
}

impl Exchanger {
    pub(crate) fn new(site: Rc<ExchangeSite>, seed: u64, guest: u32, number: u32) -> Self {
        Self {
            site,
            seed,
            guest,
            delays: UserDelays::new(seed, guest, number),
        }
    }
}

impl UserScript for Exchanger {
    const ACT: Option<OperationId> = None;

    fn renew(&mut self, number: u32) {
        self.delays = UserDelays::new(self.seed, self.guest, number);
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.delays.initial_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.delays.think_us(delay) * 1_000
    }

    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.act(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let site = &*self.site;
        let NetstreamScript {
            size,
            connection,
            receiver,
        } = site.script;
        let kept = site.receipt.is_some() || size.answer_bytes <= MOST_KEPT;
        let ask = Ask {
            target: |out: &mut Vec<u8>| out.extend_from_slice(&site.target),
            // Sent once only: a second one would be a second answer.
            repeatable: false,
            keep: if kept { Keep::Body } else { Keep::Length },
        };
        let judge = |body: &[u8]| {
            let whole = match &site.receipt {
                Some(receipt) => body == receipt.as_bytes(),
                None => !kept || body.len() == size.answer_bytes as usize,
            };
            match whole {
                true => Ok(()),
                false => Err(Fault::new(ErrorClass::Parse, "an answer of another size")),
            }
        };
        let answer = client.request(EXCHANGE, ask, judge).await;
        let (ended, window) = (client.ended_at(), client.window());
        // Between guests it is theirs that is closed.
        if connection == ConnectionUse::New && receiver == Receiver::Driver {
            client.disconnect();
        }
        let mut record = site.record.borrow_mut();
        match answer {
            Ok(((), time)) => {
                record.received(size, ended.saturating_sub(time), ended, window);
                Ok(())
            }
            Err(failed) => {
                if failed.written {
                    record.unanswered(size);
                }
                Err(failed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ExchangeSize = ExchangeSize {
        pad_bytes: 0,
        answer_bytes: 1000,
    };
    const WINDOW: Span = Span {
        start: 1_000,
        end: 2_000,
    };

    #[test]
    fn what_reaches_over_an_end_of_the_window_counts_in_part() {
        let mut record = NetstreamRecord::default();
        for (began, ended) in [(500, 1_500), (1_200, 1_300), (1_900, 2_100), (2_100, 2_200)] {
            record.received(SIZE, began, ended, WINDOW);
        }
        record.unanswered(SIZE);
        let counters = record.counters(WINDOW);
        assert_eq!(counters.received_bytes, 500.0 + 1000.0 + 500.0);
        assert_eq!((counters.exchanges, counters.exchanges_from_start), (2, 4));
        assert_eq!((counters.unanswered, counters.unanswered_bytes), (1, 1000));
        assert_eq!(share_inside(5, 5, WINDOW), 0.0);
        assert_eq!(share_inside(1_500, 1_500, WINDOW), 1.0);
        assert_eq!(share_inside(0, 9_000, WINDOW), 1_000.0 / 9_000.0);
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let script = |pad_bytes, answer_bytes| NetstreamScript {
            size: ExchangeSize {
                pad_bytes,
                answer_bytes,
            },
            connection: ConnectionUse::Kept,
            receiver: Receiver::Driver,
        };
        assert!(script(0, 1).check().is_ok() && script(4096, 64 << 20).check().is_ok());
        assert!(script(0, 0).check().is_err() && script(4097, 1).check().is_err());
    }
}
