//! The event journal of a run: what happened second by second, beside its store, in a bounded file.
//!
//! The store has every trial that ended; the journal has what the store does not keep: phases, the
//! seconds of the trial that runs, what is being built. A line is an event as JSON with its number.
//! Numbers rise by one over the whole run, resumptions included, so that a reader who names the
//! last one that it saw misses nothing and gets nothing twice. When the file is full it takes the
//! place of the one before it: the last [`PART_BYTES`] are always there.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rookery_host::without_links;
use rookery_lab::Event;
use serde_json::Value;

/// The journal that is written to.
const FILE: &str = "live.jsonl";
/// The one before it.
const OLD_FILE: &str = "live.old.jsonl";
/// Bytes of a file after which the next one begins.
pub const PART_BYTES: u64 = 2 << 20;
/// Longest line that is written and read.
const LINE_BYTES: usize = 64 << 10;
/// Events that a reader gets at its first look, if the present trial has no more.
const FIRST_EVENTS: usize = 300;
/// Most events at a first look.
const MOST_EVENTS: usize = 6_000;

/// Writes the journal of a run.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    state: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    bytes: u64,
    next: u64,
}

impl Journal {
    /// Go on with the journal of the run in `directory`, an absolute path without links; begin it
    /// where there is none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let mut reader = JournalReader::new(directory, None);
        let last = reader.read_all()?.last().map_or(0, |event| event.id);
        let mut file = without_links::append(&directory.join(FILE))?;
        let bytes = file.metadata()?.len();
        // A writer that was killed may have left half a line.
        if bytes > 0 {
            file.write_all(b"\n")?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            state: Mutex::new(Written {
                file,
                bytes: bytes + 1,
                next: last + 1,
            }),
        })
    }

    /// Write an event, with the time `at` (RFC 3339).
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, event: &Event, at: &str) -> io::Result<()> {
        let mut value = serde_json::to_value(event)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        value["id"] = state.next.into();
        value["at"] = at.into();
        let mut line = value.to_string();
        if line.len() >= LINE_BYTES {
            let short = serde_json::json!({
                "id": state.next, "at": at, "event": value["event"], "too_long": true,
            });
            line = short.to_string();
        }
        line.push('\n');
        if state.bytes + line.len() as u64 > PART_BYTES {
            state.file = self.next_part()?;
            state.bytes = 0;
        }
        state.file.write_all(line.as_bytes())?;
        state.bytes += line.len() as u64;
        state.next += 1;
        Ok(())
    }

    /// Put the full file aside and begin another.
    fn next_part(&self) -> io::Result<File> {
        let path = self.directory.join(FILE);
        fs::rename(&path, self.directory.join(OLD_FILE))?;
        without_links::append(&path)
    }
}

/// An event of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) id: u64,
    /// It, with number and time.
    pub(crate) value: Value,
}

/// Reads a journal as it grows.
#[derive(Debug)]
pub(crate) struct JournalReader {
    files: [PathBuf; 2],
    /// How far each file was read, by its number.
    read: HashMap<u64, u64>,
    /// The last event that was given.
    last: Option<u64>,
}

impl JournalReader {
    /// Of the run in `directory`, after the event `last`; with `None` from the begin of the present
    /// trial.
    pub(crate) fn new(directory: &Path, last: Option<u64>) -> Self {
        Self {
            files: [OLD_FILE, FILE].map(|name| directory.join(name)),
            read: HashMap::new(),
            last,
        }
    }

    /// What is new since the last look. Lines that are no events are skipped: the file may come
    /// from anywhere.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn read_new(&mut self) -> io::Result<Vec<Entry>> {
        let first = self.last.is_none();
        let mut events = self.read_all()?;
        if first {
            events.drain(..begin_of_trial(&events));
        }
        Ok(events)
    }

    fn read_all(&mut self) -> io::Result<Vec<Entry>> {
        let mut events = Vec::new();
        let mut read = HashMap::new();
        for path in &self.files {
            let Some((mut file, number, length)) = regular(path)? else {
                continue;
            };
            // A number that another file had before: this one is shorter.
            let before = self.read.get(&number).copied().unwrap_or(0);
            let start = if before > length { 0 } else { before };
            let mut text = Vec::new();
            if start < length {
                file.seek(SeekFrom::Start(start))?;
                file.take(2 * PART_BYTES).read_to_end(&mut text)?;
            }
            // What follows the last line end is still being written.
            let whole = text.iter().rposition(|byte| *byte == b'\n');
            let whole = whole.map_or(0, |end| end + 1);
            read.insert(number, start + whole as u64);
            events.extend(text[..whole].split(|byte| *byte == b'\n').filter_map(parse));
        }
        self.read = read;
        let mut last = self.last;
        events.retain(|event| {
            let new = last.is_none_or(|last| event.id > last);
            if new {
                last = Some(event.id);
            }
            new
        });
        self.last = last;
        Ok(events)
    }
}

/// Where the events of the present trial begin, or those that are worth showing.
fn begin_of_trial(events: &[Entry]) -> usize {
    let started = events
        .iter()
        .rposition(|event| event.value["event"] == "trial-started")
        .unwrap_or(events.len());
    started
        .min(events.len().saturating_sub(FIRST_EVENTS))
        .max(events.len().saturating_sub(MOST_EVENTS))
}

