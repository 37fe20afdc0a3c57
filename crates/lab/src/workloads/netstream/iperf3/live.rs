//! What clients of iperf3 have received while they run: they tell it at their end alone.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Instant,
};

use rookery_cast::{truncate_u32, truncate_u64};
use rookery_driver::{GuestSecond, LoadSecond};
use rookery_stats::SecondSample;

/// The process of the client of one guest; none yet.
#[derive(Debug, Default)]
pub(super) struct ClientProcess(AtomicU32);

impl ClientProcess {
    /// It runs from now on.
    pub(super) fn set(&self, process: u32) {
        self.0.store(process, Ordering::Relaxed);
    }

    /// Bytes that it has read by `reader`, which takes the number of a process.
    fn read_bytes(&self, reader: &dyn Fn(u32) -> Option<u64>) -> Option<u64> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            process => reader(process),
        }
    }
}

/// Counts the blocks of the streams of all guests, second by second.
pub(super) struct LiveStreams<'l> {
    clients: &'l [ClientProcess],
    block_bytes: f64,
    /// Blocks that each guest's client had received, and when that was looked up.
    known: Vec<u64>,
    looked: Instant,
}

impl<'l> LiveStreams<'l> {
    /// For clients whose blocks have so many bytes.
    pub(super) fn new(clients: &'l [ClientProcess], block_bytes: u32, begin: Instant) -> Self {
        Self {
            clients,
            block_bytes: f64::from(block_bytes),
            known: vec![0; clients.len()],
            looked: begin,
        }
    }

    /// The blocks since the last look as those of `second`, and their rate per second. How many
    /// bytes a process has read is told by `reader`.
    pub(super) fn look(
        &mut self,
        second: u32,
        now: Instant,
        reader: &dyn Fn(u32) -> Option<u64>,
    ) -> (LoadSecond, f64) {
        let sample = |blocks: u32| GuestSecond {
            requests: SecondSample {
                second,
                requests: blocks,
                orders: blocks,
                ..SecondSample::default()
            },
            // Nothing is known of response times.
            main: SecondSample::default(),
        };
        let (mut all, mut guests) = (0_u32, Vec::with_capacity(self.clients.len()));
        for (client, known) in self.clients.iter().zip(&mut self.known) {
            let blocks = client.read_bytes(reader).map_or(*known, |bytes| {
                truncate_u64(bytes as f64 / self.block_bytes)
            });
            let new = truncate_u32(blocks.saturating_sub(*known) as f64);
            *known = blocks.max(*known);
            all = all.saturating_add(new);
            guests.push(sample(new));
        }
        let since = now.saturating_duration_since(self.looked).as_secs_f64();
        self.looked = now;
        let rate = if since > 0.0 {
            f64::from(all) / since
        } else {
            0.0
        };
        let told = LoadSecond {
            second,
            all: sample(all),
            guests,
            faults: Vec::new(),
            lag_p99_us: 0,
            lag_max_us: 0,
        };
        (told, rate)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn blocks_are_those_since_the_last_look() {
        let clients = [const { ClientProcess(AtomicU32::new(0)) }; 2];
        clients[1].set(7);
        let begin = Instant::now();
        let mut live = LiveStreams::new(&clients, 1000, begin);
        let (first, rate) = live.look(0, begin + Duration::from_secs(1), &|process| {
            (process == 7).then_some(2_500)
        });
        assert_eq!((first.all.requests.requests, rate), (2, 2.0));
        assert_eq!(first.guests.len(), 2);
        assert_eq!(first.guests[0].requests.requests, 0);

        // Half a block was there already; the client ends then.
        let look = |live: &mut LiveStreams<'_>, at, read| {
            live.look(1, begin + Duration::from_secs(at), &|_| read)
        };
        let (second, rate) = look(&mut live, 3, Some(4_000));
        assert_eq!((second.all.requests.orders, rate), (2, 1.0));
        let (third, rate) = look(&mut live, 4, None);
        assert_eq!((third.all.requests.requests, rate), (0, 0.0));
        assert_eq!(third.all.main.requests, 0, "no response times");
    }
}
