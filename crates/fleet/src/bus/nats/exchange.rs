//! What makes of a broker that may lose a message, or bring one twice, a connection that does
//! neither.
//!
//! A frame is cut into pieces. Each has a number, and is kept until the other end has said up to
//! which number all came; what was not acknowledged is sent again. A piece that comes twice, or
//! before its turn, is dropped. Every message carries a code (HMAC with SHA-256, RFC 2104) by the
//! key of the session: who else may publish on the broker is not listened to.
//!
//! Nothing here waits or reads a clock: `worker` does.

use std::{collections::VecDeque, io, sync::Arc};

use ring::hmac;

use super::super::{Frame, MOST_BODY, MOST_HEAD};

/// Most bytes of a frame in one piece. Brokers take messages of up to 1 MiB unless they are told
/// otherwise.
const MOST_PIECE: usize = 128 << 10;
/// Most pieces that are under way and not acknowledged.
const MOST_UNDER_WAY: usize = 32;
/// Bytes before those of the frame: the code, the end, the kind, the number.
const OVERHEAD: usize = CODE + 10;
/// Bytes of a code.
const CODE: usize = 32;
/// Most bytes of a frame with its lengths.
const MOST_FRAME: usize = 8 + MOST_HEAD + MOST_BODY;

/// Which end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// That of the controller.
    Controller,
    /// That of the agent.
    Agent,
}

impl End {
    /// The other end.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Controller => Self::Agent,
            Self::Agent => Self::Controller,
        }
    }

    /// What stands for it in messages and in names of subjects.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Controller => 'c',
            Self::Agent => 'a',
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Controller => b'c',
            Self::Agent => b'a',
        }
    }
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A piece of a frame that is not the last.
    Part,
    /// The last piece of a frame.
    Last,
    /// Nothing follows.
    End,
    /// All pieces before its number came.
    Came,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Part => 0,
            Self::Last => 1,
            Self::End => 2,
            Self::Came => 3,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Part, Self::Last, Self::End, Self::Came]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// A frame that is being cut.
struct Cut {
    bytes: Vec<u8>,
    at: usize,
}

/// One end of a session.
pub(super) struct Exchange {
    key: hmac::Key,
    end: End,
    most_piece: usize,
    cut: Option<Cut>,
    /// Number of the next piece that is made.
    next: u64,
    /// Pieces that were made and are not acknowledged, with their numbers.
    under_way: VecDeque<(u64, Arc<[u8]>)>,
    /// Whether nothing follows, and whether that was said.
    closing: bool,
    closed: bool,
    /// Number of the piece whose turn it is to come.
    expected: u64,
    /// What came of a frame whose last piece did not come yet.
    begun: Vec<u8>,
    /// Whether something came since the last acknowledgement.
    owes: bool,
    ended: bool,
}

/// What an end takes from a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is not of this session.
    Foreign,
    /// It completes nothing.
    Nothing,
    /// With it a frame is complete.
    Frame(Frame),
    /// The other end sends nothing more.
    End,
}

