//! Memory that a server needs to answer: so much of it is touched by requests, part by part.
//!
//! It is the planted truth of searches over memory. The pages are anonymous and written to, so the
//! kernel can take none of them back without swap: a guest with less memory than the working set
//! and the server itself is killed, one with swap waits for it.

use std::sync::{Mutex, PoisonError};

/// Smallest page of memory.
const PAGE_BYTES: usize = 4096;

/// So many requests touch the whole set once.
const PARTS: usize = 64;

/// The memory.
#[derive(Debug)]
pub(super) struct WorkingSet {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Zeros that nobody wrote to take no memory yet.
    bytes: Vec<u8>,
    /// Where the next part begins.
    next: usize,
}

impl WorkingSet {
    /// A set of so many bytes, none of which is touched yet.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            state: Mutex::new(State {
                bytes: vec![0; bytes],
                next: 0,
            }),
        }
    }

    /// Touch the next part of it: a write to each of its pages.
    pub(super) fn touch(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { bytes, next } = &mut *state;
        let part = bytes.len().div_ceil(PARTS);
        let end = next.saturating_add(part).min(bytes.len());
        for page in bytes
            .get_mut(*next..end)
            .unwrap_or_default()
            .chunks_mut(PAGE_BYTES)
        {
            if let Some(first) = page.first_mut() {
                *first = first.wrapping_add(1);
            }
        }
        *next = if end == bytes.len() { 0 } else { end };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of all pages.
    fn firsts(set: &WorkingSet) -> Vec<u8> {
        let state = set.state.lock().expect("not poisoned");
        state.bytes.chunks(PAGE_BYTES).map(|page| page[0]).collect()
    }

    #[test]
    fn as_many_requests_as_it_has_parts_touch_each_page_once() {
        let set = WorkingSet::new(3 * PARTS * PAGE_BYTES);
        set.touch();
        assert_eq!(firsts(&set)[..4], [1, 1, 1, 0]);
        for _ in 1..PARTS {
            set.touch();
        }
        assert_eq!(firsts(&set), vec![1; 3 * PARTS]);
        set.touch();
        assert_eq!(firsts(&set)[..4], [2, 2, 2, 1]);
    }

    #[test]
    fn none_is_none() {
        let set = WorkingSet::new(0);
        set.touch();
        assert_eq!(firsts(&set), Vec::<u8>::new());
    }
}
