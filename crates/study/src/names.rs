//! Names: the words of enumerations, and the name that was probably meant by a wrong one.

/// An enumeration with the words for it.
pub trait Named: Copy + PartialEq + 'static {
    /// Word, value, meaning.
    const NAMES: &'static [(&'static str, Self, &'static str)];

    /// Words that people write for one of them, each with the right one.
    const MEANT: &'static [(&'static str, &'static str)] = &[];

    /// The word for this value.
    fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, value, _)| *value == self)
            .map_or("", |(name, _, _)| name)
    }
}

/// Longer names than any key are not worth a search.
const LONGEST_NAME: usize = 40;

/// The name that was most probably meant; `None` where none is near.
pub fn nearest<'k>(name: &str, keys: &[&'k str]) -> Option<&'k str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let plain = name.to_ascii_lowercase().replace('-', "_");
    let distance = |key: &str| strsim::damerau_levenshtein(&plain, &key.replace('-', "_"));
    let (best, distance) = keys
        .iter()
        .map(|key| (*key, distance(key)))
        .min_by_key(|(_, distance)| *distance)?;
    let tolerance = (best.len().max(plain.len()) / 3).max(1);
    (distance <= tolerance).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found_through_case_dashes_and_typing_errors() {
        let keys = ["ramp_up", "ramp_down", "steady", "p95"];
        assert_eq!(nearest("ramp-up", &keys), Some("ramp_up"));
        assert_eq!(nearest("Steady", &keys), Some("steady"));
        assert_eq!(nearest("stedy", &keys), Some("steady"));
        assert_eq!(nearest("p59", &keys), Some("p95"));
        assert_eq!(nearest("bananas", &keys), None);
        assert_eq!(nearest(&"s".repeat(10_000), &keys), None);
    }
}
