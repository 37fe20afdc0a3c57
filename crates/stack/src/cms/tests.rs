//! Users of a site without a network.

use std::{ops::ControlFlow, path::PathBuf, time::Duration};

use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap,
    header::{COOKIE, HeaderValue, LOCATION, SET_COOKIE},
};
use rookery_workload::{
    FoundRow,
    cms::{
        CmsAnswer, CmsData, CmsFault, CmsLocation, CmsNext, CmsRequest, CmsTalk, CmsWork, Contract,
        NEW_PAGES, NEW_STORIES, NodeKind,
    },
};

use super::{CmsError, CmsServeConfig, count, load, site::Site};
use crate::http_server::{HttpSite as _, Method, Request, sent};

const DATA: CmsData = CmsData {
    nodes: 120,
    users: 10,
    authors: 5,
    first_node: 1,
    story_ppm: 500_000,
    promoted_ppm: 500_000,
    seed: 7,
};

/// A site and one user of it.
struct Visit {
    site: Option<Site>,
    database: PathBuf,
    cookie: Option<String>,
    runtime: tokio::runtime::Runtime,
    _dir: tempfile::TempDir,
}

struct Seen {
    status: u16,
    location: Option<String>,
    body: Vec<u8>,
}

impl Visit {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let database = dir.path().join("cms.sqlite");
        load(&database, &DATA, &|_| ControlFlow::Continue(())).expect("loaded");
        Self {
            site: Some(open(&database, false)),
            database,
            cookie: None,
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .expect("a runtime"),
            _dir: dir,
        }
    }

    fn send(&mut self, request: &CmsRequest) -> Seen {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        let form = request
            .content
            .as_ref()
            .map(|(_, bytes)| String::from_utf8(bytes.clone()).expect("a form is text"));
        let mut headers = HeaderMap::new();
        if let Some(cookie) = &self.cookie {
            headers.insert(COOKIE, HeaderValue::from_str(cookie).expect("a cookie"));
        }
        let site = self.site.as_ref().expect("it is open");
        let answer = self.runtime.block_on(site.answer(Request {
            method: match form {
                Some(_) => Method::Post,
                None => Method::Get,
            },
            path,
            query,
            form: form.as_deref().unwrap_or_default(),
            headers: Some(&headers),
        }));
        let header = |name| {
            let found = answer.headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_str().expect("text").to_owned())
        };
        if let Some(cookie) = header(SET_COOKIE) {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        let (status, location) = (answer.status, header(LOCATION));
        let body = self.runtime.block_on(sent(answer.body).collect());
        Seen {
            status,
            location,
            body: body.expect("from memory").to_bytes().to_vec(),
        }
    }

    /// Does a work as users do; its requests.
    fn perform(&mut self, work: CmsWork) -> Result<u32, CmsFault> {
        let (mut talk, mut request) = CmsTalk::begin(Contract::Smallcms, work);
        let mut requests = 0;
        loop {
            requests += 1;
            let seen = self.send(&request);
            let next = talk.answered(&CmsAnswer {
                status: seen.status,
                location: seen.location.as_deref().map(CmsLocation::Here),
                body: &seen.body,
            })?;
            match next {
                CmsNext::Ask(next) => request = next,
                CmsNext::Done => return Ok(requests),
            }
        }
    }
}

fn open(database: &std::path::Path, login_limits: bool) -> Site {
    Site::open(&CmsServeConfig {
        database: database.to_owned(),
        extra_cpu: Duration::ZERO,
        login_limits,
        listen: ([127, 0, 0, 1], 0).into(),
        workers: 1,
    })
    .expect("a site")
}

fn login(name: &str) -> CmsWork {
    CmsWork::Login {
        name: name.to_owned(),
        wrong_first: false,
    }
}

fn creation(kind: NodeKind, title: &str) -> CmsWork {
    CmsWork::Create {
        kind,
        title: title.to_owned(),
        body: "<p>Words &amp; more</p>".to_owned(),
    }
}

