//! What differs between the requests of one operation.

/// Where a value stands in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A segment of the path, from 0.
    Path(usize),
    /// A pair of the query, from 0.
    Query(usize),
    /// The field of a form with this name.
    Field(String),
}

/// What differs between the requests of one operation.
#[derive(Clone, Debug)]
pub(super) struct Varied {
    /// Which of the groups of similar requests this is.
    pub(super) group: usize,
    pub(super) slot: Slot,
    /// What the value is called: the name of its field, or the segment before it.
    pub(super) of: String,
    /// The values that were seen, each once.
    pub(super) values: Vec<String>,
}

impl Varied {
    /// Bytes that its values take in a draft, roughly.
    pub(super) fn weight(&self) -> usize {
        self.values.iter().map(|value| 2 * value.len() + 8).sum()
    }
}
