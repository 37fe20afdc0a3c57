//! Which section a key belongs to, for keys that stand in the wrong one.

use std::sync::LazyLock;

use super::{ALL, settings};
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
    let component = name.split('.').next().unwrap_or_default();
    if path == "stack" && settings::COMPONENTS.contains(&component) {
        return Some("[stack.settings]".to_owned());
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_servers_have_a_section_of_their_own() {
        for name in ["postgresql.shared_buffers", "postgresql", "apache"] {
            assert_eq!(home_of(name, "stack").as_deref(), Some("[stack.settings]"));
        }
        assert_eq!(home_of("postgresql", "guest"), None);
        assert_eq!(home_of("users", "stack").as_deref(), Some("[load]"));
    }
}
