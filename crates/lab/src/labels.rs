//! What people keep about a run: tags and a note, in a file beside its store, so that runs of any
//! version can have them and no store is written to.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;
use rookery_host::without_links;
use serde::{Deserialize, Serialize};

use crate::run_dir::write_whole;

/// The file in the directory of a run.
const FILE: &str = "labels.json";
/// Bytes of the file that are read.
const MOST_BYTES: u64 = 64 << 10;
/// Most tags of a run.
pub const MOST_TAGS: usize = 20;
/// Characters of a tag.
const TAG_CHARACTERS: usize = 40;
/// Characters of a note.
const NOTE_CHARACTERS: usize = 4_000;

/// Tags and a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLabels {
    /// Words to find the run by.
    #[serde(default)]
    pub tags: BTreeSet<String>,
    /// In words; empty = none.
    #[serde(default)]
    pub note: String,
}

/// Labels that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// A tag of other characters, or none, or too many.
    #[error("tag {tag:?}: a tag has 1 to 40 letters, digits, and `-`, `_`, `.`, `:`")]
    Tag {
        /// The tag, cut.
        tag: String,
    },
    /// More tags than a run has.
    #[error("a run has at most 20 tags")]
    TooMany,
    /// A note that is too long.
    #[error("a note has at most 4000 characters")]
    Note,
    /// The disk refuses.
    #[error("cannot write {path}: {source}", path = path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl Diagnosis for LabelError {
    fn code(&self) -> &'static str {
        match self {
            Self::Tag { .. } | Self::TooMany | Self::Note => "lab::label",
            Self::File { .. } => "lab::file",
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Tag { .. } => Some("write longer words into the note".to_owned()),
            Self::TooMany => Some("remove a tag first".to_owned()),
            Self::Note => Some("keep long texts in a file of their own".to_owned()),
            Self::File { .. } => None,
        }
    }
}

impl RunLabels {
    /// Those of the run in `directory`; none where there is no such file, or one that is not ours.
    #[must_use]
    pub fn read(directory: &Path) -> Self {
        read_file(&directory.join(FILE)).unwrap_or_default()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.note.is_empty()
    }

    /// Whether they can be kept.
    ///
    /// # Errors
    /// When a tag or the note is none, or there are too many.
    pub fn check(&self) -> Result<(), LabelError> {
        if self.tags.len() > MOST_TAGS {
            return Err(LabelError::TooMany);
        }
        if let Some(tag) = self.tags.iter().find(|tag| !is_tag(tag)) {
            let tag = tag.chars().take(TAG_CHARACTERS + 1).collect();
            return Err(LabelError::Tag { tag });
        }
        if self.note.chars().count() > NOTE_CHARACTERS {
            return Err(LabelError::Note);
        }
        Ok(())
    }

    /// Keep them with the run in `directory`, in the place of those before.
    ///
    /// # Errors
    /// When they cannot be kept, or the disk refuses.
    pub fn write(&self, directory: &Path) -> Result<(), LabelError> {
        self.check()?;
        let path = directory.join(FILE);
        let refused = |source| LabelError::File {
            path: path.clone(),
            source,
        };
        if self.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused(error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_vec_pretty(self).map_err(|error| refused(error.into()))?;
        write_whole(&path, &text).map_err(refused)
    }
}

fn is_tag(tag: &str) -> bool {
    let sound = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
    (1..=TAG_CHARACTERS).contains(&tag.chars().count()) && tag.chars().all(sound)
}

fn read_file(path: &Path) -> Option<RunLabels> {
    // Opening a pipe would wait for its writer.
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let file = without_links::read(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    let labels: RunLabels = serde_json::from_slice(&text).ok()?;
    labels.check().is_ok().then_some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(tags: &[&str], note: &str) -> RunLabels {
        RunLabels {
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            note: note.to_owned(),
        }
    }

    #[test]
    fn labels_are_kept_beside_the_store_and_taken_away() {
        let run = tempfile::tempdir().expect("a directory");
        assert!(RunLabels::read(run.path()).is_empty());
        let own = labels(
            &["baseline", "kernel:6.1", "größe"],
            "before the disk was changed\n",
        );
        own.write(run.path()).expect("kept");
        assert_eq!(RunLabels::read(run.path()), own);
        RunLabels::default().write(run.path()).expect("kept");
        assert_eq!(fs::read_dir(run.path()).expect("read").count(), 0);
    }

    #[test]
    fn what_is_no_label_is_refused_and_never_read() {
        for tags in [&["a b"][..], &[""], &["<b>"], &["../x"]] {
            assert!(labels(tags, "").check().is_err(), "{tags:?}");
        }
        assert!(labels(&[&"x".repeat(41)], "").check().is_err());
        let many: Vec<String> = (0..21).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(
            labels(&many, "").check(),
            Err(LabelError::TooMany)
        ));
        assert!(matches!(
            labels(&[], &"x".repeat(4_001)).check(),
            Err(LabelError::Note)
        ));
        let run = tempfile::tempdir().expect("a directory");
        for text in ["no JSON", "{\"tags\":[\"<b>\"]}", "{\"other\":1}"] {
            fs::write(run.path().join(FILE), text).expect("written");
            assert!(RunLabels::read(run.path()).is_empty(), "{text}");
        }
        let other = run.path().join("other");
        fs::write(&other, "{\"tags\":[\"a\"]}").expect("written");
        fs::remove_file(run.path().join(FILE)).expect("removed");
        std::os::unix::fs::symlink(&other, run.path().join(FILE)).expect("a link");
        assert!(
            RunLabels::read(run.path()).is_empty(),
            "a link is not followed"
        );
    }
}
