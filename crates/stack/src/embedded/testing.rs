//! A small shop for tests: loaded once per process, copied for each test.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread::JoinHandle,
    time::Duration,
};

use rookery_workload::dvdstore::{Size, WordLists};
use tempfile::TempDir;

use super::{
    DATABASE_FILE, EmbeddedError, OrderAudit, Pages, audit, connection::open_reader, load,
    meta::Meta, site::Site, writer::Writer,
};
use crate::http_server::{Answer, HttpSite as _, Method, Request};

/// The size of every test's database: 2 000 customers, 1 200 orders, 1 000 products.
pub(super) const SIZE: Size = Size::Mb(1);

/// The smallest database, in a file of its own.
pub(super) fn database() -> (TempDir, PathBuf) {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join(DATABASE_FILE);
    let template = TEMPLATE.get_or_init(|| {
        load(&path, SIZE, WordLists::own(), &|_| {
            std::ops::ControlFlow::Continue(())
        })
        .expect("a loaded database");
        fs::read(&path).expect("the loaded database")
    });
    fs::write(&path, template).expect("a copy of the database");
    (dir, path)
}

/// A shop without a network.
pub(super) struct Shop {
    site: Option<Arc<Site>>,
    writer: Option<JoinHandle<Result<(), EmbeddedError>>>,
    pub(super) database: PathBuf,
    _dir: TempDir,
}

impl Shop {
    pub(super) fn open(behaviour: Pages) -> Self {
        Self::on(database(), behaviour)
    }

    /// A shop every page of which burns `extra_cpu` of CPU time.
    pub(super) fn burning(extra_cpu: Duration) -> Self {
        Self::with(database(), Pages::Corrected, extra_cpu)
    }

    /// A shop on a database of its own.
    pub(super) fn on(database: (TempDir, PathBuf), behaviour: Pages) -> Self {
        Self::with(database, behaviour, Duration::ZERO)
    }

    fn with((dir, database): (TempDir, PathBuf), behaviour: Pages, extra_cpu: Duration) -> Self {
        let meta = Meta::read(&open_reader(&database).expect("readable"), &database)
            .expect("loaded by this version");
        let (writer, thread) =
            Writer::start(&database, behaviour, meta.rows().orders()).expect("a writer");
        let site = Site::open(&database, 1, behaviour, "ds2", meta, writer)
            .expect("a site")
            .burning(extra_cpu);
        Self {
            site: Some(Arc::new(site)),
            writer: Some(thread),
            database,
            _dir: dir,
        }
    }

    /// Answer a GET of `target`, such as `/ds2/dslogin.php?username=user1`.
    pub(super) fn answer(&self, target: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.request(Request {
            method: Method::Get,
            path,
            query,
            form: "",
            headers: None,
        })
    }

    pub(super) fn request(&self, request: Request<'_>) -> Answer {
        let site = self.site.as_ref().expect("open until the audit");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(site.answer(request))
    }

    /// The body of a page that must be answered with 200.
    pub(super) fn page(&self, target: &str) -> String {
        let answer = self.answer(target);
        assert_eq!(answer.status, 200, "{target}");
        String::from_utf8(answer.body).expect("pages are UTF-8")
    }

    /// The page without the frame that all pages share.
    pub(super) fn inner(&self, target: &str) -> String {
        let page = self.page(target);
        let (_, inner) = page
            .split_once("DVD Store</H1>\n")
            .expect("the frame's beginning");
        inner
            .rsplit_once("<HR>")
            .expect("the frame's end")
            .0
            .to_owned()
    }

    /// Run one statement on the database beside the shop.
    pub(super) fn sql(&self, statement: &str) {
        rusqlite::Connection::open(&self.database)
            .and_then(|connection| connection.execute_batch(statement))
            .expect("a statement");
    }

    /// Close the shop and audit what it leaves.
    pub(super) fn close(&mut self) -> OrderAudit {
        self.site = None;
        self.writer
            .take()
            .expect("closed once")
            .join()
            .expect("a writer without a panic")
            .expect("a folded log");
        audit(&self.database).expect("an audit")
    }
}