impl Exchange {
    /// The begin of a session with this key, over a broker that takes messages of so many bytes.
    pub(super) fn new(key: &[u8], end: End, most_message: usize) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            end,
            most_piece: most_message.saturating_sub(OVERHEAD).clamp(1, MOST_PIECE),
            cut: None,
            next: 0,
            under_way: VecDeque::new(),
            closing: false,
            closed: false,
            expected: 0,
            begun: Vec::new(),
            owes: false,
            ended: false,
        }
    }

    /// Whether a frame is wanted: the one before was cut, and few pieces are under way.
    pub(super) fn wants_frame(&self) -> bool {
        self.cut.is_none() && !self.closing && self.under_way.len() < MOST_UNDER_WAY
    }

    /// Send this frame next.
    ///
    /// # Errors
    /// When it is too long.
    pub(super) fn offer(&mut self, frame: &Frame) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(8 + frame.head.len() + frame.body.len());
        frame.write(&mut bytes)?;
        self.cut = Some(Cut { bytes, at: 0 });
        Ok(())
    }

    /// Say, behind all frames, that nothing follows.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Whether everything that was to be sent is acknowledged, the end included.
    pub(super) fn is_through(&self) -> bool {
        self.closed && self.under_way.is_empty()
    }

    /// The next message to send; nothing where the other end has to acknowledge first, or there is
    /// nothing to send.
    pub(super) fn next_piece(&mut self) -> Option<Arc<[u8]>> {
        if self.under_way.len() >= MOST_UNDER_WAY {
            return None;
        }
        let (kind, bytes) = match &mut self.cut {
            Some(cut) => {
                let end = cut.bytes.len().min(cut.at + self.most_piece);
                let kind = match end == cut.bytes.len() {
                    true => Kind::Last,
                    false => Kind::Part,
                };
                (kind, cut.at..end)
            }
            None if self.closing && !self.closed => (Kind::End, 0..0),
            None => return None,
        };
        let of_frame = self
            .cut
            .as_ref()
            .map_or(&[][..], |cut| &cut.bytes[bytes.clone()]);
        let message: Arc<[u8]> = self.sealed(kind, self.next, of_frame).into();
        match kind {
            Kind::Part => self.cut.iter_mut().for_each(|cut| cut.at = bytes.end),
            Kind::End => self.closed = true,
            Kind::Last | Kind::Came => self.cut = None,
        }
        self.under_way.push_back((self.next, Arc::clone(&message)));
        self.next += 1;
        Some(message)
    }

    /// What was sent and is not acknowledged.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.under_way.iter().map(|(_, message)| message)
    }

    /// Number of the oldest piece that is not acknowledged; nothing where there is none.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.under_way.front().map(|(number, _)| *number)
    }

    /// The acknowledgement of what came since the last one; nothing where nothing came.
    pub(super) fn acknowledgement(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.owes).then(|| self.sealed(Kind::Came, self.expected, &[]))
    }

    /// Take in a message.
    ///
    /// # Errors
    /// When it is of this session, and its frame is none.
    pub(super) fn take(&mut self, message: &[u8]) -> io::Result<Taken> {
        let Some((kind, number, bytes)) = self.opened(message) else {
            return Ok(Taken::Foreign);
        };
        if kind == Kind::Came {
            let came = self.under_way.iter().take_while(|(own, _)| *own < number);
            let came = came.count();
            self.under_way.drain(..came);
            return Ok(Taken::Nothing);
        }
        // Also what came before: its acknowledgement was lost.
        self.owes = true;
        if number != self.expected || self.ended {
            return Ok(Taken::Nothing);
        }
        self.expected += 1;
        if kind == Kind::End {
            self.ended = true;
            return Ok(Taken::End);
        }
        if self.begun.len() + bytes.len() > MOST_FRAME {
            return Err(io::Error::other(
                "the pieces of a message are longer than one may be",
            ));
        }
        self.begun.extend_from_slice(bytes);
        if kind == Kind::Part {
            return Ok(Taken::Nothing);
        }
        let whole = std::mem::take(&mut self.begun);
        match Frame::read(&mut whole.as_slice())? {
            Some(frame) => Ok(Taken::Frame(frame)),
            None => Err(io::Error::other("a message without its lengths")),
        }
    }

    fn sealed(&self, kind: Kind, number: u64, bytes: &[u8]) -> Vec<u8> {
        let mut message = vec![0; CODE];
        message.reserve(OVERHEAD + bytes.len());
        message.extend([self.end.byte(), kind.byte()]);
        message.extend(number.to_be_bytes());
        message.extend_from_slice(bytes);
        let code = hmac::sign(&self.key, &message[CODE..]);
        message[..CODE].copy_from_slice(code.as_ref());
        message
    }

    /// What a message of the other end says.
    fn opened<'m>(&self, message: &'m [u8]) -> Option<(Kind, u64, &'m [u8])> {
        let (code, signed) = message.split_at_checked(CODE)?;
        hmac::verify(&self.key, signed, code).ok()?;
        let ([from, kind], rest) = signed.split_first_chunk::<2>()?;
        let (number, bytes) = rest.split_first_chunk::<8>()?;
        let kind = Kind::from_byte(*kind)?;
        (*from == self.end.other().byte()).then_some((kind, u64::from_be_bytes(*number), bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = &[7; 32];

    fn ends() -> (Exchange, Exchange) {
        // Pieces of 90 bytes.
        let end = |end| Exchange::new(KEY, end, 90 + OVERHEAD);
        (end(End::Controller), end(End::Agent))
    }

    fn frame(number: u8, body: usize) -> Frame {
        Frame {
            head: vec![number],
            body: vec![number; body],
        }
    }

    /// All that an end has to send now.
    fn sent(end: &mut Exchange) -> Vec<Arc<[u8]>> {
        std::iter::from_fn(|| end.next_piece()).collect()
    }

    fn acknowledge(from: &mut Exchange, to: &mut Exchange) {
        let came = from.acknowledgement().expect("something came");
        assert_eq!(to.take(&came).expect("no frame"), Taken::Nothing);
    }

    #[test]
    fn a_frame_of_many_pieces_arrives_whole() {
        let (mut from, mut to) = ends();
        from.offer(&frame(1, 1_000)).expect("short");
        assert!(!from.wants_frame());
        let pieces = sent(&mut from);
        assert_eq!(pieces.len(), 12);
        let mut taken: Vec<Taken> = pieces.iter().map(|p| to.take(p).expect("right")).collect();
        assert_eq!(taken.pop(), Some(Taken::Frame(frame(1, 1_000))));
        assert!(taken.iter().all(|taken| *taken == Taken::Nothing));
        acknowledge(&mut to, &mut from);
        assert_eq!((from.oldest(), to.acknowledgement()), (None, None));
        assert!(from.wants_frame());
    }

    #[test]
    fn what_is_lost_is_sent_again_and_what_comes_twice_is_dropped() {
        let (mut from, mut to) = ends();
        for number in 0..3 {
            from.offer(&frame(number, 150)).expect("short");
            let pieces = sent(&mut from);
            assert_eq!(pieces.len(), 2);
            if number != 1 {
                for piece in &pieces {
                    to.take(piece).expect("right");
                }
            }
        }
        // The second frame was lost on the way, so the third came before its turn.
        acknowledge(&mut to, &mut from);
        assert_eq!(from.oldest(), Some(2));
        let again: Vec<_> = from.under_way().cloned().collect();
        let mut frames = Vec::new();
        for piece in again.iter().chain(&again) {
            if let Taken::Frame(frame) = to.take(piece).expect("right") {
                frames.push(frame);
            }
        }
        assert_eq!(frames, [frame(1, 150), frame(2, 150)]);
        acknowledge(&mut to, &mut from);
        assert_eq!(from.oldest(), None);
    }

    #[test]
    fn few_pieces_are_under_way_and_the_end_comes_last() {
        let (mut from, mut to) = ends();
        from.offer(&frame(1, 10_000)).expect("short");
        from.close();
        let mut taken = Vec::new();
        while !from.is_through() {
            let pieces = sent(&mut from);
            assert!((1..=MOST_UNDER_WAY).contains(&pieces.len()));
            taken.extend(pieces.iter().map(|piece| to.take(piece).expect("right")));
            acknowledge(&mut to, &mut from);
        }
        assert_eq!(taken.pop(), Some(Taken::End));
        assert_eq!(taken.pop(), Some(Taken::Frame(frame(1, 10_000))));
        assert!(!from.wants_frame());
    }

    #[test]
    fn what_others_publish_is_not_listened_to() {
        let (mut from, mut to) = ends();
        from.offer(&frame(1, 5)).expect("short");
        let piece = sent(&mut from).pop().expect("one");
        for changed in 0..piece.len() {
            let mut other = piece.to_vec();
            other[changed] ^= 1;
            assert_eq!(to.take(&other).expect("no frame"), Taken::Foreign);
        }
        // An end does not hear itself, and no session another.
        assert_eq!(from.take(&piece).expect("no frame"), Taken::Foreign);
        let mut other = Exchange::new(&[8; 32], End::Agent, 1000);
        assert_eq!(other.take(&piece).expect("no frame"), Taken::Foreign);
        assert_eq!(to.take(&[]).expect("no frame"), Taken::Foreign);
        assert_eq!(to.take(&piece).expect("right"), Taken::Frame(frame(1, 5)));
    }

    #[test]
    fn pieces_that_make_no_frame_end_the_session() {
        let (from, mut to) = ends();
        let piece = from.sealed(Kind::Last, 0, b"no frame");
        assert!(to.take(&piece).is_err());
    }
}