#[test]
fn every_operation_keeps_the_contract_with_its_number_of_requests() {
    let mut visit = Visit::new();
    for (work, requests) in [
        (CmsWork::Front, 1),
        (CmsWork::Listing(DATA.pages() - 1), 1),
        (
            CmsWork::Node {
                id: 17,
                title: Some(DATA.title(16)),
            },
            1,
        ),
        (login("user00003"), 3),
        (creation(NodeKind::Story, "r7-0-0-1"), 3),
        (CmsWork::Logout { link: None }, 2),
        (login("admin"), 3),
        (creation(NodeKind::Page, "r7-0-0-2"), 3),
        (CmsWork::Logout { link: None }, 2),
    ] {
        let what = format!("{work:?}");
        assert_eq!(visit.perform(work), Ok(requests), "{what}");
    }
    visit.site = None;
    let counted = count(&visit.database).expect("counted");
    assert_eq!(
        counted.rows,
        [FoundRow::new(NEW_STORIES, 1), FoundRow::new(NEW_PAGES, 1)]
    );
    assert_eq!(counted.faults, Vec::<String>::new());
}

#[test]
fn logins_are_blocked_where_too_many_have_failed() {
    let wrong_first = |name: &str| CmsWork::Login {
        name: name.to_owned(),
        wrong_first: true,
    };
    let mut visit = Visit::new();
    visit.site = Some(open(&visit.database, true));
    // A success forgets the failures of its account.
    for _ in 0..6 {
        assert_eq!(visit.perform(wrong_first("user00001")), Ok(4));
        assert_eq!(visit.perform(CmsWork::Logout { link: None }), Ok(2));
    }
    // Nobody has the eleventh name: these count for the address alone.
    for _ in 0..44 {
        let rejected = visit.perform(login("user00011"));
        assert_eq!(rejected, Err(CmsFault::LoginRejected));
    }
    let blocked = visit.perform(login("user00002"));
    assert_eq!(blocked, Err(CmsFault::LoginBlocked), "fifty have failed");
    visit.site = Some(open(&visit.database, false));
    assert_eq!(visit.perform(login("user00002")), Ok(3), "no one counts");
}

#[test]
fn who_is_not_logged_in_creates_nothing_and_cannot_log_out() {
    let mut visit = Visit::new();
    assert_eq!(
        visit.perform(creation(NodeKind::Story, "a")),
        Err(CmsFault::Status(403))
    );
    assert_eq!(
        visit.perform(CmsWork::Logout { link: None }),
        Err(CmsFault::Status(403))
    );
    assert_eq!(
        visit.perform(login("user00011")),
        Err(CmsFault::LoginRejected),
        "there are ten"
    );
    assert_eq!(visit.perform(login("user00001")), Ok(3));
    assert_eq!(
        visit.perform(login("user00002")),
        Err(CmsFault::RedirectUnexpected),
        "who is logged in is sent to its own page"
    );
    let none = CmsWork::Node {
        id: 121,
        title: None,
    };
    assert_eq!(visit.perform(none), Err(CmsFault::Status(404)));
}

#[test]
fn a_form_of_another_session_or_without_a_title_is_shown_again() {
    let mut visit = Visit::new();
    visit.perform(login("user00001")).expect("logged in");
    let (_, first) = CmsTalk::begin(Contract::Smallcms, creation(NodeKind::Page, ""));
    let form = String::from_utf8(visit.send(&first).body).expect("text");
    let token = form
        .split("name=\"token\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a token")
        .to_owned();
    for (content, error) in [
        (
            "title=a&body=b&token=0".to_owned(),
            "not one of this session",
        ),
        (format!("title=+&body=b&token={token}"), "A title is needed"),
        (
            format!("title={}&body=b&token={token}", "x".repeat(201)),
            "too long",
        ),
    ] {
        let request = CmsRequest {
            content: Some(("application/x-www-form-urlencoded", content.into_bytes())),
            ..first.clone()
        };
        let seen = visit.send(&request);
        let page = String::from_utf8(seen.body).expect("text");
        assert_eq!(seen.status, 200);
        assert!(
            page.contains(error) && page.contains("id=\"create\""),
            "{page}"
        );
    }
    visit.site = None;
    let counted = count(&visit.database).expect("counted");
    assert!(counted.rows.iter().all(|row| row.found == 0), "{counted:?}");
}

