//! One file of a set.

use std::{
    fs::File,
    io::{self, Write as _},
};

use rookery_workload::web2005::files::FileEntry;
use rustix::fs::{Timespec, Timestamps, futimens};

use super::directory::Directory;

/// Bytes computed before a write.
const PART_BYTES: usize = 1 << 20;

/// Room for a part of a file.
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(vec![0; PART_BYTES])
    }

    /// Writes a file that no one may change, in place of any other of this name. `go_on` learns the
    /// bytes of every part, and says whether to go on: the file is not whole if it says no.
    pub(super) fn write(
        &mut self,
        directory: &Directory,
        name: &str,
        entry: &FileEntry,
        modified_s: u64,
        go_on: &dyn Fn(u64) -> bool,
    ) -> io::Result<bool> {
        let mut file = File::from(directory.create(name)?);
        let mut at = 0;
        while at < entry.size {
            let left = entry.size - at;
            let length = usize::try_from(left).unwrap_or(PART_BYTES).min(PART_BYTES);
            let part = &mut self.0[..length];
            entry.content.fill(at, part);
            file.write_all(part)?;
            at += length as u64;
            if !go_on(length as u64) {
                return Ok(false);
            }
        }
        let time = Timespec {
            tv_sec: i64::try_from(modified_s).unwrap_or(0),
            tv_nsec: 0,
        };
        futimens(
            &file,
            &Timestamps {
                last_access: time,
                last_modification: time,
            },
        )?;
        Ok(true)
    }
}
