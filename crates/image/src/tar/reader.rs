//! Entries one after the other.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use super::{
    entry::{Entry, Kind, Time},
    header::{BLOCK, Header},
    pax::{Pax, check_global},
};
use crate::problem::TarProblem;

/// Longest extended header, bytes.
const EXTENSION_BYTES: u64 = 1 << 20;

/// Something to read from that can also pass over bytes.
pub(crate) trait Advance: Read {
    /// Passes over `bytes`.
    ///
    /// # Errors
    /// When there are not so many, or they cannot be read.
    fn advance(&mut self, bytes: u64) -> io::Result<()>;
}

/// Passes over bytes of a file without reading them.
pub(crate) struct Seeking<R> {
    inner: BufReader<R>,
    position: u64,
    end: u64,
}

impl<R: Read + Seek> Seeking<R> {
    pub(crate) fn new(mut inner: R) -> io::Result<Self> {
        let end = inner.seek(SeekFrom::End(0))?;
        inner.seek(SeekFrom::Start(0))?;
        Ok(Self {
            inner: BufReader::new(inner),
            position: 0,
            end,
        })
    }

    /// Where the next byte lies.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The first bytes, at most `most` of them, which are read again afterwards.
    pub(crate) fn peek(&mut self, most: usize) -> io::Result<&[u8]> {
        let bytes = self.inner.fill_buf()?;
        Ok(&bytes[..bytes.len().min(most)])
    }
}

impl<R: Read> Read for Seeking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl<R: Read + Seek> Advance for Seeking<R> {
    fn advance(&mut self, bytes: u64) -> io::Result<()> {
        let position = self.position.saturating_add(bytes);
        if position > self.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let offset = i64::try_from(bytes).map_err(io::Error::other)?;
        self.inner.seek_relative(offset)?;
        self.position = position;
        Ok(())
    }
}

/// Reads entries. The content of an entry is read with [`Reader::content`] before the next one is
/// asked for; what is not read is passed over.
pub(crate) struct Reader<R> {
    inner: R,
    /// Bytes of the present entry that were not read yet, and what fills its last block.
    left: u64,
    padding: u64,
    ended: bool,
}

impl<R: Advance> Reader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            left: 0,
            padding: 0,
            ended: false,
        }
    }

    pub(crate) fn get_ref(&self) -> &R {
        &self.inner
    }

    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    pub(crate) fn into_inner(self) -> R {
        self.inner
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// When the archive is malformed or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, TarProblem> {
        let mut extensions = Extensions::default();
        loop {
            self.inner.advance(self.left + self.padding)?;
            (self.left, self.padding) = (0, 0);
            let Some(header) = self.header()? else {
                // Extensions without an entry are the beginning of one.
                return if extensions.any {
                    Err(TarProblem::Truncated)
                } else {
                    Ok(None)
                };
            };
            self.left = header.size;
            self.padding = padding(header.size);
            match header.typeflag {
                b'x' => extensions.pax.extend(&self.extension()?)?,
                b'g' => {
                    check_global(&self.extension()?)?;
                    continue;
                }
                b'L' => extensions.name = Some(until_zero(self.extension()?)),
                b'K' => extensions.link = Some(until_zero(self.extension()?)),
                _ => {
                    let entry = extensions.entry(header)?;
                    self.left = entry.size;
                    self.padding = padding(entry.size);
                    return Ok(Some(entry));
                }
            }
            extensions.any = true;
        }
    }

    /// The content of the present entry.
    pub(crate) fn content(&mut self) -> Content<'_, R> {
        Content(self)
    }

    /// `None` at the end: two blocks of zeros, or no further byte.
    fn header(&mut self) -> Result<Option<Header>, TarProblem> {
        if self.ended {
            return Ok(None);
        }
        let block = self.block()?.filter(|block| !is_zero(block));
        if let Some(block) = block {
            return Header::parse(&block).map(Some);
        }
        self.ended = true;
        if self.block()?.is_some_and(|block| !is_zero(&block)) {
            return Err(TarProblem::End);
        }
        Ok(None)
    }

    /// A whole block; `None` where nothing follows.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, TarProblem> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.inner.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(TarProblem::Truncated),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(block))
    }

    /// The content of an extended header.
    fn extension(&mut self) -> Result<Vec<u8>, TarProblem> {
        if self.left > EXTENSION_BYTES {
            return Err(TarProblem::LongExtension(EXTENSION_BYTES));
        }
        let mut bytes = Vec::new();
        self.content().read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The content of one entry.
pub(crate) struct Content<'a, R>(&'a mut Reader<R>);

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.0.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if most == 0 {
            return Ok(0);
        }
        let read = self.0.inner.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.0.left -= read as u64;
        Ok(read)
    }
}

/// What stands before the header of an entry.
#[derive(Default)]
struct Extensions {
    any: bool,
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    pax: Pax,
}

