//! Users of content management against a site that keeps the contract, but for what a test plants.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use rookery_stats::{ErrorClass, Measurement, Pacing};
use rookery_testkit::{Behaviour, Request, Server};
use rookery_web::{
    Script,
    workloads::{cms::CmsScript, http::SiteName},
};
use rookery_workload::{
    cms::{
        CmsCounters, CmsData, CmsMatrix, CmsOperation, CmsPace, CmsScatter, Contract, NEW_PAGES,
        NEW_STORIES, OnError, RandomPage,
    },
    http::Tls,
};

use crate::common::{config, measure, ms};

const DATA: CmsData = CmsData {
    nodes: 100,
    users: 10,
    authors: 5,
    first_node: 1,
    story_ppm: 500_000,
    promoted_ppm: 500_000,
    seed: 3,
};

/// Users of a trial.
const USERS: u32 = 20;

/// What is wrong with the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// Logins that are sent fail, as where the database is gone.
    Logins,
    /// Nodes are created, but not shown.
    Results,
    /// The connection is closed when a node is sent.
    Closed,
    /// Nodes show another title.
    Titles,
}

/// A site of one user after the other: who is logged in, and what was created.
#[derive(Debug, Default)]
struct Fake {
    sessions: HashSet<u64>,
    made: u64,
    created: Vec<String>,
}

impl Fake {
    fn answer(&mut self, plant: Plant, request: &Request) -> Behaviour {
        let session = request
            .head
            .split("RKSID=")
            .nth(1)
            .and_then(|rest| rest.split(['\r', ';']).next()?.parse().ok())
            .filter(|session| self.sessions.contains(session));
        let is_post = request.head.starts_with("POST");
        let form = String::from_utf8_lossy(&request.body).into_owned();
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        let raw = match (path, is_post) {
            ("/cms/index.php", _) => {
                let page = query.strip_prefix("page=").unwrap_or("0");
                ok(session, &format!("<div id=\"list-{page}\">"))
            }
            ("/cms/node.php", _) => {
                let id: usize = query.trim_start_matches("id=").parse().expect("an id");
                ok(session, &self.node(plant, id))
            }
            ("/cms/login.php", false) => ok(session, "<form id=\"login\"></form>"),
            ("/cms/login.php", true) if plant == Plant::Logins => status(500),
            ("/cms/login.php", true) => {
                self.made += 1;
                self.sessions.insert(self.made);
                redirect("/cms/user.php", &format!("RKSID={}", self.made))
            }
            ("/cms/user.php", _) => ok(session, "a user"),
            ("/cms/create.php" | "/cms/logout.php", _) if session.is_none() => status(403),
            ("/cms/create.php", false) => ok(session, "<form id=\"create\"></form>"),
            ("/cms/create.php", true) => {
                let title = form.trim_start_matches("title=").split('&').next();
                self.created.push(title.unwrap_or_default().to_owned());
                if plant == Plant::Closed {
                    return Behaviour::Close(Vec::new());
                }
                let id = 100 + self.created.len();
                redirect(&format!("/cms/node.php?id={id}"), "x=y")
            }
            ("/cms/logout.php", _) => {
                self.sessions.remove(&session.unwrap_or_default());
                redirect("/cms/index.php", "RKSID=gone; max-age=0")
            }
            _ => status(404),
        };
        Behaviour::Raw(raw)
    }

    fn node(&self, plant: Plant, id: usize) -> String {
        let title = match id.checked_sub(101) {
            Some(_) if plant == Plant::Results => "nothing".to_owned(),
            Some(place) => self.created[place].clone(),
            None if plant == Plant::Titles => "another".to_owned(),
            None => DATA.title(u32::try_from(id).expect("small") - 1),
        };
        format!("<article id=\"node-{id}\"><h1>{title}</h1>")
    }
}

