//! What a dry run saw of each operation. Secrets are masked, long texts are cut.

use rookery_cast::count_u32;
use rookery_driver::Fault;
use rookery_workload::{
    data_driven::MASK,
    http::{Capture, CaptureSource, Check, HttpOperation, is_secret, without_secrets},
};
use serde::Serialize;

use super::{
    super::{HttpSite, compiled::Must, judge::Document, page::Loaded, visitor::Visitor},
    words,
};
use crate::browser::answer::Answer;

/// A secret of fewer letters is not looked for in other texts: too much would be masked.
const SHORTEST_SECRET: usize = 4;
/// So many bytes of a text are searched for secrets; fewer are shown.
const MOST_TEXT: usize = 4 * 1024;

/// What a dry run saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DryRunReport {
    /// Each operation that was done, in the order in which it was done.
    pub operations: Vec<TriedOperation>,
    /// Why not all of them were done.
    pub ended_early: Option<EndedEarly>,
}

impl DryRunReport {
    /// Whether every operation was done, and went as it should.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.ended_early.is_none() && self.operations.iter().all(TriedOperation::is_good)
    }
}

/// A dry run that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedEarly {
    /// Why.
    pub why: String,
    /// The operations that were not done.
    pub left: Vec<String>,
}

/// What came of one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedOperation {
    /// Its name.
    pub name: String,
    /// The method of its request.
    pub method: &'static str,
    /// Path and query as they were sent; null where a value was missing.
    pub target: Option<String>,
    /// Time from the request to the last embedded object, us.
    pub time_us: u64,
    /// Redirects that were followed.
    pub redirects: Vec<Redirected>,
    /// The answer behind them; null without one.
    pub answer: Option<TriedAnswer>,
    /// What the answer must be; the status is the first.
    pub checks: Vec<TriedCheck>,
    /// Values that are taken from it.
    pub captures: Vec<TriedCapture>,
    /// Embedded objects.
    pub objects: Vec<TriedObject>,
    /// Why there is no answer, or no more of what follows from it.
    pub fault: Option<TriedFault>,
}

impl TriedOperation {
    /// Whether all went as it should.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.fault.is_none()
            && self.checks.iter().all(|check| check.passed)
            && self.captures.iter().all(|capture| capture.value.is_some())
            && self.objects.iter().all(|object| object.fault.is_none())
    }
}

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirected {
    /// Its status.
    pub status: u16,
    /// Where it leads.
    pub target: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedAnswer {
    /// Its status.
    pub status: u16,
    /// What it says that it is.
    pub content_type: Option<String>,
    /// Length of its body after decompression.
    pub bytes: u64,
    /// Length as it was sent.
    pub sent_bytes: u64,
}

/// A check of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedCheck {
    /// What the answer must be.
    pub check: String,
    /// Whether it is.
    pub passed: bool,
    /// What was found instead, or of a value that was looked for.
    pub found: Option<String>,
}

/// A value that is taken from an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedCapture {
    /// Its name.
    pub name: String,
    /// Where it is looked for.
    pub from: String,
    /// The value, masked where it is a secret; null where it was not found.
    pub value: Option<String>,
    /// Its length.
    pub bytes: u32,
}

/// An embedded object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedObject {
    /// Path and query.
    pub target: String,
    /// Its status; null where it did not come.
    pub status: Option<u16>,
    /// Length of its body after decompression.
    pub bytes: u64,
    /// Why it did not come.
    pub fault: Option<TriedFault>,
}

/// What went wrong, as the driver counts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedFault {
    /// Its class.
    pub class: String,
    /// Its sub-class.
    pub sub_class: String,
    /// The first bytes of an answer, or an error in words.
    pub detail: String,
}

/// Values that are masked wherever they stand.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Those that are known by their names.
    learned: Vec<String>,
    /// Those that the workload marks.
    marked: rookery_driver::Secrets,
}

impl Secrets {
    pub(super) fn new(marked: rookery_driver::Secrets) -> Self {
        Self {
            learned: Vec::new(),
            marked,
        }
    }

