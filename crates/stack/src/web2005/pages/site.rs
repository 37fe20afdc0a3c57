//! From a request to an answer: which page or file, and what became of it.

use std::{io, path::PathBuf, sync::Arc, time::SystemTime};

use hyper::header::{
    CONTENT_TYPE, COOKIE, HeaderName, HeaderValue, IF_MODIFIED_SINCE, LOCATION, RANGE, SET_COOKIE,
};
use rookery_workload::web2005::{
    Day, Model, ModernBrowser, Profile,
    besim::Reply,
    files::{PageFiles, page},
};

use super::{
    arguments::{Arguments, BadInput},
    compressed::{accepts_gzip, compress},
    files::{Asked, file_answer, is_file},
    head::headed,
    html::{Html, Values},
    planted::{Faults, Taking},
    visit::{BankUser, Customer},
};
use crate::{
    http_server::{
        Answer, AnswerBody, Content, FullAnswer, HttpSite, Method, Request, SESSION_COOKIE,
        SessionId, Sessions, TooMany,
    },
    web2005::{
        backend::{Backend, NoAnswer},
        service::{HEALTH_PATH, INIT_PATH},
    },
};

/// Why there is no page.
#[derive(Debug)]
pub(super) enum Fault {
    /// The request is none that makes sense.
    BadInput,
    /// The back-end did not answer.
    NoBackend,
    /// The server has no room for another session.
    Busy,
    /// There is no such file.
    NoFile,
    /// A file of the set cannot be read.
    File(io::Error),
}

impl From<BadInput> for Fault {
    fn from(_: BadInput) -> Self {
        Self::BadInput
    }
}

impl From<NoAnswer> for Fault {
    fn from(_: NoAnswer) -> Self {
        Self::NoBackend
    }
}

impl From<TooMany> for Fault {
    fn from(_: TooMany) -> Self {
        Self::Busy
    }
}

impl From<Fault> for FullAnswer {
    fn from(fault: Fault) -> Self {
        let (status, sentence) = match &fault {
            Fault::BadInput => (400, "an argument is missing or malformed".to_owned()),
            Fault::NoBackend => (503, "the back-end did not answer".to_owned()),
            Fault::Busy => (503, "there are too many sessions".to_owned()),
            Fault::NoFile => (404, "there is no such page or file".to_owned()),
            Fault::File(error) => (500, format!("a file cannot be read: {error}")),
        };
        text(status, &sentence).into()
    }
}

/// A page that is ready but for its padding and its values.
pub(super) struct Made {
    /// Its name.
    pub(super) page: &'static str,
    /// Its content.
    pub(super) html: Html,
    /// The user or customer it is for.
    pub(super) id: Option<u32>,
    /// What it shows.
    pub(super) values: Values,
    /// A session that begins with it.
    pub(super) cookie: Option<SessionId>,
}

/// Pages and files of a workload.
pub(super) struct Site {
    pub(super) model: Model,
    /// Root of the file set.
    pub(super) root: PathBuf,
    /// When its files were modified, seconds since 1970.
    pub(super) modified_s: u64,
    /// How browsers are served.
    pub(super) profile: Profile,
    pub(super) backend: Backend,
    pub(super) bank_users: Sessions<BankUser>,
    pub(super) customers: Sessions<Customer>,
    /// The day of what users do: that of the back-end's reset.
    pub(super) today: Day,
    pub(super) taking: Arc<Taking>,
    pub(super) faults: Faults,
}

impl HttpSite for Site {
    type Answer = FullAnswer;

    async fn answer(&self, request: Request<'_>) -> FullAnswer {
        if request.method == Method::Other {
            return text(405, "GET and POST are answered here").into();
        }
        match request.path {
            HEALTH_PATH => text(200, "ok").into(),
            INIT_PATH => self.init(),
            path if is_file(self.model, path) => {
                if request.method != Method::Get {
                    return text(405, "files are answered to GET").into();
                }
                if self.faults.is_missing(path) {
                    return Fault::NoFile.into();
                }
                let asked = Asked {
                    if_modified_since: request.header(&IF_MODIFIED_SINCE),
                    range: request.header(&RANGE),
                };
                self.file(path, asked).unwrap_or_else(FullAnswer::from)
            }
            path => match self.page_of(path) {
                Some(page) => self.page(page, &request).await,
                None => Fault::NoFile.into(),
            },
        }
    }

    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer {
        text(status, &format!("{heading}: {sentence}"))
    }
}

