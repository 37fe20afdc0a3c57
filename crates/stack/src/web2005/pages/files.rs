//! Files of the set: images, and downloads.

use std::{fs::File, io, path::Path};

use hyper::header::{CACHE_CONTROL, CONTENT_RANGE, HeaderValue, LAST_MODIFIED};
use rookery_workload::web2005::{Model, http_date, parse_http_date};
use rustix::fs::{Mode, OFlags};

use super::head::headed;
use crate::http_server::{AnswerBody, FileBody, FullAnswer};

/// Whether a path of a URL is that of a file: below `images/` or `downloads/`, and made of plain
/// parts alone.
pub(super) fn is_file(model: Model, path: &str) -> bool {
    let rest = path
        .strip_prefix('/')
        .and_then(|rest| rest.strip_prefix(model.directory()));
    let below = rest.is_some_and(|rest| {
        rest.starts_with("/images/") || (model == Model::Support && rest.starts_with("/downloads/"))
    });
    below
        && path.len() <= 128
        && path[1..].split('/').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// How a client asks for a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'r> {
    /// The time of its copy, where it has one.
    pub(super) if_modified_since: Option<&'r str>,
    /// The part that it wants.
    pub(super) range: Option<&'r str>,
}

/// The file of a path below the root of the set, whose files all are of one time: `modified_s`.
/// With the time of the client's copy it is sent only if it changed since. The time on the disk is
/// that of a copy, where a guest has one of the set. For `fresh_s` clients need not ask again.
pub(super) fn file_answer(
    root: &Path,
    path: &str,
    modified_s: u64,
    fresh_s: Option<u32>,
    asked: Asked<'_>,
) -> io::Result<FullAnswer> {
    let path = root.join(path.trim_start_matches('/'));
    let file = File::from(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )?);
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let date = HeaderValue::from_str(&http_date(modified_s)).map_err(io::Error::other)?;
    let mut headers = vec![(LAST_MODIFIED, date)];
    if let Some(fresh_s) = fresh_s {
        let control = HeaderValue::from_str(&format!("max-age={fresh_s}"));
        headers.push((CACHE_CONTROL, control.map_err(io::Error::other)?));
    }
    let copied_s = asked.if_modified_since.and_then(parse_http_date);
    if copied_s.is_some_and(|copied_s| modified_s <= copied_s) {
        return Ok(headed(304, headers, AnswerBody::Bytes(Vec::new())));
    }
    let length = status.len();
    let from = asked.range.map_or(0, |range| first_byte(range, length));
    if from == 0 {
        let body = AnswerBody::File(FileBody::new(file, 0, length));
        return Ok(headed(200, headers, body));
    }
    let range = format!("bytes {from}-{}/{length}", length - 1);
    let range = HeaderValue::from_str(&range).map_err(io::Error::other)?;
    headers.push((CONTENT_RANGE, range));
    let body = AnswerBody::File(FileBody::new(file, from, length - from));
    Ok(headed(206, headers, body))
}

/// The byte from which on the rest of a file is asked for. Other ranges are answered with the whole
/// file, as a server may.
fn first_byte(range: &str, length: u64) -> u64 {
    let from = range
        .strip_prefix("bytes=")
        .and_then(|range| range.strip_suffix('-'))
        .and_then(|from| from.parse().ok());
    from.filter(|from| *from < length).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_plain_parts_below_two_directories() {
        for path in ["/bank/images/5", "/bank/images/user0000000001/CIF000001"] {
            assert!(is_file(Model::Banking, path), "{path}");
        }
        assert!(is_file(
            Model::Support,
            "/support/downloads/dir0000000001/download0_0"
        ));
        for path in [
            "",
            "/",
            "/bank",
            "/bank/images/",
            "/bank/images//5",
            "/bank/images/../manifest",
            "/bank/images/.",
            "/bank/images/5%2f",
            "/bank/dynamic_padding/login",
            "/support/images/1",
            "/bank/downloads/x",
            "bank/images/5",
            "/bank/images/\u{e9}",
            "/manifest-banking.tsv",
        ] {
            assert!(!is_file(Model::Banking, path), "{path}");
        }
    }

    #[test]
    fn a_copy_that_is_as_new_is_not_sent_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("file"), "content").expect("a file");
        let modified_s = 1_104_537_600;
        let date = |change: i64| http_date((modified_s as i64 + change) as u64);
        let status = |since: Option<&str>| {
            let asked = Asked {
                if_modified_since: since,
                ..Asked::default()
            };
            file_answer(dir.path(), "/file", modified_s, None, asked)
                .expect("an answer")
                .status
        };
        assert_eq!(status(None), 200);
        assert_eq!(status(Some(&date(0))), 304);
        assert_eq!(status(Some(&date(5))), 304);
        assert_eq!(status(Some(&date(-5))), 200);
        assert_eq!(status(Some("yesterday")), 200);
        let get = |path| file_answer(dir.path(), path, 0, None, Asked::default());
        assert!(get("/other").is_err());
        assert!(get("/").is_err(), "a directory is no file");
        std::os::unix::fs::symlink("file", dir.path().join("link")).expect("a link");
        assert!(get("/link").is_err());
    }

    #[test]
    fn the_rest_of_a_file_is_sent_from_any_byte() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("file"), "content").expect("a file");
        let get = |range| {
            let asked = Asked {
                range: Some(range),
                ..Asked::default()
            };
            let answer = file_answer(dir.path(), "/file", 0, Some(300), asked).expect("an answer");
            let AnswerBody::File(body) = &answer.body else {
                panic!("no file: {answer:?}");
            };
            let header = |name| {
                let mut headers = answer.headers.iter();
                headers
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| value.to_str().expect("text").to_owned())
            };
            assert_eq!(header(CACHE_CONTROL).as_deref(), Some("max-age=300"));
            (answer.status, body.left(), header(CONTENT_RANGE))
        };
        assert_eq!(get("bytes=3-"), (206, 4, Some("bytes 3-6/7".to_owned())));
        assert_eq!(get("bytes=6-"), (206, 1, Some("bytes 6-6/7".to_owned())));
        for whole in [
            "bytes=7-",
            "bytes=-3",
            "bytes=1-2",
            "lines=1-",
            "bytes=x-",
            "bytes=0-",
        ] {
            assert_eq!(get(whole), (200, 7, None), "{whole}");
        }
    }
}
