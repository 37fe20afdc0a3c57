//! What guests wrote: while they live from their files, afterwards from the store of their run.

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use rookery_host::without_links;
use rookery_store::{Store, StoreError};
use serde::Serialize;

/// Bytes of the end of each guest's file.
const TAIL_BYTES: u64 = 8 << 10;
/// Guests whose files are read.
const MOST_GUESTS: usize = 64;
/// Examples of errors that are shown of a trial.
const MOST_EXAMPLES: usize = 40;

/// The end of what a guest wrote.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GuestLines {
    pub(crate) guest: String,
    pub(crate) text: String,
}

/// A trial that ended, with what does not fit into the plan.
#[derive(Debug, Serialize)]
pub(crate) struct TrialDetail {
    trial: u32,
    /// Its limits in words, and what was measured.
    rules: Vec<RuleView>,
    errors: Vec<ErrorView>,
    logs: Vec<GuestLines>,
}

#[derive(Debug, Serialize)]
struct RuleView {
    /// `g1 purchase p95 <= 250 ms`
    rule: String,
    /// In the unit of the limit, ms or %; nothing where it was not judged.
    value: Option<f64>,
    outcome: rookery_stats::qos::RuleOutcome,
}

#[derive(Debug, Serialize)]
struct ErrorView {
    guest: String,
    class: &'static str,
    sub_class: String,
    count: u64,
    /// The first one.
    example: String,
}

/// What the guests of the run in `directory` write at the moment; nothing where none lives.
pub(crate) fn present(directory: &Path) -> Vec<GuestLines> {
    let mut all = Vec::new();
    // A directory that is gone or cannot be read has no guests.
    for place in entries(directory, |name| {
        name == "guests" || name.starts_with("guests-")
    }) {
        for file in entries(&place.join("logs"), |name| name.ends_with(".log")) {
            if all.len() >= MOST_GUESTS {
                return all;
            }
            let guest = file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if let Ok(text) = tail(&file) {
                all.push(GuestLines { guest, text });
            }
        }
    }
    all
}

/// A trial of the run in `directory`; `None` where it has not ended.
///
/// # Errors
/// When the store cannot be read.
pub(crate) fn trial(directory: &Path, trial: u32) -> Result<Option<TrialDetail>, StoreError> {
    let store = Store::open_read_only(rookery_lab::store_in(directory))?;
    let Some(record) = store.outline(trial)? else {
        return Ok(None);
    };
    let rules = record.verdict.iter().flat_map(|verdict| &verdict.rules);
    let rules = rules.map(|rule| RuleView {
        rule: rule.text(),
        value: rule.value.map(|value| match rule.limited {
            rookery_stats::qos::Limited::Percentile(_) => value / 1_000.0,
            rookery_stats::qos::Limited::ErrorRatio => 100.0 * value,
        }),
        outcome: rule.outcome,
    });
    let guests = record
        .measurement
        .iter()
        .flat_map(|measured| &measured.guests);
    let errors = guests.flat_map(|guest| {
        guest.errors.iter().map(|tally| ErrorView {
            guest: guest.guest.clone(),
            class: tally.class.name(),
            sub_class: tally.sub_class.clone(),
            count: tally.count,
            example: tally
                .examples
                .first()
                .map_or_else(String::new, |one| one.detail.clone()),
        })
    });
    Ok(Some(TrialDetail {
        trial,
        rules: rules.collect(),
        errors: errors.take(MOST_EXAMPLES).collect(),
        logs: record
            .logs
            .iter()
            .filter(|log| !log.text.trim().is_empty())
            .map(|log| GuestLines {
                guest: log.guest.clone(),
                text: log.text.clone(),
            })
            .collect(),
    }))
}

/// What of a directory has such a name, in the order of names; links are left out.
fn entries(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let Ok(read) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut found: Vec<_> = read
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(&wanted))
        .filter(|entry| {
            entry
                .file_type()
                .is_ok_and(|kind| kind.is_dir() || kind.is_file())
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The end of a file, from the begin of a line on.
fn tail(path: &Path) -> io::Result<String> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = without_links::read(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = match text.find('\n') {
        Some(end) if from > 0 => &text[end + 1..],
        _ => &text,
    };
    Ok(whole.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_ends_of_the_files_of_guests_are_read_and_nothing_else() {
        let kept = tempfile::tempdir().expect("a directory");
        let run = kept.path().canonicalize().expect("it exists");
        fs::write(run.join("secret"), "a secret\n").expect("written");
        for (place, guest) in [("guests", "g1"), ("guests-2", "g2")] {
            let logs = run.join(place).join("logs");
            fs::create_dir_all(&logs).expect("a directory");
            let lines: String = (0..2_000).map(|n| format!("{guest} line {n}\n")).collect();
            fs::write(logs.join(format!("{guest}.log")), lines).expect("written");
        }
        symlink(run.join("secret"), run.join("guests/logs/g3.log")).expect("a link");
        symlink(run.join("guests-2"), run.join("guests-3")).expect("a link");
        let found = present(&run);
        let names: Vec<&str> = found.iter().map(|lines| lines.guest.as_str()).collect();
        assert_eq!(names, ["g1", "g2"]);
        assert!(found[1].text.ends_with("g2 line 1999\n"), "{:?}", found[1]);
        assert!(found[1].text.starts_with("g2 line ") && found[1].text.len() <= 8 << 10);
        assert_eq!(present(&run.join("nowhere")), []);
    }
}
