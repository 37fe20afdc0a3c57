//! What is at which path, and who may have it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::{HeaderMap, Method, Request, StatusCode, body::Incoming};
use rookery_diagnosis::Diagnosis as _;
use rookery_lab::{PlanChange, RunLabels};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    sync::{Semaphore, watch},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    access::{Access, Refusal},
    answers::{self, Answer},
    control::{Control, Stop},
    documents::{DocumentError, Documents},
    library::Library,
    logs,
    stream::Follower,
};

const PAGE: &str = include_str!("../page/index.html");
/// The scripts of the page, in the order in which they are loaded.
const SCRIPTS: [(&str, &str); 9] = [
    ("page.js", include_str!("../page/page.js")),
    ("charts.js", include_str!("../page/charts.js")),
    ("library.js", include_str!("../page/library.js")),
    ("present.js", include_str!("../page/present.js")),
    ("searches.js", include_str!("../page/searches.js")),
    ("labels.js", include_str!("../page/labels.js")),
    ("run.js", include_str!("../page/run.js")),
    ("comparison.js", include_str!("../page/comparison.js")),
    ("app.js", include_str!("../page/app.js")),
];
const STYLE: &str = include_str!("../page/live.css");

/// Longest body of a request.
const MOST_BYTES: usize = 32 << 10;
/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(5);

/// Everything that answers.
pub(crate) struct Site {
    pub(crate) access: Access,
    pub(crate) library: Arc<Library>,
    documents: Arc<Documents>,
    control: Option<Control>,
    /// The run that this process conducts.
    own: Mutex<Option<PathBuf>>,
    streams: Arc<Semaphore>,
    /// Documents that are made at once: one.
    making: Semaphore,
    closing: watch::Receiver<bool>,
}

/// What the page asks for first.
#[derive(Serialize)]
struct Session<'a> {
    version: &'static str,
    /// What a request that changes something must send.
    form: &'a str,
    /// Whether the page may stop the run.
    control: bool,
    /// Whether that was asked for, after the present trial.
    stops_after_trial: bool,
    /// The key of the run that this process conducts.
    own: Option<String>,
}

