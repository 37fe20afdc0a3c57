//! Files of the set: images, and downloads.

use std::{fs::File, io, path::Path};

use hyper::header::{HeaderValue, LAST_MODIFIED};
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

/// The file of a path below the root of the set, whose files all are of one time: `modified_s`.
/// With the time of the client's copy it is sent only if it changed since. The time on the disk is
/// that of a copy, where a guest has one of the set.
pub(super) fn file_answer(
    root: &Path,
    path: &str,
    modified_s: u64,
    if_modified_since: Option<&str>,
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
    let headers = vec![(LAST_MODIFIED, date)];
    let copied_s = if_modified_since.and_then(parse_http_date);
    if copied_s.is_some_and(|copied_s| modified_s <= copied_s) {
        return Ok(headed(304, headers, AnswerBody::Bytes(Vec::new())));
    }
    let length = status.len();
    Ok(headed(
        200,
        headers,
        AnswerBody::File(FileBody::new(file, length)),
    ))
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
            file_answer(dir.path(), "/file", modified_s, since)
                .expect("an answer")
                .status
        };
        assert_eq!(status(None), 200);
        assert_eq!(status(Some(&date(0))), 304);
        assert_eq!(status(Some(&date(5))), 304);
        assert_eq!(status(Some(&date(-5))), 200);
        assert_eq!(status(Some("yesterday")), 200);
        assert!(file_answer(dir.path(), "/other", 0, None).is_err());
        assert!(
            file_answer(dir.path(), "/", 0, None).is_err(),
            "a directory is no file"
        );
        std::os::unix::fs::symlink("file", dir.path().join("link")).expect("a link");
        assert!(file_answer(dir.path(), "/link", 0, None).is_err());
    }
}
