//! Devices of compressed memory (zram): making one, finding those of a label, giving them back.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::swap_off;
use crate::command::Host;

/// Where the kernel takes orders for such devices; it is there once the module is.
pub const CONTROL: &str = "/sys/class/zram-control";

/// How long a device may be held by somebody who looks at it, such as udev.
const BUSY_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Bytes of the head of a swap area: a page.
const HEAD: usize = 4096;
/// Where the label is in it, and how long.
const LABEL: std::ops::Range<usize> = 1052..1068;

/// The number of a device: `3` of `/dev/zram3`.
pub type ZramNumber = u32;

/// Its path.
#[must_use]
pub fn zram_path(number: ZramNumber) -> PathBuf {
    PathBuf::from(format!("/dev/zram{number}"))
}

/// The number in such a path.
#[must_use]
pub fn number_of(path: &Path) -> Option<ZramNumber> {
    path.to_str()?.strip_prefix("/dev/zram")?.parse().ok()
}

/// The numbers of all devices, in use or not.
#[must_use]
pub fn zram_numbers() -> BTreeSet<ZramNumber> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix("zram")?
                .parse()
                .ok()
        })
        .collect()
}

/// Add a device.
///
/// # Errors
/// When the kernel does not.
pub fn add_zram(host: &dyn Host) -> io::Result<ZramNumber> {
    host.step("zram device")?;
    let said = fs::read_to_string(Path::new(CONTROL).join("hot_add"))?;
    said.trim()
        .parse()
        .map_err(|_| io::Error::other(format!("the kernel called a zram device `{said}`")))
}

/// Give a device its size, bytes.
///
/// # Errors
/// When the kernel refuses it.
pub fn size_zram(host: &dyn Host, number: ZramNumber, bytes: u64) -> io::Result<()> {
    host.step("zram size")?;
    fs::write(attribute(number, "disksize"), bytes.to_string())
}

/// How a device compresses: `lzo-rle`; `None` where it cannot be read.
#[must_use]
pub fn zram_algorithm(number: ZramNumber) -> Option<String> {
    let offered = fs::read_to_string(attribute(number, "comp_algorithm")).ok()?;
    let (_, rest) = offered.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// What a device is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZramUse {
    /// It has no size: nobody uses it.
    Nothing,
    /// It has a size, and nothing was written to its begin.
    Empty,
    /// It is a swap area of this label.
    Swap(String),
    /// Anything else.
    Other,
}

/// What a device is used for; `None` where there is none.
#[must_use]
pub fn zram_use(number: ZramNumber) -> Option<ZramUse> {
    let size = fs::read_to_string(attribute(number, "disksize")).ok()?;
    if size.trim() == "0" {
        return Some(ZramUse::Nothing);
    }
    let mut head = vec![0; HEAD];
    let read = File::open(zram_path(number)).and_then(|mut file| file.read_exact(&mut head));
    Some(read.map_or(ZramUse::Other, |()| use_of_head(&head)))
}

fn use_of_head(head: &[u8]) -> ZramUse {
    if head.iter().all(|byte| *byte == 0) {
        return ZramUse::Empty;
    }
    let Some(label) = head.get(LABEL).filter(|_| head.ends_with(b"SWAPSPACE2")) else {
        return ZramUse::Other;
    };
    let end = label.iter().position(|byte| *byte == 0);
    let label = &label[..end.unwrap_or(label.len())];
    ZramUse::Swap(String::from_utf8_lossy(label).into_owned())
}

/// Remove a device with all that lies on it. Absent is fine.
///
/// # Errors
/// When it stays in use.
pub fn remove_zram(number: ZramNumber) -> io::Result<()> {
    swap_off(&zram_path(number))?;
    let deadline = Instant::now() + BUSY_LIMIT;
    while zram_numbers().contains(&number) {
        let asked = fs::write(Path::new(CONTROL).join("hot_remove"), number.to_string());
        match asked {
            Ok(()) => {}
            Err(error) if Instant::now() > deadline => {
                let what = format!("{}: {error}", zram_path(number).display());
                return Err(io::Error::new(error.kind(), what));
            }
            // Somebody looks at it, or it has just gone.
            Err(_) => thread::sleep(PAUSE),
        }
    }
    Ok(())
}

fn attribute(number: ZramNumber, name: &str) -> PathBuf {
    PathBuf::from(format!("/sys/block/zram{number}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_area_tells_its_label() {
        let mut head = vec![0; HEAD];
        assert_eq!(use_of_head(&head), ZramUse::Empty);
        head[1024] = 1;
        assert_eq!(use_of_head(&head), ZramUse::Other, "no swap area");
        head[HEAD - 10..].copy_from_slice(b"SWAPSPACE2");
        assert_eq!(use_of_head(&head), ZramUse::Swap(String::new()));
        head[LABEL.start..LABEL.start + 5].copy_from_slice(b"rk-ab");
        assert_eq!(use_of_head(&head), ZramUse::Swap("rk-ab".to_owned()));
        head[LABEL].fill(b'x');
        assert_eq!(use_of_head(&head), ZramUse::Swap("x".repeat(16)));
    }

    #[test]
    fn a_device_that_is_not_there_is_of_no_use() {
        assert_eq!(number_of(&zram_path(3)), Some(3));
        assert_eq!(number_of(Path::new("/dev/zramx")), None);
        assert_eq!(zram_use(u32::MAX), None);
        assert_eq!(zram_algorithm(u32::MAX), None);
        remove_zram(u32::MAX).expect("absent");
    }
}