    /// Learns the secrets that the user has after an operation: captures, data, cookies.
    pub(super) fn learn(&mut self, site: &HttpSite, visitor: &Visitor, described: &HttpOperation) {
        let names = site.workload.values();
        let values = names.iter().zip(visitor.journey.values());
        for (_, value) in values.filter(|(name, _)| is_secret(name)) {
            self.add(value.as_deref().unwrap_or_default());
        }
        for capture in described
            .captures
            .iter()
            .filter(|one| is_secret_capture(one))
        {
            let place = names.iter().position(|name| *name == capture.name);
            let value = place.and_then(|place| visitor.journey.values()[place].as_deref());
            self.add(value.unwrap_or_default());
        }
        let cookies = visitor.cookies.borrow();
        for pair in cookies.header().split(|byte| *byte == b';') {
            let pair = pair.trim_ascii();
            let equals = pair.iter().position(|byte| *byte == b'=');
            if let Some(at) = equals
                && is_secret(&String::from_utf8_lossy(&pair[..at]))
            {
                self.add(&pair[at + 1..]);
            }
        }
    }

    fn add(&mut self, value: &[u8]) {
        let value = String::from_utf8_lossy(value).into_owned();
        if value.len() >= SHORTEST_SECRET && !self.learned.contains(&value) {
            self.learned.push(value);
            // One secret may hold another.
            self.learned
                .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    fn mask(&self, text: &str) -> String {
        let all = self.learned.iter();
        all.fold(self.marked.mask(text), |text, secret| {
            text.replace(secret, MASK)
        })
    }
}

/// Whether a captured value is a secret: by its own name, or by that of what it is taken from.
fn is_secret_capture(capture: &Capture) -> bool {
    let source = match &capture.source {
        CaptureSource::Regex(text) | CaptureSource::Json(text) => text,
        CaptureSource::Header(name) => name,
        CaptureSource::Cookie(_) => return true,
    };
    is_secret(&capture.name) || is_secret(source)
}

/// What was found: words of ours, and a text from the server. It is cut when secrets are masked,
/// so that no part of one is shown.
#[derive(Debug, Default)]
struct Found {
    words: String,
    text: Option<String>,
}

impl Found {
    fn words(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            text: None,
        }
    }

    fn text(words: &str, text: &[u8]) -> Self {
        Self {
            words: words.to_owned(),
            text: Some(lossy(&text[..text.len().min(MOST_TEXT)])),
        }
    }

    fn tell(self, secrets: &Secrets) -> String {
        let text = self.text.map(|text| words::quoted(&secrets.mask(&text)));
        let parts = [Some(self.words), text].into_iter().flatten();
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }
}

/// What is seen while an operation goes on.
#[derive(Debug, Default)]
pub(super) struct Sight {
    pub(super) target: Option<Vec<u8>>,
    redirects: Vec<Redirected>,
    answer: Option<TriedAnswer>,
    /// In words, whether it passed, and what was found.
    checks: Vec<(String, bool, Option<Found>)>,
    captures: Vec<TriedCapture>,
    objects: Vec<TriedObject>,
}

impl Sight {
    pub(super) fn redirected(&mut self, to: &[u8], answer: &Answer) {
        self.redirects.push(Redirected {
            status: answer.told.status,
            target: lossy(to),
        });
    }

    pub(super) fn answered(&mut self, answer: &Answer) {
        // The last of the wanted headers is the one that the dry run asked for.
        let kind = answer.told.headers.last().cloned().flatten();
        self.answer = Some(TriedAnswer {
            status: answer.told.status,
            content_type: kind.map(|kind| words::short(&lossy(&kind))),
            bytes: answer.bytes,
            sent_bytes: answer.sent_bytes,
        });
    }

