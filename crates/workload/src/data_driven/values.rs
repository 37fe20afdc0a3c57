//! The values of a user: their names, and where sources put them.

use std::collections::BTreeSet;

use thiserror::Error;

use super::Feeder;

/// The names of values that the driver itself gives: the number of the user at its guest, that of
/// its session, and the number of the guest.
pub const OWN_VALUES: [&str; 3] = ["user", "session", "guest"];

/// An operation uses a value that nothing gives.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{operation}` uses `${{{value}}}`, which is neither data nor captured{}",
    near(known)
)]
pub struct UnknownValue {
    /// The operation.
    pub operation: String,
    /// The name of the value.
    pub value: String,
    /// What there is.
    pub known: Vec<String>,
}

fn near(known: &[String]) -> String {
    if known.is_empty() {
        String::new()
    } else {
        format!("; there are {}", known.join(", "))
    }
}

/// Refuses an operation that uses a value which is not `known`.
///
/// # Errors
/// The first such value.
pub(crate) fn check_values<'w>(
    operation: &str,
    mut used: impl Iterator<Item = &'w str>,
    known: &[String],
) -> Result<(), UnknownValue> {
    let unknown = used.find(|name| !known.iter().any(|known| known == name));
    unknown.map_or(Ok(()), |value| {
        Err(UnknownValue {
            operation: operation.to_owned(),
            value: value.to_owned(),
            known: known.to_vec(),
        })
    })
}

/// The names of all values, each once, in a fixed order: their places are how a user keeps them.
#[must_use]
pub fn value_names<'w>(
    feeders: &[Feeder],
    captures: impl IntoIterator<Item = &'w str>,
) -> Vec<String> {
    let own = OWN_VALUES.map(str::to_owned);
    let feeders = feeders.iter().flat_map(Feeder::values);
    let captures = captures.into_iter().map(str::to_owned);
    let mut seen = BTreeSet::new();
    own.into_iter()
        .chain(feeders)
        .chain(captures)
        .filter(|name| seen.insert(name.clone()))
        .collect()
}

/// Feeders by their index, each with the place of its first value; those of its further columns
/// follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeederPlaces(Vec<(usize, usize)>);

impl FeederPlaces {
    /// All feeders of a workload with values of these names; nothing where one has no place.
    #[must_use]
    pub fn new(feeders: &[Feeder], names: &[String]) -> Option<Self> {
        let place = |(index, feeder): (usize, &Feeder)| {
            let first = feeder.values().into_iter().next()?;
            let place = names.iter().position(|known| *known == first)?;
            Some((index, place))
        };
        let places: Option<Vec<_>> = feeders.iter().enumerate().map(place).collect();
        places.map(Self)
    }

    /// Those whose values are kept for a session.
    #[must_use]
    pub fn of_session(&self, feeders: &[Feeder]) -> Self {
        self.only(|index| feeders[index].is_kept())
    }

    /// Those that an operation draws from anew which uses values of these names.
    #[must_use]
    pub fn of_operation(&self, feeders: &[Feeder], used: &[&str]) -> Self {
        self.only(|index| {
            let feeder = &feeders[index];
            let uses = |value: &String| used.contains(&value.as_str());
            !feeder.is_kept() && feeder.values().iter().any(uses)
        })
    }

    fn only(&self, wanted: impl Fn(usize) -> bool) -> Self {
        let kept = self.0.iter().copied();
        Self(kept.filter(|(index, _)| wanted(*index)).collect())
    }

    /// Index and first place of each.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().copied()
    }
}