impl Extensions {
    fn entry(&mut self, header: Header) -> Result<Entry, TarProblem> {
        let pax = std::mem::take(&mut self.pax);
        if pax.sparse || header.typeflag == b'S' {
            return Err(TarProblem::Sparse);
        }
        let path = pax.path.or(self.name.take()).unwrap_or(header.name);
        let link = pax.link.or(self.link.take()).unwrap_or(header.link);
        let kind = kind(header.typeflag, &path, link)?;
        let size = pax.size.unwrap_or(header.size);
        if kind != Kind::File && size > 0 {
            return Err(TarProblem::Content(kind.name()));
        }
        Ok(Entry {
            path,
            kind,
            mode: header.mode,
            uid: pax.uid.unwrap_or(header.uid),
            gid: pax.gid.unwrap_or(header.gid),
            mtime: pax.mtime.unwrap_or(Time {
                seconds: header.mtime,
                nanoseconds: 0,
            }),
            size,
            attributes: pax.attributes,
        })
    }
}

fn kind(typeflag: u8, path: &[u8], link: Vec<u8>) -> Result<Kind, TarProblem> {
    Ok(match typeflag {
        // The oldest writers mark directories by their names alone.
        0 | b'0' if path.ends_with(b"/") => Kind::Directory,
        0 | b'0' | b'7' => Kind::File,
        b'1' => Kind::HardLink(link),
        b'2' => Kind::Symlink(link),
        b'3' | b'4' => Kind::Device,
        b'5' => Kind::Directory,
        b'6' => Kind::Fifo,
        other => return Err(TarProblem::Type(char::from(other))),
    })
}

fn until_zero(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|&byte| byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
    bytes
}

fn is_zero(block: &[u8; BLOCK]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes<'a>(&'a [u8]);

    impl Read for Bytes<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Advance for Bytes<'_> {
        fn advance(&mut self, bytes: u64) -> io::Result<()> {
            let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
            let rest = self.0.split_at_checked(bytes);
            self.0 = rest.ok_or(io::ErrorKind::UnexpectedEof)?.1;
            Ok(())
        }
    }

    fn written(fill: impl FnOnce(&mut tar::Builder<Vec<u8>>) -> io::Result<()>) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        fill(&mut builder).expect("written");
        builder.into_inner().expect("written")
    }

    fn file(builder: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, content)
    }

    #[test]
    fn long_names_and_contents_come_as_they_were_written() {
        let long = "d/".repeat(100) + "file";
        let bytes = written(|builder| {
            file(builder, &long, b"first")?;
            builder.append_pax_extensions([("mtime", &b"12.5"[..]), ("path", b"other\nname")])?;
            file(builder, "short", &[7; 512])
        });
        let mut reader = Reader::new(Bytes(&bytes));
        let first = reader.next().expect("readable").expect("an entry");
        assert_eq!((first.path, first.size), (long.into_bytes(), 5));
        // Its content is passed over.
        let second = reader.next().expect("readable").expect("an entry");
        assert_eq!(second.path, b"other\nname");
        assert_eq!(
            (second.mtime.seconds, second.mtime.nanoseconds),
            (12, 500_000_000)
        );
        let mut content = Vec::new();
        reader
            .content()
            .read_to_end(&mut content)
            .expect("readable");
        assert_eq!(content, [7; 512]);
        assert!(reader.next().expect("readable").is_none());
        assert!(reader.next().expect("readable").is_none());
    }

    #[test]
    fn every_truncation_is_noticed_or_ends_between_entries() {
        let bytes = written(|builder| {
            file(builder, &"n".repeat(120), b"first")?;
            file(builder, "b", b"second")
        });
        for end in 0..bytes.len() {
            let mut reader = Reader::new(Bytes(&bytes[..end]));
            let mut whole = 0;
            let ended = loop {
                match reader.next() {
                    Ok(Some(_)) => whole += 1,
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            // A name and its entry take four blocks, the second entry two.
            let between = [(0, 0), (4 * 512, 1), (6 * 512, 2)];
            let expected = between.contains(&(end, whole)) || end % 512 == 0 && end > 6 * 512;
            assert_eq!(ended, expected, "{end} bytes, {whole} entries");
        }
    }

    #[test]
    fn a_long_name_without_end_is_refused_before_it_is_read() {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        let mut reader = Reader::new(Bytes(header.as_bytes()));
        assert!(matches!(reader.next(), Err(TarProblem::LongExtension(_))));
    }

    #[test]
    fn only_files_have_content_and_none_is_sparse() {
        for (kind, size) in [
            (tar::EntryType::Directory, 512),
            (tar::EntryType::Link, 1),
            (tar::EntryType::Symlink, 1),
            (tar::EntryType::Char, 1),
            (tar::EntryType::GNUSparse, 0),
            (tar::EntryType::new(b'V'), 0),
            (tar::EntryType::new(b'M'), 0),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(size);
            header.set_cksum();
            let mut bytes = header.as_bytes().to_vec();
            bytes.extend([0; 2048]);
            assert!(Reader::new(Bytes(&bytes)).next().is_err(), "{kind:?}");
        }
    }
}