impl Site {
    /// The page of a path.
    fn page_of(&self, path: &str) -> Option<&'static PageFiles> {
        let name = path
            .strip_prefix('/')?
            .strip_prefix(self.model.directory())?
            .strip_prefix('/')?
            .strip_suffix(".php")?;
        let name = match (self.model, name) {
            (Model::Support, "index") => "home",
            (Model::Support, "home" | "download") => return None,
            (_, name) => name,
        };
        page(self.model, name)
    }

    async fn page(&self, page: &'static PageFiles, request: &Request<'_>) -> FullAnswer {
        self.taking.take().await;
        let delay = self.faults.delay(page.name);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if self.faults.drops_session(page.name)
            && let Some(session) = Self::session_id(request)
        {
            self.bank_users.end(session);
            self.customers.end(session);
        }
        let made = match self.model {
            Model::Banking => self.banking(page.name, request).await,
            Model::Ecommerce => self.ecommerce(page.name, request).await,
            Model::Support => self.support(page.name, request).await,
        };
        let mut answer = made.unwrap_or_else(FullAnswer::from);
        self.faults.spoil(page.name, &mut answer);
        if self.profile.modern().is_some() && accepts_gzip(request) {
            compress(&mut answer);
        }
        answer
    }

    fn init(&self) -> FullAnswer {
        let time_ms = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.as_millis());
        let model = self.model.name();
        text(200, &format!("rk init model={model} time_ms={time_ms}")).into()
    }

    /// A file of the set.
    pub(super) fn file(&self, path: &str, asked: Asked<'_>) -> Result<FullAnswer, Fault> {
        let fresh_s = self.profile.modern().map(|_| ModernBrowser::FRESH_S);
        let answer = file_answer(&self.root, path, self.modified_s, fresh_s, asked);
        answer.map_err(|error| match error.kind() {
            // A part of the path that is a link, or a file instead of a directory, is none either.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::NoFile,
            _ if error.raw_os_error() == Some(libc::ELOOP) => Fault::NoFile,
            _ => Fault::File(error),
        })
    }

    /// A page as it is sent.
    pub(super) fn finish(&self, made: Made) -> Result<FullAnswer, Fault> {
        let files = page(self.model, made.page).ok_or(Fault::NoFile)?;
        let id = made.id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let body = made
            .html
            .finish(&self.root, self.model, files, &id, &made.values)
            .map_err(Fault::File)?;
        let mut headers = vec![(CONTENT_TYPE, Content::Html.header())];
        headers.extend(made.cookie.and_then(cookie));
        Ok(headed(200, headers, AnswerBody::Bytes(body)))
    }

    /// The way to another address.
    pub(super) fn redirect(
        location: &str,
        session: Option<SessionId>,
    ) -> Result<FullAnswer, Fault> {
        let location = HeaderValue::from_str(location).map_err(|_| Fault::BadInput)?;
        let mut headers = vec![(LOCATION, location)];
        headers.extend(session.and_then(cookie));
        Ok(headed(307, headers, AnswerBody::Bytes(Vec::new())))
    }

    /// Asks the back-end; what it refuses is an answer too.
    pub(super) async fn ask(&self, command: u8, arguments: &[&str]) -> Result<Reply, NoAnswer> {
        self.backend.ask(self.model, command, arguments).await
    }

    /// Asks the back-end for what it must not refuse to a request that makes sense.
    pub(super) async fn need(&self, command: u8, arguments: &[&str]) -> Result<Reply, Fault> {
        let reply = self.ask(command, arguments).await?;
        if reply.ok {
            Ok(reply)
        } else {
            Err(Fault::BadInput)
        }
    }

    /// Arguments of a page that is asked for.
    pub(super) fn query<'r>(request: &Request<'r>) -> Result<Arguments<'r>, BadInput> {
        Arguments::parse(request.query)
    }

    /// Arguments of a page that is posted to; none where it was asked for.
    pub(super) fn form<'r>(request: &Request<'r>) -> Result<Arguments<'r>, BadInput> {
        Arguments::parse(request.form)
    }

    /// The session of a request, if its cookie names any.
    pub(super) fn session_id(request: &Request<'_>) -> Option<SessionId> {
        SessionId::of_header(request.header(&COOKIE)?)
    }
}

/// The header that begins a session.
fn cookie(session: SessionId) -> Option<(HeaderName, HeaderValue)> {
    let text = format!("{}={session}; path=/", SESSION_COOKIE);
    Some((SET_COOKIE, HeaderValue::from_str(&text).ok()?))
}

/// A short text.
fn text(status: u16, line: &str) -> Answer {
    Answer {
        status,
        content: Content::Text,
        body: format!("{line}\n").into_bytes(),
    }
}
