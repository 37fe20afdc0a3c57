//! Learning the words of a store from its own pages, before any load.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use rookery_workload::dvdstore::{Crawl, PageSite, WordLists};

use crate::{
    exit::{Code, Failure},
    output,
};

use super::settings::Target;

/// The most searches.
const MOST_SEARCHES: u32 = 400;
/// The longest time for all of them.
const LONGEST: Duration = Duration::from_secs(120);
/// Rows asked for by each search: the most that the pages show.
const ROWS: u32 = 100;
/// The largest page that is read, bytes.
const LARGEST_PAGE: usize = 4 << 20;
/// Pages take any customer's word for who he is.
const CUSTOMER: u64 = 1;

/// The words that the pages of `target` show.
pub(super) fn lists(
    target: &Target,
    page_type: &str,
    timeout: Duration,
) -> Result<WordLists, Failure> {
    let pages = PageSite {
        directory: &target.directory,
        page_type,
    };
    let deadline = Instant::now() + LONGEST;
    let mut crawl = Crawl::new(MOST_SEARCHES);
    let mut path = Vec::new();
    while Instant::now() < deadline {
        path.clear();
        let Some(search) = crawl.next_search() else {
            break;
        };
        pages.browse(&mut path, &search, ROWS, CUSTOMER);
        let failed = |what: String| {
            Failure::new(Code::Guest, format!("{}: {what}", target.url)).help(
                "check address, port and directory of --target and --page-type, or give the \
    words by --learn-words or --title-words",
            )
        };
        let body = get(target, &path, timeout).map_err(failed)?;
        crawl
            .read(&body)
            .map_err(|fault| failed(format!("no page of results: {fault}")))?;
    }
    let (titles, first_names, last_names) = crawl.found();
    output::remark(format!(
        "{}: {} searches showed {titles} title words, {first_names} first and {last_names} last \
         names",
        target.url,
        crawl.requests()
    ));
    crawl
        .finish()
        .map_err(|error| Failure::from_error(Code::Usage, &error).at(&target.url))
}

/// The body of a page. HTTP/1.0, so that the answer does not come in chunks and the server closes
/// after it.
fn get(target: &Target, path: &[u8], timeout: Duration) -> Result<Vec<u8>, String> {
    let unreachable = |error: std::io::Error| format!("the pages cannot be read: {error}");
    let mut stream = TcpStream::connect_timeout(&target.address, timeout).map_err(unreachable)?;
    stream
        .set_read_timeout(Some(timeout))
        .map_err(unreachable)?;
    stream
        .set_write_timeout(Some(timeout))
        .map_err(unreachable)?;
    let mut request = b"GET ".to_vec();
    request.extend_from_slice(path);
    request.extend_from_slice(
        format!(
            " HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n\r\n",
            target.address
        )
        .as_bytes(),
    );
    stream.write_all(&request).map_err(unreachable)?;
    let (mut answer, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    while answer.len() < LARGEST_PAGE && !is_whole(&answer) {
        match stream.read(&mut piece).map_err(unreachable)? {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    body(&answer).map(<[u8]>::to_vec)
}

/// Where the body begins, once the head is there.
fn head_end(answer: &[u8]) -> Option<usize> {
    answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .map(|at| at + 4)
}

/// Whether the answer has all the bytes that it announced; some servers keep the connection open
/// all the same.
fn is_whole(answer: &[u8]) -> bool {
    let Some(begin) = head_end(answer) else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..begin]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| {
        line.strip_prefix("content-length:")?
            .trim()
            .parse::<usize>()
            .ok()
    });
    length.is_some_and(|length| answer.len() - begin >= length)
}

/// What follows the head of an answer with status 200.
fn body(answer: &[u8]) -> Result<&[u8], String> {
    let line = answer
        .split(|byte| *byte == b'\r' || *byte == b'\n')
        .next()
        .unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (protocol, status) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    if !protocol.starts_with(b"HTTP/1.") {
        return Err("what answers there does not speak HTTP".to_owned());
    }
    if status != b"200" {
        return Err(format!(
            "a search was answered with status {}",
            output::printable(&String::from_utf8_lossy(status))
        ));
    }
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    end.map(|at| &answer[at + 4..])
        .ok_or_else(|| "an answer broke off in its head".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_the_announced_bytes_are_there() {
        assert!(is_whole(
            b"HTTP/1.1 200 OK\r\ncontent-Length: 4\r\n\r\ntext"
        ));
        for partial in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntext"[..],
            b"HTTP/1.1 200 OK\r\n\r\ntext",
            b"HTTP/1.1",
        ] {
            assert!(!is_whole(partial));
        }
    }

    #[test]
    fn only_a_whole_head_with_status_200_has_a_body() {
        assert_eq!(
            body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\ntext"),
            Ok(&b"text"[..])
        );
        for (answer, expected) in [
            (&b""[..], "does not speak HTTP"),
            (b"garbage\r\n\r\n", "does not speak HTTP"),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
            (b"HTTP/1.1 \x1b[31m\r\n\r\n", "status \u{fffd}[31m"),
            (b"HTTP/1.1 200 OK\r\nA: b\r\n", "broke off"),
        ] {
            let said = body(answer).expect_err("no page");
            assert!(said.contains(expected), "{said}");
        }
    }
}
