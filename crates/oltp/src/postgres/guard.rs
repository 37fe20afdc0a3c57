//! A stream under the PostgreSQL client that looks at the heads of messages before the client
//! allocates for them, and at what the server asks of the password.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{LONGEST_MESSAGE, MOST_ASIDES, MOST_ROUNDS, MessageRefusal};

/// Bytes of a message before its content: its kind in one, its length in four.
const HEAD: usize = 5;

/// Longest request for a proof of the password that is looked at.
const LONGEST_PROOF: usize = 64 * 1024;

/// What is known of the messages so far.
#[derive(Debug)]
pub(super) struct Inspector {
    allows_clear_text: bool,
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    begun: usize,
    /// Bytes of the content that are still to come.
    left: usize,
    /// The content of a request for a proof.
    proof: Vec<u8>,
    /// Messages since the last answer that nobody asked for, and their bytes.
    asides: u32,
    aside_bytes: usize,
}

impl Inspector {
    pub(super) fn new(allows_clear_text: bool) -> Self {
        Self {
            allows_clear_text,
            head: [0; HEAD],
            begun: 0,
            left: 0,
            proof: Vec::new(),
            asides: 0,
            aside_bytes: 0,
        }
    }

    /// Looks at the bytes that come next.
    ///
    /// # Errors
    /// When the client must not see them.
    pub(super) fn look(&mut self, mut bytes: &[u8]) -> Result<(), MessageRefusal> {
        while let Some((&first, rest)) = bytes.split_first() {
            if self.begun < HEAD {
                self.head[self.begun] = first;
                self.begun += 1;
                bytes = rest;
                if self.begun == HEAD {
                    self.begin()?;
                }
            } else {
                let (content, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.left -= content.len();
                if self.head[0] == b'R' {
                    self.proof.extend_from_slice(content);
                }
                bytes = rest;
            }
            if self.begun == HEAD && self.left == 0 {
                self.end()?;
            }
        }
        Ok(())
    }

    /// A head is whole.
    fn begin(&mut self) -> Result<(), MessageRefusal> {
        let [kind, length @ ..] = self.head;
        // The length counts itself.
        let length = u32::from_be_bytes(length);
        let refused = MessageRefusal::Long {
            bytes: length.into(),
        };
        let length = match usize::try_from(length) {
            Ok(length) if length <= LONGEST_MESSAGE => length,
            _ => return Err(refused),
        };
        self.left = length.checked_sub(4).ok_or(MessageRefusal::Short {
            bytes: length as u64,
        })?;
        match kind {
            b'R' if length > LONGEST_PROOF => return Err(refused),
            b'N' | b'S' | b'A' => {
                self.asides += 1;
                self.aside_bytes += length;
                if self.asides > MOST_ASIDES || self.aside_bytes > LONGEST_MESSAGE {
                    return Err(MessageRefusal::Asides);
                }
            }
            // What belongs to the introduction is no answer yet: between its parts a server could
            // say anything.
            b'R' | b'K' => {}
            _ => (self.asides, self.aside_bytes) = (0, 0),
        }
        Ok(())
    }

    /// A message is whole.
    fn end(&mut self) -> Result<(), MessageRefusal> {
        self.begun = 0;
        let proof = std::mem::take(&mut self.proof);
        let Some((request, content)) = proof.split_first_chunk::<4>() else {
            return Ok(());
        };
        match u32::from_be_bytes(*request) {
            CLEAR_TEXT if !self.allows_clear_text => Err(MessageRefusal::ClearText),
            SASL_CONTINUE => match rounds(content) {
                Some(rounds) if rounds > MOST_ROUNDS => Err(MessageRefusal::Rounds(rounds)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Requests for a proof: the password itself, and the second word of SCRAM.
const CLEAR_TEXT: u32 = 3;
const SASL_CONTINUE: u32 = 11;

/// The rounds that `r=NONCE,s=SALT,i=ROUNDS` asks for. A number that is none is the client's to
/// refuse; one beyond all numbers is not.
fn rounds(content: &[u8]) -> Option<u64> {
    let field = content
        .split(|byte| *byte == b',')
        .find_map(|field| field.strip_prefix(b"i="))?;
    let digits = field.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number: u64, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    }))
}

/// A stream whose messages are looked at.
#[derive(Debug)]
pub(super) struct Guarded<S> {
    stream: S,
    inspector: Inspector,
}

impl<S> Guarded<S> {
    pub(super) fn new(stream: S, allows_clear_text: bool) -> Self {
        Self {
            stream,
            inspector: Inspector::new(allows_clear_text),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        match self.inspector.look(&buffer.filled()[before..]) {
            Ok(()) => Poll::Ready(Ok(())),
            Err(refusal) => {
                buffer.set_filled(before);
                Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, refusal)))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len() + 4).expect("short");
        [&[kind][..], &length.to_be_bytes(), content].concat()
    }

    fn proof(request: u32, words: &str) -> Vec<u8> {
        message(
            b'R',
            &[&request.to_be_bytes()[..], words.as_bytes()].concat(),
        )
    }

    /// What becomes of `bytes`, which come in pieces of `size`.
    fn seen(bytes: &[u8], size: usize) -> Result<(), MessageRefusal> {
        let mut inspector = Inspector::new(false);
        bytes
            .chunks(size)
            .try_for_each(|piece| inspector.look(piece))
    }

    proptest! {
        #[test]
        fn pieces_change_nothing(bytes: Vec<u8>, size in 1usize..9) {
            prop_assert_eq!(seen(&bytes, size), seen(&bytes, usize::MAX));
        }
    }

    #[test]
    fn lengths_are_bounded() {
        assert_eq!(
            seen(b"D\x7f\xff\xff\xff", 1),
            Err(MessageRefusal::Long { bytes: 0x7fff_ffff })
        );
        assert_eq!(
            seen(b"Z\0\0\0\x03", 5),
            Err(MessageRefusal::Short { bytes: 3 })
        );
        assert_eq!(seen(&message(b'D', &[0; 70_000]), 1_000), Ok(()));
    }

    #[test]
    fn asides_are_counted_between_answers() {
        let most = usize::try_from(MOST_ASIDES).expect("small");
        let notices = message(b'N', b"x\0").repeat(most);
        assert_eq!(seen(&notices, 4_000), Ok(()));
        let answered = [notices.clone(), message(b'Z', b"I"), notices.clone()].concat();
        assert_eq!(seen(&answered, 4_000), Ok(()));
        let hidden = [notices.clone(), message(b'K', &[0; 8]), notices].concat();
        assert_eq!(seen(&hidden, 4_000), Err(MessageRefusal::Asides));
        let large = message(b'S', &[b'x'; 1 << 20]).repeat(17);
        assert_eq!(seen(&large, 1 << 16), Err(MessageRefusal::Asides));
    }

    #[test]
    fn a_password_goes_out_in_clear_text_only_where_that_is_allowed() {
        let asked = proof(CLEAR_TEXT, "");
        assert_eq!(seen(&asked, 1), Err(MessageRefusal::ClearText));
        assert_eq!(Inspector::new(true).look(&asked), Ok(()));
        assert_eq!(seen(&proof(5, "salt"), 3), Ok(()), "hashed with a salt");
    }

    #[test]
    fn hashing_is_bounded() {
        assert_eq!(seen(&proof(SASL_CONTINUE, "r=a,s=QQ==,i=4096"), 2), Ok(()));
        assert_eq!(
            seen(&proof(SASL_CONTINUE, "r=a,s=QQ==,i=4294967295"), 2),
            Err(MessageRefusal::Rounds(4_294_967_295))
        );
        let endless = format!("r=a,s=QQ==,i={}", "9".repeat(40));
        assert_eq!(
            seen(&proof(SASL_CONTINUE, &endless), 7),
            Err(MessageRefusal::Rounds(u64::MAX))
        );
    }
}
