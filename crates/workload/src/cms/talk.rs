//! The requests of one operation, one after the other, and what each answer must be.
//!
//! It knows no connection: the driver sends what it asks for and hands back what came.

use super::{
    NodeKind,
    contract::{Contract, CreateRule, CreateService, FormRule, PageContract, PageRule},
    data::{PASSWORD, WRONG_PASSWORD},
    html::{Form, form, link, shows},
};
use crate::data_driven::Encoding;

/// Most redirects behind a form.
const MOST_REDIRECTS: u32 = 3;

/// What an operation does, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CmsWork {
    /// Reads the front page.
    Front,
    /// Reads a page of the list, counted from 0.
    Listing(u32),
    /// Reads a node.
    Node {
        /// Its id.
        id: u32,
        /// Its title, where it is known.
        title: Option<String>,
    },
    /// Logs in.
    Login {
        /// The name of the account.
        name: String,
        /// It is tried with a wrong password first.
        wrong_first: bool,
    },
    /// Creates a node.
    Create {
        /// Its kind.
        kind: NodeKind,
        /// Its title: ASCII, and no other has it.
        title: String,
        /// Its text.
        body: String,
    },
    /// Logs out.
    Logout {
        /// Where to, where the site says so to each user.
        link: Option<String>,
    },
}

/// What a request is within its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmsStep {
    /// A page that is read.
    Page,
    /// A form, or what stands for one, is asked for.
    Form,
    /// The form is sent with a wrong password.
    Wrong,
    /// The form is sent.
    Submit,
    /// The page behind the form.
    Result,
}

impl CmsStep {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Form => "form",
            Self::Wrong => "wrong password",
            Self::Submit => "submit",
            Self::Result => "result",
        }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CmsRequest {
    /// What it is.
    pub step: CmsStep,
    /// Path and query.
    pub target: String,
    /// Type and bytes of what a POST carries; nothing for a GET.
    pub content: Option<(&'static str, Vec<u8>)>,
    /// A header beside the usual ones, with its value.
    pub header: Option<(&'static str, String)>,
}

impl CmsRequest {
    fn get(step: CmsStep, target: impl Into<String>) -> Self {
        Self {
            step,
            target: target.into(),
            content: None,
            header: None,
        }
    }
}

/// What came.
#[derive(Clone, Copy, Debug)]
pub struct CmsAnswer<'a> {
    /// Its status.
    pub status: u16,
    /// Where it redirects to.
    pub location: Option<CmsLocation<'a>>,
    /// Its body.
    pub body: &'a [u8],
}

/// Where a redirect leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmsLocation<'a> {
    /// To this path and query of the same site.
    Here(&'a str),
    /// To another site, or nowhere.
    Elsewhere,
}

/// What an answer leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CmsNext {
    /// Another request.
    Ask(CmsRequest),
    /// The end: all went well.
    Done,
}

/// Why an answer is not the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmsFault {
    /// A status other than the expected one.
    Status(u16),
    /// A redirect where a page was expected.
    RedirectUnexpected,
    /// No redirect where one was expected.
    RedirectMissing,
    /// A redirect that leads out of the site.
    RedirectElsewhere,
    /// Redirects without end.
    RedirectLoop,
    /// What every such page shows is missing.
    Mark,
    /// What the node shows is not what was written into it.
    Title,
    /// The page is one for users who are not logged in.
    NotLoggedIn,
    /// There is no such form.
    NoForm,
    /// The login was rejected.
    LoginRejected,
    /// The site has seen too many logins fail, and takes none.
    LoginBlocked,
    /// A wrong password was taken.
    WrongPassword,
    /// The form was shown again.
    FormAgain,
}

impl CmsFault {
    /// Whether the answer says that what was sent was not done. Other answers leave that open.
    #[must_use]
    pub fn refuses(self) -> bool {
        match self {
            Self::Status(status) => (400..500).contains(&status),
            Self::FormAgain | Self::LoginRejected | Self::LoginBlocked => true,
            _ => false,
        }
    }
}

/// The requests of one operation.
#[derive(Debug)]
pub struct CmsTalk {
    pages: &'static PageContract,
    work: CmsWork,
    /// The request that is under way.
    step: CmsStep,
    target: String,
    redirects: u32,
    created: bool,
    /// Where the user who has logged in logs out.
    logout_link: Option<String>,
}

