//! Users of banking against a server that knows what its only user will ask for, and breaks what
//! the test plants.

use std::sync::{Arc, Mutex};

use rookery_stats::{ErrorClass, GuestMeasurement, Measurement};
use rookery_testkit::{Behaviour, Request, Server};
use rookery_web::{
    Script,
    workloads::{http::SiteName, web2005::Web2005Script},
};
use rookery_workload::{
    http::Tls,
    web2005::{
        Bands, Expected, Model, PageCount, Profile, Rules, Web2005Counters, WebData, WebDataset,
        WebThink, WebUser, WebWalk,
        files::{Content, ContentKind},
        ledger,
    },
};

use crate::common::{config, measure, ms};

/// The seed of the trials of these tests.
const SEED: u64 = 7;

const DATASET: WebDataset = WebDataset {
    model: Model::Banking,
    sessions: 1,
    scale_ppm: 100_000,
    seed: 3,
};

/// What is wrong with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// Every page of this type is late.
    Late(&'static str),
    /// It shows another value.
    Values(&'static str),
    /// Its padding lacks a marker.
    Marker(&'static str),
    /// It is a byte too long.
    Length(&'static str),
    /// One of its images is missing.
    Image(&'static str),
    /// It is answered with the form of those who have no session.
    Session(&'static str),
    /// The connection is closed without an answer.
    Closed(&'static str),
}

impl Plant {
    /// The page type that it breaks.
    fn breaks(self) -> Option<&'static str> {
        match self {
            Self::Nothing | Self::Late(_) => None,
            Self::Values(page)
            | Self::Marker(page)
            | Self::Length(page)
            | Self::Image(page)
            | Self::Session(page)
            | Self::Closed(page) => Some(page),
        }
    }
}

/// The same user as the driver's.
struct Twin {
    data: WebData,
    walk: WebWalk,
    user: WebUser,
    plant: Plant,
    /// The page whose images are asked for.
    page: &'static str,
}

impl Twin {
    fn new(plant: Plant) -> Self {
        let data = DATASET.data().expect("a file set");
        Self {
            walk: WebWalk::new(Model::Banking, SEED, 0, 0),
            user: WebUser::new(&data, SEED, 0, 0),
            data,
            plant,
            page: "",
        }
    }

    fn answer(&mut self, request: &Request) -> Behaviour {
        if request.target.contains(".php") {
            self.page(request)
        } else {
            self.file(request)
        }
    }

    fn page(&mut self, request: &Request) -> Behaviour {
        let arrival = self.walk.arrival();
        let wanted = self.user.request(&self.data, arrival);
        assert_eq!(request.target, wanted.target);
        let form = wanted.form.unwrap_or_default();
        assert_eq!(String::from_utf8_lossy(&request.body), form);
        self.page = Model::Banking.pages()[arrival.page].name;
        let fails = self.plant.breaks() == Some(self.page);
        if !fails {
            self.user.answered(arrival);
        }
        self.walk.advance(arrival.state, fails);
        let mut body = body(&wanted.expected);
        match self.plant {
            Plant::Late(page) if page == self.page => {
                return Behaviour::Late(ms(60), ok(&body));
            }
            Plant::Closed(page) if page == self.page => return Behaviour::Close(Vec::new()),
            Plant::Values(page) if page == self.page => {
                let at = body.len() - 6;
                body[at] = b'?';
            }
            Plant::Marker(page) if page == self.page => {
                let at = body
                    .windows(4)
                    .position(|bytes| bytes == b"pad\"")
                    .expect("a pad");
                body[at + "pad\">\n".len()] = b'z';
            }
            Plant::Length(page) if page == self.page => body.insert(0, b' '),
            Plant::Session(page) if page == self.page => {
                let form = Expected::Page {
                    title: "Bank: login".to_owned(),
                    mark: b"<!--rk page=login id=- v=form-->\n".to_vec(),
                    bytes: 5_888,
                };
                body = self::body(&form);
            }
            _ => {}
        }
        Behaviour::Raw(ok(&body))
    }

    fn file(&self, request: &Request) -> Behaviour {
        if self.plant == Plant::Image(self.page) && request.target.ends_with("/4") {
            let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            return Behaviour::Raw(missing.to_vec());
        }
        if request.head.contains("If-Modified-Since: ") {
            return Behaviour::Raw(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec());
        }
        let path = request.target.trim_start_matches('/');
        let file = self.data.shape.locate(path).expect("a file of the set");
        let mut bytes = vec![0; file.size as usize];
        file.content.fill(0, &mut bytes);
        Behaviour::Raw(ok(&bytes))
    }
}

fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nSet-Cookie: RKSID=0123456789012345678901; \
         path=/\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A body that is what is expected.
fn body(expected: &Expected) -> Vec<u8> {
    match expected {
        Expected::File { bytes } => {
            let mut body = vec![0; *bytes as usize];
            Content::new(1, ContentKind::Binary).fill(0, &mut body);
            body
        }
        Expected::Page { title, mark, bytes } => {
            let begin = format!("<html><title>{title}</title><body>\n<pre class=\"pad\">\n");
            let end = "\n</pre>\n</body>\n</html>\n";
            let pad = *bytes as usize - begin.len() - end.len() - mark.len();
            let mut padding = vec![0; pad];
            Content::new(1, ContentKind::Text).fill(0, &mut padding);
            [begin.as_bytes(), &padding, end.as_bytes(), mark].concat()
        }
    }
}

fn script(site: SiteName, bands: Bands) -> Script {
    Script::Web2005(Box::new(Web2005Script {
        dataset: DATASET,
        site,
        secure: None,
        profile: Profile::default(),
        think: WebThink {
            mean: ms(0),
            max: ms(0),
        },
        connections: 2,
        receive_rate: None,
        bands,
        rules: Rules::default(),
        tls: Tls::default(),
    }))
}

/// A trial of one user against a server with this wrong.
fn trial(plant: Plant) -> Measurement {
    let twin = Arc::new(Mutex::new(Twin::new(plant)));
    let server =
        Server::with(move |request: &Request| twin.lock().expect("no test failed").answer(request))
            .expect("a server");
    // Nothing is late but what is planted.
    let bands = Bands {
        good_us: 50_000,
        tolerable_us: 60_000_000,
        ..Bands::new(Model::Banking)
    };
    let script = script(SiteName::at(server.address()), bands);
    let mut config = config(server.address(), 1, script);
    config.seed = SEED;
    config.phases.steady = ms(1_500);
    measure(&config)
}

fn counters(guest: &GuestMeasurement) -> &Web2005Counters {
    Web2005Counters::from_counters(&guest.counters).expect("pages were counted")
}

fn page(guest: &GuestMeasurement, name: &str) -> PageCount {
    let place = Model::Banking
        .pages()
        .iter()
        .position(|page| page.name == name);
    counters(guest).pages[place.expect("a page type")]
}

#[test]
fn a_server_as_it_should_be_has_good_pages_alone() {
    let measurement = trial(Plant::Nothing);
    let guest = &measurement.guests[0];
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
    let counters = counters(guest);
    let total = counters.total();
    assert!(total.requests > 50, "{total:?}");
    assert_eq!((total.invalid, total.unanswered), (0, 0));
    assert_eq!(total.good + total.tolerable + total.fail, total.requests);
    assert!(total.not_modified > 0 && total.objects > total.not_modified);
    assert_eq!(counters.users, 1);
    assert!(counters.sessions > 0 && counters.left > 0);
    // A login without 304s has 8 images of 42,000 bytes and a page of 5,888.
    let login = page(guest, "login");
    let mean = login.bytes as f64 / login.right() as f64;
    assert!((8_000.0..50_000.0).contains(&mean), "{mean}");
    let names: Vec<&str> = guest
        .operations
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!((names[0], names[1], names.len()), ("page", "login", 17));
}

#[test]
fn what_users_were_told_is_what_the_server_answered() {
    let measurement = trial(Plant::Nothing);
    let rows = counters(&measurement.guests[0]).proof().rows;
    let row = |what: &str| rows.iter().find(|row| row.what == what).expect("a row");
    // One quick payment in fifteen pages, of one to three lines.
    assert!(row(ledger::PAYMENTS).acknowledged > 0);
    assert!(row(ledger::PAYMENT_CENTS).acknowledged >= row(ledger::PAYMENTS).acknowledged);
}

#[test]
fn late_pages_of_one_type_are_in_another_band() {
    let measurement = trial(Plant::Late("bill_pay"));
    let guest = &measurement.guests[0];
    let late = page(guest, "bill_pay");
    assert!(late.requests > 0 && late.good == 0, "{late:?}");
    assert_eq!(late.tolerable, late.requests);
    assert!(guest.errors.is_empty());
}

#[test]
fn every_wrong_answer_is_a_validation_error_of_its_class() {
    for (plant, class, sub_class) in [
        (
            Plant::Values("account_summary"),
            ErrorClass::Content,
            "values",
        ),
        (Plant::Marker("bill_pay"), ErrorClass::Content, "marker"),
        (Plant::Length("bill_pay"), ErrorClass::Content, "size"),
        (Plant::Image("account_summary"), ErrorClass::Status, "404"),
        (
            Plant::Session("bill_pay"),
            ErrorClass::SessionLost,
            "session-lost",
        ),
    ] {
        let measurement = trial(plant);
        let guest = &measurement.guests[0];
        let broken = page(guest, plant.breaks().expect("a page"));
        assert!(broken.requests > 0, "{plant:?}");
        assert_eq!(broken.invalid, broken.requests, "{plant:?}: {broken:?}");
        let classes: Vec<_> = guest
            .errors
            .iter()
            .map(|error| (error.class, error.sub_class.to_string()))
            .collect();
        assert_eq!(classes, [(class, sub_class.to_owned())], "{plant:?}");
        // All else is as it should be.
        assert_eq!(counters(guest).total().invalid, broken.invalid);
    }
}

#[test]
fn a_payment_without_an_answer_may_have_been_made() {
    let measurement = trial(Plant::Closed("quick_pay"));
    let guest = &measurement.guests[0];
    let broken = page(guest, "quick_pay");
    assert!(broken.requests > 0, "{broken:?}");
    assert_eq!(
        (broken.unanswered, broken.fail),
        (broken.requests, broken.requests)
    );
    let rows = counters(guest).proof().rows;
    let payments = rows
        .iter()
        .find(|row| row.what == ledger::PAYMENTS)
        .expect("a row");
    assert_eq!(payments.acknowledged, 0);
    assert!(payments.unanswered >= broken.requests, "{payments:?}");
}
