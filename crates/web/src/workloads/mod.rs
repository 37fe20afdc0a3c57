//! The workloads of HTTP users: the registry.
//!
//! A workload has a room here: its configuration, its `UserScript`, and
//! what it counts beside times. All that is done for every workload is done by the `match`es of
//! this file.

pub mod cms;
pub mod dvdstore;
pub mod http;
pub mod netstream;
pub mod page;
mod problem;
pub mod sample;
pub mod web2005;

use std::{net::SocketAddr, rc::Rc};

use rookery_driver::{Nanos, OperationTable, Span, Visit};
use rookery_workload::{
    Counters, WorkloadKind,
    data_driven::{Feeder, Population},
};
use serde::{Deserialize, Serialize};

pub(crate) use self::problem::ScriptProblem;
use self::{
    cms::{CmsRecord, CmsScript, CmsSite, CmsVisitor},
    dvdstore::{DvdstoreScript, OrderTally, Shop, ShopRecord, Shopping},
    http::{HttpRecord, HttpScript, HttpSite, Visitor},
    netstream::{ExchangeSite, Exchanger, NetstreamRecord, NetstreamScript},
    page::{PageScript, Viewer},
    sample::{RecordSite, RecordUser, SampleRecord, SampleScript},
    web2005::{Web2005Record, Web2005Script, WebSite, WebVisitor},
};
use crate::{client::Client, user::User, worker::Unfinished};

/// What the users of one guest do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Script {
    /// Shopping: log in or become a customer, search, buy; operations `login`, `new-customer`,
    /// `browse`, `purchase` and the whole `order`.
    Dvdstore(DvdstoreScript),
    /// What a workload file says; its operations, and the whole `page` for any of them.
    Http(Box<HttpScript>),
    /// Banking, e-commerce or support: the pages of a chain; its page types, and the whole `page`.
    Web2005(Box<Web2005Script>),
    /// Content management: the eight operations of a matrix, and the whole `operation` for any of
    /// them.
    Cms(Box<CmsScript>),
    /// Records: read, list or write one after the other, as a matrix says; the operations `read`,
    /// `list` and `write`.
    Sample(SampleScript),
    /// Bytes back and forth; the operation `exchange`.
    Netstream(NetstreamScript),
    /// One page again and again; the operation `page`.
    Page(PageScript),
}

impl Script {
    /// The operations of the workload.
    pub(crate) fn operations(&self) -> OperationTable {
        match self {
            Self::Dvdstore(_) => dvdstore::OPERATIONS,
            Self::Http(script) => script.operations(),
            Self::Web2005(script) => script.operations(),
            Self::Cms(script) => script.operations(),
            Self::Sample(_) => sample::OPERATIONS,
            Self::Netstream(_) => netstream::OPERATIONS,
            Self::Page(_) => page::OPERATIONS,
        }
    }

    /// Where its values come from, if they were written down.
    pub(crate) fn feeders(&mut self) -> &mut [Feeder] {
        match self {
            Self::Http(script) => &mut script.workload.feeders,
            Self::Dvdstore(_)
            | Self::Web2005(_)
            | Self::Cms(_)
            | Self::Sample(_)
            | Self::Netstream(_)
            | Self::Page(_) => &mut [],
        }
    }

    /// Whether users can do it at all.
    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        match self {
            Self::Dvdstore(script) => script.check(),
            Self::Http(script) => script.check(),
            Self::Web2005(script) => script.check(),
            Self::Cms(script) => script.check(),
            Self::Sample(script) => script.check(),
            Self::Netstream(script) => script.check(),
            Self::Page(script) => script.check(),
        }
    }
}

/// How long a user of a thread is there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stay {
    /// From the one moment to the other.
    User(Nanos, Nanos),
    /// A place that visitors take in turn.
    Visitors(Visit),
}

/// The users of one guest on one thread: what they share.
#[derive(Debug)]
pub(crate) enum GuestUsers {
    Dvdstore(Rc<Shop>),
    Http(Rc<HttpSite>),
    Web2005(Rc<WebSite>),
    Cms(Rc<CmsSite>),
    Sample(Rc<RecordSite>),
    Netstream(Rc<ExchangeSite>),
    Page(Rc<PageScript>),
}

impl GuestUsers {
    /// Those of a script at `target`, where so many draw from its data.
    ///
    /// # Errors
    /// When the script cannot be done.
    pub(crate) fn new(
        script: &Script,
        target: SocketAddr,
        population: Population,
    ) -> Result<Self, ScriptProblem> {
        Ok(match script {
            Script::Http(script) => Self::Http(Rc::new(HttpSite::new(script, target, population)?)),
            Script::Dvdstore(script) => Self::Dvdstore(Rc::new(Shop::new(script.clone()))),
            Script::Web2005(script) => Self::Web2005(Rc::new(WebSite::new(script, target)?)),
            Script::Cms(script) => Self::Cms(Rc::new(CmsSite::new(script, target)?)),
            Script::Sample(script) => Self::Sample(Rc::new(RecordSite::new(*script))),
            Script::Netstream(script) => Self::Netstream(Rc::new(ExchangeSite::new(*script))),
            Script::Page(script) => Self::Page(Rc::new(script.clone())),
        })
    }

