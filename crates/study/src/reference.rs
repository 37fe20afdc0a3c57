//! The reference of all keys, as plain text.

use std::fmt::Write as _;

use crate::{
    Variable, factors,
    grammar::{KeyInfo, Need, written_key},
    scale, sections,
};

/// Every section and key with kind, default and meaning, made from the same list as the parser.
#[must_use]
pub fn reference() -> String {
    let mut out = String::from(
        "A study file is TOML. Units: us, ms, s, min, h; KiB, MiB, GiB, TiB (powers of 1024), KB, \
         MB, GB, TB\n",
    );
    out.push_str("(powers of 1000); database sizes are nominal, in MB or GB (1GB = 1024MB).\n");
    write_general(&mut out);
    for section in sections::ALL.iter().chain([&sections::GROUP_SECTION]) {
        let title = match (section.name, section.many) {
            ("", _) => String::new(),
            (name, true) => format!("[[{name}]]"),
            (name, false) => format!("[{name}]"),
        };
        write_section(&mut out, &title, section.meaning, &(section.keys)());
        if section.name == sections::WORKLOAD {
            for (title, meaning, keys) in crate::workloads::tables() {
                write_section(&mut out, title, meaning, &keys);
            }
        }
        for below in section.below {
            let titles: Vec<String> = (below.names)()
                .into_iter()
                .map(|name| format!("[{}.{name}]", section.name))
                .collect();
            write_section(
                &mut out,
                &titles.join(" "),
                &(below.meaning)(),
                &(below.keys)(),
            );
            if let Some(any) = below.any {
                let _ = write!(out, "\n  \"{}\"\n", any.name);
                for line in wrapped(any.describe) {
                    let _ = writeln!(out, "      {line}");
                }
                let _ = writeln!(out, "      for instance: {}", any.example);
            }
        }
    }
    let _ = write!(out, "\n[{}.NAME]\n", scale::SECTION);
    for line in wrapped(scale::MEANING) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The reference of one table, written `load` or `[load]`, or of the tables with a key of this
/// name; nothing where there is none.
#[must_use]
pub fn reference_of(table: &str) -> Option<String> {
    let wanted = table.trim_matches(['[', ']']);
    let reference = reference();
    let blocks: Vec<&str> = blocks(&reference).collect();
    let named = |block: &&&str| titles(block).any(|title| title == wanted);
    let has_key = |block: &&&str| {
        block.lines().any(|line| {
            line.strip_prefix("  ")
                .and_then(|line| line.split([' ', '=']).next())
                == Some(wanted)
        })
    };
    let mut found: Vec<&str> = blocks.iter().filter(named).copied().collect();
    if found.is_empty() {
        found = blocks.iter().filter(has_key).copied().collect();
    }
    (!found.is_empty()).then(|| found.join("\n"))
}

/// The names of all tables, as [`reference_of`] takes them.
#[must_use]
pub fn reference_tables() -> Vec<String> {
    blocks(&reference())
        .flat_map(titles)
        .map(str::to_owned)
        .collect()
}

/// The parts of the reference that begin with the titles of tables.
fn blocks(reference: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = reference
        .match_indices("\n[")
        .map(|(at, _)| at + 1)
        .chain([reference.len()])
        .collect();
    let pairs: Vec<&str> = starts
        .windows(2)
        .map(|pair| &reference[pair[0]..pair[1]])
        .collect();
    pairs.into_iter()
}

/// The tables that a part is about: those of its first line.
fn titles(block: &str) -> impl Iterator<Item = &str> {
    let first = block.lines().next().unwrap_or_default();
    first
        .split_whitespace()
        .map(|title| title.trim_matches(['[', ']']))
}

/// What holds of many keys.
fn write_general(out: &mut String) {
    let fixed: Vec<&str> = factors::fixed_keys().collect();
    let lists = format!(
        "A list where one value is expected makes the key a factor: `tuning = \
         [\"stock\", \"pureflex\"]` compares the two in every layout. \
         Up to {} levels; the first is the reference. No factors: {}.",
        factors::MOST_LEVELS,
        fixed.join(", ")
    );
    let variables: Vec<&str> = Variable::ALL
        .iter()
        .map(|variable| variable.name())
        .collect();
    let rules = format!(
        "A rule is a formula over {} of a guest, with + - * / ( ), min, max, floor, ceil, round, \
         percent and units: \
         `max(640MiB, 2560MiB * vcpus)`. In settings of servers memory is in bytes.",
        variables.join(", ")
    );
    for text in [lists, rules] {
        out.push('\n');
        for line in wrapped(&text) {
            let _ = writeln!(out, "{line}");
        }
    }
}

fn write_section(out: &mut String, title: &str, meaning: &str, keys: &[KeyInfo]) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n{}{meaning}",
        if title.is_empty() {
            String::new()
        } else {
            format!("{title}\n")
        }
    );
    for key in keys {
        let _ = write!(out, "\n  {}\n", written_key(key.name));
        for line in wrapped(&key.meaning) {
            let _ = writeln!(out, "      {line}");
        }
        for line in wrapped(&key.describe) {
            let _ = writeln!(out, "      {line}");
        }
        let _ = match key.need {
            Need::Required => writeln!(out, "      required"),
            Need::Default(value) => writeln!(out, "      default: {value}"),
            Need::Optional(absent) => writeln!(out, "      without it: {absent}"),
        };
    }
}

/// Breaks a text into lines of up to 90 characters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() <= 90 {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_meaning_and_a_kind() {
        for section in sections::ALL.iter().chain([&sections::GROUP_SECTION]) {
            let below = section.below.iter().flat_map(|below| (below.keys)());
            let below: Vec<KeyInfo> = below.collect();
            for key in (section.keys)().iter().chain(&below) {
                assert!(
                    !key.meaning.is_empty() && !key.describe.is_empty(),
                    "{}",
                    key.name
                );
                assert!(key.meaning.ends_with('.'), "{}: {}", key.name, key.meaning);
            }
        }
    }

    #[test]
    fn the_reference_reads_well() {
        insta::assert_snapshot!(reference());
    }
}
