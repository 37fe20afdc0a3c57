//! Extended headers after POSIX.1-2001: lines `LENGTH KEY=VALUE`, whose length counts all of it.

use super::entry::Time;
use crate::problem::TarProblem;

/// Attributes of a file beside its mode and owner, as the two usual writers name them.
const ATTRIBUTES: [&[u8]; 2] = [b"SCHILY.xattr.", b"LIBARCHIVE.xattr."];
/// Files with holes.
const SPARSE: &[u8] = b"GNU.sparse.";
/// Names of attributes that are kept for the report, per entry.
const KEPT_ATTRIBUTES: usize = 16;

/// What extended headers say of one entry.
#[derive(Default)]
pub(super) struct Pax {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<i64>,
    pub(super) gid: Option<i64>,
    pub(super) mtime: Option<Time>,
    /// Names of extended attributes.
    pub(super) attributes: Vec<Vec<u8>>,
    pub(super) sparse: bool,
}

impl Pax {
    /// Takes a header of one entry in.
    ///
    /// # Errors
    /// When it is malformed.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), TarProblem> {
        for_each(bytes, &mut |key, value| self.record(key, value))
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> Result<(), TarProblem> {
        let number = |field| {
            let text = str::from_utf8(value).ok();
            let number = text.and_then(|text| text.parse::<i64>().ok());
            number.ok_or(TarProblem::Number(field))
        };
        // An empty value takes an earlier one back.
        let present = !value.is_empty();
        match key {
            b"path" => self.path = present.then(|| value.to_vec()),
            b"linkpath" => self.link = present.then(|| value.to_vec()),
            b"size" if present => {
                let size = u64::try_from(number("size")?);
                self.size = Some(size.map_err(|_| TarProblem::Number("size"))?);
            }
            b"uid" if present => self.uid = Some(number("owner")?),
            b"gid" if present => self.gid = Some(number("group")?),
            b"mtime" if present => {
                self.mtime = Some(time(value).ok_or(TarProblem::Number("time"))?)
            }
            _ if key.starts_with(SPARSE) => self.sparse = true,
            _ => self.attribute(key),
        }
        Ok(())
    }

    fn attribute(&mut self, key: &[u8]) {
        let name = ATTRIBUTES.iter().find_map(|start| key.strip_prefix(*start));
        if let Some(name) = name
            && self.attributes.len() < KEPT_ATTRIBUTES
        {
            self.attributes.push(name.to_vec());
        }
    }
}

/// Checks a header for all entries that follow: comments are welcome, but what is of one entry
/// must not be said of all.
///
/// # Errors
/// When it is malformed, or says such a thing.
pub(super) fn check_global(bytes: &[u8]) -> Result<(), TarProblem> {
    for_each(bytes, &mut |key, _| {
        let of_one = matches!(key, b"path" | b"linkpath" | b"size" | b"uid" | b"gid");
        let of_one = of_one || key.starts_with(SPARSE);
        if of_one || ATTRIBUTES.iter().any(|start| key.starts_with(start)) {
            let key = String::from_utf8_lossy(key);
            return Err(TarProblem::Global(rookery_diagnosis::outside_text(&key)));
        }
        Ok(())
    })
}

/// Takes a key and its value.
type TakeRecord<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<(), TarProblem>;

fn for_each(mut bytes: &[u8], take: TakeRecord<'_>) -> Result<(), TarProblem> {
    while !bytes.is_empty() {
        let (record, rest) = split(bytes).ok_or(TarProblem::Extension)?;
        let equals = record.iter().position(|&byte| byte == b'=');
        let (key, value) = record.split_at(equals.ok_or(TarProblem::Extension)?);
        take(key, &value[1..])?;
        bytes = rest;
    }
    Ok(())
}

/// The first record without its length and line break, and what follows.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = bytes.iter().take(20).position(|&byte| byte == b' ')?;
    let length: usize = str::from_utf8(&bytes[..blank]).ok()?.parse().ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    Some((record.get(blank + 1..)?.strip_suffix(b"\n")?, rest))
}

/// Seconds since 1970 with a fraction.
fn time(value: &[u8]) -> Option<Time> {
    let text = str::from_utf8(value).ok()?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let whole: i64 = seconds.parse().ok()?;
    let digits: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let nanoseconds: i64 = digits.parse().ok()?;
    // A fraction of a time before 1970 goes backwards.
    if seconds.starts_with('-') && nanoseconds > 0 {
        return Some(Time {
            seconds: whole.checked_sub(1)?,
            nanoseconds: 1_000_000_000 - nanoseconds,
        });
    }
    Some(Time {
        seconds: whole,
        nanoseconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_line_breaks() {
        let mut pax = Pax::default();
        pax.extend(b"14 path=a\nb=c\n16 mtime=-1.250\n30 SCHILY.xattr.user.x=1\n2\0\xff=\n")
            .expect("well-formed");
        assert_eq!(pax.path.as_deref(), Some(&b"a\nb=c"[..]));
        assert_eq!(pax.attributes, [b"user.x".to_vec()]);
        let time = pax.mtime.expect("a time");
        assert_eq!((time.seconds, time.nanoseconds), (-2, 750_000_000));
    }

    #[test]
    fn an_empty_value_takes_back() {
        let mut pax = Pax::default();
        pax.extend(b"9 path=a\n8 path=\n").expect("well-formed");
        assert_eq!(pax.path, None);
    }

    #[test]
    fn malformed_records_are_refused() {
        for bytes in [
            &b"x"[..],
            b"5 a=b",
            b"6 a=b\n\n",
            b"99 a=b\n",
            b"0 ",
            b"-6 a=b\n",
            b"5 ab\n",
            b"11 size=-1\n",
            b"9 uid=1x\n",
            b"99999999999999999999999 a=b\n",
        ] {
            assert!(Pax::default().extend(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn no_header_speaks_for_all_entries() {
        check_global(b"19 comment=made by\n").expect("a comment");
        assert!(check_global(b"15 path=/etc/x\n").is_err());
        assert!(check_global(b"22 GNU.sparse.major=1\n").is_err());
    }
}
