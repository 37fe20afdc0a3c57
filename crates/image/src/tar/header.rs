//! The block of 512 bytes before each entry.

use crate::problem::TarProblem;

pub(super) const BLOCK: usize = 512;

/// What a header says, before extensions.
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) typeflag: u8,
    pub(super) mode: i64,
    pub(super) uid: i64,
    pub(super) gid: i64,
    pub(super) size: u64,
    pub(super) mtime: i64,
}

impl Header {
    /// # Errors
    /// When the checksum or a number is wrong.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Self, TarProblem> {
        if !checksum_holds(block)? {
            return Err(TarProblem::Checksum);
        }
        let name = text(&block[..100]);
        // What GNU tar keeps in the place of the prefix are times.
        let prefix = if &block[257..263] == b"ustar\0" {
            text(&block[345..500])
        } else {
            &[]
        };
        let name = if prefix.is_empty() {
            name.to_vec()
        } else {
            [prefix, b"/", name].concat()
        };
        let size = number(&block[124..136]).ok_or(TarProblem::Number("size"))?;
        Ok(Self {
            name,
            link: text(&block[157..257]).to_vec(),
            typeflag: block[156],
            mode: number(&block[100..108]).ok_or(TarProblem::Number("mode"))?,
            uid: number(&block[108..116]).ok_or(TarProblem::Number("owner"))?,
            gid: number(&block[116..124]).ok_or(TarProblem::Number("group"))?,
            size: u64::try_from(size).map_err(|_| TarProblem::Number("size"))?,
            mtime: number(&block[136..148]).ok_or(TarProblem::Number("time"))?,
        })
    }
}

/// Up to the first zero byte.
fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|&byte| byte == 0);
    &field[..end.unwrap_or(field.len())]
}

/// The sum of all bytes, its own field taken as blanks; old writers summed signed ones.
fn checksum_holds(block: &[u8; BLOCK]) -> Result<bool, TarProblem> {
    let said = number(&block[148..156]).ok_or(TarProblem::Checksum)?;
    let others = || block[..148].iter().chain(&block[156..]);
    let unsigned: i64 = others().map(|&byte| i64::from(byte)).sum();
    let signed: i64 = others()
        .map(|&byte| i64::from(i8::from_ne_bytes([byte])))
        .sum();
    let blanks = 8 * i64::from(b' ');
    Ok(said == unsigned + blanks || said == signed + blanks)
}

/// Octal digits between blanks, nothing (a zero), or a binary number where the first bit is set.
fn number(field: &[u8]) -> Option<i64> {
    if field[0] & 0x80 != 0 {
        return binary(field);
    }
    let blank = |byte: &u8| matches!(byte, b' ' | 0);
    let first = field.iter().position(|byte| !blank(byte));
    let digits = &field[first.unwrap_or(field.len())..];
    let end = digits.iter().position(blank).unwrap_or(digits.len());
    if !digits[end..].iter().all(blank) {
        return None;
    }
    digits[..end].iter().try_fold(0i64, |value, &digit| {
        let digit = matches!(digit, b'0'..=b'7').then(|| i64::from(digit - b'0'))?;
        value.checked_mul(8)?.checked_add(digit)
    })
}

/// A number in two's complement, of which the first bit only says that it is one.
fn binary(field: &[u8]) -> Option<i64> {
    let negative = field[0] & 0x40 != 0;
    let first = if negative {
        i64::from(field[0]) - 0x100
    } else {
        i64::from(field[0] & 0x7f)
    };
    field[1..].iter().try_fold(first, |value, &byte| {
        value.checked_mul(0x100)?.checked_add(i64::from(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_octal_or_binary_and_nothing_else() {
        let cases: [(&[u8], Option<i64>); 11] = [
            (b"0000644\0", Some(0o644)),
            (b"   644 \0", Some(0o644)),
            (b"77777777", Some(0o77_777_777)),
            (b"\0\0\0\0\0\0\0\0", Some(0)),
            (b"        ", Some(0)),
            (b"0000648\0", None),
            (b"64 4   \0", None),
            (b"-000644\0", None),
            (b"\x80\0\0\0\0\0\x01\0", Some(256)),
            (b"\xff\xff\xff\xff\xff\xff\xff\xfe", Some(-2)),
            (b"\x80\0\0\x7f\xff\xff\xff\xff\xff\xff\xff\xff", None),
        ];
        for (field, expected) in cases {
            assert_eq!(number(field), expected, "{field:?}");
        }
    }

    #[test]
    fn a_changed_header_is_noticed() {
        let mut header = tar::Header::new_ustar();
        header.set_path("bin/app").expect("a path");
        header.set_mode(0o755);
        header.set_cksum();
        let mut block = *header.as_bytes();
        let parsed = Header::parse(&block).expect("a header");
        assert_eq!((parsed.name, parsed.mode), (b"bin/app".to_vec(), 0o755));
        block[0] = b'l';
        assert!(matches!(Header::parse(&block), Err(TarProblem::Checksum)));
    }
}
