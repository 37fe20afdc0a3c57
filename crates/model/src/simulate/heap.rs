//! A heap of four children a node: keys with a job, smallest first, ties by order of entry.

/// An entry: key, sequence number, job.
type Entry = (f64, u64, u32);

/// Smallest key first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    entries: Vec<Entry>,
    sequence: u64,
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
        self.entries.first().map(|entry| entry.0)
    }

    #[inline]
    pub(crate) fn push(&mut self, key: f64, job: u32) {
        self.sequence += 1;
        let entry = (key, self.sequence, job);
        let mut place = self.entries.len();
        self.entries.push(entry);
        while place > 0 {
            let parent = (place - 1) / 4;
            if !before(entry, self.entries[parent]) {
                break;
            }
            self.entries[place] = self.entries[parent];
            place = parent;
        }
        self.entries[place] = entry;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let job = self.entries.first()?.2;
        let last = self.entries.pop()?;
        if self.entries.is_empty() {
            return Some(job);
        }
        let mut place = 0;
        loop {
            let children = 4 * place + 1..(4 * place + 5).min(self.entries.len());
            let Some(least) = children.reduce(|a, b| if before(self.entries[b], self.entries[a]) { b } else { a }) else {
                break;
            };
            if !before(self.entries[least], last) {
                break;
            }
            self.entries[place] = self.entries[least];
            place = least;
        }
        self.entries[place] = last;
        Some(job)
    }
}

#[inline]
fn before(a: Entry, b: Entry) -> bool {
    a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn keys_leave_in_order_and_ties_in_order_of_entry() {
        let mut stream = Stream::new(3, 0);
        let mut heap = Heap::with_capacity(8);
        let mut keys: Vec<f64> = (0..500).map(|_| (stream.uniform() * 50.0).floor()).collect();
        for (job, key) in keys.iter().enumerate() {
            heap.push(*key, job as u32);
        }
        let mut left = Vec::new();
        while let (Some(key), Some(job)) = (heap.first(), heap.pop()) {
            assert_eq!(keys[job as usize], key);
            left.push((key, job));
        }
        assert!(left.windows(2).all(|pair| pair[0] < pair[1]), "by key, then by entry");
        keys.sort_by(f64::total_cmp);
        assert_eq!(left.iter().map(|entry| entry.0).collect::<Vec<_>>(), keys);
    }
}
