//! The studies that are built into the program: `@quick` stands for `studies/quick.toml`.

use std::{
    io,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};
use rookery_study::{Choices, Companion, CompanionContent, Document, Problems, companion_names};

use crate::{
    companions,
    exit::{Code, Failure},
};

/// The directory of studies, as it was when the program was built.
static DIRECTORY: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// What begins the name of a built-in study where a file is expected.
const MARK: char = '@';

/// A study that is built in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn {
    /// Its name, without the mark.
    pub(crate) name: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
}

impl BuiltIn {
    /// The study, with the built-in files that it names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn document(&self) -> Result<Document, Problems> {
        let marked = format!("{MARK}{}", self.name);
        let files = companions_of(Path::new(&marked), self.text.as_bytes());
        let choices = Choices {
            files: &files,
            ..Choices::default()
        };
        Document::parse_with(self.name, self.text, choices)
    }

    /// Name and text of its file, and of every file that it names, relative to its own directory;
    /// its own is the first.
    ///
    /// # Errors
    /// When one of them is not built in: a fault of ours.
    pub(crate) fn files(&self) -> Result<Vec<(String, String)>, Failure> {
        let own = (format!("{}.toml", self.name), self.text.to_owned());
        let marked = format!("{MARK}{}", self.name);
        let named = companions_of(Path::new(&marked), self.text.as_bytes()).into_iter();
        let named = named.map(|file| match file.content {
            CompanionContent::Text(text) => Ok((file.name, text)),
            CompanionContent::Unreadable(why) => Err(Failure::new(
                Code::Internal,
                format!("the file {} of {marked} cannot be read: {why}", file.name),
            )),
        });
        std::iter::once(Ok(own)).chain(named).collect()
    }

    /// The name of its file.
    pub(crate) fn file(&self) -> PathBuf {
        PathBuf::from(format!("{}.toml", self.name))
    }
}

/// All of them, by name.
pub(crate) fn all() -> Vec<BuiltIn> {
    let mut all: Vec<BuiltIn> = DIRECTORY
        .files()
        .filter_map(|file| {
            let name = file.path().to_str()?.strip_suffix(".toml")?;
            let text = file.contents_utf8()?;
            Some(BuiltIn { name, text })
        })
        .collect();
    all.sort_by_key(|study| study.name);
    all
}

/// The files that a study names, and those that they name in turn: beside it, or built in as the
/// study is.
pub(crate) fn companions_of(path: &Path, bytes: &[u8]) -> Vec<Companion> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        // The grammar refuses it.
        return Vec::new();
    };
    match is_built_in(path) {
        true => companions::read_all(companion_names(text), &text_of, &|_| None),
        false => companions::beside(path, companion_names(text)),
    }
}

/// The text of a built-in file that a built-in study names.
///
/// # Errors
/// When there is none of this name.
fn text_of(name: &str) -> io::Result<String> {
    let file = DIRECTORY.get_file(name);
    let text = file.and_then(|file| file.contents_utf8());
    text.map(str::to_owned)
        .ok_or_else(|| io::Error::other("it is not built in"))
}

/// Whether `path` names a built-in study, or one that would have to be.
fn is_built_in(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with(MARK))
}

/// The built-in study that `path` names; `None` where it names a file.
///
/// # Errors
/// When it begins as a built-in study does and there is none of that name.
pub(crate) fn named_by(path: &Path) -> Result<Option<BuiltIn>, Failure> {
    match path.to_str().and_then(|text| text.strip_prefix(MARK)) {
        Some(name) => find(name).map(Some),
        None => Ok(None),
    }
}

/// The built-in study of this name, with or without the mark.
///
/// # Errors
/// When there is none.
pub(crate) fn find(name: &str) -> Result<BuiltIn, Failure> {
    let wanted = name.strip_prefix(MARK).unwrap_or(name);
    all()
        .into_iter()
        .find(|study| study.name == wanted)
        .ok_or_else(|| {
            Failure::new(Code::Study, format!("no study {MARK}{wanted} is built in"))
                .help("`rookery studies` lists those that are")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_study_is_right_and_found_by_its_name() {
        let all = all();
        assert!(!all.is_empty());
        for study in all {
            if let Err(problems) = study.document() {
                panic!("{}: {problems}", study.name);
            }
            for name in [study.name.to_owned(), format!("{MARK}{}", study.name)] {
                assert_eq!(find(&name).expect("built in").name, study.name);
            }
        }
    }

    #[test]
    fn only_a_marked_name_stands_for_a_built_in_study() {
        let found = |path: &str| named_by(Path::new(path));
        assert!(found("quick.toml").expect("a file").is_none());
        let quick = found("@quick").expect("built in").expect("built in");
        assert_eq!(quick.file(), Path::new("quick.toml"));
        let refused = found("@nothing").expect_err("there is none").to_string();
        assert!(refused.contains("rookery studies"), "{refused}");
    }
}