/// What a page asks for, with what only it has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<T> {
    form: String,
    ask: T,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteRequest {
    /// The name of the run's directory.
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopRequest {
    stop: String,
}

impl Site {
    pub(crate) fn new(
        access: Access,
        library: Arc<Library>,
        control: Option<Control>,
        streams: usize,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            access,
            documents: Arc::new(Documents::new(Arc::clone(&library))),
            library,
            control,
            own: Mutex::default(),
            streams: Arc::new(Semaphore::new(streams)),
            making: Semaphore::new(1),
            closing,
        }
    }

    /// The run that this process conducts from now on.
    pub(crate) fn conducts(&self, directory: PathBuf) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory);
    }

    /// The answer to a request.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let query = head.uri.query().unwrap_or("").to_owned();
        let admitted = match head.method {
            Method::GET => self.access.check_names(&head.headers),
            Method::POST => self.access.check_change(&head.headers),
            _ => return answers::error(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST"),
        };
        if let Err(refusal) = admitted {
            return refused(refusal);
        }
        if head.method == Method::GET
            && path == "/"
            && let Some(token) = first(&query, "token")
        {
            return if self.access.is_token(&token) {
                answers::welcome(&self.access.cookie())
            } else {
                refused(Refusal::Session)
            };
        }
        if let Err(refusal) = self.access.check_session(&head.headers) {
            return refused(refusal);
        }
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        if head.method == Method::POST {
            return match parts.as_slice() {
                ["api", "control"] => self.stop(body).await,
                ["api", "plan"] => self.change_plan(body).await,
                ["api", "runs", key, "labels"] => self.label(key, body).await,
                ["api", "runs", key, "delete"] => self.delete(key, body).await,
                _ => not_found(),
            };
        }
        self.get(&parts, &query, &head.headers).await
    }

    async fn get(self: Arc<Self>, parts: &[&str], query: &str, headers: &HeaderMap) -> Answer {
        if let [name] = parts
            && let Some(text) = script(name)
        {
            return answers::own("text/javascript; charset=utf-8", text);
        }
        match parts {
            [""] => answers::own("text/html; charset=utf-8", PAGE),
            ["report.css"] => answers::own("text/css; charset=utf-8", rookery_report::STYLE),
            ["live.css"] => answers::own("text/css; charset=utf-8", STYLE),
            ["api", "session"] => self.session(),
            ["api", "runs"] => answers::json(&self.library.list()),
            ["api", "runs", key] => self.overview(key).await,
            ["api", "runs", key, "events"] => self.follow(key, query, headers),
            ["api", "runs", key, "labels"] => match self.library.labels(key) {
                Some((name, labels)) => {
                    answers::json(&serde_json::json!({ "name": name, "labels": labels }))
                }
                None => not_found(),
            },
            ["api", "runs", key, "logs"] => self.logs(key).await,
            ["api", "runs", key, "trials", trial] => self.trial(key, trial).await,
            ["runs", key, "export.json"] => {
                let key = (*key).to_owned();
                self.made(move |documents| documents.export(&key).map(answers::download))
                    .await
            }
            ["runs", key, "report"] => {
                let key = (*key).to_owned();
                self.made(move |documents| documents.report(&key).map(sandboxed))
                    .await
            }
            ["api", "trend"] => {
                let study = first(query, "study").unwrap_or_default();
                let made = move |documents: &Documents| {
                    documents.trend(&study).map(|trend| answers::json(&trend))
                };
                self.made(made).await
            }
            ["compare"] => {
                let (base, new) = (all(query, "base"), all(query, "new"));
                self.made(move |documents| documents.comparison(&base, &new).map(sandboxed))
                    .await
            }
            _ => not_found(),
        }
    }

    fn session(&self) -> Answer {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        answers::json(&Session {
            version: env!("CARGO_PKG_VERSION"),
            form: self.access.form(),
            control: self.control.is_some(),
            stops_after_trial: self
                .control
                .as_ref()
                .is_some_and(Control::stops_after_trial),
            own: own.as_deref().map(Library::key),
        })
    }

    async fn overview(self: Arc<Self>, key: &str) -> Answer {
        let (library, key) = (Arc::clone(&self.library), key.to_owned());
        match spawn_blocking(move || library.overview(&key)).await {
            Ok(Ok(Some(overview))) => answers::json(&*overview),
            Ok(Ok(None)) => not_found(),
            Ok(Err(error)) => unreadable(&error.to_string()),
            Err(_) => failed(),
        }
    }

    /// What the guests of a run write at the moment.
    async fn logs(&self, key: &str) -> Answer {
        let Some(directory) = self.library.directory(key) else {
            return not_found();
        };
        match spawn_blocking(move || logs::present(&directory)).await {
            Ok(lines) => answers::json(&lines),
            Err(_) => failed(),
        }
    }

    async fn trial(&self, key: &str, trial: &str) -> Answer {
        let (Some(directory), Ok(trial)) = (self.library.directory(key), trial.parse()) else {
            return not_found();
        };
        match spawn_blocking(move || logs::trial(&directory, trial)).await {
            Ok(Ok(Some(detail))) => answers::json(&detail),
            Ok(Ok(None)) => not_found(),
            Ok(Err(error)) => unreadable(&error.to_string()),
            Err(_) => failed(),
        }
    }

    /// What happens to a run after the event that the browser names when it connects again, or that
    /// the page names when it does so itself.
    fn follow(&self, key: &str, query: &str, headers: &HeaderMap) -> Answer {
        let Some(directory) = self.library.directory(key) else {
            return not_found();
        };
        let Ok(slot) = Arc::clone(&self.streams).try_acquire_owned() else {
            return answers::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many pages are open; close some",
            );
        };
        let named = headers.get("last-event-id");
        let named = named.and_then(|id| Some(id.to_str().ok()?.to_owned()));
        let last = named.or_else(|| first(query, "after"));
        let last = last.and_then(|id| id.parse().ok());
        let library = Arc::clone(&self.library);
        let follower = Follower::new(library, (key, directory), last, self.closing.clone(), slot);
        answers::events(follower.into_body())
    }

    /// What takes a while to make, beside what is served, one at a time.
    async fn made(
        self: Arc<Self>,
        make: impl FnOnce(&Documents) -> Result<Answer, DocumentError> + Send + 'static,
    ) -> Answer {
        let Ok(_turn) = self.making.acquire().await else {
            return failed();
        };
        let documents = Arc::clone(&self.documents);
        match spawn_blocking(move || make(&documents)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(DocumentError::NoRun)) => not_found(),
            Ok(Err(error @ DocumentError::Sides)) => {
                answers::error(StatusCode::BAD_REQUEST, &error.to_string())
            }
            Ok(Err(DocumentError::Run(error))) => unreadable(&error),
            Err(_) => failed(),
        }
    }

    async fn stop(&self, body: Incoming) -> Answer {
        let (control, asked) = match self.asked::<StopRequest>(body).await {
            Ok(asked) => asked,
            Err(answer) => return *answer,
        };
        match Stop::named(&asked.stop) {
            Some(how) => {
                tracing::info!(?how, "the page stops the run");
                control.stop(how);
                answers::json(&serde_json::json!({ "stop": asked.stop }))
            }
            None => answers::error(
                StatusCode::BAD_REQUEST,
                "a run stops `after-trial` or `now`",
            ),
        }
    }

    async fn change_plan(&self, body: Incoming) -> Answer {
        let (control, change) = match self.asked::<PlanChange>(body).await {
            Ok(asked) => asked,
            Err(answer) => return *answer,
        };
        match control.change(change) {
            Ok(()) => {
                tracing::info!(?change, "the page changes the plan");
                answers::json(&change)
            }
            Err(error) => answers::error(StatusCode::BAD_REQUEST, &error.to_string()),
        }
    }

    /// Keep tags and a note with a run.
    async fn label(&self, key: &str, body: Incoming) -> Answer {
        let labels = match self.asked::<RunLabels>(body).await {
            Ok((_, labels)) => labels,
            Err(answer) => return *answer,
        };
        let (library, key) = (Arc::clone(&self.library), key.to_owned());
        match spawn_blocking(move || library.label(&key, &labels).map(|done| (done, labels))).await
        {
            Ok(Ok((Some(()), labels))) => answers::json(&labels),
            Ok(Ok((None, _))) => not_found(),
            Ok(Err(error)) => answers::error(StatusCode::BAD_REQUEST, &error.to_string()),
            Err(_) => failed(),
        }
    }

    /// Delete a run whose name the page has repeated.
    async fn delete(&self, key: &str, body: Incoming) -> Answer {
        let name = match self.asked::<DeleteRequest>(body).await {
            Ok((_, asked)) => asked.name,
            Err(answer) => return *answer,
        };
        let (library, key) = (Arc::clone(&self.library), key.to_owned());
        tracing::info!(name, "the page deletes a run");
        match spawn_blocking(move || library.delete(&key, &name)).await {
            Ok(Ok(Some(()))) => answers::json(&serde_json::json!({ "deleted": true })),
            Ok(Ok(None)) => not_found(),
            Ok(Err(error)) => {
                let help = error
                    .help()
                    .map_or_else(String::new, |help| format!("; {help}"));
                answers::error(StatusCode::CONFLICT, &format!("{error}{help}"))
            }
            Err(_) => failed(),
        }
    }

    /// What is asked of the run, by a page that may do so.
    async fn asked<T: DeserializeOwned>(
        &self,
        body: Incoming,
    ) -> Result<(&Control, T), Box<Answer>> {
        let Some(control) = &self.control else {
            return Err(Box::new(answers::error(
                StatusCode::FORBIDDEN,
                "this page only shows; `rookery run --live --control` lets it control the run",
            )));
        };
        Ok((control, self.read_form(body).await?))
    }

    /// The body of a request of our own page.
    async fn read_form<T: DeserializeOwned>(&self, body: Incoming) -> Result<T, Box<Answer>> {
        let bad = |text| Box::new(answers::error(StatusCode::BAD_REQUEST, text));
        let read = timeout(BODY_TIME, Limited::new(body, MOST_BYTES).collect()).await;
        let Ok(Ok(body)) = read else {
            return Err(bad("the request is not complete"));
        };
        let asked = serde_json::from_slice::<Asked<T>>(&body.to_bytes());
        let asked = asked.map_err(|_| bad("the request is not understood"))?;
        if !self.access.is_form(&asked.form) {
            return Err(Box::new(refused(Refusal::Session)));
        }
        Ok(asked.ask)
    }
}

