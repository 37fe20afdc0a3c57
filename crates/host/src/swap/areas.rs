//! The areas to which the kernel swaps, as `/proc/swaps` tells of them.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::command::{Host as _, Invocation, RealHost};

/// Taking memory back from an area that is full takes seconds.
const SWAP_OFF_LIMIT: Duration = Duration::from_secs(300);

/// An area to which the kernel swaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// The device or the file.
    pub path: PathBuf,
    /// Its size, bytes, without its head.
    pub bytes: u64,
    /// What lies there, bytes.
    pub used_bytes: u64,
    /// Areas of larger numbers are filled first.
    pub priority: i32,
}

/// All areas to which the kernel swaps now. None where it cannot swap at all.
///
/// # Errors
/// When the list is there and cannot be read.
pub fn swap_areas() -> io::Result<Vec<SwapArea>> {
    match fs::read("/proc/swaps") {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Take back what is swapped to a device or file, and swap to it no more. One to which nothing is
/// swapped is fine.
///
/// # Errors
/// When what lies there does not fit into memory.
pub fn swap_off(path: &Path) -> io::Result<()> {
    if !swap_areas()?.iter().any(|area| area.path == path) {
        return Ok(());
    }
    let off = Invocation::new("swapoff").arg(path).timeout(SWAP_OFF_LIMIT);
    let said = RealHost.run(off);
    if swap_areas()?.iter().any(|area| area.path == path) {
        said?;
        let what = format!("{}: it is still swapped to", path.display());
        return Err(io::Error::other(what));
    }
    Ok(())
}

/// The first line has heads. A file that was deleted has that word behind its name.
fn parse(text: &[u8]) -> Vec<SwapArea> {
    let lines = text.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<SwapArea> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let mut words = line.split(blank).filter(|word| !word.is_empty());
    let name = unescaped(words.next()?);
    let name = name.strip_suffix(b" (deleted)").unwrap_or(&name).to_vec();
    let mut number = || std::str::from_utf8(words.next()?).ok();
    let _kind = number()?;
    let kib = |text: &str| Some(text.parse::<u64>().ok()?.saturating_mul(1024));
    Some(SwapArea {
        path: Path::new(&OsString::from_vec(name)).to_owned(),
        bytes: kib(number()?)?,
        used_bytes: kib(number()?)?,
        priority: number()?.parse().ok()?,
    })
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(byte) => {
                plain.push(byte);
                rest = &after[3..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_read_with_names_of_any_kind() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/zram1                              partition\t65532\t\t8\t\t32767\n\
            /runs/a\\040b\\134/swap.img\\040(deleted)        file\t\t4\t\t0\t\t-2\n\
            nonsense\n";
        let area = |path: &str, bytes, used_bytes, priority| SwapArea {
            path: path.into(),
            bytes,
            used_bytes,
            priority,
        };
        assert_eq!(
            parse(text),
            [
                area("/dev/zram1", 65_532 << 10, 8192, 32_767),
                area("/runs/a b\\/swap.img", 4096, 0, -2),
            ]
        );
        assert_eq!(parse(b""), []);
        swap_off(Path::new("/no/such/file")).expect("absent");
        assert_eq!(unescaped(b"a\\9zz\\04"), b"a\\9zz\\04");
    }
}
