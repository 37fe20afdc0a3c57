//! The list of a set's files, which says that it is whole.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, BufWriter, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use rookery_workload::web2005::{
    Model,
    files::{Shape, modified_s},
};
use sha2::{Digest as _, Sha256};

use super::FilesetError;

/// What a manifest begins with.
const VERSION: &str = "# rookery web2005 1";

/// Most bytes of the first lines of a manifest.
const MOST_HEAD_BYTES: u64 = 4096;

/// Name of the manifest of a workload in the root of its set.
#[must_use]
pub fn manifest_name(model: Model) -> String {
    format!("manifest-{}.tsv", model.name())
}

/// What is known of a whole set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its shape as one line.
    pub shape: String,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of the lines of all files: path, size, time of modification. With the seed in the
    /// shape it stands for every byte.
    pub digest: String,
}

impl Manifest {
    /// Whether it is that of a set of this shape.
    #[must_use]
    pub fn is_of(&self, shape: &Shape) -> bool {
        self.shape == line_of(shape)
    }

    /// The manifest of a workload in a directory; nothing where there is none.
    pub(super) fn read(dir: &Path, model: Model) -> Result<Option<Self>, FilesetError> {
        let path = dir.join(manifest_name(model));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FilesetError::read(&path)(error)),
        };
        let head: Vec<String> = BufReader::new(io::Read::take(file, MOST_HEAD_BYTES))
            .lines()
            .take(4)
            .collect::<io::Result<_>>()
            .map_err(FilesetError::read(&path))?;
        Ok(Some(Self::of_head(&head).unwrap_or(Self {
            shape: "an unknown file".to_owned(),
            files: 0,
            bytes: 0,
            digest: String::new(),
        })))
    }

    /// The first four lines: version, shape, sums, digest.
    fn of_head(head: &[String]) -> Option<Self> {
        let [version, shape, sums, digest] = head else {
            return None;
        };
        let (files, bytes) = sums.strip_prefix("# files=")?.split_once(" bytes=")?;
        (version == VERSION).then_some(())?;
        Some(Self {
            shape: shape.strip_prefix("# ")?.to_owned(),
            files: files.parse().ok()?,
            bytes: bytes.parse().ok()?,
            digest: digest.strip_prefix("# sha256=")?.to_owned(),
        })
    }

    /// Writes the manifest of a set whose files are there, and waits for the disk.
    pub(super) fn write(
        dir: &Path,
        shape: &Shape,
        stop: &AtomicBool,
    ) -> Result<Self, FilesetError> {
        let manifest = Self {
            shape: line_of(shape),
            files: shape.total_files(),
            bytes: shape.total_bytes(),
            digest: digest_of(shape, stop)?,
        };
        let path = dir.join(manifest_name(shape.model()));
        let part = dir.join(format!("{}.part", manifest_name(shape.model())));
        let written = manifest
            .write_part(&part, shape)
            // The manifest comes after all files: with it they are on the disk.
            .and_then(|file| Ok(rustix::fs::syncfs(&file)?))
            .and_then(|()| fs::rename(&part, &path))
            .and_then(|()| File::open(dir)?.sync_all());
        written.map_err(FilesetError::write(&path))?;
        Ok(manifest)
    }

    fn write_part(&self, part: &Path, shape: &Shape) -> io::Result<File> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(part)?);
        writeln!(
            out,
            "{VERSION}\n# {}\n# files={} bytes={}\n# sha256={}",
            self.shape, self.files, self.bytes, self.digest
        )?;
        write_lines(shape, &mut out, &|| true)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(file)
    }
}

/// A shape as one line.
fn line_of(shape: &Shape) -> String {
    format!(
        "model={} sessions={} units={} users_per_slot={} sub_directories={} seed={}",
        shape.model().name(),
        shape.sessions(),
        shape.units(),
        shape.users_per_slot(),
        shape.sub_directories(),
        shape.seed()
    )
}

fn digest_of(shape: &Shape, stop: &AtomicBool) -> Result<String, FilesetError> {
    struct Digested(Sha256);

    impl Write for Digested {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut out = Digested(Sha256::new());
    // Nothing but the stop flag ends it.
    write_lines(shape, &mut out, &|| !stop.load(Relaxed)).map_err(|_| FilesetError::Stopped)?;
    let digest = out.0.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// One line per file, as long as `go_on` says so.
fn write_lines(shape: &Shape, out: &mut impl Write, go_on: &dyn Fn() -> bool) -> io::Result<()> {
    let modified_s = modified_s(shape.seed());
    for file in shape.fixed_files() {
        writeln!(out, "{}\t{}\t{modified_s}", file.path, file.size)?;
    }
    for unit in 1..=shape.units() {
        if !go_on() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        for file in shape.unit_files(unit) {
            writeln!(out, "{}\t{}\t{modified_s}", file.path, file.size)?;
        }
    }
    Ok(())
}
