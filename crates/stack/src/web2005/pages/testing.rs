//! Sites for tests: file sets that are made once, a ledger for each, users without a network.

use std::sync::{Arc, Mutex, PoisonError, Weak, atomic::AtomicBool};

use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap,
    header::{COOKIE, HeaderName, HeaderValue, IF_MODIFIED_SINCE, SET_COOKIE},
};
use rookery_workload::web2005::{
    Model, Profile,
    besim::{Mark, State, ledger::LedgerTotals},
    files::{Content, PageFiles, Shape, page},
};
use tempfile::TempDir;

use super::{BackendAt, PageServerConfig, site::Site};
use crate::{
    http_server::{AnswerBody, FullAnswer, HttpSite as _, Method, Request},
    web2005::{ExtraTime, FilesetOptions, LedgerSync, StateKeeping, read_ledger, write_fileset},
};

pub(super) const SEED: u64 = 7;

pub(super) fn shape(model: Model) -> Shape {
    let scale = match model {
        Model::Banking => 0.04,
        Model::Ecommerce | Model::Support => 1.0,
    };
    // One download directory of 68 MB is enough to look at names; no test reads it.
    Shape::new(model, 1, scale, SEED).expect("a shape")
}

pub(super) fn state(model: Model) -> State {
    State::new(SEED, &shape(model))
}

/// A file set that all tests share which run at a time; it goes with the last of them.
pub(super) fn files(model: Model) -> Arc<TempDir> {
    static SETS: Mutex<[Weak<TempDir>; 3]> = Mutex::new([Weak::new(), Weak::new(), Weak::new()]);
    let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = &mut sets[usize::from(model.number()) - 1];
    known.upgrade().unwrap_or_else(|| {
        let dir = Arc::new(tempfile::tempdir().expect("a temporary directory"));
        let stop = AtomicBool::new(false);
        let options = FilesetOptions {
            threads: 1,
            max_bytes: None,
            stop: &stop,
        };
        write_fileset(dir.path(), &shape(model), &options, &|_| {}).expect("a file set");
        *known = Arc::downgrade(&dir);
        dir
    })
}

/// A site with a ledger of its own.
pub(super) struct Pages {
    pub(super) site: Site,
    pub(super) model: Model,
    pub(super) dir: TempDir,
    _files: Arc<TempDir>,
    /// What users send back once they were given it.
    pub(super) cookie: Option<String>,
    pub(super) runtime: tokio::runtime::Runtime,
}

/// An answer as a user sees it.
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        found.1.to_str().ok()
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        Mark::parse(&self.body)
            .expect("values")
            .rows()
            .expect("decoded")
    }
}

impl Pages {
    pub(super) fn open(model: Model) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let backend = BackendAt::Here {
            keeping: StateKeeping::Pure,
            ledger: Some(dir.path().join("ledger.txt")),
            sync: LedgerSync::Process,
        };
        Self::before(model, dir, backend)
    }

    /// In front of a back-end, whose ledger is in a directory.
    pub(super) fn before(model: Model, dir: TempDir, backend: BackendAt) -> Self {
        let files = files(model);
        let config = PageServerConfig {
            shape: shape(model),
            files: files.path().to_owned(),
            backend,
            profile: Profile::default(),
            session_expiry: std::time::Duration::from_secs(600),
            extra: ExtraTime::default(),
            faults: Vec::new(),
            listen: ([127, 0, 0, 1], 0).into(),
            encrypted: None,
            workers: 1,
        };
        Self {
            site: Site::open(&config).expect("a site"),
            model,
            dir,
            _files: files,
            cookie: None,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime"),
        }
    }

    pub(super) fn ledger(&self) -> LedgerTotals {
        read_ledger(&self.dir.path().join("ledger.txt")).expect("readable")
    }

    pub(super) fn send(&mut self, method: Method, path: &str, query: &str, form: &str) -> Seen {
        self.send_with(method, path, query, form, None)
    }

    pub(super) fn send_with(
        &mut self,
        method: Method,
        path: &str,
        query: &str,
        form: &str,
        since: Option<&str>,
    ) -> Seen {
        let mut headers = HeaderMap::new();
        if let Some(cookie) = &self.cookie {
            headers.insert(COOKIE, HeaderValue::from_str(cookie).expect("a cookie"));
        }
        if let Some(since) = since {
            headers.insert(
                IF_MODIFIED_SINCE,
                HeaderValue::from_str(since).expect("a date"),
            );
        }
        let request = Request {
            method,
            path,
            query,
            form,
            headers: Some(&headers),
        };
        let answer = self.runtime.block_on(async {
            let FullAnswer {
                status,
                headers,
                body,
            } = self.site.answer(request).await;
            let body = match body {
                AnswerBody::Bytes(bytes) => bytes,
                other @ AnswerBody::File(_) => {
                    let body = crate::http_server::sent(other).collect().await;
                    body.expect("read").to_bytes().to_vec()
                }
            };
            Seen {
                status,
                headers,
                body,
            }
        });
        if let Some(cookie) = answer.header(&SET_COOKIE) {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        answer
    }

    /// A page that must be there, with its length, its title, its padding and its name.
    pub(super) fn page(&mut self, name: &str, method: Method, query: &str, form: &str) -> Seen {
        let file = match name {
            "home" => "index",
            name => name,
        };
        let path = format!("/{}/{file}.php", self.model.directory());
        let seen = self.send(method, &path, query, form);
        assert_eq!(
            seen.status,
            200,
            "{name}: {}",
            String::from_utf8_lossy(&seen.body)
        );
        self.check(name, &seen);
        seen
    }

    pub(super) fn check(&self, name: &str, seen: &Seen) {
        let files: &PageFiles = page(self.model, name).expect("a page");
        assert_eq!(seen.body.len(), files.html_bytes as usize, "{name}");
        let text = String::from_utf8(seen.body.clone()).expect("text");
        let site = match self.model {
            Model::Banking => "Bank",
            Model::Ecommerce => "Shop",
            Model::Support => "Support",
        };
        assert!(text.contains(&format!("<title>{site}: {name}")), "{name}");
        let (_, rest) = text.split_once("<pre class=\"pad\">\n").expect("padding");
        let (padding, _) = rest.split_once("\n</pre>\n</body>").expect("its end");
        assert!(padding.starts_with('A'), "{name}");
        assert!(Content::has_markers_at(0, padding.as_bytes()), "{name}");
        let mark = Mark::parse(&seen.body).expect("values");
        assert_eq!(mark.page, name);
        let images = files.images().count();
        assert!(text.matches("<img src=").count() >= images, "{name}");
    }

    pub(super) fn get(&mut self, name: &str, query: &str) -> Vec<Vec<String>> {
        self.page(name, Method::Get, query, "").rows()
    }

    pub(super) fn post(&mut self, name: &str, form: &str) -> Vec<Vec<String>> {
        self.page(name, Method::Post, "", form).rows()
    }

    pub(super) fn log_in(&mut self, user: u32) -> Vec<Vec<String>> {
        let password = state(self.model).password(user);
        self.post("login", &format!("userid={user}&password={password}"))
    }
}