impl CmsTalk {
    /// Those of this work on a site that keeps this contract, and the first of them.
    #[must_use]
    pub fn begin(contract: Contract, work: CmsWork) -> (Self, CmsRequest) {
        let pages = contract.pages();
        let (step, target) = match &work {
            CmsWork::Front => (CmsStep::Page, pages.front.target(0)),
            CmsWork::Listing(page) => (
                CmsStep::Page,
                page_rule(pages, *page).target((*page).into()),
            ),
            CmsWork::Node { id, .. } => (CmsStep::Page, pages.node.target((*id).into())),
            CmsWork::Login { .. } => (CmsStep::Form, pages.login.form.path.to_owned()),
            CmsWork::Create { kind, .. } => {
                (CmsStep::Form, before_creation(pages, *kind).to_owned())
            }
            CmsWork::Logout { link } => {
                let always = || pages.logout.path.to_owned();
                (CmsStep::Submit, link.clone().unwrap_or_else(always))
            }
        };
        let talk = Self {
            pages,
            work,
            step,
            target: target.clone(),
            redirects: 0,
            created: false,
            logout_link: None,
        };
        (talk, CmsRequest::get(step, target))
    }

    /// The request that is under way.
    #[must_use]
    pub fn step(&self) -> CmsStep {
        self.step
    }

