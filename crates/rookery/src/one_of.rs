//! Values of enums that another crate owns, on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A parser of the values of an enum by their names, each with its meaning: the enum itself stays
/// with its owner.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let possible = values
        .iter()
        .map(|(name, _, meaning)| PossibleValue::new(*name).help(*meaning));
    PossibleValuesParser::new(possible).try_map(|typed| {
        values
            .iter()
            .find_map(|(name, value, _)| (*name == typed).then_some(*value))
            .ok_or("no such value")
    })
}