fn ok(session: Option<u64>, content: &str) -> Vec<u8> {
    let class = match session {
        Some(_) => "logged-in",
        None => "anonymous",
    };
    let body = format!("<body class=\"{class}\">{content}");
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn redirect(to: &str, cookie: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nSet-Cookie: {cookie}\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

fn status(status: u16) -> Vec<u8> {
    format!("HTTP/1.1 {status} Planted\r\nContent-Length: 0\r\n\r\n").into_bytes()
}

/// A trial; what they counted, and what the site created.
fn trial(plant: Plant, on_error: OnError) -> (Measurement, usize) {
    let fake = Arc::new(Mutex::new(Fake::default()));
    let of_server = Arc::clone(&fake);
    let server = Server::with(move |request: &Request| {
        let mut fake = of_server.lock().expect("no test failed");
        fake.answer(plant, request)
    })
    .expect("a server");
    let script = Script::Cms(Box::new(CmsScript {
        data: DATA,
        contract: Contract::Smallcms,
        site: SiteName::at(server.address()),
        matrix: CmsMatrix::default(),
        pacing: Pacing::Cycle,
        pace: CmsPace {
            scatter: CmsScatter::Exponential,
            means: [ms(2); 8],
            longest: 5.0,
        },
        on_error,
        random_page: RandomPage::Listing,
        random_page_max: None,
        wrong_login_ppm: 0,
        gzip: false,
        keep_cookies: true,
        tls: Tls::default(),
    }));
    let mut config = config(server.address(), USERS, script);
    config.phases.steady = ms(1_500);
    config.pacing = Pacing::Cycle;
    config.think_time = ms(2);
    let measurement = measure(&config);
    let created = fake.lock().expect("no test failed").created.len();
    (measurement, created)
}

fn counters(measurement: &Measurement) -> &CmsCounters {
    CmsCounters::from_counters(&measurement.guests[0].counters).expect("operations")
}

/// Nodes that users were told of, and those whose outcome no answer told.
fn told(measurement: &Measurement) -> (u64, u64) {
    let rows = counters(measurement).proof().rows;
    let names: Vec<&str> = rows.iter().map(|row| row.what.as_str()).collect();
    assert_eq!(names, [NEW_STORIES, NEW_PAGES]);
    let sum = |of: fn(&rookery_workload::ProofRow) -> u64| rows.iter().map(of).sum();
    (sum(|row| row.acknowledged), sum(|row| row.unanswered))
}

#[test]
fn a_site_as_it_should_be_has_no_failure_and_every_operation() {
    let (measurement, created) = trial(Plant::Nothing, OnError::Restart);
    let guest = &measurement.guests[0];
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    let counters = counters(&measurement);
    for operation in CmsOperation::ALL {
        let count = counters.operation(operation);
        assert!(count.completed > 0, "{operation:?}");
        let requests = match operation.needs_login() {
            None => 1,
            Some(true) if operation == CmsOperation::Logout => 2,
            Some(_) => 3,
        };
        assert_eq!(count.requests, requests * count.completed, "{operation:?}");
    }
    let (acknowledged, unanswered) = told(&measurement);
    let created = created as u64;
    assert!((acknowledged..=acknowledged + unanswered).contains(&created));
    assert!(acknowledged > 5, "{acknowledged}");
    let names: Vec<&str> = guest
        .operations
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(
        (names[0], names[1], names.len()),
        ("operation", "front-page", 9)
    );
}

#[test]
fn who_goes_on_after_a_lost_login_fails_consequentially() {
    let (measurement, created) = trial(Plant::Logins, OnError::Continue);
    let counters = counters(&measurement);
    let of = |operation| counters.operation(operation);
    for login in [CmsOperation::UserLogin, CmsOperation::AdminLogin] {
        assert_eq!((of(login).completed, of(login).consequential), (0, 0));
    }
    let total = counters.total();
    let needs_login = [
        CmsOperation::CreatePage,
        CmsOperation::CreateStory,
        CmsOperation::Logout,
    ];
    for operation in needs_login {
        let count = of(operation);
        assert_eq!((count.completed, count.primary), (0, 0), "{operation:?}");
        assert!(count.consequential > 0, "{operation:?}");
    }
    assert!(total.completed > 0, "pages are read all the same");
    let classes: Vec<(&str, &str, bool)> = counters
        .failures
        .iter()
        .map(|one| (one.step.as_str(), one.class.as_str(), one.consequential))
        .collect();
    assert!(
        classes.contains(&("submit", "status 500", false)),
        "{classes:?}"
    );
    assert!(
        classes.contains(&("form", "status 403", true)),
        "{classes:?}"
    );
    assert!(
        classes.contains(&("submit", "status 403", true)),
        "{classes:?}"
    );
    assert_eq!(created, 0);
    assert_eq!(told(&measurement), (0, 0));
}

#[test]
fn who_begins_anew_has_no_consequential_failures() {
    let (measurement, _) = trial(Plant::Logins, OnError::Restart);
    let counters = counters(&measurement);
    let total = counters.total();
    assert!(total.primary > 0 && total.consequential == 0, "{total:?}");
    for operation in [CmsOperation::CreateStory, CmsOperation::Logout] {
        assert_eq!(counters.operation(operation).ended(), 0, "they are skipped");
    }
    // What was skipped is no step, and what began anew began at the front page.
    let begins: u64 = counters.steps.transitions[8].iter().sum();
    assert_eq!(counters.steps.transitions[8][0], begins);
    assert!(begins > u64::from(USERS), "{begins}");
}

#[test]
fn a_node_that_was_created_but_not_shown_is_told_and_failed() {
    let (measurement, created) = trial(Plant::Results, OnError::Restart);
    let counters = counters(&measurement);
    assert_eq!(counters.operation(CmsOperation::CreateStory).completed, 0);
    let (acknowledged, unanswered) = told(&measurement);
    assert!(acknowledged > 0);
    assert!((acknowledged..=acknowledged + unanswered).contains(&(created as u64)));
    let classes: Vec<_> = measurement.guests[0]
        .errors
        .iter()
        .map(|error| (error.class, error.sub_class.to_string()))
        .collect();
    assert_eq!(classes, [(ErrorClass::Content, "title".to_owned())]);
}

#[test]
fn a_node_without_an_answer_may_have_been_created() {
    let (measurement, created) = trial(Plant::Closed, OnError::Restart);
    let (acknowledged, unanswered) = told(&measurement);
    assert_eq!(acknowledged, 0);
    assert!(created > 0 && unanswered >= created as u64, "{unanswered}");
}

#[test]
fn a_node_with_another_title_is_a_wrong_answer() {
    let (measurement, _) = trial(Plant::Titles, OnError::Restart);
    let counters = counters(&measurement);
    let nodes = counters.operation(CmsOperation::RandomNode);
    assert!(nodes.completed == 0 && nodes.primary > 0, "{nodes:?}");
    assert!(counters.operation(CmsOperation::FrontPage).primary == 0);
}