    /// Whether the site has said that it created the node.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.created
    }

    /// Where the user logs out again, where the site has said so.
    #[must_use]
    pub fn logout_link(&self) -> Option<&str> {
        self.logout_link.as_deref()
    }

    /// Whether the request that is under way makes a node.
    #[must_use]
    pub fn is_creating(&self) -> bool {
        self.step == CmsStep::Submit && matches!(self.work, CmsWork::Create { .. })
    }

    /// What follows from an answer.
    ///
    /// # Errors
    /// When it is not the right one: the operation has failed.
    pub fn answered(&mut self, answer: &CmsAnswer<'_>) -> Result<CmsNext, CmsFault> {
        match self.step {
            CmsStep::Page => self.page(answer).map(|()| CmsNext::Done),
            CmsStep::Form => self.form(answer),
            CmsStep::Wrong => self.rejected(answer),
            CmsStep::Submit => self.submitted(answer),
            CmsStep::Result => self.result(answer),
        }
    }

    fn ask(&mut self, request: CmsRequest) -> CmsNext {
        self.step = request.step;
        self.target.clone_from(&request.target);
        CmsNext::Ask(request)
    }

    fn page(&self, answer: &CmsAnswer<'_>) -> Result<(), CmsFault> {
        is_page(answer)?;
        let pages = self.pages;
        let (mark, title) = match &self.work {
            CmsWork::Listing(page) => (page_rule(pages, *page).mark((*page).into()), None),
            CmsWork::Node { id, title } => {
                let title = title.as_deref().filter(|_| pages.titles);
                (pages.node.mark((*id).into()), title)
            }
            _ => (pages.front.mark(0), None),
        };
        if !shows(answer.body, &mark) {
            return Err(CmsFault::Mark);
        }
        match title {
            Some(title) if !shows(answer.body, title) => Err(CmsFault::Title),
            _ => Ok(()),
        }
    }

    /// The form came: it is filled in.
    fn form(&mut self, answer: &CmsAnswer<'_>) -> Result<CmsNext, CmsFault> {
        is_page(answer)?;
        let pages = self.pages;
        let request = match &self.work {
            CmsWork::Login { name, wrong_first } => {
                let rule = &pages.login;
                let (step, password) = match *wrong_first && self.step == CmsStep::Form {
                    true => (CmsStep::Wrong, WRONG_PASSWORD),
                    false => (CmsStep::Submit, PASSWORD),
                };
                let own = [(rule.name, name.as_str()), (rule.password, password)];
                CmsRequest {
                    step,
                    ..self.filled(&rule.form, answer.body, &own)?
                }
            }
            CmsWork::Create { kind, title, body } => match &pages.create {
                CreateRule::Form(rule) => {
                    let own = [(rule.title, title.as_str()), (rule.body, body.as_str())];
                    let form = match kind {
                        NodeKind::Story => &rule.story,
                        NodeKind::Page => &rule.page,
                    };
                    self.filled(form, answer.body, &own)?
                }
                CreateRule::Service(rule) => called(rule, *kind, (title, body), answer.body)?,
            },
            CmsWork::Front
            | CmsWork::Listing(_)
            | CmsWork::Node { .. }
            | CmsWork::Logout { .. } => {
                return Err(CmsFault::NoForm);
            }
        };
        Ok(self.ask(request))
    }

    /// A form of the page that came, with its hidden fields, its fixed fields and the user's own.
    fn filled(
        &self,
        rule: &FormRule,
        page: &[u8],
        own: &[(&str, &str)],
    ) -> Result<CmsRequest, CmsFault> {
        let Form { action, hidden } = form(page, rule.id).ok_or(CmsFault::NoForm)?;
        let hidden = hidden
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let fields = rule.fields.iter().copied().chain(own.iter().copied());
        let is_set = |name: &str| fields.clone().any(|(known, _)| known == name);
        let mut content = Vec::new();
        for (name, value) in hidden
            .filter(|(name, _)| !is_set(name))
            .chain(fields.clone())
        {
            if !content.is_empty() {
                content.push(b'&');
            }
            Encoding::Form.append(&mut content, name.as_bytes());
            content.push(b'=');
            Encoding::Form.append(&mut content, value.as_bytes());
        }
        Ok(CmsRequest {
            step: CmsStep::Submit,
            target: within_site(
                rule.action.or(action.as_deref()).unwrap_or(&self.target),
                &self.target,
            ),
            content: Some(("application/x-www-form-urlencoded", content)),
            header: None,
        })
    }

    /// A wrong password was sent: the form is shown again.
    fn rejected(&mut self, answer: &CmsAnswer<'_>) -> Result<CmsNext, CmsFault> {
        match answer.status {
            301..=303 => Err(CmsFault::WrongPassword),
            200 => self.form(answer),
            status => Err(self.refused(status, answer.body)),
        }
    }

    /// A form was refused.
    fn refused(&self, status: u16, body: &[u8]) -> CmsFault {
        let login = matches!(self.work, CmsWork::Login { .. });
        let blocked = self.pages.login.blocked;
        match login && status == 403 && blocked.is_some_and(|mark| shows(body, mark)) {
            true => CmsFault::LoginBlocked,
            false => CmsFault::Status(status),
        }
    }

    fn submitted(&mut self, answer: &CmsAnswer<'_>) -> Result<CmsNext, CmsFault> {
        if let (CmsWork::Create { kind, .. }, CreateRule::Service(rule)) =
            (&self.work, &self.pages.create)
        {
            let seen = rule.seen(*kind, service_created(answer)?);
            self.created = true;
            return Ok(self.ask(CmsRequest::get(CmsStep::Result, seen)));
        }
        match (answer.status, answer.location) {
            (301..=303, Some(CmsLocation::Here(target))) => {
                self.created = matches!(self.work, CmsWork::Create { .. });
                let target = target.to_owned();
                Ok(self.ask(CmsRequest::get(CmsStep::Result, target)))
            }
            (301..=303, _) => Err(CmsFault::RedirectElsewhere),
            (200, _) => Err(match self.work {
                CmsWork::Login { .. } => CmsFault::LoginRejected,
                CmsWork::Create { .. } => CmsFault::FormAgain,
                _ => CmsFault::RedirectMissing,
            }),
            (status, _) => Err(self.refused(status, answer.body)),
        }
    }

    fn result(&mut self, answer: &CmsAnswer<'_>) -> Result<CmsNext, CmsFault> {
        if let (301..=303, Some(location)) = (answer.status, answer.location) {
            self.count_redirect()?;
            let CmsLocation::Here(target) = location else {
                return Err(CmsFault::RedirectElsewhere);
            };
            return Ok(self.ask(CmsRequest::get(CmsStep::Result, target)));
        }
        is_page(answer)?;
        match &self.work {
            CmsWork::Login { .. } => {
                if !shows(answer.body, self.pages.logged_in) {
                    return Err(CmsFault::NotLoggedIn);
                }
                let rule = &self.pages.logout;
                let found = rule.link.and_then(|part| link(answer.body, part));
                self.logout_link = found.map(|link| within_site(&link, &self.target));
            }
            CmsWork::Create { title, .. } => {
                if !shows(answer.body, title) {
                    return Err(CmsFault::Title);
                }
            }
            _ => {
                if !shows(answer.body, self.pages.logged_out) {
                    return self.confirmed(answer.body);
                }
            }
        }
        Ok(CmsNext::Done)
    }

    /// The user is not logged out yet: the form that asks whether it means it is sent.
    fn confirmed(&mut self, page: &[u8]) -> Result<CmsNext, CmsFault> {
        let rule = self.pages.logout.confirm.as_ref();
        let form = rule.and_then(|rule| self.filled(rule, page, &[]).ok());
        let form = form.ok_or(CmsFault::Mark)?;
        self.count_redirect()?;
        Ok(self.ask(form))
    }

    /// One more page lies between a form and its result.
    fn count_redirect(&mut self) -> Result<(), CmsFault> {
        self.redirects += 1;
        match self.redirects > MOST_REDIRECTS {
            true => Err(CmsFault::RedirectLoop),
            false => Ok(()),
        }
    }
}

