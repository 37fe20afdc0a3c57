//! One page: its dynamic request, the redirect behind it, its embedded files; each answer is
//! judged.

use std::{cell::RefCell, collections::VecDeque};

use futures_util::future::join_all;
use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::web2005::{Expected, PageRequest, WebFault, check_page};

use super::{super::http::SiteName, WebSite};
use crate::browser::{
    answer::{Answer, Wanted},
    cache::{Cache, Validator},
    line::{Line, Link},
};

/// Most bytes of a body: more than the largest download, so that one of a wrong length is a wrong
/// answer and no broken connection.
const MOST_BYTES: u64 = 64 << 20;
/// Most bytes of a dynamic page, which is kept whole.
const MOST_PAGE_BYTES: u64 = 4 << 20;
const OK: u16 = 200;
/// The form is to be sent to another place.
const REDIRECT: u16 = 307;
/// The user has the file already.
const NOT_MODIFIED: u16 = 304;
/// A part of a file.
const PARTIAL_CONTENT: u16 = 206;

/// What a page needs beside its connections.
pub(super) struct Page<'p> {
    pub(super) site: &'p WebSite,
    /// The site that it is asked of.
    pub(super) place: &'p SiteName,
    pub(super) link: Link<'p>,
    /// What a browser of today has of files; one of 2005 remembers nothing.
    pub(super) cache: Option<&'p RefCell<Cache>>,
}

/// An embedded file to be loaded.
pub(super) struct Wish {
    pub(super) target: String,
    pub(super) bytes: u64,
    /// The version that the user has: it asks whether that has changed.
    pub(super) known: Option<Validator>,
}

/// What was loaded behind a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    pub(super) objects: u64,
    pub(super) not_modified: u64,
    /// Content after decompression.
    pub(super) body_bytes: u64,
}

impl Page<'_> {
    /// Sends the dynamic request and judges its answer; gives the bytes of its content. A file is
    /// asked for from a byte on.
    pub(super) async fn ask(
        &self,
        lines: &mut [Line],
        request: &PageRequest,
        from: u64,
    ) -> Result<u64, Fault> {
        let Some(line) = lines.first_mut() else {
            return Err(Fault::new(ErrorClass::Driver, "no-connection"));
        };
        let mut answer = self.send(line, &request.target, request, from).await?;
        if let Some(target) = &request.redirects_to {
            self.judged(&answer, is_redirect(&answer, target))?;
            self.link.worker.give_back(answer.kept);
            answer = self.send(line, target, request, from).await?;
        }
        let judged = match from {
            0 => judge(&answer, &request.expected),
            _ => is_status(&answer, PARTIAL_CONTENT)
                .and_then(|()| judge_content(&answer, &request.expected)),
        };
        self.judged(&answer, judged)?;
        self.link.worker.give_back(answer.kept);
        Ok(answer.bytes)
    }

    /// Keeps the begin of a wrong answer as evidence.
    fn judged(&self, answer: &Answer, judged: Result<(), Fault>) -> Result<(), Fault> {
        if judged.is_err() {
            self.link.worker.set_evidence(&answer.kept);
        }
        judged
    }

    async fn send(
        &self,
        line: &mut Line,
        target: &str,
        request: &PageRequest,
        from: u64,
    ) -> Result<Answer, Fault> {
        let worker = self.link.worker;
        let mut bytes = worker.with_pool(crate::http::decode::Pool::take);
        let form = request.form.as_deref();
        let method = if form.is_some() { "POST" } else { "GET" };
        self.begin(&mut bytes, method, target);
        let is_page = matches!(request.expected, Expected::Page { .. });
        if is_page && self.cache.is_some() {
            bytes.extend_from_slice(b"Accept-Encoding: gzip\r\n");
        }
        if from > 0 {
            bytes.extend_from_slice(format!("Range: bytes={from}-\r\n").as_bytes());
        }
        if let Some(form) = form {
            let head = format!(
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
                form.len()
            );
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(form.as_bytes());
        } else {
            bytes.extend_from_slice(b"\r\n");
        }
        let wanted = Wanted {
            header_bytes: worker.limits().header_bytes,
            body_bytes: if is_page { MOST_PAGE_BYTES } else { MOST_BYTES },
            whole: is_page,
            digest: false,
            markers: (!is_page).then_some(from),
            no_body: false,
            versions: false,
            enough: None,
            headers: &[],
        };
        let answer = line
            .exchange(&self.link, &bytes, form.is_none(), wanted)
            .await?;
        worker.with_pool(|pool| pool.give(bytes));
        Ok(answer)
    }

    /// Appends request line and the headers that all requests have.
    fn begin(&self, out: &mut Vec<u8>, method: &str, target: &str) {
        let site = self.place;
        for part in [
            method,
            " ",
            &site.base,
            target,
            " HTTP/1.1\r\nHost: ",
            &site.authority,
            "\r\n",
        ] {
            out.extend_from_slice(part.as_bytes());
        }
        let cookies = self.link.cookies.borrow();
        if !cookies.header().is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies.header());
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Loads embedded files over all connections at once, behind a page with so much content; the
    /// first fault.
    pub(super) async fn load_objects(
        &self,
        lines: &mut [Line],
        wishes: Vec<Wish>,
        body_bytes: u64,
    ) -> Result<Loaded, Fault> {
        let count = wishes.len();
        let queue = RefCell::new(Queue {
            wishes: wishes.into(),
            fault: None,
            loaded: Loaded {
                body_bytes,
                ..Loaded::default()
            },
        });
        let drains = lines
            .iter_mut()
            .take(count)
            .map(|line| self.drain(line, &queue));
        join_all(drains).await;
        let queue = queue.into_inner();
        queue.fault.map_or(Ok(queue.loaded), Err)
    }

    /// Loads file after file over one connection.
    async fn drain(&self, line: &mut Line, queue: &RefCell<Queue>) {
        loop {
            let wish = {
                let mut queue = queue.borrow_mut();
                if queue.fault.is_some() {
                    return;
                }
                queue.wishes.pop_front()
            };
            let Some(wish) = wish else { return };
            let loaded = self.load_object(line, &wish).await;
            let mut queue = queue.borrow_mut();
            match loaded {
                Ok(body_bytes) => {
                    queue.loaded.objects += 1;
                    queue.loaded.not_modified += u64::from(wish.known.is_some());
                    queue.loaded.body_bytes += body_bytes;
                }
                Err(fault) => {
                    queue.fault.get_or_insert(fault);
                    return;
                }
            }
        }
    }

    /// Loads one embedded file; gives the bytes of its content.
    async fn load_object(&self, line: &mut Line, wish: &Wish) -> Result<u64, Fault> {
        let worker = self.link.worker;
        let mut bytes = worker.with_pool(crate::http::decode::Pool::take);
        self.begin(&mut bytes, "GET", &wish.target);
        if let Some(validator) = &wish.known {
            validator.append(&mut bytes);
        }
        bytes.extend_from_slice(b"\r\n");
        let wanted = Wanted {
            header_bytes: worker.limits().header_bytes,
            body_bytes: MOST_BYTES,
            whole: false,
            digest: false,
            markers: Some(0),
            no_body: false,
            versions: self.cache.is_some(),
            enough: None,
            headers: &[],
        };
        let answer = line.exchange(&self.link, &bytes, true, wanted).await?;
        worker.with_pool(|pool| pool.give(bytes));
        let judged = if wish.known.is_some() {
            is_status(&answer, NOT_MODIFIED)
        } else {
            judge(&answer, &Expected::File { bytes: wish.bytes })
        };
        self.judged(&answer, judged)?;
        if let Some(cache) = self.cache {
            let now = worker.clock().now();
            let shared = &mut *self.site.validators.borrow_mut();
            let target = wish.target.as_bytes();
            let told = &answer.told;
            told.keep_in(&mut cache.borrow_mut(), target, now, shared);
        }
        worker.give_back(answer.kept);
        Ok(answer.bytes)
    }
}

