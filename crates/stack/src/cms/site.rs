//! From a request to an answer: which page, which queries, what is stored.

use std::time::{Duration, SystemTime};

use hyper::header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use rookery_workload::cms::NodeKind;
use sha2::{Digest as _, Sha256};

use super::{
    html::{self, Reader},
    limits::{LoginLimits, LoginVerdict},
    service::{FRONT_PATH, HEALTH_PATH},
    store::{CreateFault, NewNode, Store},
};
use crate::{
    embedded::{Fields, burn, is_busy},
    http_server::{
        Answer, AnswerBody, Content, FullAnswer, HttpSite, Method, Request, SESSION_COOKIE,
        SessionId, Sessions,
    },
};

/// Most characters of a title.
const MOST_TITLE: usize = 200;
/// Most bytes of a text.
const MOST_BODY: usize = 256 * 1024;

/// The pages of a site.
pub(super) struct Site {
    pub(super) store: Store,
    /// The account of each session.
    pub(super) sessions: Sessions<i64>,
    /// Logins that have failed.
    pub(super) limits: LoginLimits,
    /// CPU time that every page burns on purpose.
    pub(super) extra_cpu: Duration,
}

/// Why there is no page.
#[derive(Debug)]
enum Fault {
    /// The request is none that makes sense.
    BadInput,
    /// There is nothing of this address.
    NotFound,
    /// Who asks may not do it.
    Forbidden,
    /// Too many logins have failed: of this account, or from this address.
    LoginBlocked(&'static str),
    /// The server has no room for another session.
    Busy,
    /// The database refused.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Fault> for FullAnswer {
    fn from(fault: Fault) -> Self {
        let (status, heading, sentence) = match &fault {
            Fault::BadInput => (
                400,
                "Bad request",
                "An argument is missing or malformed.".into(),
            ),
            Fault::NotFound => (404, "Not found", "There is no such page.".into()),
            Fault::Forbidden => (403, "Access denied", "Log in first.".into()),
            Fault::LoginBlocked(whose) => (
                403,
                "Login failed",
                format!("There were too many failed login attempts {whose}."),
            ),
            Fault::Busy => (503, "Too busy", "Please try again in a second.".into()),
            Fault::Database(error) if is_busy(error) => (
                503,
                "Too busy",
                "Nothing was stored. Please try again.".into(),
            ),
            Fault::Database(error) => (500, "The database failed", error.to_string()),
        };
        let body = html::page(
            heading,
            Reader::Anonymous,
            &html::notice(heading, &sentence),
        );
        Answer {
            status,
            content: Content::Html,
            body: body.into_bytes(),
        }
        .into()
    }
}

/// The session of a request, if it is logged in, and its account.
type Visitor = Option<(SessionId, i64)>;

impl HttpSite for Site {
    type Answer = FullAnswer;

    async fn answer(&self, request: Request<'_>) -> FullAnswer {
        if request.method == Method::Other {
            return text(405, "GET and POST are answered here\n").into();
        }
        if request.path == HEALTH_PATH {
            return text(200, "ok\n").into();
        }
        burn(self.extra_cpu);
        let page = request.path.strip_prefix("/cms/");
        let answered = match page {
            Some("" | "index.php") => self.list(&request),
            Some("node.php") => self.node(&request),
            Some("login.php") => self.login(&request),
            Some("user.php") => self.user(&request),
            Some("create.php") => self.create(&request).await,
            Some("logout.php") => self.logout(&request),
            _ => Err(Fault::NotFound),
        };
        answered.unwrap_or_else(FullAnswer::from)
    }

    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer {
        text(status, &format!("{heading}: {sentence}\n"))
    }
}

impl Site {
    fn visitor(&self, request: &Request<'_>) -> Visitor {
        let id = SessionId::of_header(request.header(&COOKIE)?)?;
        Some((id, self.sessions.get(id)?))
    }

    fn shown(&self, visitor: Visitor, title: &str, content: &str) -> Result<FullAnswer, Fault> {
        let name = match visitor {
            Some((_, account)) => self.store.name(account)?,
            None => None,
        };
        let reader = name.as_deref().map_or(Reader::Anonymous, Reader::Account);
        Ok(Answer {
            status: 200,
            content: Content::Html,
            body: html::page(title, reader, content).into_bytes(),
        }
        .into())
    }

    fn list(&self, request: &Request<'_>) -> Result<FullAnswer, Fault> {
        let number = match fields(request)?.text("page") {
            "" => 0,
            text => text.parse().map_err(|_| Fault::BadInput)?,
        };
        let nodes = self.store.list(number)?;
        let content = html::list(number, &nodes);
        self.shown(self.visitor(request), "A small site", &content)
    }

    fn node(&self, request: &Request<'_>) -> Result<FullAnswer, Fault> {
        let id = fields(request)?.number("id").ok_or(Fault::BadInput)?;
        let node = self.store.node(id)?.ok_or(Fault::NotFound)?;
        self.shown(self.visitor(request), &node.title, &html::node(&node))
    }

