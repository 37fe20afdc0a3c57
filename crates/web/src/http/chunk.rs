//! Chunked bodies, byte by byte where they are framing and slice by slice where they are data.

use rookery_driver::Fault;

/// Most bytes of a chunk's size line, extensions included, and of all trailer lines together.
const MAX_LINE: u16 = 1024;
const BAD: Fault = Fault::protocol("bad-chunk");

/// Where in the framing the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// In the size; digits so far, value so far.
    Size {
        digits: u8,
        value: u64,
    },
    /// In an extension behind the size.
    Extension {
        value: u64,
    },
    /// The line feed of the size line.
    SizeEnd {
        value: u64,
    },
    Data {
        left: u64,
    },
    DataReturn,
    DataEnd,
    /// In the trailer; `line` bytes of the present line.
    Trailer {
        line: u16,
    },
    TrailerEnd {
        line: u16,
    },
    Done,
}

/// Decoder of one chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    place: Position,
    /// Bytes of framing since the last data.
    framing: u16,
}

impl Chunks {
    pub(crate) fn new() -> Self {
        Self {
            place: Position::Size {
                digits: 0,
                value: 0,
            },
            framing: 0,
        }
    }

    /// The last chunk and its trailer have been read.
    pub(crate) fn is_done(self) -> bool {
        self.place == Position::Done
    }

    /// Take bytes, hand data to `sink`; returns how many were used (all of them, unless the body
    /// ended).
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        let mut used = 0;
        while used < bytes.len() && !self.is_done() {
            if let Position::Data { left } = self.place {
                let rest = &bytes[used..];
                let take = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                sink(&rest[..take])?;
                used += take;
                self.framing = 0;
                self.place = match left - take as u64 {
                    0 => Position::DataReturn,
                    left => Position::Data { left },
                };
            } else {
                self.framing += 1;
                if self.framing > MAX_LINE {
                    return Err(BAD);
                }
                self.place = step(self.place, bytes[used])?;
                used += 1;
            }
        }
        Ok(used)
    }
}

fn step(place: Position, byte: u8) -> Result<Position, Fault> {
    match (place, byte) {
        (Position::Size { digits: 1.., value }, b'\r') | (Position::Extension { value }, b'\r') => {
            Ok(Position::SizeEnd { value })
        }
        (Position::Size { digits: 1.., value }, b';' | b' ' | b'\t') => {
            Ok(Position::Extension { value })
        }
        (
            Position::Size {
                digits: digits @ 0..15,
                value,
            },
            byte,
        ) => match char::from(byte).to_digit(16) {
            Some(digit) => Ok(Position::Size {
                digits: digits + 1,
                value: value * 16 + u64::from(digit),
            }),
            None => Err(BAD),
        },
        (Position::Extension { value }, byte) if byte != b'\n' => Ok(Position::Extension { value }),
        (Position::SizeEnd { value: 0 }, b'\n') => Ok(Position::Trailer { line: 0 }),
        (Position::SizeEnd { value }, b'\n') => Ok(Position::Data { left: value }),
        (Position::DataReturn, b'\r') => Ok(Position::DataEnd),
        (Position::DataEnd, b'\n') => Ok(Position::Size {
            digits: 0,
            value: 0,
        }),
        (Position::Trailer { line }, b'\r') => Ok(Position::TrailerEnd { line }),
        (Position::Trailer { line }, byte) if byte != b'\n' => {
            Ok(Position::Trailer { line: line + 1 })
        }
        (Position::TrailerEnd { line: 0 }, b'\n') => Ok(Position::Done),
        (Position::TrailerEnd { .. }, b'\n') => Ok(Position::Trailer { line: 0 }),
        _ => Err(BAD),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decode `text` in pieces of `piece` bytes: the data, whether it ended, and the bytes used.
    fn decode(text: &[u8], piece: usize) -> Result<(Vec<u8>, bool, usize), Fault> {
        let (mut chunks, mut data, mut used) = (Chunks::new(), Vec::new(), 0);
        for part in text.chunks(piece) {
            used += chunks.feed(part, |bytes| {
                data.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        Ok((data, chunks.is_done(), used))
    }

    #[test]
    fn a_body_is_joined_from_its_chunks_however_it_arrives() {
        let text = b"5;x=y\r\nhello\r\nA \r\n, world!!!\r\n0\r\nTrailer: x\r\n\r\nNEXT";
        for piece in 1..text.len() {
            let (data, done, used) = decode(text, piece).expect("a good body");
            assert_eq!(data, b"hello, world!!!", "pieces of {piece}");
            assert!(done);
            assert_eq!(used, text.len() - 4);
        }
    }

    #[test]
    fn bad_framing_is_refused() {
        let long = [b"1;".as_slice(), &[b'x'; 2000]].concat();
        let endless_trailer = [b"0\r\n".as_slice(), &b"a: b\r\n".repeat(500)].concat();
        let cases: [&[u8]; 9] = [
            b"xyz\r\n",
            b"\r\n",
            b"5\nhello",
            b"5\r\nhelloX",
            b"5\r\nhello\rX",
            b"ffffffffffffffffff\r\n",
            b"-1\r\n",
            &long,
            &endless_trailer,
        ];
        for text in cases {
            assert_eq!(decode(text, 7), Err(BAD), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn an_unfinished_body_is_not_done() {
        assert_eq!(decode(b"5\r\nhel", 2), Ok((b"hel".to_vec(), false, 6)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..50) {
            let _ = decode(&bytes, piece);
        }

        #[test]
        fn what_was_chunked_comes_back(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..80), 0..8), piece in 1usize..60) {
            let mut text = Vec::new();
            for part in &parts {
                text.extend(format!("{:x}\r\n", part.len()).bytes());
                text.extend(part);
                text.extend(b"\r\n");
            }
            text.extend(b"0\r\n\r\n");
            let length = text.len();
            prop_assert_eq!(decode(&text, piece), Ok((parts.concat(), true, length)));
        }
    }
}