/// The embedded files that are still to be loaded, and what came of the others.
struct Queue {
    wishes: VecDeque<Wish>,
    fault: Option<Fault>,
    loaded: Loaded,
}

fn is_status(answer: &Answer, wanted: u16) -> Result<(), Fault> {
    match answer.told.status {
        status if status == wanted => Ok(()),
        300..=303 | 307 | 308 => Err(Fault::new(ErrorClass::Redirect, "unexpected")),
        status => Err(Fault::code(ErrorClass::Status, status)),
    }
}

/// Whether an answer sends the form to the place that it should.
fn is_redirect(answer: &Answer, target: &str) -> Result<(), Fault> {
    is_status_of_redirect(answer)?;
    let location = answer.told.location.as_deref().unwrap_or_default();
    if location.ends_with(target.as_bytes()) {
        Ok(())
    } else {
        Err(Fault::new(ErrorClass::Redirect, "bad-location"))
    }
}

fn is_status_of_redirect(answer: &Answer) -> Result<(), Fault> {
    match answer.told.status {
        REDIRECT => Ok(()),
        status => Err(Fault::code(ErrorClass::Status, status)),
    }
}

/// Judges an answer that must be a page or a file.
fn judge(answer: &Answer, expected: &Expected) -> Result<(), Fault> {
    is_status(answer, OK).and_then(|()| judge_content(answer, expected))
}

fn judge_content(answer: &Answer, expected: &Expected) -> Result<(), Fault> {
    let judged = match expected {
        Expected::Page { .. } => check_page(&answer.kept, expected),
        Expected::File { bytes } => answer.markers.unwrap_or_default().finish(*bytes),
    };
    judged.map_err(|fault| {
        let class = match fault {
            WebFault::Session => ErrorClass::SessionLost,
            _ => ErrorClass::Content,
        };
        Fault::new(class, fault.name())
    })
}
