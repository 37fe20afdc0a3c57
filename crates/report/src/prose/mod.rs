//! What an analysis says, in words. Knows neither tables nor figures.

pub(crate) mod answer;
pub(crate) mod baselines;
pub(crate) mod caveats;
pub(crate) mod compare;
pub(crate) mod effects;
pub(crate) mod format;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod loads;
pub(crate) mod loop_type;
pub(crate) mod plain;
pub(crate) mod scaling;
pub(crate) mod searches;
pub(crate) mod settings;
pub(crate) mod splits;
pub(crate) mod tiles;
pub(crate) mod trend;
pub(crate) mod trust;
pub(crate) mod wish;
pub(crate) mod words;

/// A name and what is said of it.
pub(crate) type Fact = (String, String);

/// More sentences of a kind than this are summed up.
pub(crate) const MOST_SENTENCES: usize = 6;
