//! Whether an answer is what it must be.

use super::{Expected, files::Content};

/// Before the padding of a page.
const PAD_BEGIN: &[u8] = b"<pre class=\"pad\">\n";
/// Behind it.
const PAD_END: &[u8] = b"\n</pre>\n</body>";

/// Why an answer is another than it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebFault {
    /// It has another length.
    Size,
    /// It has another title.
    Title,
    /// It shows other values, or says of itself that it is another page.
    Values,
    /// It is the form that asks for a login: the session is lost.
    Session,
    /// Its padding or its file lacks a marker.
    Marker,
}

impl WebFault {
    /// Its name among errors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Title => "title",
            Self::Values => "values",
            Self::Session => "session-lost",
            Self::Marker => "marker",
        }
    }
}

/// Judges a page: title, values, length, then its padding.
///
/// # Errors
/// What is wrong first.
pub fn check_page(body: &[u8], expected: &Expected) -> Result<(), WebFault> {
    let Expected::Page { title, mark, bytes } = expected else {
        return Err(WebFault::Size);
    };
    if !has_title(body, title) {
        return Err(if is_login_form(body) {
            WebFault::Session
        } else {
            WebFault::Title
        });
    }
    if !body.ends_with(mark) {
        return Err(if is_login_form(body) {
            WebFault::Session
        } else {
            WebFault::Values
        });
    }
    if body.len() as u64 != *bytes {
        return Err(WebFault::Size);
    }
    let pad = pad(body).ok_or(WebFault::Marker)?;
    if has_markers(pad) {
        Ok(())
    } else {
        Err(WebFault::Marker)
    }
}

fn has_title(body: &[u8], title: &str) -> bool {
    let begin = memchr::memmem::find(body, b"<title>").map(|at| &body[at + b"<title>".len()..]);
    begin
        .and_then(|rest| rest.strip_prefix(title.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"</title>"))
}

/// Whether the page is the one that those see who have no session.
fn is_login_form(body: &[u8]) -> bool {
    body.ends_with(b"<!--rk page=login id=- v=form-->\n")
}

fn pad(body: &[u8]) -> Option<&[u8]> {
    let begin = memchr::memmem::find(body, PAD_BEGIN)? + PAD_BEGIN.len();
    let end = memchr::memmem::rfind(body, PAD_END)?;
    body.get(begin..end)
}

fn has_markers(bytes: &[u8]) -> bool {
    Content::has_markers_at(0, bytes)
}

/// Judges a file while it comes: its length, and its markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCheck {
    bytes: u64,
    is_wrong: bool,
}

impl FileCheck {
    /// Of a file that comes from this byte on.
    #[must_use]
    pub fn starting_at(byte: u64) -> Self {
        Self {
            bytes: byte,
            is_wrong: false,
        }
    }

    /// The next bytes came.
    pub fn take(&mut self, bytes: &[u8]) {
        self.is_wrong |= !Content::has_markers_at(self.bytes, bytes);
        self.bytes += bytes.len() as u64;
    }

    /// All came.
    ///
    /// # Errors
    /// When it has another length than `bytes`, or lacks a marker.
    pub fn finish(self, bytes: u64) -> Result<(), WebFault> {
        if self.bytes != bytes {
            return Err(WebFault::Size);
        }
        if self.is_wrong {
            return Err(WebFault::Marker);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web2005::files::ContentKind;

    fn page(title: &str, values: &str, pad: usize) -> Vec<u8> {
        let mut padding = vec![0; pad];
        Content::new(7, ContentKind::Text).fill(0, &mut padding);
        let mut body = format!("<html><head><title>{title}</title></head><body>\n").into_bytes();
        body.extend_from_slice(PAD_BEGIN);
        body.extend_from_slice(&padding);
        body.extend_from_slice(PAD_END);
        body.extend_from_slice(b"\n</html>\n");
        body.extend_from_slice(format!("<!--rk page=login id=- v={values}-->\n").as_bytes());
        body
    }

    fn expected(body: &[u8]) -> Expected {
        Expected::Page {
            title: "Bank: login".to_owned(),
            mark: b"<!--rk page=login id=- v=ok-->\n".to_vec(),
            bytes: body.len() as u64,
        }
    }

    #[test]
    fn every_fault_of_a_page_is_found() {
        let good = page("Bank: login", "ok", 10_000);
        let expected = expected(&good);
        assert_eq!(check_page(&good, &expected), Ok(()));
        let check = |body: &[u8]| check_page(body, &expected).expect_err("wrong");
        assert_eq!(check(&page("Bank: logout", "ok", 9_999)), WebFault::Title);
        assert_eq!(check(&page("Bank: login", "no", 10_000)), WebFault::Values);
        assert_eq!(
            check(&page("Bank: login", "form", 9_998)),
            WebFault::Session
        );
        assert_eq!(check(&page("Bank: login", "ok", 9_999)), WebFault::Size);
        let mut wrong = good.clone();
        let pad = memchr::memmem::find(&good, PAD_BEGIN).expect("a pad") + PAD_BEGIN.len();
        wrong[pad + 4_096] = b'z';
        assert_eq!(check(&wrong), WebFault::Marker);
        assert_eq!(check(b""), WebFault::Title);
    }

    #[test]
    fn files_are_judged_in_pieces_of_any_size() {
        let mut file = vec![0; 20_000];
        Content::new(3, ContentKind::Binary).fill(0, &mut file);
        let judge = |file: &[u8], piece: usize| {
            let mut check = FileCheck::default();
            file.chunks(piece).for_each(|bytes| check.take(bytes));
            check.finish(20_000)
        };
        for piece in [1, 7, 4_096, 5_000, 20_000] {
            assert_eq!(judge(&file, piece), Ok(()), "{piece}");
            let mut rest = FileCheck::starting_at(9_999);
            file[9_999..]
                .chunks(piece)
                .for_each(|bytes| rest.take(bytes));
            assert_eq!(rest.finish(20_000), Ok(()), "{piece}");
            let mut shifted = FileCheck::starting_at(9_998);
            file[9_999..]
                .chunks(piece)
                .for_each(|bytes| shifted.take(bytes));
            assert_eq!(shifted.finish(19_999), Err(WebFault::Marker), "{piece}");
            let mut wrong = file.clone();
            wrong[8_192] ^= 1;
            assert_eq!(judge(&wrong, piece), Err(WebFault::Marker), "{piece}");
            assert_eq!(
                judge(&file[..19_999], piece),
                Err(WebFault::Size),
                "{piece}"
            );
        }
        assert_eq!(FileCheck::default().finish(0), Ok(()));
    }
}