/// The rule of a page of the list, counted from 0.
fn page_rule(pages: &'static PageContract, page: u32) -> &'static PageRule {
    match page {
        0 if pages.first_is_front => &pages.front,
        _ => &pages.listing,
    }
}

/// What is asked for before a node is sent.
fn before_creation(pages: &'static PageContract, kind: NodeKind) -> &'static str {
    match (&pages.create, kind) {
        (CreateRule::Form(rule), NodeKind::Story) => rule.story.path,
        (CreateRule::Form(rule), NodeKind::Page) => rule.page.path,
        (CreateRule::Service(rule), _) => rule.token,
    }
}

/// The call by which a service creates a node of this title and text; `token` is the answer that
/// holds the session's.
fn called(
    rule: &CreateService,
    kind: NodeKind,
    (title, body): (&str, &str),
    token: &[u8],
) -> Result<CmsRequest, CmsFault> {
    let token = token.trim_ascii();
    let plain = (1..=64).contains(&token.len()) && token.iter().all(u8::is_ascii_alphanumeric);
    let token = std::str::from_utf8(token).ok().filter(|_| plain);
    let mut content = String::from("{\"title\":");
    put_json(&mut content, title);
    content.push_str(",\"content\":");
    put_json(&mut content, body);
    content.push_str(",\"status\":\"publish\"}");
    Ok(CmsRequest {
        step: CmsStep::Submit,
        target: match kind {
            NodeKind::Story => rule.story.to_owned(),
            NodeKind::Page => rule.page.to_owned(),
        },
        content: Some(("application/json", content.into_bytes())),
        header: Some((rule.header, token.ok_or(CmsFault::NoForm)?.to_owned())),
    })
}

/// A text as JSON: what users write is printable, but for line feeds.
fn put_json(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The id of the node that a service says it created: it is the first of the answer.
fn service_created(answer: &CmsAnswer<'_>) -> Result<u64, CmsFault> {
    if answer.status != 201 {
        return Err(match answer.status {
            200 => CmsFault::FormAgain,
            status => CmsFault::Status(status),
        });
    }
    let digits = answer.body.strip_prefix(b"{\"id\":").unwrap_or_default();
    let end = digits.iter().position(|byte| !byte.is_ascii_digit());
    let digits = std::str::from_utf8(&digits[..end.unwrap_or(digits.len())]);
    digits
        .ok()
        .and_then(|id| id.parse().ok())
        .ok_or(CmsFault::Mark)
}

/// A page, and no redirect.
fn is_page(answer: &CmsAnswer<'_>) -> Result<(), CmsFault> {
    match answer.status {
        200 => Ok(()),
        301..=303 | 307 | 308 => Err(CmsFault::RedirectUnexpected),
        status => Err(CmsFault::Status(status)),
    }
}

/// Path and query of a reference in the page `base`: whatever host it names, users ask the one that
/// they load.
fn within_site(reference: &str, base: &str) -> String {
    let after_scheme = ["http://", "https://", "//"]
        .into_iter()
        .find_map(|scheme| reference.strip_prefix(scheme));
    let path = match after_scheme {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => reference,
    };
    let path = path.split('#').next().unwrap_or_default();
    if path.starts_with('/') {
        return path.to_owned();
    }
    let base = base.split('?').next().unwrap_or_default();
    if path.is_empty() || path.starts_with('?') {
        return format!("{base}{path}");
    }
    let directory = base.rfind('/').map_or("", |at| &base[..=at]);
    format!("{directory}{path}")
}

#[cfg(test)]
mod tests;
