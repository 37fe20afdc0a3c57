//! A heap of four children a node: keys with a job, smallest first, ties by order of entry.

use rookery_cast::{low_u32, low_u64};

/// Key, sequence number and job in one number: keys are times, at least 0, whose bits order as the
/// numbers do, so that one comparison decides all.
type Entry = u128;

/// Children of a node; those of one node lie in one line of the cache.
const CHILDREN: usize = 4;

/// Smallest key first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    entries: Vec<Entry>,
    /// Wraps after four thousand million entries; equal keys of so distant entries never meet.
    sequence: u32,
}

#[inline]
fn key(entry: Entry) -> f64 {
    f64::from_bits((entry >> 64) as u64)
}

impl Heap {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            sequence: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The smallest key.
    #[inline]
    pub(crate) fn first(&self) -> Option<f64> {
        self.entries.first().map(|entry| key(*entry))
    }

    /// Add a job; `key` is at least 0.
    #[inline]
    pub(crate) fn push(&mut self, key: f64, job: u32) {
        debug_assert!(key >= 0.0 && key.is_sign_positive(), "{key}");
        self.sequence = self.sequence.wrapping_add(1);
        let entry =
            u128::from(key.to_bits()) << 64 | u128::from(self.sequence) << 32 | u128::from(job);
        let mut place = self.entries.len();
        self.entries.push(entry);
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if entry > self.entries[parent] {
                break;
            }
            self.entries[place] = self.entries[parent];
            place = parent;
        }
        self.entries[place] = entry;
    }

    /// The job with the smallest key.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        // A job's number is the last of the three.
        let job = low_u32(low_u64(*self.entries.first()?));
        let last = self.entries.pop()?;
        if self.entries.is_empty() {
            return Some(job);
        }
        let entries = self.entries.as_mut_slice();
        let mut place = 0;
        loop {
            let first = CHILDREN * place + 1;
            let Some(child) = least(entries, first) else {
                break;
            };
            if entries[child] > last {
                break;
            }
            entries[place] = entries[child];
            place = child;
        }
        entries[place] = last;
        Some(job)
    }
}

/// The place of the smallest of the children that begin at `first`, without a branch that depends
/// on the keys where all four are there.
#[inline]
fn least(entries: &[Entry], first: usize) -> Option<usize> {
    if let Some(&[a, b, c, d]) = entries.get(first..first + CHILDREN) {
        let (left, one) = if b < a { (first + 1, b) } else { (first, a) };
        let (right, two) = if d < c {
            (first + 3, d)
        } else {
            (first + 2, c)
        };
        return Some(if two < one { right } else { left });
    }
    (first..entries.len()).reduce(|a, b| if entries[b] < entries[a] { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn keys_leave_in_order_and_ties_in_order_of_entry() {
        let mut stream = Stream::new(3, 0);
        let mut heap = Heap::with_capacity(8);
        let mut keys: Vec<f64> = (0..500)
            .map(|_| (stream.uniform() * 50.0).floor())
            .collect();
        for (job, key) in keys.iter().enumerate() {
            heap.push(*key, job as u32);
        }
        let mut left = Vec::new();
        while let (Some(key), Some(job)) = (heap.first(), heap.pop()) {
            assert_eq!(keys[job as usize], key);
            left.push((key, job));
        }
        assert!(
            left.windows(2).all(|pair| pair[0] < pair[1]),
            "by key, then by entry"
        );
        keys.sort_by(f64::total_cmp);
        assert_eq!(left.iter().map(|entry| entry.0).collect::<Vec<_>>(), keys);
    }

    #[test]
    fn entries_and_departures_may_mix() {
        let mut stream = Stream::new(4, 0);
        let (mut heap, mut known) = (Heap::default(), Vec::new());
        for job in 0..2_000_u32 {
            let key = stream.uniform() * 1e-3;
            heap.push(key, job);
            known.push((key, job));
            if job % 3 > 0 {
                known.sort_by(|a, b| b.0.total_cmp(&a.0));
                assert_eq!(heap.pop(), known.pop().map(|(_, job)| job));
            }
        }
        assert_eq!(heap.len(), known.len());
    }
}