    pub(super) fn judged_status(
        &mut self,
        described: &HttpOperation,
        answer: &Answer,
        verdict: Result<(), Fault>,
    ) {
        let status = answer.told.status.to_string();
        let found = match &*answer.kept {
            [] => Found::words(status),
            body => Found::text(&status, body),
        };
        self.checks.push((
            words::statuses(&described.statuses),
            verdict.is_ok(),
            verdict.err().map(|_| found),
        ));
    }

    pub(super) fn judged(
        &mut self,
        check: &Check,
        must: &Must,
        answer: &Answer,
        document: &mut Document<'_>,
        verdict: Result<(), Fault>,
    ) {
        let begin = |words: &str| Found::text(words, &answer.kept);
        let found = match must {
            Must::Json(pointer, _) => Some(match document.text(pointer) {
                Ok(Some(value)) => Found::text("", value.as_bytes()),
                Ok(None) => Found::words("no such value"),
                Err(_) => begin("no JSON, but"),
            }),
            Must::Match(regex) => Some(match regex.find(&answer.kept) {
                Some(found) => Found::text("", found.as_bytes()),
                None => begin("the body begins with"),
            }),
            Must::Size(..) => Some(Found::words(format!("{} bytes", answer.bytes))),
            Must::Digest(_) => answer.digest.map(|digest| {
                let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                Found::words(format!("sha256 {digits}"))
            }),
            Must::Contain(_) => verdict.err().map(|_| begin("the body begins with")),
            Must::Lack(_) => verdict.err().map(|_| Found::words("it is there")),
        };
        self.checks
            .push((words::check(check), verdict.is_ok(), found));
    }

    pub(super) fn captured(&mut self, capture: &Capture, value: Option<&[u8]>) {
        self.captures.push(TriedCapture {
            name: capture.name.clone(),
            from: words::source(&capture.source),
            bytes: value.map_or(0, |value| count_u32(value.len())),
            value: value.map(|value| match is_secret_capture(capture) {
                true => MASK.to_owned(),
                false => lossy(value),
            }),
        });
    }

    pub(super) fn loaded(&mut self, target: &[u8], loaded: Result<Loaded, Fault>, evidence: &[u8]) {
        let fault = loaded.as_ref().err().map(|fault| TriedFault {
            class: fault.class.name().to_owned(),
            sub_class: fault.sub_class.text().into_owned(),
            detail: lossy(evidence),
        });
        self.objects.push(TriedObject {
            target: lossy(target),
            status: loaded.as_ref().ok().map(|loaded| loaded.status),
            bytes: loaded.map_or(0, |loaded| loaded.bytes),
            fault,
        });
    }

    /// What is told of the operation, with secrets masked.
    pub(super) fn tell(
        self,
        described: &HttpOperation,
        time_us: u64,
        fault: Option<TriedFault>,
        secrets: &Secrets,
    ) -> TriedOperation {
        let target = |target: &str| secrets.mask(&without_secrets(target));
        let fault_of = |fault: TriedFault| TriedFault {
            detail: words::short(&secrets.mask(&fault.detail)),
            ..fault
        };
        let redirect = |redirect: Redirected| Redirected {
            target: target(&redirect.target),
            ..redirect
        };
        let check = |(check, passed, found): (String, bool, Option<Found>)| TriedCheck {
            check: secrets.mask(&check),
            passed,
            found: found.map(|found| found.tell(secrets)),
        };
        let shown = |value: String| words::short(&secrets.mask(&value));
        let capture = |capture: TriedCapture| TriedCapture {
            value: capture.value.map(shown),
            ..capture
        };
        let object = |object: TriedObject| TriedObject {
            target: target(&object.target),
            fault: object.fault.map(fault_of),
            ..object
        };
        TriedOperation {
            name: described.name.clone(),
            method: described.method.name(),
            target: self.target.map(|bytes| target(&lossy(&bytes))),
            time_us,
            redirects: self.redirects.into_iter().map(redirect).collect(),
            answer: self.answer,
            checks: self.checks.into_iter().map(check).collect(),
            captures: self.captures.into_iter().map(capture).collect(),
            objects: self.objects.into_iter().map(object).collect(),
            fault: fault.map(fault_of),
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