/// A file that is none of the special ones, its number and its length.
fn regular(path: &Path) -> io::Result<Option<(File, u64, u64)>> {
    // Opening a pipe would wait for its writer.
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        _ => return Ok(None),
    }
    let file = match File::open(path) {
        Ok(file) => file,
        // Between two parts.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    Ok(Some((file, metadata.ino(), metadata.len())))
}

fn parse(line: &[u8]) -> Option<Entry> {
    if line.is_empty() || line.len() > LINE_BYTES {
        return None;
    }
    let value: Value = serde_json::from_slice(line).ok()?;
    let id = value.get("id")?.as_u64()?;
    value.get("event")?.as_str()?;
    Some(Entry { id, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "2026-01-02T03:04:05Z";

    fn remark(text: &str) -> Event {
        Event::Remark {
            text: text.to_owned(),
        }
    }

    fn started(trial: u32) -> Event {
        Event::TrialStarted {
            trial,
            point: "a point".to_owned(),
            repeat: 1,
        }
    }

    fn directory() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().canonicalize().expect("it exists");
        (directory, path)
    }

    fn ids(events: &[Entry]) -> Vec<u64> {
        events.iter().map(|event| event.id).collect()
    }

    #[test]
    fn a_reader_gets_each_event_once_over_parts_and_resumptions() {
        let (_kept, path) = directory();
        let journal = Journal::open(&path).expect("a journal");
        let long = "x".repeat(10_000);
        let mut reader = JournalReader::new(&path, Some(0));
        let mut got = Vec::new();
        for _ in 0..5 {
            // About a third of a part at a time.
            for _ in 0..70 {
                journal.write(&remark(&long), AT).expect("written");
            }
            got.extend(ids(&reader.read_new().expect("read")));
        }
        assert!(path.join(OLD_FILE).exists(), "the test fills a part");
        drop(journal);
        let journal = Journal::open(&path).expect("the journal goes on");
        journal.write(&remark("again"), AT).expect("written");
        got.extend(ids(&reader.read_new().expect("read")));
        assert_eq!(got, (1..=351).collect::<Vec<u64>>());
        assert_eq!(ids(&reader.read_new().expect("read")), [0; 0]);
        let mut late = JournalReader::new(&path, Some(349));
        assert_eq!(ids(&late.read_new().expect("read")), [350, 351]);
    }

    #[test]
    fn the_journal_is_bounded() {
        let (_kept, path) = directory();
        let journal = Journal::open(&path).expect("a journal");
        let long = "x".repeat(60_000);
        for _ in 0..120 {
            journal.write(&remark(&long), AT).expect("written");
        }
        let bytes: u64 = [FILE, OLD_FILE]
            .iter()
            .map(|name| fs::metadata(path.join(name)).map_or(0, |metadata| metadata.len()))
            .sum();
        assert!((PART_BYTES..=2 * PART_BYTES).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_first_look_begins_with_the_present_trial() {
        let (_kept, path) = directory();
        let journal = Journal::open(&path).expect("a journal");
        for _ in 0..500 {
            journal.write(&remark("before"), AT).expect("written");
        }
        journal.write(&started(7), AT).expect("written");
        for _ in 0..400 {
            journal.write(&remark("within"), AT).expect("written");
        }
        let events = JournalReader::new(&path, None).read_new().expect("read");
        assert_eq!(events.first().map(|event| event.id), Some(501));
        assert_eq!(events.len(), 401);
    }

    #[test]
    fn what_is_no_event_is_skipped_and_half_a_line_awaited() {
        let (_kept, path) = directory();
        let file = path.join(FILE);
        let event = r#"{"id":3,"event":"remark","text":"<b>"}"#;
        let lines = format!("not json\n{{}}\n[1]\n{{\"id\":2,\"event\":7}}\n{event}\n{{\"id\":4,");
        fs::write(&file, &lines).expect("written");
        let mut reader = JournalReader::new(&path, None);
        assert_eq!(ids(&reader.read_new().expect("read")), [3]);
        fs::write(&file, format!("{lines}\"event\":\"remark\"}}\n")).expect("written");
        assert_eq!(ids(&reader.read_new().expect("read")), [4]);
    }

    #[test]
    fn half_a_line_of_a_killed_writer_hides_no_later_event() {
        let (_kept, path) = directory();
        fs::write(
            path.join(FILE),
            "{\"id\":1,\"event\":\"remark\"}\n{\"id\":2,",
        )
        .expect("written");
        let journal = Journal::open(&path).expect("the journal goes on");
        journal.write(&remark("after"), AT).expect("written");
        let events = JournalReader::new(&path, Some(1)).read_new().expect("read");
        assert_eq!(ids(&events), [2]);
    }

    #[test]
    fn a_link_in_the_place_of_the_journal_is_not_followed() {
        let (_kept, path) = directory();
        fs::write(path.join("other"), "{\"id\":1,\"event\":\"remark\"}\n").expect("written");
        std::os::unix::fs::symlink(path.join("other"), path.join(FILE)).expect("a link");
        assert!(Journal::open(&path).is_err());
        let read = JournalReader::new(&path, None).read_new().expect("read");
        assert!(read.is_empty(), "{read:?}");
    }
}
