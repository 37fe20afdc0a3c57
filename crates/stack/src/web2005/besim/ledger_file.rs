//! The ledger on disk: written before a write is answered.
//!
//! With [`LedgerSync::Process`] a line is handed to the kernel before the answer: it survives the
//! end of the process, also by `kill -9`, but not that of the machine. With [`LedgerSync::Disk`]
//! it is on the disk before the answer: it survives a power cut too. All lines that wait for the
//! disk go there together.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use rookery_workload::web2005::besim::ledger::{LedgerEntry, LedgerTotals};
use tokio::sync::oneshot;

use super::super::error::Web2005Error;
use crate::http_server::ServerError;

/// What an answered write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerSync {
    /// The end of the process.
    #[default]
    Process,
    /// The end of the machine.
    Disk,
}

/// Most lines that go to the disk together.
const MOST_TOGETHER: usize = 4_096;

/// A write that did not reach the ledger. No later one will: what the ledger holds is then less
/// certain than that nothing was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotWritten;

/// An open ledger.
pub(super) enum LedgerFile {
    /// None is kept.
    None,
    /// Lines go to the kernel.
    Process(Mutex<Writer>),
    /// Lines go to the thread that waits for the disk.
    Disk(Sender<Waiting>),
}

/// A line and who waits for it.
pub(super) struct Waiting {
    line: Vec<u8>,
    done: oneshot::Sender<bool>,
}

/// The file with its end.
pub(super) struct Writer {
    file: File,
    /// Where the last whole line ends.
    end: u64,
    broken: bool,
}

impl LedgerFile {
    /// Opens a ledger, or makes it. A last line without an end, which no one was answered, is cut
    /// off. The whole lines go to `replay` in order.
    pub(super) fn open(
        path: &Path,
        sync: LedgerSync,
        replay: &mut dyn FnMut(&LedgerEntry),
    ) -> Result<Self, Web2005Error> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(Web2005Error::file(path, "reading the ledger"))?,
        };
        let end = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        for line in text[..end].split(|byte| *byte == b'\n') {
            let entry = std::str::from_utf8(line).map(LedgerEntry::parse);
            if let Ok(Ok(entry)) = entry {
                replay(&entry);
            }
        }
        let end = end as u64;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|file| file.set_len(end).map(|()| file))
            .map_err(Web2005Error::file(path, "opening the ledger for writing"))?;
        let writer = Writer {
            file,
            end,
            broken: false,
        };
        Ok(match sync {
            LedgerSync::Process => Self::Process(Mutex::new(writer)),
            LedgerSync::Disk => {
                let (sender, waiting) = channel();
                thread::Builder::new()
                    .name("ledger".to_owned())
                    .spawn(move || writer.serve(&waiting))
                    .map_err(ServerError::Workers)?;
                Self::Disk(sender)
            }
        })
    }

    /// Adds an entry. When this returns, the entry survives what the ledger was opened for.
    pub(super) async fn append(&self, entry: &LedgerEntry) -> Result<(), NotWritten> {
        let mut line = Vec::with_capacity(128);
        entry.print(&mut line);
        let written = match self {
            Self::None => true,
            Self::Process(writer) => {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer.append(&line, false)
            }
            Self::Disk(sender) => {
                let (done, written) = oneshot::channel();
                let sent = sender.send(Waiting { line, done });
                sent.is_ok() && written.await.unwrap_or(false)
            }
        };
        written.then_some(()).ok_or(NotWritten)
    }
}

impl Writer {
    /// Serves those who wait until no one can come any more.
    fn serve(mut self, waiting: &Receiver<Waiting>) {
        while let Ok(first) = waiting.recv() {
            let mut together = vec![first];
            together.extend(waiting.try_iter().take(MOST_TOGETHER - 1));
            let lines: Vec<u8> = together
                .iter()
                .flat_map(|one| one.line.iter().copied())
                .collect();
            let written = self.append(&lines, true);
            for one in together {
                // Who gave up waiting needs no answer.
                let _ = one.done.send(written);
            }
        }
    }

    fn append(&mut self, lines: &[u8], to_disk: bool) -> bool {
        if self.broken {
            return false;
        }
        let mut written = self.file.write_all(lines);
        if to_disk {
            written = written.and_then(|()| self.file.sync_data());
        }
        if written.is_ok() {
            self.end += lines.len() as u64;
        } else {
            self.broken = true;
            // A part of a line must not be taken for a line. If this fails too, the part has no
            // end, or the audit finds a line that no one was told of and says so.
            let _ = self.file.set_len(self.end);
        }
        !self.broken
    }
}

/// What a ledger holds; nothing is in a ledger that does not exist.
///
/// # Errors
/// When it cannot be read.
pub fn read_ledger(path: &Path) -> Result<LedgerTotals, Web2005Error> {
    match fs::read(path) {
        Ok(text) => Ok(LedgerTotals::of_text(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LedgerTotals::default()),
        Err(error) => Err(Web2005Error::file(path, "reading the ledger")(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rookery_workload::web2005::{Model, besim::Cents};

    use super::*;

    fn entry(cents: u64) -> LedgerEntry {
        LedgerEntry {
            model: Model::Banking,
            command: 7,
            identity: 58,
            amount: Cents(cents),
            confirmation: 42,
            arguments: vec!["payee".to_owned()],
        }
    }

    fn path() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("ledger.txt");
        (dir, path)
    }

    fn append(ledger: &LedgerFile, cents: u64) -> Result<(), NotWritten> {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(ledger.append(&entry(cents)))
    }

    #[test]
    fn what_was_answered_is_found_with_either_way() {
        for sync in [LedgerSync::Process, LedgerSync::Disk] {
            let (_dir, path) = path();
            assert_eq!(
                read_ledger(&path).expect("none yet"),
                LedgerTotals::default()
            );
            let ledger = LedgerFile::open(&path, sync, &mut |_| {}).expect("opened");
            for cents in [1, 20, 300] {
                assert_eq!(append(&ledger, cents), Ok(()));
                let found = read_ledger(&path).expect("readable");
                assert_eq!(found.faults, 0);
            }
            assert_eq!(read_ledger(&path).expect("readable").payments, (3, 321));
        }
    }

    #[test]
    fn a_line_that_broke_off_is_cut_and_the_others_come_back() {
        let (_dir, path) = path();
        let ledger = LedgerFile::open(&path, LedgerSync::Process, &mut |_| {}).expect("opened");
        assert_eq!(append(&ledger, 5), Ok(()));
        drop(ledger);
        let mut file = OpenOptions::new().append(true).open(&path).expect("opened");
        file.write_all(b"1 7 58 900 00").expect("written");
        let mut replayed = Vec::new();
        let ledger = LedgerFile::open(&path, LedgerSync::Process, &mut |entry| {
            replayed.push(entry.clone());
        })
        .expect("opened");
        assert_eq!(replayed, [entry(5)]);
        assert_eq!(append(&ledger, 7), Ok(()));
        let found = read_ledger(&path).expect("readable");
        assert_eq!((found.payments, found.faults), ((2, 12), 0));
    }

    #[test]
    fn after_a_failed_write_nothing_is_written_any_more() {
        let (_dir, path) = path();
        fs::write(&path, "").expect("written");
        let read_only = File::open(&path).expect("opened");
        let mut writer = Writer {
            file: read_only,
            end: 0,
            broken: false,
        };
        assert!(!writer.append(b"x\n", false));
        writer.file = OpenOptions::new().append(true).open(&path).expect("opened");
        assert!(!writer.append(b"y\n", false));
        assert_eq!(fs::read(&path).expect("readable"), b"");
    }
}
