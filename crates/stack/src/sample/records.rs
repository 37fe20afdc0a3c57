//! The file of the records: one line each, numbered from 1.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write as _},
    path::Path,
    sync::{Mutex, PoisonError, RwLock},
};

use rookery_workload::sample::SampleData;

use crate::http_server::ServerError;

/// Longest text of a record, bytes.
pub(super) const MOST_TEXT_BYTES: usize = 1024;

/// Write the records that a guest holds before the load.
///
/// # Errors
/// When the file is there already or cannot be written.
pub fn load(path: &Path, data: SampleData) -> Result<(), ServerError> {
    let write = || {
        let mut out = BufWriter::new(File::create_new(path)?);
        for number in 1..=data.records {
            writeln!(out, "{}", data.record(number))?;
        }
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    };
    write().map_err(ServerError::file(path, "writing the records"))
}

/// What a load left in a file of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Records beyond the loaded ones.
    pub new_records: u64,
    /// Bytes of their texts.
    pub new_bytes: u64,
    /// What is not as it was loaded, in words.
    pub faults: Vec<String>,
}

/// Count what is in a file beyond the records of `data`. A last line without an end is no record:
/// its write was never acknowledged.
///
/// # Errors
/// When the file cannot be read.
pub fn count(path: &Path, data: SampleData) -> Result<Counted, ServerError> {
    let text = fs::read(path).map_err(ServerError::file(path, "reading the records"))?;
    let mut counted = Counted::default();
    let mut lines = whole_lines(&text);
    for number in 1..=data.records {
        match lines.next() {
            Some(line) if line == data.record(number).as_bytes() => {}
            Some(_) => counted
                .faults
                .push(format!("record {number} is not as it was loaded")),
            None => {
                counted.faults.push(format!("record {number} is missing"));
                break;
            }
        }
    }
    for line in lines {
        counted.new_records += 1;
        counted.new_bytes += line.len() as u64;
    }
    Ok(counted)
}

/// The lines of a file that have an end.
fn whole_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
}

/// The records of a server: read from memory, written to the file first.
#[derive(Debug)]
pub(super) struct Records {
    texts: RwLock<Vec<Box<str>>>,
    file: Mutex<RecordFile>,
}

#[derive(Debug)]
struct RecordFile {
    file: File,
    /// Where the last whole record ends.
    end: u64,
}

impl Records {
    /// Open a file of records. A last line without an end is cut off.
    ///
    /// # Errors
    /// When the file is missing or cannot be read and written.
    pub(super) fn open(path: &Path) -> Result<Self, ServerError> {
        let text = fs::read(path).map_err(ServerError::file(path, "reading the records"))?;
        let texts: Vec<Box<str>> = whole_lines(&text)
            .map(|line| String::from_utf8_lossy(line).into())
            .collect();
        let end = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1) as u64;
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .and_then(|file| file.set_len(end).map(|()| file))
            .map_err(ServerError::file(path, "opening the records for writing"))?;
        Ok(Self {
            texts: RwLock::new(texts),
            file: Mutex::new(RecordFile { file, end }),
        })
    }

    /// Appends `count` records from `first` on to `out`, one line each, as far as they exist; how
    /// many.
    pub(super) fn read(&self, first: u32, count: u32, out: &mut String) -> u32 {
        let texts = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = 0;
        for number in (first..).take(count as usize) {
            let index = number.checked_sub(1).map(|index| index as usize);
            let Some(text) = index.and_then(|index| texts.get(index)) else {
                break;
            };
            out.push_str(&format!("{number} {text}\n"));
            found += 1;
        }
        found
    }

    /// Add a record; its number. It is on the disk when this returns.
    ///
    /// # Errors
    /// When the file cannot be written; the record is not added then.
    pub(super) fn write(&self, text: &str) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.append(text)?;
        let mut texts = self.texts.write().unwrap_or_else(PoisonError::into_inner);
        texts.push(text.into());
        Ok(texts.len())
    }
}

impl RecordFile {
    fn append(&mut self, text: &str) -> io::Result<()> {
        let line = format!("{text}\n");
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.end += line.len() as u64,
            // A part of the line must not become the begin of the next.
            Err(_) => self.file.set_len(self.end)?,
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const DATA: SampleData = SampleData {
        records: 3,
        record_bytes: 12,
    };

    fn loaded() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("records.txt");
        load(&path, DATA).expect("loaded");
        (dir, path)
    }

    #[test]
    fn what_was_written_is_read_and_counted() {
        let (_dir, path) = loaded();
        let records = Records::open(&path).expect("opened");
        assert_eq!(records.write("abc").expect("written"), 4);
        let mut out = String::new();
        assert_eq!(records.read(3, 10, &mut out), 2);
        assert_eq!(out, "3 record-3-abc\n4 abc\n");
        assert_eq!(records.read(5, 1, &mut out), 0);
        assert_eq!(records.read(0, 1, &mut out), 0);
        let counted = count(&path, DATA).expect("counted");
        assert_eq!((counted.new_records, counted.new_bytes), (1, 3));
        assert_eq!(counted.faults, Vec::<String>::new());
    }

    #[test]
    fn a_line_that_broke_off_is_no_record() {
        let (_dir, path) = loaded();
        let mut file = OpenOptions::new().append(true).open(&path).expect("opened");
        file.write_all(b"brok").expect("written");
        assert_eq!(count(&path, DATA).expect("counted").new_records, 0);
        let records = Records::open(&path).expect("opened");
        assert_eq!(records.write("whole").expect("written"), 4);
        let counted = count(&path, DATA).expect("counted");
        assert_eq!((counted.new_records, counted.new_bytes), (1, 5));
    }

    #[test]
    fn records_that_changed_or_are_gone_are_faults() {
        let (_dir, path) = loaded();
        fs::write(&path, "record-1-abc\nother\n").expect("written");
        assert_eq!(
            count(&path, DATA).expect("counted").faults,
            ["record 2 is not as it was loaded", "record 3 is missing"]
        );
        assert!(load(&path, DATA).is_err(), "the file is there already");
    }
}