    fn login(&self, request: &Request<'_>) -> Result<FullAnswer, Fault> {
        if let Some((_, account)) = self.visitor(request) {
            return redirect(&format!("/cms/user.php?id={account}"), None);
        }
        let rejected = request.method == Method::Post;
        if rejected {
            let fields = fields(request)?;
            let found = self.store.login(fields.text("name"), fields.text("pass"))?;
            let (account, fits) = (found.map(|(id, _)| id), found.is_some_and(|(_, fits)| fits));
            let blocked = |whose| Err(Fault::LoginBlocked(whose));
            match self.limits.judge(account, fits, now_s()) {
                LoginVerdict::LoggedIn(account) => return self.logged_in(account),
                LoginVerdict::AddressBlocked => return blocked("from this address"),
                LoginVerdict::AccountBlocked => return blocked("for this account"),
                LoginVerdict::Rejected => {}
            }
        }
        self.shown(None, "Log in", &html::login_form(rejected))
    }

    fn logged_in(&self, account: i64) -> Result<FullAnswer, Fault> {
        let session = self.sessions.begin(account).map_err(|_| Fault::Busy)?;
        let cookie = format!("{SESSION_COOKIE}={session}; path=/");
        redirect(&format!("/cms/user.php?id={account}"), Some(&cookie))
    }

    fn user(&self, request: &Request<'_>) -> Result<FullAnswer, Fault> {
        let id = fields(request)?.number("id").ok_or(Fault::BadInput)?;
        let visitor = self.visitor(request).ok_or(Fault::Forbidden)?;
        let name = self.store.name(id)?.ok_or(Fault::NotFound)?;
        let content = html::notice(&name, "A user of this site.");
        self.shown(Some(visitor), &name, &content)
    }

    async fn create(&self, request: &Request<'_>) -> Result<FullAnswer, Fault> {
        let (session, account) = self.visitor(request).ok_or(Fault::Forbidden)?;
        let (kind, wanted) = {
            let fields = fields(request)?;
            let kind = NodeKind::of_name(fields.text("kind")).ok_or(Fault::BadInput)?;
            (kind, new_node(kind, account, session, &fields))
        };
        let error = match (request.method, wanted) {
            (Method::Post, Ok(node)) => return self.created(node).await,
            (Method::Post, Err(error)) => Some(error),
            _ => None,
        };
        let form = html::create_form(kind, &token(session), error);
        self.shown(Some((session, account)), "Create a node", &form)
    }

    async fn created(&self, node: NewNode) -> Result<FullAnswer, Fault> {
        let id = self.store.create(node).await.map_err(|fault| match fault {
            CreateFault::Refused(error) => Fault::Database(error),
            CreateFault::Ending => Fault::Busy,
        })?;
        redirect(&format!("/cms/node.php?id={id}"), None)
    }

    fn logout(&self, request: &Request<'_>) -> Result<FullAnswer, Fault> {
        let (session, _) = self.visitor(request).ok_or(Fault::Forbidden)?;
        self.sessions.end(session);
        let gone = format!("{SESSION_COOKIE}=gone; path=/; max-age=0");
        redirect(FRONT_PATH, Some(&gone))
    }
}

fn fields<'r>(request: &Request<'r>) -> Result<Fields<'r>, Fault> {
    Fields::parse(request.query, request.form).map_err(|_| Fault::BadInput)
}

/// The node that a form describes, or why it is none.
fn new_node(
    kind: NodeKind,
    author: i64,
    session: SessionId,
    fields: &Fields<'_>,
) -> Result<NewNode, &'static str> {
    let (title, body) = (fields.text("title").trim(), fields.text("body"));
    if fields.text("token") != token(session) {
        return Err("The form is not one of this session.");
    }
    if title.is_empty() {
        return Err("A title is needed.");
    }
    if title.chars().count() > MOST_TITLE || body.len() > MOST_BODY {
        return Err("Title or text is too long.");
    }
    Ok(NewNode {
        kind,
        title: title.to_owned(),
        body: body.to_owned(),
        author,
        created_s: now_s(),
    })
}

fn now_s() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs().cast_signed())
}

/// What forms of a session carry, so that no other site can send them: it follows from what only
/// the session's user knows.
fn token(session: SessionId) -> String {
    let digest = Sha256::digest(format!("form of {session}"));
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn redirect(to: &str, cookie: Option<&str>) -> Result<FullAnswer, Fault> {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| Fault::BadInput);
    let mut headers: Vec<(HeaderName, HeaderValue)> = vec![
        (CONTENT_TYPE, Content::Html.header()),
        (LOCATION, value(to)?),
    ];
    if let Some(cookie) = cookie {
        headers.push((SET_COOKIE, value(cookie)?));
    }
    Ok(FullAnswer {
        status: 302,
        headers,
        body: AnswerBody::Bytes(Vec::new()),
    })
}

/// A short text.
fn text(status: u16, line: &str) -> Answer {
    Answer {
        status,
        content: Content::Text,
        body: line.as_bytes().to_vec(),
    }
}