    /// Starts user `number` of a guest on this thread.
    pub(crate) fn start(&self, client: Client, seed: u64, guest: u32, number: u32, stay: Stay) {
        match self {
            Self::Dvdstore(shop) => {
                let script = Shopping::new(Rc::clone(shop), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
            Self::Http(site) => {
                let script = Visitor::new(Rc::clone(site), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
            Self::Web2005(site) => {
                let script = WebVisitor::new(Rc::clone(site), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
            Self::Cms(site) => {
                let script = CmsVisitor::new(Rc::clone(site), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
            Self::Sample(site) => {
                let script = RecordUser::new(Rc::clone(site), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
            Self::Netstream(site) => {
                let script = Exchanger::new(Rc::clone(site), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
            Self::Page(page) => {
                let script = Viewer::new(Rc::clone(page), seed, guest, number);
                start(User::new(script, client), seed, stay);
            }
        }
    }

    /// The orders as they stand at `now`.
    pub(crate) fn tally(&self, window: Span, now: Nanos) -> OrderTally {
        match self {
            Self::Dvdstore(shop) => shop.record().borrow().tally(window, now),
            Self::Http(_)
            | Self::Web2005(_)
            | Self::Cms(_)
            | Self::Sample(_)
            | Self::Netstream(_)
            | Self::Page(_) => OrderTally::default(),
        }
    }

    /// The trial ended while a request was under way.
    pub(crate) fn unfinished(&self, request: Unfinished) {
        match self {
            Self::Dvdstore(shop) => shop.unfinished(request.operation, request.written),
            Self::Http(site) => site.unfinished(request.operation, request.written),
            Self::Sample(site) => site.unfinished(request.operation, request.written),
            Self::Netstream(site) => site.unfinished(request.written),
            // What was under way is told when the counters are taken.
            Self::Web2005(_) | Self::Cms(_) | Self::Page(_) => {}
        }
    }

    /// What was counted beside times.
    pub(crate) fn counts(&self) -> GuestCounts {
        match self {
            Self::Dvdstore(shop) => GuestCounts::Dvdstore(shop.record().take()),
            Self::Http(site) => GuestCounts::Http(Box::new(site.take_record())),
            Self::Web2005(site) => GuestCounts::Web2005(Box::new(site.take_record())),
            Self::Cms(site) => GuestCounts::Cms(Box::new(site.take_record())),
            Self::Sample(site) => GuestCounts::Sample(site.take_record()),
            Self::Netstream(site) => GuestCounts::Netstream(site.take_record()),
            Self::Page(_) => GuestCounts::Nothing,
        }
    }
}

fn start<S: crate::user::UserScript>(user: User<S>, seed: u64, stay: Stay) {
    match stay {
        Stay::User(starts, stops) => tokio::task::spawn_local(user.live(starts, stops)),
        Stay::Visitors(visit) => tokio::task::spawn_local(user.receive(seed, visit)),
    };
}

/// What a workload counted beside times, of one guest on one thread or on several.
#[derive(Debug)]
pub(crate) enum GuestCounts {
    Dvdstore(ShopRecord),
    Http(Box<HttpRecord>),
    Web2005(Box<Web2005Record>),
    Cms(Box<CmsRecord>),
    Sample(SampleRecord),
    Netstream(NetstreamRecord),
    Nothing,
}

impl GuestCounts {
    /// Those of a guest at which nothing was counted yet.
    pub(crate) fn nothing(script: &Script) -> Self {
        match script {
            Script::Dvdstore(_) => Self::Dvdstore(ShopRecord::default()),
            Script::Http(script) => Self::Http(Box::new(HttpRecord::new(script))),
            Script::Web2005(script) => Self::Web2005(Box::new(Web2005Record::new(script))),
            Script::Cms(script) => Self::Cms(Box::new(CmsRecord::new(script))),
            Script::Sample(script) => Self::Sample(SampleRecord::new(script)),
            Script::Netstream(_) => Self::Netstream(NetstreamRecord::default()),
            Script::Page(_) => Self::Nothing,
        }
    }

    /// Adds what one thread counted of the guest.
    pub(crate) fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Dvdstore(mine), Self::Dvdstore(other)) => mine.merge(other),
            (Self::Http(mine), Self::Http(other)) => mine.merge(&other),
            (Self::Web2005(mine), Self::Web2005(other)) => mine.merge(&other),
            (Self::Cms(mine), Self::Cms(other)) => mine.merge(&other),
            (Self::Sample(mine), Self::Sample(other)) => mine.merge(&other),
            (Self::Netstream(mine), Self::Netstream(other)) => mine.merge(&other),
            // Threads share the script of a guest.
            _ => {}
        }
    }

    /// The counters of a guest. Users of a page count nothing beside times: theirs are those of a
    /// shop in which no one orders, because to a workload file `page` is the whole of its
    /// operations and no request.
    pub(crate) fn counters(self, window: Span) -> Counters {
        match self {
            Self::Dvdstore(record) => Counters::Dvdstore(record.counters(window)),
            Self::Http(record) => Counters::Http(record.counters(window)),
            Self::Web2005(record) => Counters::from(record.counters(window)),
            Self::Cms(record) => Counters::Cms(record.counters(window)),
            Self::Sample(record) => Counters::Sample(record.counters(window)),
            Self::Netstream(record) => Counters::Netstream(record.counters(window)),
            Self::Nothing => Counters::empty(WorkloadKind::Dvdstore),
        }
    }
}
