//! Which section a key belongs to, for keys that stand in the wrong one.

use std::sync::LazyLock;

use super::ALL;
use crate::grammar::SectionInfo;

/// Every key of every section with its section.
static HOMES: LazyLock<Vec<(&str, &SectionInfo)>> = LazyLock::new(|| {
    let homes = ALL.iter().flat_map(|section| {
        (section.keys)()
            .into_iter()
            .map(move |key| (key.name, section))
    });
    homes.collect()
});

/// The section that has a key of exactly this name, other than the one at `path`.
pub(crate) fn home_of(name: &str, path: &str) -> Option<String> {
    let plain = name.to_ascii_lowercase().replace('-', "_");
    let here = path.split(['[', '.']).next().unwrap_or_default();
    let (_, section) = HOMES
        .iter()
        .find(|(key, section)| section.name != here && *key == plain)?;
    Some(match section.many {
        true => format!("[[{}]]", section.name),
        false if section.name.is_empty() => "the top of the file".to_owned(),
        false => format!("[{}]", section.name),
    })
}
