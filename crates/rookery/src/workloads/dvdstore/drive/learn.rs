//! Learning the words of a store from its own pages, before any load.

use std::{
    fmt::Display,
    io::ErrorKind,
    time::{Duration, Instant},
};

use rookery_host::{HttpGetError, http_get};
use rookery_workload::dvdstore::{Crawl, PageSite, WordLists};
use thiserror::Error;

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
        let failed = |what: &dyn Display| {
            Failure::new(Code::Guest, format!("{}: {what}", target.url)).help(
                "check address, port and directory of --target and --page-type, or give the \
    words by --learn-words or --title-words",
            )
        };
        let body = get(target, &path, timeout).map_err(|error| failed(&error))?;
        crawl
            .read(&body)
            .map_err(|fault| failed(&format!("no page of results: {fault}")))?;
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

/// The body of a page.
fn get(target: &Target, path: &[u8], timeout: Duration) -> Result<Vec<u8>, PageError> {
    let failed = |error: HttpGetError| match error {
        // A socket whose time is over says that it would block.
        HttpGetError::Io(io)
            if matches!(io.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
        {
            PageError::Silent(timeout)
        }
        error => PageError::Get(error),
    };
    let answer = http_get(target.address, path, timeout).map_err(failed)?;
    match answer.status() {
        200 => answer.body(LARGEST_PAGE).map_err(failed),
        status => Err(PageError::Status(status)),
    }
}

/// Why a page of results could not be had.
#[derive(Debug, Error)]
enum PageError {
    #[error("no answer within {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("the pages cannot be read: {0}")]
    Get(HttpGetError),
    #[error("a search was answered with status {0}")]
    Status(u16),
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
    };

    use super::*;

    /// What is made of a server that gives `answer`, or nothing, to one request.
    fn got(answer: Option<&'static [u8]>) -> Result<Vec<u8>, PageError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let target = Target {
            url: "http://shop/ds2".to_owned(),
            address: listener.local_addr().expect("an address"),
            directory: "ds2".to_owned(),
        };
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).expect("a request");
            match answer {
                Some(answer) => stream.write_all(answer).expect("written"),
                // Until the client has had enough.
                None => drop(stream.read(&mut request)),
            }
        });
        let got = get(&target, b"/ds2/dsbrowse.php", Duration::from_millis(300));
        server.join().expect("the server ends");
        got
    }

    #[test]
    fn only_an_answer_of_status_200_is_a_page() {
        let page = got(Some(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext"));
        assert_eq!(page.expect("a page"), b"text");
        for (answer, expected) in [
            (
                Some(&b"HTTP/1.1 404 Not Found\r\n\r\n"[..]),
                "a search was answered with status 404",
            ),
            (Some(b"garbage\r\n\r\n"), "does not speak HTTP"),
            (None, "no answer within 0.3 s"),
        ] {
            let said = got(answer).expect_err("no page").to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