/// The script of this name.
fn script(name: &str) -> Option<&'static str> {
    let found = SCRIPTS.iter().find(|(known, _)| *known == name)?;
    Some(found.1)
}

fn sandboxed(html: Bytes) -> Answer {
    answers::sandboxed(html, &rookery_report::policy())
}

/// The values of a key in a query.
fn all(query: &str, key: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    pairs
        .filter(|(name, _)| name == key)
        .map(|(_, value)| value.into_owned())
        .collect()
}

fn first(query: &str, key: &str) -> Option<String> {
    all(query, key).into_iter().next()
}

fn refused(refusal: Refusal) -> Answer {
    let (status, text) = match refusal {
        Refusal::Host => (
            StatusCode::MISDIRECTED_REQUEST,
            "this server does not answer under that name",
        ),
        Refusal::Origin => (
            StatusCode::FORBIDDEN,
            "pages of other sites may not use this server; open its address yourself",
        ),
        Refusal::Session => (
            StatusCode::UNAUTHORIZED,
            "open the whole address that rookery printed, with its token",
        ),
    };
    answers::error(status, text)
}

fn not_found() -> Answer {
    answers::error(StatusCode::NOT_FOUND, "there is nothing here")
}

fn unreadable(error: &str) -> Answer {
    answers::error(StatusCode::UNPROCESSABLE_ENTITY, error)
}

fn failed() -> Answer {
    answers::error(
        StatusCode::INTERNAL_SERVER_ERROR,
        "a fault of Rookery, please report it",
    )
}
