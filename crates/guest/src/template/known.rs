//! Digests of files that this process has read: before each trial the programs of all layers are
//! compared with what was put there, and they are large.
//!
//! A file counts as the same while its device, inode, size, time of last change and time of last
//! change of its state are. The last of these is the kernel's own: nobody sets it back. A file that
//! changed a moment ago may change again within the same tick of the clock, so its digest is not
//! kept.

use std::{
    collections::BTreeMap,
    fs::{File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};

/// Most files that are known; there are a few for each template.
const MOST: usize = 256;
/// How long ago a file must have changed for its digest to be kept. File systems tell times in
/// steps of up to two seconds.
const SETTLED: Duration = Duration::from_secs(3);

/// The digests that this process has computed.
pub(super) static OF_PROCESS: Known = Known(Mutex::new(BTreeMap::new()));

/// Digests by what the files were.
#[derive(Debug)]
pub(super) struct Known(Mutex<BTreeMap<State, Vec<u8>>>);

/// What a file is, apart from its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    fn new(data: &Metadata) -> Self {
        Self {
            device: data.dev(),
            inode: data.ino(),
            bytes: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// Whether it changed so long ago that a further change shows.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let latest = self.modified.0.max(self.changed.0).max(0);
        let latest = Duration::from_secs(latest.unsigned_abs() + 1);
        now.checked_sub(latest).is_some_and(|age| age >= SETTLED)
    }
}

/// The digest of a file, from what is known of it or from its content.
///
/// # Errors
/// When it cannot be read.
pub(super) fn digest(path: &Path, known: &Known, now: SystemTime) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let before = State::new(&file.metadata()?);
    if let Some(digest) = known.get(&before) {
        return Ok(digest);
    }
    let digest = digest_of(&mut file)?;
    // Nor must it have changed meanwhile.
    if before.is_settled(now) && State::new(&file.metadata()?) == before {
        known.keep(before, &digest);
    }
    Ok(digest)
}

fn digest_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut whole = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(whole.finalize().to_vec());
        }
        whole.update(&buffer[..length]);
    }
}

impl Known {
    fn get(&self, state: &State) -> Option<Vec<u8>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(state).cloned()
    }

    fn keep(&self, state: State, digest: &[u8]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(state, digest.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn count(known: &Known) -> usize {
        known.0.lock().expect("no panic").len()
    }

    #[test]
    fn a_file_is_read_once_while_it_is_the_same() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("program");
        fs::write(&path, "one").expect("written");
        let known = Known(Mutex::new(BTreeMap::new()));
        let later = SystemTime::now() + Duration::from_secs(60);
        let first = digest(&path, &known, later).expect("readable");
        assert_eq!(first, Sha256::digest(b"one").to_vec());
        assert_eq!(count(&known), 1);
        // What is known is what is given: it is not read again.
        let state = State::new(&fs::metadata(&path).expect("there"));
        known.keep(state, b"known");
        assert_eq!(digest(&path, &known, later).expect("readable"), b"known");
    }

    #[test]
    fn a_file_that_changed_is_read_again() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("program");
        fs::write(&path, "one").expect("written");
        let known = Known(Mutex::new(BTreeMap::new()));
        let later = SystemTime::now() + Duration::from_secs(60);
        let first = digest(&path, &known, later).expect("readable");
        // The same size in the same file, but another time.
        fs::write(&path, "two").expect("written");
        let file = File::options().write(true).open(&path).expect("there");
        let other = SystemTime::now() - Duration::from_secs(60);
        file.set_modified(other).expect("set");
        let second = digest(&path, &known, later).expect("readable");
        assert_ne!(second, first);
        assert_eq!(second, Sha256::digest(b"two").to_vec());
        // Another file in its place.
        let new = place.path().join("new");
        fs::write(&new, "six").expect("written");
        fs::rename(&new, &path).expect("renamed");
        let third = digest(&path, &known, later).expect("readable");
        assert_eq!(third, Sha256::digest(b"six").to_vec());
    }

    #[test]
    fn what_changed_a_moment_ago_is_not_kept() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("program");
        fs::write(&path, "one").expect("written");
        let known = Known(Mutex::new(BTreeMap::new()));
        digest(&path, &known, SystemTime::now()).expect("readable");
        assert_eq!(count(&known), 0);
    }
}
