//! The bytes of a layer on their way from the file to the archive's reader: digested as they are
//! stored, decompressed, counted, and digested as they are then.

use std::{
    io::{self, BufRead, BufReader, Read},
    sync::atomic::{AtomicBool, Ordering},
};

use flate2::bufread::MultiGzDecoder;

use super::zstd::{self, ZstdFrames};
use crate::{
    digest::{Digest, HashingReader},
    limits::Limits,
    problem::{Exceeded, LimitKind, Stopped},
    tar::Advance,
};

const GZIP: &[u8] = &[0x1f, 0x8b];

/// How much the layers that are still to come may ask for, all of them together.
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    bytes: u64,
    entries: u64,
    kept_path_bytes: usize,
    limits: Limits,
}

impl Allowance {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            bytes: limits.unpacked_bytes,
            entries: limits.entries,
            kept_path_bytes: Limits::KEPT_PATH_BYTES,
            limits: limits.clone(),
        }
    }

    /// How many bytes were read.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.limits.unpacked_bytes - self.bytes
    }

    /// How many entries there were.
    pub(crate) fn taken_entries(&self) -> u64 {
        self.limits.entries - self.entries
    }

    /// One entry more.
    pub(crate) fn take_entry(&mut self) -> Result<(), Exceeded> {
        let most = self.limits.entries;
        let kind = LimitKind::Entries;
        self.entries = self.entries.checked_sub(1).ok_or(Exceeded { kind, most })?;
        Ok(())
    }

    /// A path that is kept.
    pub(crate) fn take_path(&mut self, path: &[u8]) -> Result<(), Exceeded> {
        let left = self.kept_path_bytes.checked_sub(path.len());
        let most = Limits::KEPT_PATH_BYTES;
        self.kept_path_bytes = left.ok_or(Exceeded::new(LimitKind::KeptPathBytes, most))?;
        Ok(())
    }
}

/// A layer as the archive that it is, decompressed.
pub(crate) struct LayerStream<'a, R: Read> {
    inner: HashingReader<Metered<'a, R>>,
}

/// What the layer was, once all of it was read.
pub(crate) struct LayerDigests {
    /// As it is stored.
    pub(crate) stored: Digest,
    /// Decompressed.
    pub(crate) unpacked: Digest,
}

impl<'a, R: Read> LayerStream<'a, R> {
    /// What compresses a layer is known by its first bytes: media types are sometimes wrong, and
    /// old archives have none.
    pub(crate) fn new(
        stored: R,
        allowance: &'a mut Allowance,
        stop: &'a AtomicBool,
    ) -> io::Result<Self> {
        let mut stored = BufReader::new(HashingReader::new(stored));
        let first = stored.fill_buf()?;
        let decoder = if zstd::begins(first) {
            Decoder::Zstd(Box::new(ZstdFrames::new(stored)))
        } else if first.starts_with(GZIP) {
            Decoder::Gzip(MultiGzDecoder::new(stored))
        } else {
            Decoder::Plain(stored)
        };
        Ok(Self {
            inner: HashingReader::new(Metered {
                decoder,
                given: 0,
                allowance,
                stop,
            }),
        })
    }

    pub(crate) fn allowance(&mut self) -> &mut Allowance {
        self.inner.get_mut().allowance
    }

    /// Reads what follows the archive's end, too.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        io::copy(&mut self.inner, &mut io::sink()).map(drop)
    }

    /// What it was, after [`drain`](Self::drain).
    pub(crate) fn finish(self) -> io::Result<LayerDigests> {
        let (metered, unpacked) = self.inner.into_parts();
        let stored = metered.decoder.into_stored().finish()?;
        Ok(LayerDigests { stored, unpacked })
    }

    /// Reads what is stored to its end without looking into it.
    pub(crate) fn stored_digest(self) -> io::Result<Digest> {
        self.inner.into_parts().0.decoder.into_stored().finish()
    }
}

impl<R: Read> Read for LayerStream<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl<R: Read> Advance for LayerStream<'_, R> {
    fn advance(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.inner.by_ref().take(bytes), &mut io::sink())?;
        if passed == bytes {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

enum Decoder<R: Read> {
    Plain(BufReader<HashingReader<R>>),
    Gzip(MultiGzDecoder<BufReader<HashingReader<R>>>),
    Zstd(Box<ZstdFrames<BufReader<HashingReader<R>>>>),
}

impl<R: Read> Decoder<R> {
    /// How much of what is stored was read.
    fn taken(&self) -> u64 {
        match self {
            Self::Plain(stored) => stored.get_ref().count(),
            Self::Gzip(decoder) => decoder.get_ref().get_ref().count(),
            Self::Zstd(decoder) => decoder.get_ref().get_ref().count(),
        }
    }

    fn into_stored(self) -> HashingReader<R> {
        match self {
            Self::Plain(stored) => stored.into_inner(),
            Self::Gzip(decoder) => decoder.into_inner().into_inner(),
            Self::Zstd(decoder) => decoder.into_inner().into_inner(),
        }
    }
}

/// Ends a stream that gives more than it may, or when the caller's flag is raised.
struct Metered<'a, R: Read> {
    decoder: Decoder<R>,
    given: u64,
    allowance: &'a mut Allowance,
    stop: &'a AtomicBool,
}

impl<R: Read> Metered<'_, R> {
    fn check(&mut self, read: u64) -> Result<(), Exceeded> {
        let limits = &self.allowance.limits;
        let left = self.allowance.bytes.checked_sub(read);
        self.allowance.bytes = left.ok_or(Exceeded {
            kind: LimitKind::UnpackedBytes,
            most: limits.unpacked_bytes,
        })?;
        self.given += read;
        let rated = self.given.saturating_sub(Limits::UNRATED_BYTES);
        if rated > self.decoder.taken().saturating_mul(limits.ratio) {
            return Err(Exceeded {
                kind: LimitKind::Ratio,
                most: limits.ratio,
            });
        }
        Ok(())
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other(Stopped));
        }
        let read = match &mut self.decoder {
            Decoder::Plain(stored) => stored.read(buffer),
            Decoder::Gzip(decoder) => decoder.read(buffer),
            Decoder::Zstd(decoder) => decoder.read(buffer),
        }?;
        self.check(read as u64).map_err(io::Error::other)?;
        Ok(read)
    }
}
