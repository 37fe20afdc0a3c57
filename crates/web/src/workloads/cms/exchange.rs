//! The requests of one operation, over one connection.

use rookery_driver::Fault;
use rookery_stats::ErrorClass;
use rookery_workload::cms::{
    CmsAnswer, CmsFault, CmsLocation, CmsNext, CmsRequest, CmsStep, CmsTalk, CmsWork,
};

use super::CmsSite;
use crate::browser::{
    address::{Reference, resolve},
    answer::{Answer, Wanted},
    line::{Line, Link},
};

/// Most bytes of a page.
const MOST_BYTES: u64 = 16 << 20;

/// What an operation needs beside its connection.
pub(super) struct Exchange<'e> {
    pub(super) site: &'e CmsSite,
    pub(super) link: Link<'e>,
    /// The number of the user.
    pub(super) user: u32,
}

/// An operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) fault: Fault,
    /// At which request.
    pub(super) step: CmsStep,
    /// The site does not know the user any more.
    pub(super) lost: bool,
}

impl Exchange<'_> {
    /// Does the work; gives where the user logs out, where it has logged in and the site says so.
    pub(super) async fn perform(
        &self,
        line: &mut Line,
        work: CmsWork,
    ) -> Result<Option<String>, Broken> {
        let kind = match &work {
            CmsWork::Create { kind, .. } => Some(*kind),
            _ => None,
        };
        let (mut talk, mut request) = CmsTalk::begin(self.site.script.contract, work);
        loop {
            let creates = kind.filter(|_| talk.is_creating());
            if let Some(kind) = creates {
                self.site.creating(self.user, kind);
            }
            let step = talk.step();
            let answer = self.send(line, &request).await;
            let answer = answer.map_err(|fault| Broken {
                fault,
                step,
                lost: false,
            })?;
            let next = self.judged(&mut talk, &request, &answer);
            if creates.is_some() {
                self.site.created(self.user, outcome(&talk, &next));
            }
            self.link.worker.give_back(answer.kept);
            match next {
                Ok(CmsNext::Ask(next)) => request = next,
                Ok(CmsNext::Done) => return Ok(talk.logout_link().map(str::to_owned)),
                Err(fault) => {
                    return Err(Broken {
                        fault: fault_of(fault),
                        step,
                        lost: is_lost(fault),
                    });
                }
            }
        }
    }

    /// Keeps the begin of a wrong answer as evidence.
    fn judged(
        &self,
        talk: &mut CmsTalk,
        request: &CmsRequest,
        answer: &Answer,
    ) -> Result<CmsNext, CmsFault> {
        let target = self.redirect(request, answer);
        let location = answer.told.location.as_ref().map(|_| match &target {
            Some(target) => CmsLocation::Here(target),
            None => CmsLocation::Elsewhere,
        });
        let judged = talk.answered(&CmsAnswer {
            status: answer.told.status,
            location,
            body: &answer.kept,
        });
        if judged.is_err() {
            self.link.worker.set_evidence(&answer.kept);
        }
        judged
    }

    /// Where an answer redirects to within the site, without the site's base.
    fn redirect(&self, request: &CmsRequest, answer: &Answer) -> Option<String> {
        let site = &self.site.script.site;
        let target = format!("{}{}", site.base, request.target);
        let location = answer.told.location.as_ref()?;
        match resolve(site.scheme(), &site.authority, target.as_bytes(), location) {
            Reference::Here(target) => {
                let target = String::from_utf8(target).ok()?;
                target.strip_prefix(&site.base).map(str::to_owned)
            }
            Reference::Elsewhere | Reference::Nowhere => None,
        }
    }

    async fn send(&self, line: &mut Line, request: &CmsRequest) -> Result<Answer, Fault> {
        let worker = self.link.worker;
        let mut bytes = worker.with_pool(crate::http::decode::Pool::take);
        self.render(&mut bytes, request);
        let wanted = Wanted {
            header_bytes: worker.limits().header_bytes,
            body_bytes: MOST_BYTES,
            whole: true,
            digest: false,
            markers: None,
            no_body: false,
            versions: false,
            enough: None,
            headers: &[],
        };
        let repeatable = request.content.is_none();
        let answer = line
            .exchange(&self.link, &bytes, repeatable, wanted)
            .await?;
        worker.with_pool(|pool| pool.give(bytes));
        Ok(answer)
    }

    fn render(&self, out: &mut Vec<u8>, request: &CmsRequest) {
        let script = &self.site.script;
        let mut put = |part: &str| out.extend_from_slice(part.as_bytes());
        let method = match request.content {
            Some(_) => "POST ",
            None => "GET ",
        };
        for part in [
            method,
            &script.site.base,
            &request.target,
            " HTTP/1.1\r\nHost: ",
            &script.site.authority,
            "\r\n",
        ] {
            put(part);
        }
        if script.gzip {
            put("Accept-Encoding: gzip\r\n");
        }
        let cookies = self.link.cookies.borrow();
        if !cookies.header().is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies.header());
            out.extend_from_slice(b"\r\n");
        }
        if let Some((name, value)) = &request.header {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        match &request.content {
            Some((kind, content)) => {
                let head = format!(
                    "Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
                    content.len()
                );
                out.extend_from_slice(head.as_bytes());
                out.extend_from_slice(content);
            }
            None => out.extend_from_slice(b"\r\n"),
        }
    }
}

/// Whether a node was created: yes, perhaps (`Some(false)`), or no.
fn outcome(talk: &CmsTalk, next: &Result<CmsNext, CmsFault>) -> Option<bool> {
    match next {
        _ if talk.is_created() => Some(true),
        Err(fault) if fault.refuses() => None,
        _ => Some(false),
    }
}

/// Whether an answer says that the site does not know a user who has logged in.
fn is_lost(fault: CmsFault) -> bool {
    matches!(
        fault,
        CmsFault::Status(401 | 403) | CmsFault::NotLoggedIn | CmsFault::RedirectUnexpected
    )
}

fn fault_of(fault: CmsFault) -> Fault {
    match fault {
        CmsFault::Status(status) => Fault::code(ErrorClass::Status, status),
        CmsFault::RedirectUnexpected => Fault::new(ErrorClass::Redirect, "unexpected"),
        CmsFault::RedirectMissing => Fault::new(ErrorClass::Redirect, "missing"),
        CmsFault::RedirectElsewhere => Fault::new(ErrorClass::Redirect, "other-authority"),
        CmsFault::RedirectLoop => Fault::new(ErrorClass::Redirect, "loop"),
        CmsFault::Mark => Fault::new(ErrorClass::Content, "mark"),
        CmsFault::Title => Fault::new(ErrorClass::Content, "title"),
        CmsFault::NotLoggedIn => Fault::new(ErrorClass::SessionLost, "not-logged-in"),
        CmsFault::NoForm => Fault::new(ErrorClass::Parse, "no-form"),
        CmsFault::LoginRejected => Fault::new(ErrorClass::Semantic, "login-rejected"),
        CmsFault::LoginBlocked => Fault::new(ErrorClass::Semantic, "login-blocked"),
        CmsFault::WrongPassword => Fault::new(ErrorClass::Semantic, "wrong-password-taken"),
        CmsFault::FormAgain => Fault::new(ErrorClass::Semantic, "form-again"),
    }
}
