//! Frames: how messages lie in a stream of bytes.
//!
//! A frame is its head (JSON) and its body (bytes as they are), each preceded by its length as four
//! bytes, the most significant first. Both lengths are bounded before memory is taken.

use std::io::{self, Read, Write};

/// Most bytes of a head: a plan with the files that its study names.
pub const MOST_HEAD: usize = 32 << 20;
/// Most bytes of a body: the store of one trial.
pub const MOST_BODY: usize = 256 << 20;

/// What is sent over a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// A message as JSON, at most [`MOST_HEAD`] bytes.
    pub head: Vec<u8>,
    /// Bytes that go with it, at most [`MOST_BODY`].
    pub body: Vec<u8>,
}

impl Frame {
    /// Whether both parts keep to their bounds.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.head.len() <= MOST_HEAD && self.body.len() <= MOST_BODY
    }

    /// Write it.
    ///
    /// # Errors
    /// When a part is too long, or the stream refuses.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let length = |part: &[u8]| u32::try_from(part.len()).map_err(io::Error::other);
        if !self.fits() {
            return Err(io::Error::other("a message is longer than a frame may be"));
        }
        to.write_all(&length(&self.head)?.to_be_bytes())?;
        to.write_all(&length(&self.body)?.to_be_bytes())?;
        to.write_all(&self.head)?;
        to.write_all(&self.body)?;
        to.flush()
    }

    /// Read one; nothing where the stream ends before it.
    ///
    /// # Errors
    /// When the stream ends within the frame, or a part is longer than it may be.
    pub fn read(from: &mut dyn Read) -> io::Result<Option<Self>> {
        let mut first = [0];
        if from.read(&mut first)? == 0 {
            return Ok(None);
        }
        let mut lengths = [0; 8];
        lengths[0] = first[0];
        from.read_exact(&mut lengths[1..])?;
        let [a, b, c, d, e, f, g, h] = lengths;
        let head = part(from, u32::from_be_bytes([a, b, c, d]), MOST_HEAD)?;
        let body = part(from, u32::from_be_bytes([e, f, g, h]), MOST_BODY)?;
        Ok(Some(Self { head, body }))
    }
}

/// A part of so many bytes. Memory is taken as they come, not as they are announced.
fn part(from: &mut dyn Read, length: u32, most: usize) -> io::Result<Vec<u8>> {
    let expected = usize::try_from(length).unwrap_or(usize::MAX);
    if expected > most {
        let text = format!("a message announces {length} bytes, more than {most}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < expected {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let frame = Frame {
            head: b"{\"a\":1}".to_vec(),
            body: vec![0, 255, 10],
        };
        let mut bytes = Vec::new();
        frame.write(&mut bytes).expect("written");
        frame.write(&mut bytes).expect("written");
        let mut from = bytes.as_slice();
        for _ in 0..2 {
            assert_eq!(Frame::read(&mut from).expect("read"), Some(frame.clone()));
        }
        assert_eq!(Frame::read(&mut from).expect("read"), None);
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let frame = Frame {
            head: b"{}".to_vec(),
            body: vec![1; 100],
        };
        let mut bytes = Vec::new();
        frame.write(&mut bytes).expect("written");
        for length in 1..bytes.len() {
            assert!(Frame::read(&mut &bytes[..length]).is_err(), "{length}");
        }
        bytes[..4].copy_from_slice(&u32::MAX.to_be_bytes());
        let error = Frame::read(&mut bytes.as_slice()).expect_err("too long");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
