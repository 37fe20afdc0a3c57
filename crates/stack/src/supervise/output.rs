//! What services write, as whole lines of the guest's log.

use std::{
    io::{self, PipeReader, Read, Write},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::io::ioctl_fionbio;

/// Longest piece of a line; longer lines are cut into pieces, each with its prefix.
const LONGEST_LINE: usize = 8192;
/// Bytes taken from a pipe at a time, so that a service that never stops writing does not keep its
/// supervisor from all else.
const PORTION: usize = 1 << 16;

/// Cuts a stream of bytes into lines of bounded length.
#[derive(Default)]
struct Lines {
    unfinished: Vec<u8>,
}

impl Lines {
    /// Take `bytes`; `each` gets every line that is whole now, without its end.
    fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = part
                .strip_suffix(b"\n")
                .map_or((part, false), |text| (text, true));
            let mut rest = text;
            while self.unfinished.len() + rest.len() > LONGEST_LINE {
                let (piece, more) = rest.split_at(LONGEST_LINE - self.unfinished.len());
                self.unfinished.extend_from_slice(piece);
                self.flush(&mut each);
                rest = more;
            }
            self.unfinished.extend_from_slice(rest);
            if whole {
                self.flush_even_empty(&mut each);
            }
        }
    }

    /// Give what waits for its end of line, if there is any.
    fn flush(&mut self, each: &mut impl FnMut(&str)) {
        if !self.unfinished.is_empty() {
            self.flush_even_empty(each);
        }
    }

    fn flush_even_empty(&mut self, each: &mut impl FnMut(&str)) {
        each(&printable(&self.unfinished));
        self.unfinished.clear();
    }
}

/// Text that neither breaks a line nor commands a terminal, whatever was written.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.strip_suffix(b"\r").unwrap_or(bytes));
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// The reading end of one service's output.
pub(super) struct Stream {
    /// Number of the service.
    pub(super) service: usize,
    name: String,
    pipe: PipeReader,
    lines: Lines,
}

impl Stream {
    pub(super) fn new(service: usize, name: &str, pipe: PipeReader) -> io::Result<Self> {
        ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            service,
            name: name.to_owned(),
            pipe,
            lines: Lines::default(),
        })
    }

    /// Write what the service has written to the log; `heard` gets every line. Gives false when
    /// there will be no more.
    pub(super) fn pump(&mut self, mut heard: impl FnMut(&str)) -> bool {
        let mut bytes = vec![0; PORTION];
        let open = match self.pipe.read(&mut bytes) {
            Ok(0) => false,
            Ok(read) => {
                bytes.truncate(read);
                true
            }
            Err(error) => {
                return matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                );
            }
        };
        let mut log = String::new();
        let mut each = |line: &str| {
            log += &format!("{}: {line}\n", self.name);
            heard(line);
        };
        if open {
            self.lines.feed(&bytes, &mut each);
        } else {
            self.lines.flush(&mut each);
        }
        write_log(&log);
        open
    }

    /// Write what waits for its end of line.
    pub(super) fn finish(&mut self) {
        let name = &self.name;
        let mut log = String::new();
        self.lines
            .flush(&mut |line| log += &format!("{name}: {line}\n"));
        write_log(&log);
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// A remark of the supervisor itself.
pub(super) fn remark(text: &str) {
    write_log(&format!("supervise: {text}\n"));
}

/// Whole lines only, in one write where the system allows.
fn write_log(text: &str) {
    let mut out = io::stdout().lock();
    // A log that cannot be written must not end the guest: the lab sees its state all the same.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of(parts: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = Lines::default();
        for part in parts {
            lines.feed(part, |line| all.push(line.to_owned()));
        }
        lines.flush(&mut |line| all.push(line.to_owned()));
        all
    }

    #[test]
    fn lines_are_joined_across_reads() {
        assert_eq!(lines_of(&[b"on", b"e\n\ntw", b"o"]), ["one", "", "two"]);
    }

    #[test]
    fn binary_and_terminal_commands_become_text() {
        assert_eq!(
            lines_of(&[b"\x1b[2J\xff\x00a\tb\r\n"]),
            ["\u{fffd}[2J\u{fffd}\u{fffd}a\tb"]
        );
    }

    #[test]
    fn long_lines_come_in_pieces() {
        let long = vec![b'x'; 2 * LONGEST_LINE + 5];
        let lengths: Vec<usize> = lines_of(&[&long, b"\n"]).iter().map(String::len).collect();
        assert_eq!(lengths, [LONGEST_LINE, LONGEST_LINE, 5]);
        assert_eq!(lines_of(&[&long[..LONGEST_LINE], b"\n"]).len(), 1);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_the_bytes_arrive(text in "[a-c\n]{0,60}", cut in 0_usize..60) {
            let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
            let mut expected: Vec<&str> = text.split('\n').collect();
            if expected.last() == Some(&"") {
                expected.pop();
            }
            prop_assert_eq!(lines_of(&[left, right]), expected);
        }
    }
}
