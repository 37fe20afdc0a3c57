//! Words of names, addresses and texts; all of our own choice.

/// Nouns.
pub(super) const NOUNS: [&str; 32] = [
    "anchor", "basin", "bridge", "canal", "cedar", "clover", "copper", "dune", "elm", "fern",
    "forge", "garden", "glade", "harbor", "hazel", "island", "juniper", "lantern", "maple",
    "meadow", "mill", "orchard", "pebble", "pine", "quarry", "ridge", "river", "saddle", "spring",
    "summit", "valley", "willow",
];

/// Words of descriptions.
const TEXT: [&str; 32] = [
    "adapter",
    "after",
    "before",
    "cable",
    "check",
    "connect",
    "controller",
    "device",
    "disk",
    "driver",
    "file",
    "firmware",
    "first",
    "install",
    "kernel",
    "memory",
    "network",
    "new",
    "option",
    "package",
    "port",
    "release",
    "remove",
    "restart",
    "screen",
    "server",
    "setting",
    "start",
    "storage",
    "system",
    "then",
    "version",
];

/// States of addresses.
pub(super) const STATES: [&str; 16] = [
    "AZ", "CA", "CO", "FL", "GA", "IL", "MA", "MI", "MN", "NC", "NY", "OH", "OR", "PA", "TX", "WA",
];

/// The noun of a value.
pub(super) fn noun(value: u64) -> &'static str {
    NOUNS[rookery_cast::index(value % NOUNS.len() as u64)]
}

/// A word with its first letter in capitals.
pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

/// Words of descriptions, at most `bytes` long, that follow from `seed`.
pub(super) fn text(seed: u64, bytes: usize) -> String {
    let mut out = String::with_capacity(bytes);
    for index in 0u64.. {
        let value = crate::random::mix(seed.wrapping_add(index));
        let word = TEXT[rookery_cast::index(value % TEXT.len() as u64)];
        if out.len() + word.len() + 1 > bytes {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_long_as_asked_and_follow_from_their_seed() {
        for bytes in [0, 1, 12, 100, 2_000] {
            let text = text(7, bytes);
            assert!(text.len() <= bytes && text.len() + 12 > bytes, "{text}");
        }
        assert_eq!(text(7, 100), text(7, 100));
        assert_ne!(text(7, 100), text(8, 100));
        assert_eq!(capitalized("pine"), "Pine");
        assert_eq!(capitalized(""), "");
    }
}
