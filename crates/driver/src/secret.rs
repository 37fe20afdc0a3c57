//! Values of secret columns: read where users are driven, and masked in what is told of them.

use std::{collections::BTreeSet, fs::File, io, io::Read as _, path::PathBuf};

use rookery_stats::ErrorTally;
use rookery_workload::data_driven::{Encoding, Feeder, MASK, SecretMismatch};

use crate::{
    error::DriverError,
    fault::{EVIDENCE_BYTES, printable},
};

/// Most bytes of a file of secrets; studies read no larger one.
const MOST_BYTES: u64 = 128 * 1024;

/// So many characters of a value at the end of a text that may have been cut are masked, too.
const SHORTEST_BEGIN: usize = 3;

/// Why secrets cannot be had. It says nothing of what a file holds.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the secret columns of the feeder `{feeder}` from {}: {why}", path.display())]
pub struct SecretError {
    /// The feeder.
    pub feeder: String,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub why: SecretFault,
}

/// What is wrong with a file of secrets.
#[derive(Debug, thiserror::Error)]
pub enum SecretFault {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It is too long.
    #[error("it has more than {MOST_BYTES} bytes")]
    TooLong,
    /// It has another table.
    #[error(transparent)]
    Mismatch(#[from] SecretMismatch),
}

impl SecretError {
    /// What to do about it.
    pub const HELP: &str = "the file must be readable where users are driven, with the rows that the \
                            study was read with; its secret columns may have other values";
}

impl From<SecretError> for DriverError {
    fn from(error: SecretError) -> Self {
        Self::Config {
            what: error.to_string(),
            help: SecretError::HELP,
        }
    }
}

/// Values that no text may tell.
#[derive(Clone, Default)]
pub struct Secrets {
    /// In every way in which an answer may repeat them, the longest first.
    forms: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Puts the values of secret columns into the rows of feeders, and knows them from then on.
    ///
    /// # Errors
    /// When the file of one cannot be read or has another table.
    pub fn reveal(&mut self, feeders: &mut [Feeder]) -> Result<(), SecretError> {
        let mut forms: BTreeSet<String> = self.forms.drain(..).collect();
        for feeder in feeders {
            let Some(secret) = feeder.secret() else {
                continue;
            };
            let path = PathBuf::from(&secret.file);
            let values = text_of(&path).and_then(|text| Ok(feeder.reveal(&text)?));
            let values = values.map_err(|why| SecretError {
                feeder: feeder.name.clone(),
                path,
                why,
            })?;
            values.iter().for_each(|value| add_forms(&mut forms, value));
        }
        self.forms = forms.into_iter().collect();
        // One may hold another.
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Ok(())
    }

    /// A text without them.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        let all = self.forms.iter();
        all.fold(text.to_owned(), |text, form| text.replace(form, MASK))
    }

    /// Takes them out of the examples of failures.
    pub fn mask_examples(&self, errors: &mut [ErrorTally]) {
        if self.forms.is_empty() {
            return;
        }
        let examples = errors.iter_mut().flat_map(|tally| &mut tally.examples);
        for example in examples {
            example.detail = self.without_begin(self.mask(&example.detail));
        }
    }

    /// A text without the begin of one at its end, where it was cut.
    fn without_begin(&self, mut text: String) -> String {
        let ends = |form: &String| {
            let begins = form.char_indices().map(|(end, _)| end).rev();
            let mut long = begins.take_while(|end| *end >= SHORTEST_BEGIN);
            long.find(|end| text.ends_with(&form[..*end]))
        };
        if let Some(cut) = self.forms.iter().filter_map(ends).max() {
            text.truncate(text.len() - cut);
            text.push_str(MASK);
        }
        text
    }
}

fn text_of(path: &PathBuf) -> Result<String, SecretFault> {
    let file = File::open(path)?;
    // A pipe would be waited for.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file").into());
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(SecretFault::TooLong);
    }
    Ok(text)
}

/// A value as it is, as requests send it, as a page of HTML shows it, and each of these as examples
/// of failures are written.
fn add_forms(forms: &mut BTreeSet<String>, value: &str) {
    if value.is_empty() {
        return;
    }
    let encodings = [
        Encoding::Raw,
        Encoding::Percent,
        Encoding::Form,
        Encoding::Json,
    ];
    let mut all: Vec<Vec<u8>> = encodings
        .into_iter()
        .map(|encoding| {
            let mut out = Vec::new();
            encoding.append(&mut out, value.as_bytes());
            out
        })
        .collect();
    for apostrophe in ["&#39;", "&#039;", "&#x27;", "'"] {
        let html = value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('\'', apostrophe);
        all.push(html.replace('"', "&quot;").into_bytes());
        all.push(html.replace('"', "&#34;").into_bytes());
    }
    for form in all {
        let pieces = form.chunks(EVIDENCE_BYTES);
        forms.insert(pieces.map(printable).collect());
        forms.insert(String::from_utf8_lossy(&form).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use rookery_stats::{ErrorClass, ErrorExample};

    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        let mut forms = BTreeSet::new();
        values.iter().for_each(|value| add_forms(&mut forms, value));
        let mut forms: Vec<String> = forms.into_iter().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Secrets { forms }
    }

    #[test]
    fn a_value_is_masked_however_an_answer_repeats_it() {
        let secrets = secrets(&["a b&c'\u{fc}", "a b&c"]);
        for text in [
            "no user a b&c'\u{fc}!",
            "no user a%20b%26c%27%C3%BC!",
            "no user a+b%26c%27%C3%BC!",
            "no user a b&amp;c&#39;\u{fc}!",
            "no user a b&c\\'\\xc3\\xbc!",
        ] {
            assert_eq!(secrets.mask(text), "no user ***!", "{text}");
        }
        assert_eq!(secrets.mask("a b&c, ann"), "***, ann");
        assert!(!format!("{secrets:?}").contains("b&c"));
    }

    #[test]
    fn an_example_that_was_cut_within_a_value_shows_no_part_of_it() {
        let example = |detail: &str| ErrorExample {
            at_s: 0.0,
            operation: "login".to_owned(),
            detail: detail.to_owned(),
        };
        let mut tallies = [ErrorTally {
            class: ErrorClass::Content,
            sub_class: "check".to_owned(),
            count: 2,
            examples: vec![example("wrong: swordfish;"), example("wrong: swordf")],
        }];
        secrets(&["swordfish"]).mask_examples(&mut tallies);
        let said: Vec<&str> = tallies[0].examples.iter().map(|one| &*one.detail).collect();
        assert_eq!(said, ["wrong: ***;", "wrong: ***"]);
    }
}
