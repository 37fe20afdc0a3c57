//! The log of a guest.
//!
//! Its directory may belong to somebody who is not root, while root writes: no symbolic link is
//! followed anywhere on the way, so that nobody has us write to, or show, a file of another.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat},
    io::Errno,
};

/// Mode of a new log.
const LOG_MODE: u32 = 0o644;

/// Make an empty log; what is there of that name, a link too, is replaced.
///
/// # Errors
/// When the directory cannot be written to, or is reached through a symbolic link.
pub(crate) fn begin(path: &Path) -> io::Result<()> {
    if let (Some(directory), Some(name)) = (path.parent(), path.file_name()) {
        let directory = open(directory, OFlags::PATH | OFlags::DIRECTORY)?;
        match unlinkat(directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(named(path, error)),
        }
    }
    open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL).map(drop)
}

/// The log, to write at its end; made when it is not there.
///
/// # Errors
/// When it is a symbolic link, or is reached through one.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    open(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
}

/// Open without following a symbolic link, with the path in the error.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let mode = if flags.contains(OFlags::CREATE) {
        Mode::from_raw_mode(LOG_MODE)
    } else {
        Mode::empty()
    };
    let flags = flags | OFlags::CLOEXEC;
    openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS)
        .map(File::from)
        .map_err(|error| named(path, error))
}

fn named(path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The last `bytes` bytes of a file as text, from the start of a line where one begins; empty when
/// there is no such file, or only through a symbolic link.
pub(crate) fn tail(path: &Path, bytes: usize) -> String {
    let read = || {
        let mut file = open(path, OFlags::RDONLY)?;
        let skipped = file.metadata()?.len().saturating_sub(bytes as u64);
        file.seek(SeekFrom::Start(skipped))?;
        let mut content = Vec::new();
        file.take(bytes as u64).read_to_end(&mut content)?;
        Ok::<_, io::Error>((skipped, String::from_utf8_lossy(&content).into_owned()))
    };
    let Ok((skipped, text)) = read() else {
        return String::new();
    };
    match text.split_once('\n') {
        Some((_, whole_lines)) if skipped > 0 && !whole_lines.is_empty() => whole_lines.to_owned(),
        _ => text,
    }
}

/// Indent every line, for use in an error; says so when there is nothing.
pub(crate) fn indented(text: &str) -> String {
    if text.trim().is_empty() {
        return "    (its log is empty)".to_owned();
    }
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .map(|line| format!("    {line}"))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_cut_log_begins_with_a_whole_line() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        std::fs::write(file.path(), "first line\nsecond\nthird\n").expect("written");
        assert_eq!(tail(file.path(), 15), "second\nthird\n".to_owned());
        assert_eq!(tail(file.path(), 1000), "first line\nsecond\nthird\n");
        assert_eq!(tail(Path::new("/nonexistent/log"), 10), "");
        assert_eq!(indented("a\nb\n"), "    a\n    b");
    }

    #[test]
    fn no_log_is_reached_through_a_link() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let home = directory
            .path()
            .canonicalize()
            .expect("a path without links");
        let (victim, log) = (home.join("victim"), home.join("g1.log"));
        fs::write(&victim, "precious\n").expect("written");
        std::os::unix::fs::symlink(&victim, &log).expect("linked");
        assert!(append(&log).is_err());
        assert_eq!(tail(&log, 100), "");
        begin(&log).expect("replaced");
        append(&log).expect("a log of its own");
        assert_eq!(fs::read_to_string(&victim).expect("read"), "precious\n");

        let (logs, real) = (home.join("logs"), home.join("real"));
        fs::create_dir(&real).expect("made");
        std::os::unix::fs::symlink(&real, &logs).expect("linked");
        assert!(append(&logs.join("g1.log")).is_err());
        assert!(begin(&logs.join("g1.log")).is_err());
        assert_eq!(fs::read_dir(&real).expect("read").count(), 0);
    }
}
