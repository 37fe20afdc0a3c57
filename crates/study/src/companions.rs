//! Files that a study names: what stands in them is part of the study.
//!
//! They are found before the study is read, and read by whoever has the study's file, so that
//! nothing here does I/O.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use toml::de::{DeTable, DeValue};

use crate::source::Source;

/// The sections in which files are named, each with the keys whose values are names of files,
/// anywhere below it.
const SECTIONS: [(&str, FileKeys); 2] = [("workload", &WORKLOAD_KEYS), ("stack", &["from"])];

/// Keys whose values are names of files.
type FileKeys = &'static [&'static str];

/// Those of a workload, and of a file of its own.
const WORKLOAD_KEYS: [&str; 3] = ["file", "csv", "setup_file"];

/// Most files that one study may name.
const MOST_FILES: usize = 48;
/// Most bytes of one of them.
pub const MOST_COMPANION_BYTES: usize = 128 * 1024;

/// A file that a study names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// Its name, relative to the directory of the study.
    pub name: String,
    /// Where it is, from the root; `None` where it is built in.
    pub place: Option<String>,
    /// What is in it.
    pub content: CompanionContent,
}

/// What is in a file that a study names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompanionContent {
    /// This text.
    Text(String),
    /// It could not be read, for this reason.
    Unreadable(String),
}

/// The names of the files that a study names, relative to its directory: at most 48. A text that is
/// no TOML names none.
#[must_use]
pub fn companion_names(study: &str) -> Vec<String> {
    let (root, _) = DeTable::parse_recoverable(study);
    let mut names = Vec::new();
    collect(root.get_ref(), "", None, &mut names);
    names
}

/// The names of the files that the companion `name` of a study names, relative to the directory of
/// the study.
#[must_use]
pub fn names_in_companion(name: &str, text: &str) -> Vec<String> {
    let (root, _) = DeTable::parse_recoverable(text);
    let mut names = Vec::new();
    collect(root.get_ref(), name, Some(&WORKLOAD_KEYS), &mut names);
    names
}

fn collect(table: &DeTable<'_>, from: &str, inside: Option<FileKeys>, names: &mut Vec<String>) {
    for (key, value) in table {
        let key = key.get_ref().as_ref();
        let wanted = inside.is_some_and(|keys| keys.contains(&key));
        let section = || SECTIONS.iter().find(|(name, _)| *name == key);
        let below = inside.or_else(|| section().map(|(_, keys)| *keys));
        collect_value(value.get_ref(), from, below, wanted, names);
    }
}

fn collect_value(
    value: &DeValue<'_>,
    from: &str,
    inside: Option<FileKeys>,
    wanted: bool,
    names: &mut Vec<String>,
) {
    match value {
        DeValue::Table(table) => collect(table, from, inside, names),
        DeValue::Array(list) => list
            .iter()
            .for_each(|value| collect_value(value.get_ref(), from, inside, wanted, names)),
        DeValue::String(name) if wanted => {
            let name = beside(from, name);
            if names.len() < MOST_FILES && !names.contains(&name) {
                names.push(name);
            }
        }
        _ => {}
    }
}

/// A name that stands in the file `from`, relative to the directory that `from` is relative to.
pub(crate) fn beside(from: &str, name: &str) -> String {
    match from.rsplit_once('/') {
        Some((directory, _)) if !name.starts_with('/') => format!("{directory}/{name}"),
        _ => name.to_owned(),
    }
}

/// The companions of a study while it is read. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Companions(Arc<BTreeMap<String, Loaded>>);

#[derive(Debug)]
enum Loaded {
    /// Its text behind as many blanks as bytes stand before it in the source: places in it are
    /// places in the source.
    Text {
        padded: String,
        start: usize,
        place: Option<String>,
    },
    Unreadable(String),
}

/// A companion as it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompanionText<'c> {
    /// Its text behind blanks.
    pub(crate) padded: &'c str,
    /// Where it begins.
    pub(crate) start: usize,
    /// Where the file is, from the root; nothing where that is not known.
    pub(crate) place: Option<&'c str>,
}

