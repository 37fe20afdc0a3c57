//! Accounts and nodes as tab-separated text.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    ops::ControlFlow,
    path::Path,
};

use rookery_workload::cms::CmsData;
use sha2::{Digest as _, Sha256};

use super::{
    CmsError,
    rows::{each_node, lines, small_tables},
};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of all files.
    pub bytes: u64,
    /// SHA-256 over all files, in hexadecimal digits.
    pub digest: String,
}

/// Writes `accounts.tsv` and `nodes.tsv` into a directory, which is made if it does not exist;
/// `progress` is told rows that are done, and may end it.
///
/// # Errors
/// When a file cannot be written, exists already, or `progress` ends it.
pub fn write_dump(
    directory: &Path,
    data: &CmsData,
    progress: &dyn Fn(u64) -> ControlFlow<()>,
) -> Result<Written, CmsError> {
    fs::create_dir_all(directory).map_err(CmsError::file(directory, "making the directory"))?;
    let mut files = Files {
        directory,
        bytes: 0,
        digest: Sha256::new(),
    };
    files.write("accounts.tsv", |out| accounts(out, data))?;
    files.write("nodes.tsv", |out| nodes(out, data, progress))?;
    let digest = files.digest.finalize();
    Ok(Written {
        bytes: files.bytes,
        digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

struct Files<'d> {
    directory: &'d Path,
    bytes: u64,
    digest: Sha256,
}

/// A file that is being written.
struct Out<'f> {
    file: BufWriter<File>,
    bytes: &'f mut u64,
    digest: &'f mut Sha256,
}

impl Files<'_> {
    fn write(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Out<'_>) -> io::Result<()>,
    ) -> Result<(), CmsError> {
        let path = self.directory.join(name);
        let write = || {
            let mut out = Out {
                file: BufWriter::new(File::create_new(&path)?),
                bytes: &mut self.bytes,
                digest: &mut self.digest,
            };
            work(&mut out)?;
            out.file.flush()
        };
        write().map_err(CmsError::file(&path, "writing the data"))
    }
}

impl Out<'_> {
    fn put(&mut self, text: &str) -> io::Result<()> {
        *self.bytes += text.len() as u64;
        self.digest.update(text.as_bytes());
        self.file.write_all(text.as_bytes())
    }
}

fn accounts(out: &mut Out<'_>, data: &CmsData) -> io::Result<()> {
    let tables = small_tables();
    let table = &tables.accounts[0];
    lines(table, tables.each_account(data)).try_for_each(|line| out.put(&line))
}

fn nodes(
    out: &mut Out<'_>,
    data: &CmsData,
    progress: &dyn Fn(u64) -> ControlFlow<()>,
) -> io::Result<()> {
    let nodes = lines(&small_tables().nodes[0], each_node(data, 0..data.nodes));
    for (line, done) in nodes.zip(u64::from(data.users) + 2..) {
        out.put(&line)?;
        go_on(done, progress)?;
    }
    Ok(())
}

/// Rows between two looks at whether the user wants to go on.
const LOOK_EVERY: u64 = 1_000;

fn go_on(done: u64, progress: &dyn Fn(u64) -> ControlFlow<()>) -> io::Result<()> {
    if done.is_multiple_of(LOOK_EVERY) && progress(done).is_break() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: CmsData = CmsData {
        nodes: 1_500,
        users: 20,
        authors: 5,
        first_node: 1,
        story_ppm: 500_000,
        promoted_ppm: 500_000,
        seed: 7,
    };

    fn written() -> (tempfile::TempDir, Written) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let written = write_dump(dir.path(), &DATA, &|_| ControlFlow::Continue(()));
        (dir, written.expect("written"))
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let (dir, first) = written();
        assert_eq!(first, written().1);
        let files = fs::read_dir(dir.path()).expect("read");
        let bytes: u64 = files
            .map(|file| file.expect("a file").metadata().expect("known").len())
            .sum();
        assert_eq!(bytes, first.bytes);
        let again = write_dump(dir.path(), &DATA, &|_| ControlFlow::Continue(()));
        assert!(matches!(again, Err(CmsError::Server(_))), "{again:?}");
    }

    #[test]
    fn every_row_is_a_line() {
        let (dir, _) = written();
        let lines = |name: &str| {
            let text = fs::read_to_string(dir.path().join(name)).expect("text");
            text.lines().count() as u64
        };
        assert_eq!(lines("nodes.tsv"), u64::from(DATA.nodes));
        assert_eq!(lines("accounts.tsv") + lines("nodes.tsv"), DATA.rows());
    }

    #[test]
    fn who_wants_no_more_ends_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let ended = write_dump(dir.path(), &DATA, &|_| ControlFlow::Break(()));
        assert!(matches!(ended, Err(CmsError::Server(_))), "{ended:?}");
    }
}
