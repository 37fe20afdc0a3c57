//! Packets of the MySQL protocol, and the few encodings that a session needs.

use std::{io, ops::Range};

use rookery_cast::{count_u8, count_u16, count_u32, index};
use rookery_diagnosis::outside_text;

use crate::{
    ClientError,
    limits::{MOST_COLUMNS, MessageRefusal},
    socket::{Incoming, Socket},
};

/// Bytes before each packet: its length in three, its number in one.
pub(super) const HEADER: usize = 4;

/// A packet of this length goes on in the next one. Nothing that terminals ask for is so long.
const LONGEST: usize = 0xff_ffff;

/// Reads one packet and says where it lies in `incoming`.
pub(super) async fn read(
    socket: &mut Socket,
    incoming: &mut Incoming,
) -> io::Result<(Range<usize>, u8)> {
    if incoming.waiting().len() < HEADER {
        incoming.fill(socket, HEADER).await?;
    }
    let head = incoming.waiting();
    let length = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
    let number = head[3];
    if length == LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "an answer is longer than 16 MB",
        ));
    }
    if incoming.waiting().len() < HEADER + length {
        incoming.fill(socket, HEADER + length).await?;
    }
    incoming.take(HEADER);
    Ok((incoming.take(length), number))
}

/// Appends a packet with number `number` whose content `write` appends.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, number: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, number]);
    write(out);
    let length = count_u32(out.len() - start - HEADER);
    debug_assert!((length as usize) < LONGEST, "terminals send little");
    out[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
}

/// Appends text with its length before it.
#[inline]
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        length @ 0..=250 => out.push(count_u8(length)),
        length @ 251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&count_u16(length).to_le_bytes());
        }
        length => {
            out.push(0xfd);
            out.extend_from_slice(&count_u32(length).to_le_bytes()[..3]);
        }
    }
    out.extend_from_slice(text);
}

/// A packet that is taken apart from its front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

/// A packet that ends too early.
pub(super) fn cut() -> ClientError {
    ClientError::Session("the server's answer is cut off".to_owned())
}

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], ClientError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of `length` bytes, 8 at most.
    #[inline]
    pub(super) fn number(&mut self, length: usize) -> Result<u64, ClientError> {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(self.bytes(length)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// A number that says its own length.
    #[inline]
    pub(super) fn length(&mut self) -> Result<u64, ClientError> {
        match self.number(1)? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            small => Ok(small),
        }
    }

    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a [u8], ClientError> {
        let length = usize::try_from(self.length()?).map_err(|_| cut())?;
        self.bytes(length)
    }
}

/// The server's word that a statement was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Rows that it changed.
    pub(super) affected: u64,
    /// Whether another result follows.
    pub(super) more: bool,
    /// What the server has to remark.
    pub(super) warnings: u64,
}

/// Reads an OK packet, its first byte included.
pub(super) fn done(packet: &[u8]) -> Result<Done, ClientError> {
    const MORE_RESULTS: u64 = 8;
    let mut reader = Reader(packet);
    reader.number(1)?;
    let affected = reader.length()?;
    reader.length()?;
    Ok(Done {
        affected,
        more: reader.number(2)? & MORE_RESULTS != 0,
        warnings: reader.number(2)?,
    })
}

/// Reads an error packet, its first byte included.
pub(super) fn error(packet: &[u8]) -> ClientError {
    let parts = || -> Result<ClientError, ClientError> {
        let mut reader = Reader(packet);
        reader.number(1)?;
        let code = reader.number(2)?;
        // Before the handshake has ended there is no SQLSTATE.
        let state = if reader.0.first() == Some(&b'#') {
            String::from_utf8_lossy(&reader.bytes(6)?[1..]).into_owned()
        } else {
            "HY000".to_owned()
        };
        Ok(ClientError::Server {
            message: outside_text(&String::from_utf8_lossy(reader.0)),
            state: outside_text(&state),
            code: code.cast_signed(),
        })
    };
    parts().unwrap_or_else(|cut| cut)
}

/// The number of columns that a result announces.
pub(super) fn column_count(reader: &mut Reader<'_>) -> Result<usize, ClientError> {
    let count = reader.length()?;
    if count > MOST_COLUMNS as u64 {
        return Err(MessageRefusal::Columns(count).into());
    }
    Ok(index(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for length in [0, 1, 250, 251, 65_535, 65_536, 70_000] {
            let text = vec![b'x'; length];
            let mut out = Vec::new();
            put_text(&mut out, &text);
            let mut reader = Reader(&out);
            assert_eq!(reader.text().expect("whole").len(), length);
            assert!(reader.0.is_empty());
            assert!(
                Reader(&out[..out.len() - 1]).text().is_err(),
                "{length}: a byte is missing"
            );
        }
    }

    #[test]
    fn a_packet_has_its_length_and_number_before_it() {
        let mut out = b"before".to_vec();
        write(&mut out, 3, |out| out.extend_from_slice(b"\x03COMMIT"));
        assert_eq!(&out[6..], b"\x07\x00\x00\x03\x03COMMIT");
    }

    #[test]
    fn the_end_of_a_statement_is_understood() {
        let ok = [0, 2, 0, 0x0a, 0, 3, 0];
        assert_eq!(
            done(&ok).expect("whole"),
            Done {
                affected: 2,
                more: true,
                warnings: 3,
            }
        );
        assert!(done(&ok[..3]).is_err());
        let refused = error(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!(
            refused.to_string(),
            "Deadlock found (error 1213, SQLSTATE 40001)"
        );
        assert_eq!(refused.code(), Some(("40001", 1213)));
        assert!(matches!(error(b"\xff"), ClientError::Session(_)));
    }

    #[test]
    fn columns_are_bounded() {
        let announced = |bytes: &[u8]| column_count(&mut Reader(bytes));
        assert_eq!(announced(&[7]).expect("few"), 7);
        let endless = announced(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff").expect_err("too many");
        assert!(
            matches!(
                endless,
                ClientError::MessageRefusal(MessageRefusal::Columns(u64::MAX))
            ),
            "{endless}"
        );
    }
}