#[test]
fn a_new_story_is_the_first_of_the_front_page_and_a_page_is_not_there() {
    let mut visit = Visit::new();
    visit.perform(login("user00001")).expect("logged in");
    visit
        .perform(creation(NodeKind::Page, "not-promoted"))
        .expect("created");
    visit
        .perform(creation(NodeKind::Story, "promoted"))
        .expect("created");
    let (_, front) = CmsTalk::begin(Contract::Smallcms, CmsWork::Front);
    let page = String::from_utf8(visit.send(&front).body).expect("text");
    let first = page.split("<h2>").nth(1).expect("a node");
    assert!(first.contains(">promoted<"), "{first}");
    assert!(!page.contains("not-promoted"));
    assert_eq!(page.matches("<article>").count(), 10);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut visit = Visit::new();
    for (target, status) in [
        ("/cms/index.php?page=x", 400),
        ("/cms/index.php?page=-1", 400),
        ("/cms/index.php?page=4294967295", 200),
        ("/cms/node.php", 400),
        ("/cms/node.php?id=0", 404),
        ("/cms/user.php?id=1", 403),
        ("/cms/create.php?kind=story", 403),
        ("/cms/other.php", 404),
        ("/", 404),
        ("/health", 200),
    ] {
        let (_, mut request) = CmsTalk::begin(Contract::Smallcms, CmsWork::Front);
        target.clone_into(&mut request.target);
        assert_eq!(visit.send(&request).status, status, "{target}");
    }
    visit.cookie = Some("RKSID=0123".to_owned());
    assert_eq!(
        visit.perform(CmsWork::Front),
        Ok(1),
        "no session is called so"
    );
}

#[test]
fn databases_that_are_none_are_refused() {
    let visit = Visit::new();
    let again = load(&visit.database, &DATA, &|_| ControlFlow::Continue(()));
    assert!(matches!(again, Err(CmsError::Exists(_))), "{again:?}");
    let stopped = visit.database.with_extension("other");
    let ended = load(&stopped, &DATA, &|_| ControlFlow::Break(()));
    assert!(matches!(ended, Err(CmsError::Database { .. })), "{ended:?}");
    let left = std::fs::read_dir(stopped.parent().expect("a directory"));
    let names: Vec<_> = left
        .expect("read")
        .map(|entry| entry.expect("read").file_name())
        .filter(|name| name.to_string_lossy().contains("other"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
    std::fs::write(&stopped, b"").expect("written");
    assert!(matches!(count(&stopped), Err(CmsError::Foreign { .. })));
}

#[test]
fn nodes_that_changed_or_are_gone_are_faults() {
    let mut visit = Visit::new();
    visit.site = None;
    let connection = rusqlite::Connection::open(&visit.database).expect("opened");
    connection
        .execute_batch(
            "DELETE FROM nodes WHERE id = 5;
             INSERT INTO nodes (kind, title, body, author, created, promoted) VALUES
               ('story', 'a', '', 1, 1, 1), ('story', 'a', 'b', 1, 1, 0);",
        )
        .expect("changed");
    drop(connection);
    assert_eq!(
        count(&visit.database).expect("counted").faults,
        [
            "119 of the 120 loaded nodes are left",
            "1 new nodes have the title of another",
            "1 new nodes lack title, text or author",
            "1 new nodes are not promoted as their kind says",
        ]
    );
}
