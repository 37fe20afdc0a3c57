//! Frames of zstd, one after the other, as one stream.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What frames begin with.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What frames begin with that are passed over, but for the low half of the first byte.
const PASSED_OVER: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

/// Whether a stream begins as frames do.
pub(super) fn begins(first: &[u8]) -> bool {
    let first = first.first_chunk();
    first.is_some_and(|first| *first == FRAME || is_passed_over(*first))
}

fn is_passed_over([first, rest @ ..]: [u8; 4]) -> bool {
    first & 0xf0 == PASSED_OVER[0] && rest == PASSED_OVER[1..]
}

/// A stream of frames, decompressed. A block gives at most 128 KiB, and what is kept of a frame is
/// bounded by the decoder: frames with larger windows are refused.
pub(super) struct ZstdFrames<R: BufRead> {
    stored: R,
    decoder: FrameDecoder,
    /// A frame was begun and has not been read to its end.
    inside: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn new(stored: R) -> Self {
        Self {
            stored,
            decoder: FrameDecoder::new(),
            inside: false,
        }
    }

    pub(super) fn get_ref(&self) -> &R {
        &self.stored
    }

    pub(super) fn into_inner(self) -> R {
        self.stored
    }

    /// Begins the next frame that has content; `false` behind the last.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.stored.fill_buf()?.is_empty() {
            let mut magic = [0; 4];
            self.stored.read_exact(&mut magic)?;
            if is_passed_over(magic) {
                self.pass_over()?;
                continue;
            }
            let source = magic.as_slice().chain(&mut self.stored);
            self.decoder.reset(source).map_err(io::Error::other)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn pass_over(&mut self) -> io::Result<()> {
        let mut length = [0; 4];
        self.stored.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        let passed = io::copy(&mut self.stored.by_ref().take(length), &mut io::sink())?;
        if passed == length {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.inside {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    let decoded = self.decoder.decode_blocks(&mut self.stored, one);
                    decoded.map_err(io::Error::other)?;
                }
                let read = self.decoder.read(buffer)?;
                if read > 0 {
                    return Ok(read);
                }
            }
            self.inside = self.next_frame()?;
            if !self.inside {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn read(stored: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        ZstdFrames::new(stored).read_to_end(&mut all)?;
        Ok(all)
    }

    fn frame(content: &[u8]) -> Vec<u8> {
        compress_to_vec(content, CompressionLevel::Fastest)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_passed_over() {
        let long: Vec<u8> = (0..500_000_u32)
            .flat_map(|n| (n / 7).to_le_bytes())
            .collect();
        let mut stored = frame(b"one");
        stored.extend([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'x', b'y', b'z']);
        stored.extend(frame(b""));
        stored.extend(frame(&long));
        let mut expected = b"one".to_vec();
        expected.extend(&long);
        assert_eq!(read(&stored).expect("whole"), expected);
        assert!(begins(&stored) && !begins(b"\x1f\x8b\x08\x00"));
    }

    #[test]
    fn what_is_cut_off_or_no_frame_is_an_error() {
        let whole = frame(&[7; 10_000]);
        for end in 1..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end} bytes");
        }
        assert!(read(b"\x28\xb5\x2f\xfd and what follows").is_err());
        let mut followed = whole.clone();
        followed.extend(b"more");
        assert!(read(&followed).is_err());
        assert!(read(&[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]).is_err());
        assert_eq!(read(b"").expect("nothing"), b"");
    }

    #[test]
    fn a_window_beyond_all_bounds_is_refused() {
        // A frame header whose window is 2 TiB, and a block behind it.
        assert!(read(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00]).is_err());
    }
}