/// Why a companion cannot be read, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing<'c>(pub(crate) &'c str);

impl CompanionText<'_> {
    /// The text itself.
    pub(crate) fn text(&self) -> &str {
        &self.padded[self.start..]
    }

    /// An empty span behind its last character.
    pub(crate) fn end(&self) -> Range<usize> {
        let end = self.padded.trim_end().len().max(self.start);
        end..end
    }
}

impl Companions {
    /// The source of a study with its companions, and these for reading.
    pub(crate) fn load(file_name: &str, text: &str, files: &[Companion]) -> (Source, Self) {
        let mut source = Source::new(file_name, text);
        let mut all = BTreeMap::new();
        for file in files.iter().take(MOST_FILES) {
            let loaded = match &file.content {
                CompanionContent::Text(text) if text.len() <= MOST_COMPANION_BYTES => {
                    let shown = beside(file_name, &file.name);
                    let start = source.add(&shown, text);
                    let padded = format!("{}{text}", " ".repeat(start));
                    Loaded::Text {
                        padded,
                        start,
                        place: file.place.clone(),
                    }
                }
                CompanionContent::Text(text) => Loaded::Unreadable(format!(
                    "it has {} bytes, at most {MOST_COMPANION_BYTES} are read",
                    text.len()
                )),
                CompanionContent::Unreadable(why) => Loaded::Unreadable(why.clone()),
            };
            all.insert(file.name.clone(), loaded);
        }
        (source, Self(Arc::new(all)))
    }

    /// Name and text of every file that could be read, by name.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, loaded)| match loaded {
            Loaded::Text { padded, start, .. } => Some((name.as_str(), &padded[*start..])),
            Loaded::Unreadable(_) => None,
        })
    }

    /// The file of this name, or why there is none.
    pub(crate) fn get(&self, name: &str) -> Result<CompanionText<'_>, Missing<'_>> {
        match self.0.get(name) {
            Some(Loaded::Text {
                padded,
                start,
                place,
            }) => Ok(CompanionText {
                padded,
                start: *start,
                place: place.as_deref(),
            }),
            Some(Loaded::Unreadable(why)) => Err(Missing(why)),
            None => Err(Missing("it was not read with the study")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_below_workloads_and_stacks_alone() {
        let image = "[stack]\nfiles = [{from = \"a.php\"}, {from = \"b/c.conf\"}]\nfile = \"d\"";
        assert_eq!(companion_names(image), ["a.php", "b/c.conf"]);
        let study = "file = \"no\"\n[workload]\nfile = [\"a.toml\", \"b/c.toml\"]\n\
                     [[layout]]\nworkload.file = \"a.toml\"\n[layout.workload.x]\ncsv = \"d.csv\"\n";
        assert_eq!(companion_names(study), ["a.toml", "d.csv", "b/c.toml"]);
        assert_eq!(
            names_in_companion("b/c.toml", "[[feeder]]\ncsv = \"users.csv\""),
            ["b/users.csv"]
        );
        assert_eq!(beside("b/c.toml", "/abs"), "/abs");
    }

    #[test]
    fn places_in_a_companion_are_its_own() {
        let file = Companion {
            name: "shop.toml".to_owned(),
            place: None,
            content: CompanionContent::Text("a = 1\nb = 2\n".to_owned()),
        };
        let (source, companions) = Companions::load("studies/s.toml", "x = 1\ny = 2\n", &[file]);
        let text = companions.get("shop.toml").expect("there");
        assert_eq!(text.text(), "a = 1\nb = 2\n");
        let at = text.padded.find("b = 2").expect("there");
        assert_eq!((source.line(at), source.column(at)), (2, 1));
        assert_eq!(&*source.file(at), "studies/shop.toml");
        assert_eq!(source.excerpt(&(at..at + 1)).text, "b = 2");
        assert_eq!((&*source.file(3), source.lines()), ("studies/s.toml", 2));
        assert!(companions.get("other").is_err());
    }
}
